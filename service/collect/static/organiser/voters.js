// Who votes, how reliable the votes are, and whom to exclude.

import {
  badge,
  begin,
  button,
  campaign,
  dialog,
  element,
  explain,
  figure,
  fill,
  find,
  freshness,
  isolated,
  label,
  number,
  once,
  percent,
  plot,
  say,
  table,
  text,
  time,
} from "./page.js";
import { watchParticipants } from "./participants.js";

const STEP = 200;
const FEW = 20; // answers; below this, a percentage would suggest more than is known
const SELDOM = 20_000; // milliseconds; the report fits all votes
const excluding = dialog("exclude-dialog");
const withdrawing = dialog("withdraw-dialog");
const reassigning = dialog("others-dialog");
const watches = [];
let most = STEP;
let nVoters = 0;
let voters = [];
let quality = null;
let selectedVoter = null;
let sideColumn = "columns.left"; // of a set, whether the best item was shown before the worst

begin(async (info) => {
  sideColumn = info.plan.set_size > 2 ? "columns.best-first" : "columns.left";
  const names = find("show-names");
  const path = (rest) => `${rest}names=${names.checked}`;
  watches.push(campaign.watch(() => path(`/voters?limit=${Math.min(1000, most)}&`), showVoters, freshness));
  watches.push(campaign.watch("/quality", showQuality, freshness, SELDOM));
  const platform = await watchParticipants();
  if (platform !== null) watches.push(platform);
  names.addEventListener("change", refresh);
  find("more").addEventListener("click", () => {
    most += STEP;
    refresh();
  });
  find("exclude-form").addEventListener("submit", exclude);
  find("erase").addEventListener("click", askWithdrawal);
  find("withdraw-form").addEventListener("submit", withdraw);
  find("others-form").addEventListener("submit", reassign);
});

function refresh() {
  for (const watch of watches) watch.now();
}

function showVoters(list) {
  nVoters = list.n_voters;
  voters = list.voters;
  draw();
  listErasable();
}

function showQuality({ quality: report }) {
  quality = new Map(report.voters.map((voter) => [voter.key, voter]));
  fill(find("agreement"), ...agreementFigures(report));
  const hasPairs = report.agreement.n > 0;
  find("plot").hidden = !hasPairs;
  if (hasPairs) fill(find("plot"), plot(`${campaign.base}/plots/voters.svg`, "voters", JSON.stringify(report.agreement)));
  draw();
}

/** How much voters agree, with intervals; for a few pairs only their number. */
function agreementFigures({ agreement, agreement_low, agreement_high, alpha, alpha_low, alpha_high, n_pairs, n_missing }) {
  const pairs = figure(
    number(n_pairs),
    text("voters.pairs"),
    text(n_missing > 0 ? "voters.pairs-missing" : "voters.pairs-text", { n: number(n_missing), least: number(n_pairs + n_missing) }),
  );
  if (n_missing > 0) return [pairs];
  const share = { low: percent(agreement_low), high: percent(agreement_high), share: shareText(agreement) };
  const figures = [figure(percent(agreement.share), text("voters.agreement"), text("voters.agreement-text", share))];
  if (alpha !== null) {
    const ends = { low: number(alpha_low, 2), high: number(alpha_high, 2) };
    figures.push(figure(number(alpha, 2), text("voters.alpha"), text("voters.alpha-text", ends)));
  }
  return [...figures, pairs];
}

/** A percentage with its counts; for few answers only the counts. */
function shareOf(share) {
  if (share === undefined || share.n < FEW) return share === undefined ? "–" : shareText(share);
  const counts = element("span", { class: "small muted" }, shareText(share));
  return element("span", { class: "lines" }, element("span", {}, percent(share.share)), counts);
}

function draw() {
  const flagged = voters.filter((row) => !row.excluded && (quality?.get(row.key)?.flags.length ?? 0) > 0);
  const excluded = voters.filter((row) => row.excluded);
  fill(
    find("flagged"),
    flagged.length + excluded.length === 0
      ? element("p", { class: "muted" }, text(quality === null ? "loading" : "voters.no-flag"))
      : element("ul", { class: "people" }, ...[...flagged, ...excluded].map(person)),
  );
  const columns = [
    { head: text("columns.voter"), cell: voterCell },
    { head: text("columns.votes"), cell: voteCell, number: true },
    {
      head: text("columns.hand"),
      lesser: true,
      cell: (row) => (row.n_comparisons === 0 ? "–" : text("of", { done: row.n_answered, of: row.n_comparisons })),
      number: true,
    },
    { head: text("columns.seconds"), cell: (row) => number(quality?.get(row.key)?.seconds, 1), number: true },
    {
      head: text(sideColumn),
      lesser: true,
      cell: (row) => shareOf(quality?.get(row.key)?.left),
      number: true,
    },
    { head: text("columns.agreement"), cell: (row) => shareOf(quality?.get(row.key)?.agreement), number: true },
    { head: text("columns.actions"), cell: actions },
  ];
  const place = find("voters");
  if (voters.length === 0) fill(place, element("p", { class: "muted" }, text("voters.nobody")));
  else fill(place, table(columns, voters, text("voters.all")));
  find("more-line").hidden = voters.length >= Math.min(nVoters, 1000);
}

function nameOf(row) {
  return row.name ?? element("code", { title: row.key }, row.key.slice(0, 8));
}

/** Name, state and source, one below the other. */
function voterCell(row) {
  const source = element("span", { class: "small muted" }, text(`sources.${row.source}`));
  return element("span", { class: "lines" }, element("span", {}, nameOf(row)), badgesOf(row) || null, source);
}

function voteCell(row) {
  const count = element("span", {}, number(row.n_votes));
  if (row.last_vote === null) return count;
  const title = text("columns.last");
  const hidden = element("span", { class: "visually-hidden" }, `${title}: `);
  const last = element("span", { class: "small muted", title }, hidden, time(row.last_vote));
  return element("span", { class: "lines" }, count, last);
}

function plainName(row) {
  return row.name ?? row.key.slice(0, 8);
}

function badgesOf(row) {
  const badges = [];
  if (row.withdrawn) badges.push(badge(text("voters.withdrawn")));
  if (row.excluded) badges.push(badge(text("voters.excluded"), "bad"));
  for (const flag of quality?.get(row.key)?.flags ?? []) badges.push(badge(text(`flags.${flag.kind}`), "warning"));
  return badges.length === 0 ? "" : element("span", { class: "badges" }, ...badges);
}

function person(row) {
  const flags = quality?.get(row.key)?.flags ?? [];
  return element(
    "li",
    { class: "person" },
    element(
      "div",
      { class: "stack stack-small" },
      element("p", { class: "row" }, element("strong", {}, nameOf(row)), badgesOf(row)),
      ...flags.map((flag) => element("p", { class: "small" }, `${text(`flags.${flag.kind}`)}: `, reason(row, flag))),
    ),
    actions(row),
  );
}

/** The reason for a flag, with the numbers behind it. */
function reason(row, { kind }) {
  const report = quality.get(row.key);
  const shares = {
    speed: report.fast,
    side: report.left,
    attention: report.attention,
    gold: report.gold,
    repeats: report.repeats,
    agreement: report.agreement,
  };
  if (kind === "random") return text("reasons.random", { share: percent(report.random) });
  if (kind === "side" && sideColumn === "columns.best-first") {
    return text("reasons.side-of-set", { share: shareText(report.left) });
  }
  return text(`reasons.${kind}`, { share: shareText(shares[kind]) });
}

function shareText(share) {
  return share.n === 0 ? "–" : text("of", { done: number(share.n_so), of: number(share.n) });
}

function actions(row) {
  const buttons = element("div", { class: "row actions" });
  if (row.n_votes > 0 || row.excluded) {
    const action = text(row.excluded ? "voters.include" : "voters.exclude");
    const labelled = { "aria-label": `${action} ${plainName(row)}` };
    buttons.append(button(action, `exclude-${row.key}`, () => askExclusion(row), "", labelled));
  }
  if (row.excluded && row.n_votes > 0) {
    const action = text("voters.ask-others");
    const labelled = { "aria-label": `${action} ${plainName(row)}` };
    buttons.append(button(action, `ask-${row.key}`, () => askOthers(row), "quiet", labelled));
  }
  return buttons.hasChildNodes() ? buttons : "";
}

function askOthers(row) {
  selectedVoter = row;
  find("others-error").hidden = true;
  reassigning.showModal();
}

async function reassign(event) {
  event.preventDefault();
  await once(event.submitter, find("others-error"), async () => {
    const { json } = await campaign.post(`/voters/${selectedVoter.key}/ask-others`);
    reassigning.close();
    say(text("voters.asked-others", { n: number(json.voided) }));
  });
  refresh();
}

/** Voters whose data can still be erased; the selection survives a reload of the list. */
function listErasable() {
  const rows = voters.filter((row) => !row.withdrawn);
  const select = find("erase-voter");
  const { value } = select;
  const names = JSON.stringify(rows.map((row) => [row.key, row.name]));
  if (select.dataset.voters === names) return;
  select.dataset.voters = names;
  fill(select, ...rows.map((row) => element("option", { value: row.key }, plainName(row))));
  if (rows.some((row) => row.key === value)) select.value = value;
  find("erase-part").hidden = rows.length === 0;
}

function askWithdrawal() {
  selectedVoter = voters.find((row) => row.key === find("erase-voter").value);
  find("withdraw-title").textContent = text("voters.withdraw-title", { name: isolated(plainName(selectedVoter)) });
  find("withdraw-error").hidden = true;
  withdrawing.showModal();
}

async function askExclusion(row) {
  selectedVoter = row;
  const verb = row.excluded ? "include" : "exclude";
  find("exclude-title").textContent = text(`voters.${verb}-title`, { name: isolated(plainName(row)) });
  find("exclude-go").textContent = text(`voters.${verb}-go`);
  find("exclude-reason").value = "";
  find("exclude-error").hidden = true;
  const place = find("exclude-preview");
  fill(place, element("p", { class: "muted" }, text("loading")));
  excluding.showModal();
  try {
    const { json } = await campaign.get(`/voters/${row.key}/exclusion`);
    fill(place, ...exclusionView(json.preview));
  } catch (error) {
    fill(place, element("p", { class: "muted" }, explain(error)));
  }
}

function exclusionView(preview) {
  const values = { votes: number(preview.n_votes), others: number(preview.n_others), tau: number(preview.tau_w, 3) };
  const columns = [
    { head: text("columns.item"), cell: ([item]) => label(item) },
    { head: text("columns.rank-now"), cell: ([, now]) => number(now, now % 1 === 0 ? 0 : 1), number: true },
    { head: text("columns.rank-then"), cell: ([, , then]) => number(then, then % 1 === 0 ? 0 : 1), number: true },
  ];
  return [
    element("p", {}, text("voters.change", values)),
    preview.changes.length === 0
      ? element("p", { class: "muted" }, text("voters.no-change"))
      : element(
          "div",
          { class: "scroll", tabindex: "0", role: "group", "aria-label": text("voters.moved") },
          table(columns, preview.changes, text("voters.moved")),
        ),
  ];
}

async function exclude(event) {
  event.preventDefault();
  const verb = selectedVoter.excluded ? "include" : "exclude";
  await once(event.submitter, find("exclude-error"), async () => {
    await campaign.post(`/voters/${selectedVoter.key}/${verb}`, { reason: find("exclude-reason").value.trim() });
    excluding.close();
    say(text(`voters.${verb}d-done`));
  });
  refresh();
}

async function withdraw(event) {
  event.preventDefault();
  await once(event.submitter, find("withdraw-error"), async () => {
    const { json } = await campaign.post(`/voters/${selectedVoter.key}/withdraw`);
    withdrawing.close();
    say(text("voters.withdrawn-done", { n: number(json.voided) }));
  });
  refresh();
}
