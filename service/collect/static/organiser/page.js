// Shared by the organiser's pages: numbers, tables and other elements, the session, dialogs, and messages for errors.

import { element, find, hasText, main, show, text } from "../elements.js";
import { Campaign, Problem } from "./api.js";

export { element, find, show, text };

const language = main.dataset.language;
// "en" alone would give dates in the format of the United States to every reader.
const locale = navigator.languages.find((tag) => tag.toLowerCase().startsWith(language)) ?? language;

export const key = main.dataset.campaign;
export const query = main.dataset.query;
export const campaign = key === undefined ? null : new Campaign(key);

/** Replace the children of an element; a focused child keeps the focus if the new one has the same [data-focus]. */
export function fill(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.focus : undefined;
  place.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
  if (focused !== undefined) place.querySelector(`[data-focus="${focused}"]`)?.focus({ preventScroll: true });
}

/** A button; `name` identifies it, so that it keeps the focus when its container is filled again. */
export function button(words, name, press, kind = "", properties = {}) {
  const node = element(
    "button",
    { type: "button", class: kind === "" ? "button" : `button button-${kind}`, "data-focus": name, ...properties },
    words,
  );
  node.addEventListener("click", () => press(node));
  return node;
}

export function number(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  const rounded = digits === 0 ? value : Number(value.toFixed(digits)) + 0; // + 0 turns -0 into 0
  return new Intl.NumberFormat(locale, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(rounded);
}

export function percent(value, digits = 0) {
  if (value === null || value === undefined) return "–";
  return new Intl.NumberFormat(locale, { style: "percent", maximumFractionDigits: digits }).format(value);
}

export function money(value, currency) {
  if (value === null || value === undefined) return "–";
  return `${number(value, 2)} ${currency}`.trim();
}

/** Hours of work, or minutes below one hour. */
export function duration(hours) {
  const [unit, value, digits] = hours < 1 ? ["minute", Math.max(1, Math.round(60 * hours)), 0] : ["hour", hours, 1];
  const form = { style: "unit", unit, unitDisplay: "long", maximumFractionDigits: digits };
  return new Intl.NumberFormat(locale, form).format(value);
}

/** A language's name in the language of the page, or the tag if the name is unknown. */
export function languageName(tag) {
  try {
    return new Intl.DisplayNames([locale], { type: "language" }).of(tag);
  } catch {
    return tag; // the text typed is not a language tag
  }
}

export function time(value) {
  if (value === null || value === undefined) return "–";
  return new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(new Date(value));
}

/** The label of an item; the parts of a label are joined by commas. */
export function label(item) {
  return Array.isArray(item) ? item.join(", ") : String(item);
}

/** A label or a name within other text; it may have the other writing direction. */
export function isolated(item) {
  return `\u2068${label(item)}\u2069`;
}

/**
 * A table; a column is {head, cell, number, wide, lesser}, and `cell` returns text or an element. On a narrow page, a
 * table with many columns becomes a list of cards; its roles keep it a table for screen readers.
 */
export function table(columns, rows, caption) {
  const head = columns.map((column) =>
    element("th", { scope: "col", role: "columnheader", class: classes(column) }, column.head),
  );
  const cell = (column, row, at) =>
    element(
      at === 0 ? "th" : "td",
      {
        scope: at === 0 ? "row" : null,
        role: at === 0 ? "rowheader" : "cell",
        class: classes(column),
        "data-label": column.head,
      },
      element("span", { class: "cell" }, column.cell(row) ?? ""),
    );
  const body = rows.map((row) => element("tr", { role: "row" }, ...columns.map((column, at) => cell(column, row, at))));
  return element(
    "table",
    { class: columns.length > 2 ? "table table-cards" : "table", role: "table" },
    element("caption", { class: "visually-hidden" }, caption),
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...head)),
    element("tbody", { role: "rowgroup" }, ...body),
  );
}

/** A wide column keeps a minimum width; a `lesser` one shrinks if the page is narrow. */
function classes(column) {
  return ["number", "wide", "lesser"].filter((name) => column[name]).join(" ") || null;
}

/** A thumbnail of an image item. */
export function thumb(address, alt) {
  return element("img", { class: "thumb", src: address, alt, loading: "lazy" });
}

/** A number with its meaning. */
export function figure(value, meaning, more = null) {
  return element(
    "div",
    { class: "figure card" },
    element("p", { class: "figure-what" }, meaning),
    element("p", { class: "figure-value numbers" }, value),
    more === null ? null : element("p", { class: "figure-more" }, more),
  );
}

export function facts(rows) {
  return rows.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]);
}

export function badge(words, kind = "") {
  return element("span", { class: kind === "" ? "badge" : `badge badge-${kind}` }, words);
}

/** The state of a ballot or batch: "answered" if it is open, and no comparison of it is left. */
export function ballotState({ state, n_counted: nCounted, n_comparisons: nComparisons }) {
  return state === "open" && nCounted >= nComparisons ? "answered" : state;
}

/** The state of a ballot or a campaign; its colour only repeats the word. */
export function stateBadge(state) {
  const kinds = { open: "good", closing: "warning", ready: "warning" };
  return badge(text(`states.${state}`), kinds[state] ?? "");
}

/** A link to copy, with its QR code if it has one, and any elements beside the code. */
export function linkBox(url, name, qr = null, ...more) {
  const field = element("input", { class: "input code-text", readonly: true, value: url, "aria-label": name });
  const [copy, copied] = copyButton(field);
  const box = element("div", { class: "stack stack-small" }, element("div", { class: "link-box" }, field, copy), copied, ...more);
  if (qr === null) return box;
  return element("div", { class: "with-code" }, box, qrImage(qr, name));
}

/** A button that copies the content of a field, and a place to confirm it. */
export function copyButton(field) {
  const copied = element("span", { class: "muted small", role: "status" });
  const name = `${text("links.copy")}: ${field.getAttribute("aria-label")}`;
  const copy = element("button", { type: "button", class: "button", "aria-label": name }, text("links.copy"));
  copy.addEventListener("click", async () => {
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
      copied.textContent = text("links.copied");
    } catch {
      copied.textContent = text("links.copy-by-hand"); // browsers forbid copying on pages without https
    }
  });
  return [copy, copied];
}

export function qrImage(svg, name) {
  return element("img", { class: "qr", src: `data:image/svg+xml;base64,${btoa(svg)}`, alt: text("links.qr-alt", { name }) });
}

/** A figure drawn by the server; a new `tag` makes the browser load it again. */
export function plot(address, name, tag) {
  const words = text(`plots.${name}`);
  const waiting = element("p", { class: "plot-waits muted" }, text("drawing"));
  const image = element("img", { alt: words, loading: "lazy", src: `${address}#${encodeURIComponent(tag ?? "")}` });
  for (const end of ["load", "error"]) image.addEventListener(end, () => waiting.remove());
  return element(
    "figure",
    { class: "plot" },
    waiting,
    image,
    element("figcaption", {}, words, " ", element("a", { href: address, download: `${name}.svg`, "aria-label": `SVG: ${words}` }, "SVG")),
  );
}

/** The error as a sentence; it names the field if it concerns one. */
export function explain(error) {
  if (!(error instanceof Problem)) return String(error);
  if (error.status === 0 || (error.status >= 500 && error.kind === "")) return text("errors.unreachable");
  if (hasText(`errors.${error.kind}`)) return text(`errors.${error.kind}`);
  return error.message;
}

/** Show an error at the top of the page; null removes it. */
export function complain(error) {
  if (error instanceof Problem && error.status === 401) {
    show("link");
    return;
  }
  const place = find("message");
  const words = error === null ? "" : explain(error);
  if (place.textContent !== words) place.textContent = words;
  place.hidden = error === null;
}

export function say(words) {
  find("said").textContent = words;
}

/** Run an action once, however often its button is pressed; show its errors in `place`. */
export async function once(button, place, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  place.hidden = true;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    place.textContent = explain(error);
    place.hidden = false;
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

/** Connect the buttons that close a dialog. */
export function dialog(id) {
  const node = find(id);
  for (const button of node.querySelectorAll("[data-close]")) button.addEventListener("click", () => node.close());
  return node;
}

/**
 * Take the organiser's token out of the address, exchange it for a session, and call `start` with the campaign as it
 * was created. Without token and session, tell the organiser to open the link.
 */
export async function begin(start) {
  find("reload")?.addEventListener("click", () => location.reload());
  find("sign-out").addEventListener("click", async () => {
    await campaign.end().catch(() => {});
    show("link");
  });
  document.querySelector(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  const token = location.hash.slice(1);
  if (token !== "") history.replaceState(null, "", location.pathname + location.search);
  try {
    if (token !== "" && !(await isAccepted(token))) {
      show("link");
      return;
    }
    const { json } = await campaign.get();
    find("campaign-name").textContent = json.name;
    document.title = `${json.name} – ${document.title}`;
    await start(json);
    show("shown", { focus: false });
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    show(error.status === 401 ? "link" : "failed");
  }
}

/** Whether the token opens this campaign; the server calls a truncated token invalid. */
async function isAccepted(token) {
  try {
    await campaign.begin(token);
    return true;
  } catch (error) {
    if (error instanceof Problem && [401, 422].includes(error.status)) return false;
    throw error;
  }
}

/** Show when the figures were last updated; `error` comes from a watch. */
export function freshness(error) {
  if (error !== null && error.status === 401) {
    show("link");
    return;
  }
  const now = new Intl.DateTimeFormat(locale, { timeStyle: "medium" }).format(new Date());
  if (error === null) find("fresh").textContent = text("fresh", { time: now });
  else find("fresh").textContent = text("stale", { why: explain(error) });
}
