// Participants of a platform: lists of ids to approve and to reject, to paste there.

import { campaign, copyButton, element, fill, find, freshness, number, text } from "./page.js";

const NAMES = { prolific: "Prolific", mturk: "Mechanical Turk" };
const DECISIONS = ["approve", "reject"];
let drawn = "";

/** Show the lists and keep them current if the campaign uses a platform. */
export async function participants() {
  const { json } = await campaign.get("/pages");
  if (json.pages.platform === null) return null;
  find("participants-title").textContent = text("participants.title", { name: NAMES[json.pages.platform] });
  find("participants").hidden = false;
  return campaign.watch("/participants", draw, freshness);
}

function draw({ participants: found }) {
  if (JSON.stringify(found) === drawn) return; // redrawing would clear the organiser's selection
  drawn = JSON.stringify(found);
  const studies = [...new Set(found.map((each) => each.study))];
  const blocks = studies.map((study) => block(study, found.filter((each) => each.study === study), studies.length > 1));
  fill(find("participants-lists"), ...(blocks.length > 0 ? blocks : [nobody()]));
}

function block(study, found, isOneOfMany) {
  const others = found.filter((each) => each.decision === null);
  const ended = (outcome) => number(others.filter((each) => each.outcome === outcome).length);
  const counts = { n: number(others.length), screened: ended("screened out"), full: ended("quota full") };
  return element(
    "div",
    { class: "stack" },
    isOneOfMany ? element("h3", {}, text("participants.study", { study })) : null,
    element("div", { class: "pair-fields" }, ...DECISIONS.map((decision) => list(study, found, decision, isOneOfMany))),
    others.length > 0 ? element("p", { class: "muted" }, text("participants.others", counts)) : null,
  );
}

/** Ids in a field to copy as a whole, and as a file; ids to reject have reasons next to them. */
function list(study, found, decision, isOneOfMany) {
  const some = found.filter((each) => each.decision === decision);
  const title = text(`participants.${decision}`, { n: number(some.length) });
  const head = element(isOneOfMany ? "h4" : "h3", {}, title);
  if (some.length === 0) return element("div", { class: "stack stack-small" }, head, nobody());
  const ids = some.map((each) => each.participant).join("\n");
  const field = element("textarea", { class: "textarea code-text", readonly: true, rows: "5", "aria-label": title }, ids);
  const address = `${campaign.base}/participants/${decision}?study=${encodeURIComponent(study)}`;
  const reasons = some.filter((each) => each.reason !== null);
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
    reasons.length > 0 ? why(reasons) : null,
  );
}

function why(found) {
  const line = (each) => element("li", {}, element("code", {}, each.participant), ": ", each.reason);
  return element(
    "details",
    {},
    element("summary", { class: "summary" }, text("participants.reasons")),
    element("ul", {}, ...found.map(line)),
  );
}

function nobody() {
  return element("p", { class: "muted" }, text("participants.nobody"));
}
