// Displays the comparison page; it makes no decisions.

import { fill, isPlain, nameOf, pictures } from "./content.js";
import { isOff, switchOff } from "./input.js";
import { find, show, tell, text } from "./page.js";

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
    find(`option-${side}`).classList.toggle("is-plain", isPlain(pair[side]));
    nameButton(side, pair[side]);
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

/** Screen readers read the item's name on its button; a long text only describes the button. */
function nameButton(side, content) {
  const button = find(`option-${side}`).querySelector(".choose");
  const name = nameOf(content);
  if (name === undefined) {
    button.removeAttribute("aria-label");
    button.setAttribute("aria-describedby", `content-${side}`);
  } else {
    button.setAttribute("aria-label", `${text("vote.choose")}: ${name}`);
    button.removeAttribute("aria-describedby");
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
  for (const side of ["left", "right"]) find(`option-${side}`).classList.toggle("is-chosen", side === answer);
}

/** Show whether the answer to a practice pair was right. */
export function showFeedback({ expected, agrees }) {
  latestTurn += 1; // the timer of the pair must not enable the answers
  for (const button of answers) switchOff(button, true);
  const box = find("feedback");
  box.classList.toggle("notice-good", agrees);
  box.classList.toggle("notice-warning", !agrees);
  find("feedback-text").textContent = agrees ? text("said.agrees") : text("said.disagrees", { answer: named(expected) });
  find("tools").hidden = true;
  box.hidden = false;
  find("feedback-text").focus({ preventScroll: true });
  box.scrollIntoView({ block: "nearest" });
}

/** Name of an answer: the item of this pair that was chosen, or else the words of the interface. */
export function named(answer, pair) {
  return nameOf(pair?.[answer] ?? {}) ?? text(`said.${answer}`);
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
