// Create a campaign from items, a question and a link; the rest has defaults, which fit the items and voters. Items are
// checked and the plan is assessed while the organiser fills in the form.

import { ask, Problem } from "./api.js";
import { element, explained, fill, find, isolated, label, linkBox, number, once, query, show, table, text, thumb } from "./page.js";
import { IMAGE_COLUMNS, imageRow, isImage, itemTable, upload } from "./item_table.js";
import { PagesForm } from "./pages_form.js";
import { outlook } from "./outlook.js";

const SAVED = "rankcorr-admin"; // per tab: the token is not kept in the address, so a reload would lose it
const QUICK = 300;
const SLOW = 1_200;
const pages = new PagesForm();
let token = null;
let table_text = ""; // the items as CSV
let is_list = false; // whether they were given as a plain list
let n_items = null;
let checking = Promise.resolve(); // the check of the latest file or text
let checked = ""; // the content of the field at that check
let asked = 0;
let timers = [];

start();

async function start() {
  const given = decodeURIComponent(location.hash.slice(1));
  if (given !== "") history.replaceState(null, "", location.pathname + location.search);
  token = given || sessionStorage.getItem(SAVED);
  pages.fill({
    texts: [{ language: document.documentElement.lang, title: "", question: "", instructions: "", consent: "", thanks: "" }],
    consent_version: "1",
    open_link: true,
    sheets: null,
    ties: true,
    cannot_say: true,
    platform: null,
    study: null,
    completion_code: null,
    completion_url: null,
  });
  find("token-form").addEventListener("submit", enter);
  show("shown");
  if (token === null || !(await accepted())) {
    find("token-form").hidden = false;
    return;
  }
  open();
}

async function accepted() {
  try {
    await ask("POST", "/v1/campaigns/check", { body: { items_csv: "item\na\nb\n" }, token });
  } catch (error) {
    find("token-error").textContent = explained(error);
    find("token-error").hidden = false;
    return false;
  }
  sessionStorage.setItem(SAVED, token);
  return true;
}

async function enter(event) {
  event.preventDefault();
  token = find("token").value.trim();
  if (await accepted()) {
    find("token-form").hidden = true;
    open();
  }
}

function open() {
  find("form").hidden = false;
  find("file").addEventListener("change", () => (checking = take([...find("file").files])));
  find("items").addEventListener("input", () => later(() => (checking = check(find("items").value)), QUICK));
  const drop = find("drop");
  for (const name of ["dragover", "dragenter"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    checking = take([...event.dataTransfer.files]);
  });
  find("form").addEventListener("input", (event) => {
    if (event.target.id !== "items" && event.target.id !== "file") plan();
  });
  find("form").addEventListener("submit", make);
  shape();
  checking = take([...find("file").files]); // chosen before this script was ready, or kept by the browser over a reload
}

/** Take a file with a list or a table, or add images. */
async function take(files) {
  if (files.length === 0) return;
  if (files.some(isImage)) {
    await addImages(files);
    return;
  }
  const bytes = new Uint8Array(await files[0].arrayBuffer());
  let read;
  try {
    read = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    refuse(text("new.not-utf8"));
    return;
  }
  find("items").value = read;
  if (find("name").value === "") find("name").value = files[0].name.replace(/\.[^.]*$/, "");
  await check(read);
}

/** Upload images one by one, and add a row for each to the items. */
async function addImages(files) {
  const { columns, csv } = itemTable(find("items").value, IMAGE_COLUMNS);
  if (columns !== IMAGE_COLUMNS) {
    refuse(text("new.images-beside-table", { columns: IMAGE_COLUMNS }));
    return;
  }
  const rows = [];
  try {
    for (const [at, file] of files.entries()) {
      fill(find("sheet"), element("p", { class: "muted" }, text("new.uploading", { n: number(at + 1), of: number(files.length) })));
      if (!isImage(file)) throw new Error(text("new.not-an-image", { name: file.name }));
      rows.push(imageRow(file, await upload(file, token)));
    }
  } catch (error) {
    refuse(error instanceof Problem ? explained(error) : error.message);
    return;
  }
  find("items").value = [csv, ...rows, ""].join("\n");
  await check(find("items").value);
}

function refuse(words) {
  fill(find("sheet"), element("p", { class: "notice notice-bad" }, words));
}

async function check(read) {
  const given = itemTable(read);
  table_text = given.csv;
  is_list = given.isList;
  checked = find("items").value;
  n_items = null;
  if (read.trim() === "") {
    fill(find("sheet"));
    return;
  }
  try {
    const { json } = await ask("POST", "/v1/campaigns/check", { body: { items_csv: given.csv }, token });
    if (given.csv !== table_text) return;
    n_items = json.faults.length === 0 ? json.n_items : null;
    fill(find("sheet"), ...(json.faults.length === 0 ? good(json) : bad(json)));
    plan();
  } catch (error) {
    refuse(explained(error));
  }
}

function good({ n_items: n, first }) {
  const shown = first.slice(0, 5);
  const rows = shown.map((row) => element("li", {}, row.kind === "image" ? pictured(row) : described(row)));
  return [
    element("p", { class: "notice notice-good" }, text("new.good", { n: number(n) })),
    element("ul", { class: "sample" }, ...rows, n > shown.length ? element("li", { class: "muted" }, "…") : null),
  ];
}

function described(row) {
  const isLabel = row.kind === "text" && row.content === null;
  return isLabel ? label(row.item) : `${isolated(row.item)} (${text(`kinds.${row.kind}`)})`;
}

function pictured(row) {
  const image = thumb(`/assets/${row.content}`, row.alt_text === label(row.item) ? "" : row.alt_text);
  return element("span", { class: "with-thumb" }, image, element("span", {}, label(row.item)));
}

/** Errors by line; a plain list has no line for names of columns, unlike the table that was made of it. */
function bad({ faults }) {
  const before = is_list ? 1 : 0;
  const message = (row) => row.message.replace(/\bline (\d+)/g, (_, line) => `line ${line - before}`);
  const columns = [
    { head: text("columns.line"), cell: (row) => number(row.line - before), number: true },
    is_list ? null : { head: text("columns.column"), cell: (row) => row.column ?? "–" },
    { head: text("columns.fault"), cell: (row) => element("span", { lang: "en" }, message(row)), wide: true },
  ].filter((column) => column !== null);
  const head = text(faults.length >= 100 ? "new.many-faults" : "new.faults", { n: number(faults.length) });
  return [
    element("p", { class: "notice notice-bad" }, head),
    element("div", { class: "scroll faults", tabindex: "0", role: "region", "aria-label": head }, table(columns, faults, head)),
  ];
}

/** Show the fields that belong to the selected options. */
function shape() {
  const mode = find("form").elements.mode.value;
  for (const part of find("form").querySelectorAll("[data-mode]")) part.hidden = part.dataset.mode !== mode;
  find("amount-label").textContent = text(`new.amounts.${find("way").value}`);
  for (const part of find("form").querySelectorAll("[data-paid]")) part.hidden = find("pay").value === "";
  find("budget").placeholder = n_items === null ? "" : String(usualBudget());
}

/** Ten comparisons for each item, or as many as the voters can answer: nobody answers a pair twice. */
function usualBudget() {
  return Math.max(1, Math.min(10 * n_items, (amount("voters") ?? 1) * ((n_items * (n_items - 1)) / 2)));
}

function plan() {
  shape();
  if (n_items === null) return;
  later(() => look(false), QUICK);
  timers.push(setTimeout(() => look(true), SLOW));
}

function later(work, wait) {
  for (const timer of timers) clearTimeout(timer);
  timers = [setTimeout(work, wait)];
}

async function look(accuracy) {
  asked += 1;
  const mine = asked;
  const place = find("outlook");
  const settings = chosenSettings();
  // Pairs with a known answer are paid like all others, and name items.
  const items = settings.probes_csv === undefined ? { n_items } : { items_csv: table_text };
  const body = { ...items, voters: amount("voters"), plan: chosenPlan(), settings, accuracy };
  try {
    const { json } = await ask("POST", "/v1/campaigns/plan", { body, token });
    if (mine === asked) fill(place, ...outlook(json, accuracy));
  } catch (error) {
    if (mine === asked) fill(place, element("p", { class: "notice notice-warning" }, explained(error)));
  }
}

function amount(id) {
  const { value } = find(id);
  return value === "" ? undefined : Number(value);
}

function share(id) {
  return (amount(id) ?? 0) / 100;
}

function chosenPlan() {
  const mode = find("form").elements.mode.value;
  const found = { mode, seconds: amount("seconds") };
  if (mode === "continuous") return { ...found, budget: amount("budget") ?? usualBudget(), batch: amount("batch"), target: amount("target") };
  found[find("way").value] = amount("amount");
  return { ...found, n_ballots: amount("n-ballots"), fraction: share("fraction") || undefined };
}

function chosenSettings() {
  const found = {
    sheet_size: amount("sheet-size"),
    first_minutes: amount("first-lease"),
    lease_minutes: amount("lease"),
    least_answered: share("least-answered"),
    repeats: share("repeats"),
    overlap: share("overlap"),
    probes_per_sheet: amount("per-sheet"),
  };
  if (find("probes").value.trim() !== "") found.probes_csv = find("probes").value;
  const by = find("pay").value;
  if (by !== "") {
    found.pay = { [by]: amount("rate"), seconds: amount("seconds"), fee: share("fee") };
    if (find("currency").value.trim() !== "") found.pay.currency = find("currency").value.trim();
  }
  return found;
}

async function make(event) {
  event.preventDefault();
  const isHidden = (field) => field.closest("[hidden]") !== null;
  const wrong = [...find("form").querySelectorAll(":invalid:not(fieldset)")].find((field) => !isHidden(field));
  if (wrong !== undefined) {
    for (let part = wrong; part !== null; part = part.parentElement.closest("details")) {
      if (part.localName === "details") part.open = true;
    }
    wrong.reportValidity();
    return;
  }
  const place = find("form-error");
  await once(find("make"), place, async () => {
    await checking; // the organiser may be faster than the server
    if (find("items").value !== checked) await check(find("items").value);
    if (n_items === null) {
      place.textContent = text("new.no-items");
      place.hidden = false;
      return;
    }
    const texts = pages.read();
    if (find("name").value.trim() === "") find("name").value = texts.texts[0].question.slice(0, 200).trim();
    const body = {
      name: find("name").value.trim(),
      items_csv: table_text,
      voters: amount("voters"),
      plan: chosenPlan(),
      settings: chosenSettings(),
      pages: texts,
    };
    const { json } = await ask("POST", "/v1/campaigns", { body, token });
    done(json);
  });
}

async function done(made) {
  find("form").hidden = true;
  fill(find("made-link"), linkBox(made.organiser_url, text("made.link")));
  const words = [text("made.link"), find("name").value.trim(), made.organiser_url, ""].join("\n");
  find("made-save").href = URL.createObjectURL(new Blob([words], { type: "text/plain" }));
  find("made-save").download = `${made.campaign.slice(0, 8)}.txt`;
  find("made-go").href = `/o/${made.campaign}${query}`;
  find("made-preview").href = `/v/${made.campaign}?preview=1`;
  const section = find("made");
  section.hidden = false;
  section.querySelector("h1").focus();
  try {
    await ask("POST", "/v1/organiser/sessions", { body: { campaign: made.campaign, token: made.token } });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // opening the link has the same effect
    find("made-go").href = made.organiser_url;
  }
}
