// Participants of a platform: lists of ids to approve and to reject, to paste there.

import { campaign, copyButton, element, fill, find, freshness, number, text } from "./page.js";

const NAMES = { prolific: "Prolific", mturk: "Mechanical Turk" };
const DECISIONS = ["approve", "reject"];
let latest = ""; // the participants on the page, as JSON

/** Show the lists and keep them current if the campaign uses a platform. */
export async function watchParticipants() {
  const { json } = await campaign.get("/pages");
  if (json.pages.platform === null) return null;
  find("participants-title").textContent = text("participants.title", { name: NAMES[json.pages.platform] });
  find("participants").hidden = false;
  return campaign.watch("/participants", draw, freshness);
}

function draw({ participants }) {
  if (JSON.stringify(participants) === latest) return; // redrawing would clear the organiser's selection
  latest = JSON.stringify(participants);
  const studies = [...new Set(participants.map(({ study }) => study))];
  const blocks = studies.map((study) => block(study, participants.filter((row) => row.study === study), studies.length > 1));
  fill(find("participants-lists"), ...(blocks.length > 0 ? blocks : [nobody()]));
}

function block(study, participants, isOneOfMany) {
  const others = participants.filter(({ decision }) => decision === null);
  const count = (outcome) => number(others.filter((row) => row.outcome === outcome).length);
  const counts = { n: number(others.length), screened: count("screened out"), full: count("quota full") };
  return element(
    "div",
    { class: "stack" },
    isOneOfMany ? element("h3", {}, text("participants.study", { study })) : null,
    element("div", { class: "pair-fields" }, ...DECISIONS.map((decision) => list(study, participants, decision, isOneOfMany))),
    others.length > 0 ? element("p", { class: "muted" }, text("participants.others", counts)) : null,
  );
}

/** Ids in a field to copy as a whole, and as a file; ids to reject have reasons next to them. */
function list(study, participants, decision, isOneOfMany) {
  const rows = participants.filter((row) => row.decision === decision);
  const title = text(`participants.${decision}`, { n: number(rows.length) });
  const head = element(isOneOfMany ? "h4" : "h3", {}, title);
  if (rows.length === 0) return element("div", { class: "stack stack-small" }, head, nobody());
  const ids = rows.map(({ participant }) => participant).join("\n");
  const field = element("textarea", { class: "textarea code-text", readonly: true, rows: "5", "aria-label": title }, ids);
  const address = `${campaign.base}/participants/${decision}?study=${encodeURIComponent(study)}`;
  const reasons = rows.filter(({ reason }) => reason !== null);
  return element(
    "div",
    { class: "stack stack-small" },
    head,
    element("p", { class: "hint" }, text(`participants.${decision}-hint`)),
    field,
    element(
      "p",
      { class: "row" },
      ...copyButton(field),
      element(
        "a",
        { class: "button", href: address, download: `${decision}.csv`, "aria-label": `${text("participants.csv")}: ${title}` },
        text("participants.csv"),
      ),
    ),
    reasons.length > 0 ? reasonList(reasons) : null,
  );
}

function reasonList(rows) {
  const line = (row) => element("li", {}, element("code", {}, row.participant), ": ", row.reason);
  return element(
    "details",
    {},
    element("summary", { class: "summary" }, text("participants.reasons")),
    element("ul", {}, ...rows.map(line)),
  );
}

function nobody() {
  return element("p", { class: "muted" }, text("participants.nobody"));
}
