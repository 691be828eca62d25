// Voters' texts and eligibility; and the settings that can no longer be changed.

import { begin, campaign, complain, element, facts, fill, find, money, number, once, percent, text, time } from "./page.js";
import { PagesForm } from "./pages_form.js";

const form = new PagesForm();
let tag = null;

begin(async (info) => {
  showFixed(info);
  await readPages();
  find("form").addEventListener("submit", save);
});

async function readPages() {
  const answer = await campaign.get("/pages");
  tag = answer.tag;
  form.fill(answer.json.pages);
}

async function save(event) {
  event.preventDefault();
  find("saved").textContent = "";
  await once(event.submitter, find("form-error"), async () => {
    const answer = await campaign.put("/pages", form.read(), { "If-Match": tag });
    tag = answer.tag;
    find("saved").textContent = text("settings.saved", { n: number(answer.json.version) });
    complain(null);
  });
}

function answersOf({ plan, settings }) {
  if (plan.set_size > 2) return text("form.set-words", { size: plan.set_size });
  return text(`form.grade-words.${settings.grades ?? 1}`);
}

function showFixed(info) {
  for (const part of find("form").querySelectorAll("[data-pairs]")) part.hidden = info.plan.set_size > 2;
  const { settings } = info;
  const rows = [
    [text("settings.created"), time(info.created_at)],
    [text("form.voters"), number(info.voters)],
    [text("settings.seed"), info.seed],
    [text("form.sheet-size"), settings.sheet_size === null ? "–" : number(settings.sheet_size)],
    [text("form.first-lease"), number(settings.first_minutes)],
    [text("form.lease"), settings.lease_minutes === null ? "–" : number(settings.lease_minutes)],
    [text("settings.least"), percent(settings.least_answered)],
    [text("form.grades"), answersOf(info)],
  ];
  if (settings.probing !== null) {
    rows.push([text("settings.repeats"), percent(settings.probing.repeats)]);
    rows.push([text("settings.overlap"), percent(settings.probing.overlap)]);
    rows.push([text("settings.known"), number(settings.probing.known.length)]);
  }
  if (settings.pay !== null) {
    const { pay } = settings;
    const rate = pay.per_hour ?? pay.per_vote;
    rows.push([text(pay.per_hour === null ? "settings.per-vote" : "settings.per-hour"), money(rate, pay.currency)]);
    rows.push([text("settings.fee"), percent(pay.fee, 1)]);
  }
  const key = element("code", {}, info.campaign);
  fill(find("fixed"), ...facts([[text("settings.key"), key], ...rows]));
}
