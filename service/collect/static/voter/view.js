// What the page of comparisons shows; it decides nothing.

import { fill, isPlain, pictures } from "./content.js";
import { isOff, switchOff } from "./input.js";
import { find, show, tell, text } from "./page.js";

const SETTLING = 250; // milliseconds in which no answer counts: nobody has read the pair, and a second click belongs to the last

const voting = find("voting");
const answers = Array.from(voting.querySelectorAll("[data-answer]"));
let shown = 0;

find("pair").addEventListener("pointermove", () => find("pair").classList.add("has-moved"));

/** Show a pair; `ready` is called when its pictures are there. */
export function showPair(pair, { canUndo, canSkip, ready }) {
  shown += 1;
  const turn = shown;
  for (const side of ["left", "right"]) {
    fill(find(`content-${side}`), pair[side]);
    find(`option-${side}`).classList.toggle("is-plain", isPlain(pair[side]));
  }
  find("practice").hidden = !pair.practice;
  find("feedback").hidden = true;
  find("tools").hidden = false;
  find("pair").classList.remove("has-moved");
  mark(null);
  allow({ canUndo, canSkip });
  for (const button of answers) switchOff(button, true);
  show("pair", { focus: false });
  setTimeout(() => turn === shown && open(), SETTLING);
  pictures(find("pair")).then(() => turn === shown && ready());
  const question = find("question");
  question.focus({ preventScroll: true });
  question.scrollIntoView({ block: "nearest" });
  if (question.getBoundingClientRect().top < 0) window.scrollTo(0, 0);
}

export function allow({ canUndo, canSkip }) {
  switchOff(find("undo"), !canUndo);
  switchOff(find("skip"), !canSkip);
}

export { isOff };

function open() {
  for (const button of answers) switchOff(button, false);
}

/** Mark the answer that was chosen. */
export function mark(answer) {
  for (const button of answers) button.classList.toggle("is-chosen", button.dataset.answer === answer);
  for (const side of ["left", "right"]) find(`option-${side}`).classList.toggle("is-chosen", side === answer);
}

/** What practice says to an answer. */
export function showFeedback({ expected, agrees }) {
  shown += 1; // a timer of the pair must not switch the answers on
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

/** Name of an answer in the language of the interface. */
export function named(answer) {
  return text(`said.${answer}`);
}

export function showProgress({ answered, of }) {
  find("progress").hidden = !of;
  find("bar").max = of || 1;
  find("bar").value = answered;
  find("count").textContent = of ? text("vote.count", { done: answered, of }) : "";
}

/** Say something in passing; the same words twice are read aloud twice. */
export function say(message) {
  const status = find("status");
  status.textContent = "";
  requestAnimationFrame(() => (status.textContent = message));
}

/** Show what a voter must know until the next answer. */
export function warn(message) {
  tell("message", message);
}

/** Whether the options stand side by side or one below the other. */
export function layout() {
  const [left, right] = ["left", "right"].map((side) => find(`option-${side}`).getBoundingClientRect());
  return right.top >= left.bottom ? "stacked" : "side by side";
}
