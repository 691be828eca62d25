// Create a campaign: check its items and assess its plan while the organiser fills in the form.

import { ask, Problem } from "./api.js";
import { element, explained, fill, find, isolated, label, linkBox, number, once, query, show, table, text } from "./page.js";
import { PagesForm } from "./pages_form.js";
import { outlook } from "./outlook.js";

const SAVED = "rankcorr-admin"; // per tab: the token is not kept in the address, so a reload would lose it
const QUICK = 300;
const SLOW = 1_200;
const pages = new PagesForm();
let token = null;
let table_text = "";
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
    open_link: false,
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
  find("file").addEventListener("change", () => (checking = take(find("file").files[0])));
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
    checking = take(event.dataTransfer.files[0]);
  });
  find("form").addEventListener("input", (event) => {
    if (event.target.id !== "items" && event.target.id !== "file") plan();
  });
  find("form").addEventListener("submit", make);
  shape();
  checking = take(find("file").files[0]); // chosen before this script was ready, or kept by the browser over a reload
}

async function take(file) {
  if (file === undefined) return;
  const bytes = new Uint8Array(await file.arrayBuffer());
  let read;
  try {
    read = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    fill(find("sheet"), element("p", { class: "notice notice-bad" }, text("new.not-utf8")));
    return;
  }
  find("items").value = read;
  if (find("name").value === "") find("name").value = file.name.replace(/\.[^.]*$/, "");
  await check(read);
}

async function check(read) {
  table_text = read;
  checked = find("items").value;
  n_items = null;
  if (read.trim() === "") {
    fill(find("sheet"));
    return;
  }
  try {
    const { json } = await ask("POST", "/v1/campaigns/check", { body: { items_csv: read }, token });
    if (read !== table_text) return;
    n_items = json.faults.length === 0 ? json.n_items : null;
    fill(find("sheet"), ...(json.faults.length === 0 ? good(json) : bad(json)));
    plan();
  } catch (error) {
    fill(find("sheet"), element("p", { class: "notice notice-bad" }, explained(error)));
  }
}

function good({ n_items: n, first }) {
  const shown = first.slice(0, 5);
  const rows = shown.map((row) =>
    element("li", {}, row.kind === "text" && row.content === null ? label(row.item) : `${isolated(row.item)} (${text(`kinds.${row.kind}`)})`),
  );
  return [
    element("p", { class: "notice notice-good" }, text("new.good", { n: number(n) })),
    element("ul", { class: "sample" }, ...rows, n > shown.length ? element("li", { class: "muted" }, "…") : null),
  ];
}

function bad({ faults }) {
  const columns = [
    { head: text("columns.line"), cell: (row) => number(row.line), number: true },
    { head: text("columns.column"), cell: (row) => row.column ?? "–" },
    { head: text("columns.fault"), cell: (row) => element("span", { lang: "en" }, row.message), wide: true },
  ];
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
  if (mode === "continuous") return { ...found, budget: amount("budget"), batch: amount("batch"), target: amount("target") };
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
  const wrong = find("form").querySelector(":invalid:not(fieldset)");
  if (wrong !== null && wrong.offsetParent !== null) {
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
    const body = {
      name: find("name").value.trim(),
      items_csv: table_text,
      voters: amount("voters"),
      plan: chosenPlan(),
      settings: chosenSettings(),
      pages: pages.read(),
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
