// Who votes, how reliable the votes are, and whom to exclude.

import {
  badge,
  begin,
  button,
  campaign,
  dialog,
  element,
  explained,
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
import { participants } from "./participants.js";

const STEP = 200;
const FEW = 20; // answers; below this, a percentage would suggest more than is known
const SELDOM = 20_000; // milliseconds; the report fits all votes
const excluding = dialog("exclude-dialog");
const withdrawing = dialog("withdraw-dialog");
const asking = dialog("others-dialog");
const watches = [];
let most = STEP;
let all = 0;
let voters = [];
let quality = null;
let chosen = null;

begin(async () => {
  const names = find("show-names");
  const path = (rest) => `${rest}names=${names.checked}`;
  watches.push(campaign.watch(() => path(`/voters?limit=${Math.min(1000, most)}&`), showVoters, freshness));
  watches.push(campaign.watch("/quality", showQuality, freshness, SELDOM));
  const platform = await participants();
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

function showVoters(found) {
  all = found.n_voters;
  voters = found.voters;
  draw();
  erasable();
}

function showQuality(found) {
  quality = new Map(found.quality.voters.map((each) => [each.key, each]));
  fill(find("agreement"), ...agreement(found.quality));
  const compared = found.quality.agreement.n > 0;
  find("plot").hidden = !compared;
  if (compared) fill(find("plot"), plot(`${campaign.base}/plots/voters.svg`, "voters", JSON.stringify(found.quality.agreement)));
  draw();
}

/** How much voters agree, with intervals; for a few pairs only their number. */
function agreement({ agreement: same, agreement_low, agreement_high, alpha, alpha_low, alpha_high, n_pairs, n_missing }) {
  const pairs = figure(
    number(n_pairs),
    text("voters.pairs"),
    text(n_missing > 0 ? "voters.pairs-missing" : "voters.pairs-text", { n: number(n_missing), least: number(n_pairs + n_missing) }),
  );
  if (n_missing > 0) return [pairs];
  const share = { low: percent(agreement_low), high: percent(agreement_high), share: shareText(same) };
  const found = [figure(percent(same.share), text("voters.agreement"), text("voters.agreement-text", share))];
  if (alpha !== null) {
    const ends = { low: number(alpha_low, 2), high: number(alpha_high, 2) };
    found.push(figure(number(alpha, 2), text("voters.alpha"), text("voters.alpha-text", ends)));
  }
  return [...found, pairs];
}

/** A percentage with its counts; for few answers only the counts. */
function shareOf(share) {
  if (share === undefined || share.n < FEW) return share === undefined ? "–" : shareText(share);
  const counts = element("span", { class: "small muted" }, shareText(share));
  return element("span", { class: "lines" }, element("span", {}, percent(share.share)), counts);
}

function draw() {
  const flagged = voters.filter((row) => !row.excluded && (quality?.get(row.key)?.flags.length ?? 0) > 0);
  const left = voters.filter((row) => row.excluded);
  fill(
    find("flagged"),
    flagged.length + left.length === 0
      ? element("p", { class: "muted" }, text(quality === null ? "loading" : "voters.no-flag"))
      : element("ul", { class: "people" }, ...[...flagged, ...left].map(person)),
  );
  const columns = [
    { head: text("columns.voter"), cell: who },
    { head: text("columns.votes"), cell: votes, number: true },
    {
      head: text("columns.hand"),
      lesser: true,
      cell: (row) => (row.n_comparisons === 0 ? "–" : text("of", { done: row.n_answered, of: row.n_comparisons })),
      number: true,
    },
    { head: text("columns.seconds"), cell: (row) => number(quality?.get(row.key)?.seconds, 1), number: true },
    {
      head: text("columns.left"),
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
  find("more-line").hidden = voters.length >= Math.min(all, 1000);
}

function nameOf(row) {
  return row.name ?? element("code", { title: row.key }, row.key.slice(0, 8));
}

/** Name, state and source, one below the other. */
function who(row) {
  const source = element("span", { class: "small muted" }, text(`sources.${row.source}`));
  return element("span", { class: "lines" }, element("span", {}, nameOf(row)), marks(row) || null, source);
}

function votes(row) {
  const given = element("span", {}, number(row.n_votes));
  if (row.last_vote === null) return given;
  const what = text("columns.last");
  const hidden = element("span", { class: "visually-hidden" }, `${what}: `);
  const last = element("span", { class: "small muted", title: what }, hidden, time(row.last_vote));
  return element("span", { class: "lines" }, given, last);
}

function words(row) {
  return row.name ?? row.key.slice(0, 8);
}

function marks(row) {
  const found = [];
  if (row.withdrawn) found.push(badge(text("voters.withdrawn")));
  if (row.excluded) found.push(badge(text("voters.excluded"), "bad"));
  for (const flag of quality?.get(row.key)?.flags ?? []) found.push(badge(text(`flags.${flag.kind}`), "warning"));
  return found.length === 0 ? "" : element("span", { class: "badges" }, ...found);
}

function person(row) {
  const flags = quality?.get(row.key)?.flags ?? [];
  return element(
    "li",
    { class: "person" },
    element(
      "div",
      { class: "stack stack-small" },
      element("p", { class: "row" }, element("strong", {}, nameOf(row)), marks(row)),
      ...flags.map((flag) => element("p", { class: "small" }, `${text(`flags.${flag.kind}`)}: `, reason(row, flag))),
    ),
    actions(row),
  );
}

/** The reason for a flag, with the numbers behind it. */
function reason(row, { kind }) {
  const found = quality.get(row.key);
  const shares = {
    speed: found.fast,
    side: found.left,
    attention: found.attention,
    gold: found.gold,
    repeats: found.repeats,
    agreement: found.agreement,
  };
  if (kind === "random") return text("reasons.random", { share: percent(found.random) });
  return text(`reasons.${kind}`, { share: shareText(shares[kind]) });
}

function shareText(share) {
  return share.n === 0 ? "–" : text("of", { done: number(share.n_so), of: number(share.n) });
}

function actions(row) {
  const made = element("div", { class: "row actions" });
  if (row.n_votes > 0 || row.excluded) {
    const what = text(row.excluded ? "voters.include" : "voters.exclude");
    const named = { "aria-label": `${what} ${words(row)}` };
    made.append(button(what, `exclude-${row.key}`, () => askExclusion(row), "", named));
  }
  if (row.excluded && row.n_votes > 0) {
    const what = text("voters.ask-others");
    const named = { "aria-label": `${what} ${words(row)}` };
    made.append(button(what, `ask-${row.key}`, () => askOthers(row), "quiet", named));
  }
  return made.hasChildNodes() ? made : "";
}

function askOthers(row) {
  chosen = row;
  find("others-error").hidden = true;
  asking.showModal();
}

async function reassign(event) {
  event.preventDefault();
  await once(event.submitter, find("others-error"), async () => {
    const { json } = await campaign.post(`/voters/${chosen.key}/ask-others`);
    asking.close();
    say(text("voters.asked-others", { n: number(json.voided) }));
  });
  refresh();
}

/** Voters whose data can still be erased; the selection survives a reload of the list. */
function erasable() {
  const left = voters.filter((row) => !row.withdrawn);
  const select = find("erase-voter");
  const { value } = select;
  const now = JSON.stringify(left.map((row) => [row.key, row.name]));
  if (select.dataset.voters === now) return;
  select.dataset.voters = now;
  fill(select, ...left.map((row) => element("option", { value: row.key }, words(row))));
  if (left.some((row) => row.key === value)) select.value = value;
  find("erase-part").hidden = left.length === 0;
}

function askWithdrawal() {
  chosen = voters.find((row) => row.key === find("erase-voter").value);
  find("withdraw-title").textContent = text("voters.withdraw-title", { name: isolated(words(chosen)) });
  find("withdraw-error").hidden = true;
  withdrawing.showModal();
}

async function askExclusion(row) {
  chosen = row;
  const verb = row.excluded ? "include" : "exclude";
  find("exclude-title").textContent = text(`voters.${verb}-title`, { name: isolated(words(row)) });
  find("exclude-go").textContent = text(`voters.${verb}-go`);
  find("exclude-reason").value = "";
  find("exclude-error").hidden = true;
  const place = find("exclude-preview");
  fill(place, element("p", { class: "muted" }, text("loading")));
  excluding.showModal();
  try {
    const { json } = await campaign.get(`/voters/${row.key}/exclusion`);
    fill(place, ...change(json.preview));
  } catch (error) {
    fill(place, element("p", { class: "muted" }, explained(error)));
  }
}

function change(found) {
  const about = { votes: number(found.n_votes), others: number(found.n_others), tau: number(found.tau_w, 3) };
  const columns = [
    { head: text("columns.item"), cell: ([item]) => label(item) },
    { head: text("columns.rank-now"), cell: ([, now]) => number(now, now % 1 === 0 ? 0 : 1), number: true },
    { head: text("columns.rank-then"), cell: ([, , then]) => number(then, then % 1 === 0 ? 0 : 1), number: true },
  ];
  return [
    element("p", {}, text("voters.change", about)),
    found.changes.length === 0
      ? element("p", { class: "muted" }, text("voters.no-change"))
      : element(
          "div",
          { class: "scroll", tabindex: "0", role: "group", "aria-label": text("voters.moved") },
          table(columns, found.changes, text("voters.moved")),
        ),
  ];
}

async function exclude(event) {
  event.preventDefault();
  const verb = chosen.excluded ? "include" : "exclude";
  await once(event.submitter, find("exclude-error"), async () => {
    await campaign.post(`/voters/${chosen.key}/${verb}`, { reason: find("exclude-reason").value.trim() });
    excluding.close();
    say(text(`voters.${verb}d-done`));
  });
  refresh();
}

async function withdraw(event) {
  event.preventDefault();
  await once(event.submitter, find("withdraw-error"), async () => {
    const { json } = await campaign.post(`/voters/${chosen.key}/withdraw`);
    withdrawing.close();
    say(text("voters.withdrawn-done", { n: number(json.voided) }));
  });
  refresh();
}
