// Displays the comparison page; it makes no decisions.

import { fill, isPlain, nameOf, pictures } from "./content.js";
import { isOff, switchOff } from "./input.js";
import { data, find, show, tell, text } from "./page.js";

const isGraded = data.graded !== undefined; // a preference is slight, clear, ...: several buttons for an item
const PREFERENCE = /^(left|right)(?: (\d))?$/;
const PLACEHOLDER = "{target}";
const SETTLING = 250; // milliseconds without answers: too short to read a pair, or the second click of a double

const voting = find("voting");
const answers = Array.from(voting.querySelectorAll("[data-answer]"));
let latestTurn = 0; // pairs and feedback on display so far

find("pair").addEventListener("pointermove", () => find("pair").classList.add("has-moved"));

/** Show a pair; `ready` is called when its pictures have loaded. */
export function showPair(pair, { canUndo, canSkip, ready }) {
  latestTurn += 1;
  const turn = latestTurn;
  for (const side of ["left", "right"]) {
    fill(find(`content-${side}`), pair[side]);
    find(`option-${side}`).classList.toggle("is-plain", !isGraded && isPlain(pair[side]));
    nameButtons(side, pair[side]);
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
function nameButtons(side, content) {
  const name = nameOf(content);
  for (const button of find(`option-${side}`).querySelectorAll(".choose")) {
    if (name === undefined) {
      button.removeAttribute("aria-label");
      button.setAttribute("aria-describedby", `content-${side}`);
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
  for (const side of ["left", "right"]) find(`option-${side}`).classList.toggle("is-chosen", side === sideOf(answer));
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
  const [left, right] = ["left", "right"].map((side) => find(`option-${side}`).getBoundingClientRect());
  return right.top >= left.bottom ? "stacked" : "side by side";
}
