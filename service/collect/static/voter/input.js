// How a voter answers: buttons, keys, touch. Each answer records how it was given.

const BUSY = "input, select, textarea, dialog, [contenteditable]";
const PLAYER = "audio, video"; // uses the arrow keys itself

/** Call `choose(answer, how)` for each answer; `keysOn()` says whether keys count. */
export function listen(section, choose, keysOn) {
  let pointer = "mouse";
  section.addEventListener("pointerdown", (event) => (pointer = event.pointerType), true);
  section.addEventListener("click", (event) => {
    const button = event.target.closest("[data-answer]");
    // The second click of a double click belongs to the previous pair.
    if (button === null || event.detail > 1 || isOff(button)) return;
    choose(button.dataset.answer, event.detail === 0 ? "key" : pointer === "touch" ? "touch" : "click");
  });
  document.addEventListener("keydown", (event) => {
    if (section.hidden || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !keysOn()) return;
    if (event.target.closest?.(event.key.startsWith("Arrow") ? `${BUSY}, ${PLAYER}` : BUSY)) return;
    const button = section.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
    if (button === null || isOff(button)) return;
    event.preventDefault();
    choose(button.dataset.answer, "key");
  });
}

/** A disabled button that keeps the focus. */
export function isOff(button) {
  return button.getAttribute("aria-disabled") === "true";
}

export function switchOff(button, off) {
  button.setAttribute("aria-disabled", String(off));
}
