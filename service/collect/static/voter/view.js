// Displays the comparison page; it makes no decisions.

import { contentsOf, fill, isPlain, nameOf, pictures } from "./content.js";
import { isOff, switchOff } from "./input.js";
import { data, find, show, tell, text } from "./page.js";

const isGraded = data.graded !== undefined; // a preference is slight, clear, ...: several buttons for an item
const setSize = Number(data.setSize ?? 2); // above 2, voters choose the best and the worst item
const PLACES = setSize === 2 ? ["left", "right"] : Array.from({ length: setSize }, (_, at) => String(at + 1));
const PREFERENCE = /^(left|right)(?: (\d))?$/;
const OF_SET = /^best (\d) worst (\d)$/;
const PLACEHOLDER = "{target}";
const SETTLING = 250; // milliseconds without answers: too short to read a pair, or the second click of a double

const voting = find("voting");
const answers = Array.from(voting.querySelectorAll("[data-answer]"));
let latestTurn = 0; // pairs and feedback on display so far
let choices = { best: null, worst: null }; // places in the set on display

find("pair").addEventListener("pointermove", () => find("pair").classList.add("has-moved"));

/** Show a pair; `ready` is called when its pictures have loaded. */
export function showPair(pair, { canUndo, canSkip, ready }) {
  latestTurn += 1;
  const turn = latestTurn;
  for (const [at, content] of contentsOf(pair).entries()) {
    fill(find(`content-${PLACES[at]}`), content);
    find(`option-${PLACES[at]}`).classList.toggle("is-plain", !isGraded && setSize === 2 && isPlain(content));
    nameButtons(PLACES[at], content);
  }
  ask(pair.target);
  find("practice").hidden = !pair.practice;
  find("feedback").hidden = true;
  find("tools").hidden = false;
  find("pair").classList.remove("has-moved");
  mark(null);
  allow({ canUndo, canSkip });
  for (const button of answers) switchOff(button, true);
  show("pair", { focus: false });
  setTimeout(() => turn === latestTurn && allowAnswers(), SETTLING);
  pictures(find("pair")).then(() => turn === latestTurn && ready());
  const question = find("question");
  question.focus({ preventScroll: true });
  question.scrollIntoView({ block: "nearest" });
  if (question.getBoundingClientRect().top < 0) window.scrollTo(0, 0);
}

/** Put the target word of a pair where the question has "{target}", or above the question. */
function ask(target) {
  const question = find("question");
  question.dataset.text ??= question.textContent;
  const names = question.dataset.text.includes(PLACEHOLDER);
  question.replaceChildren(question.dataset.text);
  if (target && names) {
    const parts = question.dataset.text.split(PLACEHOLDER);
    question.replaceChildren(...parts.flatMap((part, at) => (at ? [emphasis(target), part] : [part])));
  }
  find("target").hidden = !target || names;
  find("target").textContent = target ?? "";
}

function emphasis(word) {
  const mark = document.createElement("em");
  mark.textContent = word;
  return mark;
}

/** Screen readers read the item's name on its buttons; a long text only describes the buttons. */
function nameButtons(place, content) {
  const name = nameOf(content);
  for (const button of find(`option-${place}`).querySelectorAll(".choose")) {
    if (name === undefined) {
      button.removeAttribute("aria-label");
      button.setAttribute("aria-describedby", `content-${place}`);
    } else {
      button.setAttribute("aria-label", `${button.querySelector("[data-word]").textContent}: ${name}`);
      button.removeAttribute("aria-describedby");
    }
  }
}

export function allow({ canUndo, canSkip }) {
  switchOff(find("undo"), !canUndo);
  switchOff(find("skip"), !canSkip);
}

export { isOff };

function allowAnswers() {
  for (const button of answers) switchOff(button, false);
}

/** Mark the answer that was chosen. */
export function mark(answer) {
  for (const button of answers) button.classList.toggle("is-chosen", button.dataset.answer === answer);
  if (setSize > 2) {
    const [, best = null, worst = null] = OF_SET.exec(answer ?? "") ?? [];
    markChoices({ best, worst });
  } else {
    for (const side of PLACES) find(`option-${side}`).classList.toggle("is-chosen", side === sideOf(answer));
  }
}

/**
 * The answer that a button completes; undefined if the other choice of a set is still open.
 *
 * A second click on a choice takes it back, and no item is both the best and the worst.
 */
export function completed(part) {
  const [kind, place] = part.split(" ");
  if (setSize === 2 || !(kind in choices)) return part;
  const other = kind === "best" ? "worst" : "best";
  markChoices({
    [kind]: choices[kind] === place ? null : place,
    [other]: choices[other] === place ? null : choices[other],
  });
  const { best, worst } = choices;
  return best === null || worst === null ? undefined : `best ${best} worst ${worst}`;
}

/** A message that says which choice of a set is still open. */
export function openChoice() {
  if (choices.best === null) return text(choices.worst === null ? "vote.open-both" : "vote.open-best");
  return text("vote.open-worst");
}

/** Mark the choices of a set; number keys choose the best first, then the worst. */
function markChoices(latest) {
  choices = latest;
  const byKey = choices.best === null ? "best" : "worst";
  for (const button of find("pair").querySelectorAll(".choose")) {
    const [kind, place] = button.dataset.answer.split(" ");
    const isChosen = choices[kind] === place;
    button.classList.toggle("is-chosen", isChosen);
    button.setAttribute("aria-pressed", String(isChosen));
    button.dataset.key = kind === byKey ? place : "";
    button.querySelector(".key").classList.toggle("is-idle", kind !== byKey);
  }
  for (const place of PLACES) {
    find(`option-${place}`).classList.toggle("is-chosen", choices.best === place);
    find(`option-${place}`).classList.toggle("is-worst", choices.worst === place);
  }
}

/** Show whether the answer to a practice pair was right. */
export function showFeedback({ expected, agrees }) {
  latestTurn += 1; // the timer of the pair must not enable the answers
  for (const button of answers) switchOff(button, true);
  const box = find("feedback");
  box.classList.toggle("notice-good", agrees);
  box.classList.toggle("notice-warning", !agrees);
  find("feedback-text").textContent = agrees ? text("said.agrees") : text("said.disagrees", { answer: text(`said.${expected}`) });
  find("tools").hidden = true;
  box.hidden = false;
  find("feedback-text").focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}

/** Name of an answer: the item of this pair that was chosen, or else the words of the interface; with its grade. */
export function named(answer, pair) {
  const [, ...chosen] = OF_SET.exec(answer) ?? [];
  if (chosen.length > 0) {
    const names = chosen.map((place) => nameOf(contentsOf(pair)[place - 1] ?? {}) ?? text("vote.place", { place }));
    return text("said.best-worst", { best: names[0], worst: names[1] });
  }
  const side = sideOf(answer);
  const name = nameOf(pair?.[side] ?? {}) ?? text(`said.${side ?? answer}`);
  return isGraded && side !== undefined ? `${name} (${text(`vote.grades.${PREFERENCE.exec(answer)[2] ?? 1}`)})` : name;
}

/** The side that an answer prefers; undefined if it prefers none. */
function sideOf(answer) {
  return PREFERENCE.exec(answer ?? "")?.[1];
}

export function showProgress({ answered, of }) {
  find("progress").hidden = !of;
  find("bar").max = of || 1;
  find("bar").value = answered;
  find("count").textContent = of ? text("vote.count", { done: answered, of }) : "";
}

/** Announce a message briefly; a repeated message is read aloud again. */
export function say(message) {
  const status = find("status");
  status.textContent = "";
  requestAnimationFrame(() => (status.textContent = message));
}

/** Show a message that stays until the next answer. */
export function warn(message) {
  tell("message", message);
}

/** Whether the options are side by side or one below the other. */
export function layout() {
  const [left, right] = PLACES.slice(0, 2).map((place) => find(`option-${place}`).getBoundingClientRect());
  return right.top >= left.bottom ? "stacked" : "side by side";
}
