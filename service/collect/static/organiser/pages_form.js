// The form for voters' texts and eligibility, in a new campaign and in the settings of an existing one.

import { element, fill, find, languageName, text } from "./page.js";

const OF_PLATFORM = ["screened-out-code", "quota-full-code", "study-minutes"];
const LONG = ["instructions", "consent", "thanks"];

const isNew = find("first-question") !== null; // its first question is among the fields that everybody fills in

/** The texts of one language, before the organiser writes them. */
export function emptyTexts(language) {
  return { language, title: "", question: "", instructions: "", consent: "", thanks: "" };
}

/** Convert texts of the pages to the form and back. */
export class PagesForm {
  constructor() {
    this.texts = [];
    find("add-language").addEventListener("click", () => this.add());
    for (const id of ["platform", "study"]) find(id).addEventListener("input", showPlatformFields);
    find("new-language").addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.add();
    });
  }

  fill(pages) {
    this.texts = pages.texts.map((texts) => ({ ...texts }));
    find("consent-version").value = pages.consent_version;
    find("open-link-allowed").checked = pages.open_link;
    find("platform").value = pages.platform ?? "";
    find("study").value = pages.study ?? "";
    find("completion-code").value = pages.completion_code ?? "";
    find("completion-url").value = pages.completion_url ?? "";
    find("screened-out-code").value = pages.screened_out_code ?? "";
    find("quota-full-code").value = pages.quota_full_code ?? "";
    find("study-minutes").value = pages.study_minutes ?? "";
    find("sheets").value = pages.sheets ?? "";
    find("ties").checked = pages.ties;
    find("cannot-say").checked = pages.cannot_say;
    showPlatformFields();
    this.draw();
  }

  /** The pages in the server's format; in a new campaign, a text without a title has its question as title. */
  read() {
    this.readTexts();
    if (isNew) for (const texts of this.texts) texts.title ||= texts.question;
    return {
      texts: this.texts,
      consent_version: find("consent-version").value.trim(),
      open_link: find("open-link-allowed").checked,
      sheets: find("sheets").value === "" ? null : Number(find("sheets").value),
      ties: find("ties").checked,
      cannot_say: find("cannot-say").checked,
      platform: find("platform").value || null,
      study: find("study").value.trim() || null,
      completion_code: find("completion-code").value.trim() || null,
      completion_url: find("completion-url").value.trim() || null,
      ...this.ofPlatform(),
    };
  }

  /** Fields that only participants of a platform need; hidden without a platform. */
  ofPlatform() {
    const value = (id) => (find("platform").value === "" ? null : find(id).value.trim() || null);
    const minutes = value("study-minutes");
    return {
      screened_out_code: value("screened-out-code"),
      quota_full_code: value("quota-full-code"),
      study_minutes: minutes === null ? null : Number(minutes),
    };
  }

  add() {
    const field = find("new-language");
    const tag = field.value.trim();
    if (tag === "" || this.texts.some(({ language }) => language === tag)) {
      field.focus();
      return;
    }
    this.readTexts();
    this.texts.push(emptyTexts(tag));
    field.value = "";
    this.draw();
    find(`title-${this.texts.length - 1}`).focus();
  }

  remove(at) {
    this.readTexts();
    this.texts.splice(at, 1);
    this.draw();
    find("new-language").focus();
  }

  readTexts() {
    this.texts.forEach((texts, at) => {
      for (const name of ["title", "question", ...LONG]) texts[name] = find(`${name}-${at}`).value.trim();
    });
  }

  draw() {
    fill(find("languages"), ...this.texts.map((texts, at) => this.textFields(texts, at)));
  }

  textFields(texts, at) {
    const field = (name, input) =>
      element(
        "div",
        { class: "field" },
        element("label", { for: `${name}-${at}` }, text(`form.${name}`)),
        input,
      );
    const line = (name, required) => {
      const input = element("input", { id: `${name}-${at}`, class: "input", maxlength: "500", required, lang: texts.language, dir: "auto", placeholder: text(isNew && name === "title" ? "examples.title-of-question" : `examples.${name}`) });
      input.value = texts[name];
      return field(name, input);
    };
    const prose = (name) => {
      const input = element("textarea", { id: `${name}-${at}`, class: "textarea", rows: "4", lang: texts.language, dir: "auto", placeholder: text(`examples.${name}`) });
      input.value = texts[name];
      return field(name, input);
    };
    const isFirst = isNew && at === 0;
    if (isFirst) fill(find("first-question"), line("question", true));
    const drop = element("button", { type: "button", class: "button button-quiet" }, text("form.remove-language", { language: languageName(texts.language) }));
    drop.addEventListener("click", () => this.remove(at));
    return element(
      "details",
      { class: "language", open: at === this.texts.length - 1 },
      element("summary", { class: "summary" }, text(at === 0 ? "form.first-language" : "form.further-language", { language: languageName(texts.language) })),
      element(
        "div",
        { class: "stack" },
        line("title", !isNew),
        isFirst ? null : line("question", true),
        ...LONG.map(prose),
        this.texts.length > 1 ? element("p", {}, drop) : null,
      ),
    );
  }
}

/** Warn that a platform without a study id admits every participant of that platform. */
function showPlatformFields() {
  const isOpen = find("platform").value === "";
  find("study-warning").hidden = isOpen || find("study").value.trim() !== "";
  for (const id of OF_PLATFORM) find(id).closest(".field").hidden = isOpen;
}
