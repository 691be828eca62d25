// Create a campaign from items, a question and a link; the rest has defaults, which fit the items and voters. Items are
// checked and the plan is assessed while the organiser fills in the form.

import { ask, Problem } from "./api.js";
import { element, explain, fill, find, isolated, label, linkBox, number, once, query, show, table, text, thumb } from "./page.js";
import { IMAGE_COLUMNS, imageRow, isImage, itemTable, upload } from "./item_table.js";
import { PagesForm, emptyTexts } from "./pages_form.js";
import { outlook } from "./outlook.js";

const SAVED = "rankcorr-admin"; // per tab: the token is not kept in the address, so a reload would lose it
const QUICK = 300;
const SLOW = 1_200;
const pages = new PagesForm();
let token = null;
let table_text = ""; // the items as CSV
let is_list = false; // whether the organiser entered a plain list
let n_items = null;
let checking = Promise.resolve(); // the check of the latest file or text
let checkedText = ""; // the content of the field at that check
let nOutlooks = 0; // requests of an outlook; only the answer to the last one is shown
let timers = [];

start();

async function start() {
  const secret = decodeURIComponent(location.hash.slice(1));
  if (secret !== "") history.replaceState(null, "", location.pathname + location.search);
  token = secret || sessionStorage.getItem(SAVED);
  pages.fill({ ...JSON.parse(find("main").dataset.pages), texts: [emptyTexts(document.documentElement.lang)] });
  find("token-form").addEventListener("submit", enter);
  show("shown", { focus: false });
  if (token === null || !(await isAccepted())) {
    find("token-form").hidden = false;
    return;
  }
  open();
}

async function isAccepted() {
  try {
    await ask("POST", "/v1/campaigns/check", { body: { items_csv: "item\na\nb\n" }, token });
  } catch (error) {
    find("token-error").textContent = explain(error);
    find("token-error").hidden = false;
    return false;
  }
  sessionStorage.setItem(SAVED, token);
  return true;
}

async function enter(event) {
  event.preventDefault();
  token = find("token").value.trim();
  if (await isAccepted()) {
    find("token-form").hidden = true;
    open();
  }
}

function open() {
  find("form").hidden = false;
  find("file").addEventListener("change", () => (checking = readFiles([...find("file").files])));
  find("items").addEventListener("input", () => schedule(() => (checking = check(find("items").value)), QUICK));
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
    checking = readFiles([...event.dataTransfer.files]);
  });
  find("form").addEventListener("input", (event) => {
    if (event.target.id !== "items" && event.target.id !== "file") scheduleOutlook();
  });
  find("form").addEventListener("submit", make);
  showFields();
  checking = readFiles([...find("file").files]); // chosen before this script was ready, or kept over a reload
}

/** Read a file with a list or a table, or add images. */
async function readFiles(files) {
  if (files.length === 0) return;
  if (files.some(isImage)) {
    await addImages(files);
    return;
  }
  const bytes = new Uint8Array(await files[0].arrayBuffer());
  let content;
  try {
    content = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    refuse(text("new.not-utf8"));
    return;
  }
  find("items").value = content;
  if (find("name").value === "") find("name").value = files[0].name.replace(/\.[^.]*$/, "");
  await check(content);
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
    refuse(error instanceof Problem ? explain(error) : error.message);
    return;
  }
  find("items").value = [csv, ...rows, ""].join("\n");
  await check(find("items").value);
}

function refuse(message) {
  fill(find("sheet"), element("p", { class: "notice notice-bad" }, message));
}

async function check(content) {
  const { csv, isList } = itemTable(content);
  table_text = csv;
  is_list = isList;
  checkedText = find("items").value;
  n_items = null;
  if (content.trim() === "") {
    fill(find("sheet"));
    return;
  }
  try {
    const { json } = await ask("POST", "/v1/campaigns/check", { body: { items_csv: csv }, token });
    if (csv !== table_text) return;
    n_items = json.faults.length === 0 ? json.n_items : null;
    fill(find("sheet"), ...(json.faults.length === 0 ? itemSample(json) : faultTable(json)));
    scheduleOutlook();
  } catch (error) {
    refuse(explain(error));
  }
}

function itemSample({ n_items: n, first }) {
  const rows = first.slice(0, 5).map((row) => element("li", {}, row.kind === "image" ? imageItem(row) : textItem(row)));
  return [
    element("p", { class: "notice notice-good" }, text("new.good", { n: number(n) })),
    element("ul", { class: "sample" }, ...rows, n > rows.length ? element("li", { class: "muted" }, "…") : null),
  ];
}

function textItem(row) {
  const isLabel = row.kind === "text" && row.content === null;
  return isLabel ? label(row.item) : `${isolated(row.item)} (${text(`kinds.${row.kind}`)})`;
}

function imageItem(row) {
  const image = thumb(`/assets/${row.content}`, row.alt_text === label(row.item) ? "" : row.alt_text);
  return element("span", { class: "with-thumb" }, image, element("span", {}, label(row.item)));
}

/** Errors by line; a plain list has no line with column names, unlike the table made from it. */
function faultTable({ faults }) {
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
function showFields() {
  for (const radio of find("form").elements.mode) { // ballots are of pairs
    if (setSize() > 2) radio.checked = radio.value === "continuous";
    radio.disabled = setSize() > 2 && radio.value === "ballots";
  }
  const mode = find("form").elements.mode.value;
  for (const part of find("form").querySelectorAll("[data-mode]")) part.hidden = part.dataset.mode !== mode;
  for (const part of find("form").querySelectorAll("[data-pairs]")) part.hidden = setSize() > 2; // checks are pairs
  find("amount-label").textContent = text(`new.amounts.${find("way").value}`);
  for (const part of find("form").querySelectorAll("[data-paid]")) part.hidden = find("pay").value === "";
  find("budget").placeholder = n_items === null ? "" : String(usualBudget());
}

/** Ten pairs or two sets for each item, or as many as the voters can answer: nobody answers a pair twice. */
function usualBudget() {
  if (setSize() > 2) return n_items * (n_items > setSize() ? 2 : 1);
  return Math.max(1, Math.min(10 * n_items, (amount("voters") ?? 1) * ((n_items * (n_items - 1)) / 2)));
}

function scheduleOutlook() {
  showFields();
  if (n_items === null) return;
  schedule(() => showOutlook(false), QUICK);
  timers.push(setTimeout(() => showOutlook(true), SLOW));
}

function schedule(work, wait) {
  for (const timer of timers) clearTimeout(timer);
  timers = [setTimeout(work, wait)];
}

async function showOutlook(accuracy) {
  nOutlooks += 1;
  const turn = nOutlooks;
  const place = find("outlook");
  const settings = readSettings();
  // Pairs with a known answer are paid like all others, and name items.
  const items = settings.probes_csv === undefined ? { n_items } : { items_csv: table_text };
  const body = { ...items, voters: amount("voters"), plan: readPlan(), settings, accuracy };
  try {
    const { json } = await ask("POST", "/v1/campaigns/plan", { body, token });
    if (turn === nOutlooks) fill(place, ...outlook(json, accuracy));
  } catch (error) {
    if (turn === nOutlooks) fill(place, element("p", { class: "notice notice-warning" }, explain(error)));
  }
}

function amount(id) {
  const { value } = find(id);
  return value === "" ? undefined : Number(value);
}

function share(id) {
  return (amount(id) ?? 0) / 100;
}

/** The items of a comparison: 2 is a pair. */
function setSize() {
  const [kind, size] = find("grades").value.split(" ");
  return kind === "set" ? Number(size) : 2;
}

function readPlan() {
  const size = setSize() > 2 ? { set_size: setSize() } : {};
  const mode = find("form").elements.mode.value;
  const options = { mode, seconds: amount("seconds"), ...size };
  if (mode === "continuous") return { ...options, budget: amount("budget") ?? usualBudget(), batch: amount("batch"), target: amount("target") };
  options[find("way").value] = amount("amount");
  return { ...options, n_ballots: amount("n-ballots"), fraction: share("fraction") || undefined };
}

function readSettings() {
  const settings = {
    sheet_size: amount("sheet-size"),
    first_minutes: amount("first-lease"),
    lease_minutes: amount("lease"),
    least_answered: share("least-answered"),
  };
  if (setSize() === 2) Object.assign(settings, readChecks());
  const by = find("pay").value;
  if (by !== "") {
    settings.pay = { [by]: amount("rate"), seconds: amount("seconds"), fee: share("fee") };
    if (find("currency").value.trim() !== "") settings.pay.currency = find("currency").value.trim();
  }
  return settings;
}

/** Settings that only campaigns of pairs have: grades of a preference, and questions that check the voters. */
function readChecks() {
  const settings = {
    grades: amount("grades"),
    repeats: share("repeats"),
    overlap: share("overlap"),
    probes_per_sheet: amount("per-sheet"),
  };
  if (find("probes").value.trim() !== "") settings.probes_csv = find("probes").value;
  return settings;
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
    if (find("items").value !== checkedText) await check(find("items").value);
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
      plan: readPlan(),
      settings: readSettings(),
      pages: texts,
    };
    const { json } = await ask("POST", "/v1/campaigns", { body, token });
    showCreated(json);
  });
}

async function showCreated(created) {
  find("form").hidden = true;
  fill(find("created-link"), linkBox(created.organiser_url, text("made.link")));
  const note = [text("made.link"), find("name").value.trim(), created.organiser_url, ""].join("\n");
  find("created-save").href = URL.createObjectURL(new Blob([note], { type: "text/plain" }));
  find("created-save").download = `${created.campaign.slice(0, 8)}.txt`;
  find("created-go").href = `/o/${created.campaign}${query}`;
  find("created-preview").href = `/v/${created.campaign}?preview=1`;
  const section = find("created");
  section.hidden = false;
  section.querySelector("h1").focus();
  try {
    await ask("POST", "/v1/organiser/sessions", { body: { campaign: created.campaign, token: created.token } });
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // opening the link has the same effect
    find("created-go").href = created.organiser_url;
  }
}
