// An item as a voter sees it.

import { element } from "../elements.js";

const LONG = 60; // characters of a text that is read rather than recognised

/** Put content into an element: text, markdown as sanitised HTML, a picture or a sound. */
export function fill(place, content) {
  place.className = `content content-${content.kind}`;
  place.replaceChildren(node(content));
}

/** Resolves when the pictures in an element have loaded or failed. */
export function pictures(place) {
  return Promise.allSettled(Array.from(place.querySelectorAll("img"), (image) => image.decode()));
}

/** The items of a pair or a set, in the order shown. */
export function contentsOf(pair) {
  return pair === undefined ? [] : [pair.left, pair.right, ...(pair.other_items ?? [])];
}

/** Preload the pictures of an upcoming pair. */
export function prefetch(pair) {
  for (const content of contentsOf(pair)) {
    if (content.kind === "image") new Image().src = content.url;
  }
}

/** Whether a tap anywhere on the item chooses it: not if it has controls, or text to scroll and select. */
export function isPlain(content) {
  return content.kind === "text" || content.kind === "image";
}

/** A short name of an item: its text, or the description of a picture or sound; undefined if it has none. */
export function nameOf({ text, alt }) {
  const name = text ?? alt;
  return name && name.length <= LONG ? name : undefined;
}

function node(content) {
  if (content.kind === "image") return element("img", { src: content.url, alt: content.alt ?? "" });
  if (content.kind === "audio") {
    const sound = element("audio", { src: content.url, controls: "", preload: "metadata" });
    if (!content.alt) return sound;
    sound.setAttribute("aria-label", content.alt);
    return element("figure", {}, sound, element("figcaption", { dir: "auto" }, content.alt));
  }
  const box = element("div", { dir: "auto" });
  if (content.html !== undefined) box.innerHTML = content.html;
  else box.textContent = content.text;
  if (content.html !== undefined) box.classList.add("prose");
  box.classList.toggle("is-long", (content.text ?? "").length > LONG);
  return box;
}
