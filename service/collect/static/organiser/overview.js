// The dashboard: progress of the campaign, and the links for voters.

import { listIssuedLinks } from "./links.js";
import {
  badge,
  ballotState,
  begin,
  button,
  campaign,
  complain,
  element,
  figure,
  fill,
  find,
  freshness,
  key,
  label,
  linkBox,
  money,
  number,
  once,
  percent,
  qrImage,
  query,
  say,
  stateBadge,
  table,
  text,
  time,
} from "./page.js";

const TELLING = 5; // unanswered sheets at one address from which the organiser is told
let info = null;
let watch = null;

begin(async (campaignInfo) => {
  info = campaignInfo;
  await showLinks();
  watch = campaign.watch("/progress", showProgress, freshness);
  find("invite").addEventListener("submit", invite);
  listIssuedLinks();
});

function showProgress({ status, ballots }) {
  fill(find("state"), stateBadge(status.state));
  const hasEnded = status.state === "finished";
  find("links-ended").hidden = !hasEnded;
  for (const id of ["open-link", "study-link", "invite-voters"]) find(id).hidden = hasEnded;
  const continuous = info.plan.mode === "continuous";
  const nComparisons = continuous ? info.plan.comparisons[0] : status.n_comparisons;
  const share = nComparisons === 0 ? 0 : status.n_counted / nComparisons;
  find("progress-title").textContent = text(continuous ? "overview.progress-all" : "overview.progress");
  find("progress").value = status.state === "ready" ? 0 : share;
  const of = { done: number(status.n_counted), of: number(nComparisons), share: percent(Math.floor(1000 * share) / 1000, 1) };
  find("progress-text").textContent = status.state === "ready" ? "" : text("overview.answered", of);
  const nExcluded = status.n_answered - status.n_counted;
  const leftOut = `${text("ballots.left-out")}: ${number(nExcluded)}`;
  fill(find("next"), ...nextStep(status, share), nExcluded > 0 ? element("span", { class: "muted" }, leftOut) : null);
  find("waits").hidden = status.waits === null;
  find("waits").textContent = status.waits === null ? "" : text(`overview.waits-${status.waits}`, { n: number(status.n_comparisons - status.n_answered) });
  find("awaited").hidden = status.awaited === null;
  if (status.awaited !== null) find("awaited").textContent = awaitedText(status.awaited);
  const spending = status.spending;
  fill(
    find("figures"),
    figure(number(status.n_votes), text("overview.votes"), voterCount(status, nExcluded)),
    figure(
      number(status.votes_per_minute, 1),
      text("overview.pace"),
      paceText(status),
    ),
    figure(
      number(status.n_conflicts + status.n_late),
      text("overview.aside"),
      text("overview.aside-of", { conflicts: number(status.n_conflicts), late: number(status.n_late) }),
    ),
    spending === null || spending.spent === null
      ? null
      : figure(
          money(spending.spent, spending.currency),
          text("overview.spent"),
          text(spending.expected_probes > 0 ? "overview.expected-checks" : "overview.expected", {
            money: money(spending.expected, spending.currency),
          }),
        ),
  );
  fill(find("ballots"), ballotTable(ballots));
}

/** Sheets waiting for a first answer; if one address holds many, the organiser is told. */
function awaitedText({ n_sheets: n, n_of_one_address: most, back_by: end }) {
  const message = text("awaited.held", { n: number(n), time: time(end) });
  return most < TELLING ? message : `${message} ${text("awaited.address", { n: number(most) })}`;
}

function voterCount({ n_voters: n }, nExcluded) {
  if (n === 0) return null;
  if (nExcluded > 0) return text("overview.by-all", { n: number(n) });
  return text(n === 1 ? "overview.by-one" : "overview.by", { n: number(n) });
}

/** When the ballot will be done; after only a few votes the server reports neither this nor the rate. */
function paceText({ state, votes_per_minute: rate, expected_end: end }) {
  if (end !== null) {
    return text(info.plan.mode === "continuous" ? "overview.end-drawn" : "overview.end", { time: time(end) });
  }
  return state === "open" && rate === null ? text("overview.end-later") : null;
}

function nextStep(status, share) {
  const address = `/o/${key}/ballots${query}`;
  if (status.state === "ready") {
    return [
      element("span", {}, text(status.ballot === 1 ? "overview.begin" : "overview.ready", { n: status.ballot })),
      button(text("overview.open", { n: status.ballot }), "open", open, "primary"),
    ];
  }
  if (status.state === "finished") {
    return [
      element("span", {}, text("overview.finished")),
      element("a", { class: "button button-primary", href: `/o/${key}/result${query}` }, text("overview.to-result")),
    ];
  }
  const kind = share < 1 ? "button" : "button button-primary"; // all is answered: closing is the next step
  return [element("a", { class: kind, href: address }, text(info.plan.mode === "continuous" ? "overview.look-end" : "overview.look"))];
}

async function open(pressed) {
  await once(pressed, find("message"), async () => {
    await campaign.post("/ballots", {});
    say(text("ballots.opened"));
  });
  watch.now();
}

function ballotTable(ballots) {
  if (ballots.length === 0) return element("p", { class: "muted" }, text("overview.no-ballot"));
  const columns = [
    { head: text("columns.ballot"), cell: (row) => number(row.ballot) },
    { head: text("columns.state"), cell: (row) => stateBadge(ballotState(row)) },
    { head: text("columns.items"), cell: (row) => number(row.n_items), number: true, lesser: true },
    {
      head: text("columns.answered"),
      cell: (row) => text("of", { done: number(row.n_counted), of: number(row.n_comparisons) }),
      number: true,
    },
    {
      head: text("columns.sheets"),
      cell: (row) => text("of", { done: number(row.n_sheets_done), of: number(row.n_sheets) }),
      number: true,
      lesser: true,
    },
    { head: text("columns.opened"), cell: (row) => time(row.opened_at) },
    { head: text("columns.closed"), cell: (row) => time(row.closed_at) },
  ];
  return table(columns, ballots, text("overview.ballots"));
}

async function showLinks() {
  const [{ json: shared }, { json: current }] = await Promise.all([campaign.get("/links"), campaign.get("/pages")]);
  const preview = element(
    "p",
    {},
    element("a", { class: "button", href: `/v/${key}?preview=1`, target: "_blank", rel: "noopener" }, text("preview")),
  );
  const open =
    shared.open_url === null
      ? element("div", { class: "stack" }, element("p", {}, badge(text("links.closed")), " ", text("links.closed-text")), preview)
      : element(
          "div",
          { class: "stack stack-small" },
          element("h3", {}, text("links.open")),
          element("p", { class: "hint" }, text("links.open-text")),
          linkBox(shared.open_url, text("links.open"), shared.open_qr, preview),
        );
  fill(find("open-link"), open);
  if (current.pages.platform !== null) showStudyLink(current.pages.platform);
}

function showStudyLink(platform) {
  const name = { prolific: "Prolific", mturk: "Mechanical Turk" }[platform];
  const place = element("div");
  const error = element("p", { class: "notice notice-bad", role: "alert", hidden: true });
  const maker = element("button", { type: "button", class: "button" }, text("links.study-make", { name }));
  maker.addEventListener("click", () =>
    once(maker, error, async () => {
      const { json } = await campaign.post("/study-links");
      fill(
        place,
        element("p", { class: "notice notice-warning" }, text("links.once")),
        linkBox(json.url, text("links.study", { name })),
      );
    }),
  );
  fill(
    find("study-link"),
    element("h3", {}, text("links.study", { name })),
    element("p", { class: "hint" }, text(`links.study-${platform}`)),
    element("p", {}, maker),
    error,
    place,
  );
}

async function invite(event) {
  event.preventDefault();
  const names = find("names")
    .value.split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  const body = { qr: find("qr").checked };
  if (names.length > 0) body.voters = names;
  else body.number = Number(find("number").value);
  await once(event.submitter, find("message"), async () => {
    const { json } = await campaign.post("/invitations", body);
    showInvitations(json);
    find("names").value = "";
    find("number").value = "";
  });
}

function showInvitations({ invitations, csv }) {
  const file = URL.createObjectURL(new Blob(["\ufeff", csv], { type: "text/csv" }));
  const link = find("invited-csv");
  if (link.href.startsWith("blob:")) URL.revokeObjectURL(link.href);
  link.href = file;
  link.download = `invitations-${info.campaign.slice(0, 8)}.csv`;
  const columns = [
    { head: text("columns.voter"), cell: (row) => label(row.name) },
    { head: text("columns.link"), cell: (row) => element("code", {}, row.url), wide: true },
  ];
  if (invitations[0].qr !== null) {
    columns.push({ head: text("columns.qr"), cell: (row) => qrImage(row.qr, row.name) });
  }
  fill(find("invited-list"), table(columns, invitations, text("links.made")));
  find("invited").hidden = false;
  find("invited-title").focus();
  complain(null);
}
