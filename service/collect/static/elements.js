// Shared by all pages: texts in the reader's language, elements, and sections of which one is visible.

export const main = document.getElementById("main");
const texts = JSON.parse(main.dataset.texts);

export function find(id) {
  return document.getElementById(id);
}

/** A text of the interface, such as `text("voters.votes", {n: "12"})`. */
export function text(name, values = {}) {
  const template = lookUp(name);
  if (typeof template !== "string") throw new Error(`no text ${name}`);
  return template.replace(/\{(\w+)\}/g, (_, value) => String(values[value]));
}

export function hasText(name) {
  return typeof lookUp(name) === "string";
}

function lookUp(name) {
  return name.split(".").reduce((section, step) => section?.[step], texts);
}

/** An element with properties, children and text. */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/** Show one of the sections with [data-view] and move the focus to its heading, so that a screen reader goes there. */
export function show(view, { focus = true } = {}) {
  for (const section of main.querySelectorAll("[data-view]")) {
    section.hidden = !section.dataset.view.split(" ").includes(view);
  }
  main.dataset.shown = view;
  if (focus) main.querySelector(`[data-view~="${view}"] [tabindex="-1"]`)?.focus();
}
