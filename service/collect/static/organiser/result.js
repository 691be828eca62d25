// The ranking with its intervals, figures made by the server, and files.

import {
  badge,
  begin,
  campaign,
  complain,
  element,
  figure,
  fill,
  find,
  freshness,
  label,
  number,
  percent,
  plot,
  table,
  text,
  thumb,
} from "./page.js";

const STEP = 50;
const SELDOM = 30_000; // milliseconds; a ranking fits all votes
const SHARE = 20; // the ranking takes at most one part in this many of the server's time
const FEW_VOTERS = 5; // results/crowds: the stated accuracy is too high
const PLOTS = ["strengths", "ranks", "in-top"];
const OF_PAIRS = ["arena", "label_studio", "potato", "choix", "target_groups"]; // formats without sets
let info = null;
let most = STEP;
let ranking = null; // the latest answer
let isFinal = false;
let nRecorded = 0; // votes
let next = 0; // earliest time for the next request of the ranking
let isLoading = false;
let timer = null;

begin(async (campaignInfo) => {
  info = campaignInfo;
  find("targets-note").hidden = !info.settings.targets;
  showExports();
  for (const name of ["names", "unanswered", "guard"]) find(name).addEventListener("change", showExports);
  find("more").addEventListener("click", () => {
    most *= 2;
    showRanking();
  });
  campaign.watch("/progress", showProgress, freshness);
});

function showProgress({ status }) {
  isFinal = status.state === "finished";
  nRecorded = status.n_votes;
  if (status.n_votes === 0) {
    find("none").hidden = false;
    return;
  }
  if (!ranking?.final) scheduleRanking();
}

/** Ask for the ranking at the earliest time allowed. */
function scheduleRanking() {
  clearTimeout(timer);
  if (isLoading) timer = setTimeout(scheduleRanking, SELDOM);
  else if (isFinal || Date.now() >= next) loadRanking();
  else timer = setTimeout(scheduleRanking, next - Date.now());
}

async function loadRanking() {
  if (document.hidden) return; // the page asks when it is visible again
  isLoading = true;
  if (ranking === null) {
    find("which").hidden = false;
    find("which").textContent = text("computing");
  }
  const began = Date.now();
  try {
    const { json, tag } = await campaign.get(`/results?interim=${!isFinal}`);
    complain(null);
    ranking = json;
    find("none").hidden = true;
    find("result").hidden = false;
    const which = find("which");
    which.hidden = false;
    const isScored = ranking.final && info.plan.mode === "ballots";
    which.textContent = text(isScored ? "result.final" : ranking.final ? "result.ended" : "result.interim");
    find("basis").textContent = text(isScored ? "result.by-scores" : "result.by-strengths");
    find("anytime").hidden = ranking.final || ranking.rows[0].rank_low_anytime === undefined;
    showFigures();
    showRanking();
    showPlots(tag);
  } catch (error) {
    find("which").hidden = ranking === null;
    complain(error);
  } finally {
    isLoading = false;
    next = Date.now() + Math.max(SELDOM, SHARE * (Date.now() - began));
  }
}

// The key of the text below the expected agreement.
function expectation({ signal, circles, n_voters }) {
  if (!signal) return "result.no-signal";
  if (circles) return "result.circles";
  return n_voters <= FEW_VOTERS ? "result.few-voters" : "result.expected-text";
}

function showFigures() {
  const { cut } = ranking;
  fill(
    find("figures"),
    figure(number(ranking.n_votes), text("result.votes"), text("result.votes-text", { n: number(nRecorded) })),
    figure(
      number(ranking.expected, 3),
      text("result.expected"),
      text(expectation(ranking)),
    ),
    cut === null
      ? null
      : figure(
          percent(cut.confidence),
          text("result.cut", { k: number(cut.k) }),
          cut.k === 1
            ? text("result.cut-one")
            : text("result.cut-text", { overlap: number(cut.overlap, 1), k: number(cut.k) }),
        ),
    ranking.excluded.length === 0
      ? null
      : figure(
          number(ranking.excluded.length),
          text("result.excluded"),
          text("result.excluded-text", { tau: number(ranking.agreement, 3) }),
        ),
  );
}

function showRanking() {
  const { rows } = ranking;
  const columns = [
    { head: text("columns.rank"), cell: (row) => number(row.rank, row.rank % 1 === 0 ? 0 : 1), number: true },
    { head: text("columns.item"), cell: item, wide: true },
  ];
  if (rows[0].rank_low !== undefined) {
    columns.push(
      {
        head: text("columns.interval"),
        cell: (row) => text("result.from-to", { low: number(row.rank_low), high: number(row.rank_high) }),
        number: true,
      },
      { head: text("columns.place"), cell: (row) => interval(row, rows.length), lesser: true },
      { head: text("columns.in-top", { k: number(ranking.top) }), cell: (row) => percent(row.in_top), number: true },
    );
    if (!ranking.final) {
      columns.push({
        head: text("columns.anytime"),
        cell: (row) => text("result.from-to", { low: number(row.rank_low_anytime), high: number(row.rank_high_anytime) }),
        number: true,
      });
    }
  }
  columns.push({ head: text("columns.strength"), cell: (row) => number(row.strength, 2), number: true });
  if (rows[0].wins !== undefined) {
    columns.push({
      head: text("columns.record"),
      cell: (row) => `${number(row.wins)} / ${number(row.ties)} / ${number(row.losses)}`,
      number: true,
    });
  }
  fill(find("ranking"), table(columns, rows.slice(0, most), text("result.ranking")));
  find("more-line").hidden = rows.length <= most;
}

function item(row) {
  if (row.image === undefined) return label(row.item);
  return element("span", { class: "with-thumb" }, thumb(row.image, row.alt_text), element("span", {}, label(row.item)));
}

/** A bar from the lowest to the highest rank, next to the numbers. */
function interval(row, n) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 12");
  svg.setAttribute("class", "interval");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("preserveAspectRatio", "none");
  const at = (rank) => (n === 1 ? 50 : ((rank - 1) / (n - 1)) * 96 + 2);
  const parts = [
    ["rect", { x: 0, y: 5, width: 100, height: 2, class: "interval-line" }],
    ["rect", { x: at(row.rank_low) - 1, y: 3, width: at(row.rank_high) - at(row.rank_low) + 2, height: 6, class: "interval-bar" }],
    ["rect", { x: at(row.rank) - 1, y: 0, width: 2, height: 12, class: "interval-mark" }],
  ];
  for (const [name, attributes] of parts) {
    const part = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [attribute, value] of Object.entries(attributes)) part.setAttribute(attribute, String(value));
    svg.append(part);
  }
  return svg;
}

function showPlots(tag) {
  const hasIntervals = ranking.rows[0].rank_low !== undefined; // very long lists have no intervals
  find("plots-part").hidden = !hasIntervals;
  if (!hasIntervals) return;
  const address = (name) => `${campaign.base}/plots/${name}.svg?interim=${!isFinal}`;
  fill(find("plots"), ...PLOTS.map((name) => plot(address(name), name, tag)));
}

function showExports() {
  const hasTargets = Boolean(info.settings.targets);
  const isOfSets = info.plan.set_size > 2;
  const isWritten = (form) => (isOfSets ? !OF_PAIRS.includes(form) : form !== "target_groups" || hasTargets);
  const forms = find("exports").dataset.formats.split(" ").filter(isWritten);
  const flag = (name) => `${name}=${find(name).checked}`;
  fill(
    find("exports"),
    ...forms.map((form) => {
      const votes = `${flag("names")}&${flag("unanswered")}&${flag("guard")}`;
      const query = { bundle: flag("names"), ranking: flag("guard"), report: "" }[form] ?? votes;
      return element(
        "li",
        { class: "export" },
        element("a", { class: "button", href: `${campaign.base}/exports/${form}?${query}`, download: true }, text(`formats.${form}`)),
        element("span", { class: "hint" }, text(`formats.${form}-text`)),
        form === "bundle" ? badge(text("exports.all"), "good") : null,
      );
    }),
  );
}
