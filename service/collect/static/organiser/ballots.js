// Open and close ballots, and preview the effect of closing.

import {
  ballotState,
  begin,
  button,
  campaign,
  complain,
  dialog,
  duration,
  element,
  explain,
  facts,
  fill,
  find,
  freshness,
  isolated,
  label,
  number,
  once,
  percent,
  say,
  stateBadge,
  table,
  text,
  time,
} from "./page.js";
import { sizeTable } from "./outlook.js";

const FRESH = 15_000;
const SHARE = 20;
const MOST_SILENT = 5; // items without an answer, or comparisons to void, to name
const MOST_SURVIVORS = 200;
const closing = dialog("close-dialog");
const reopening = dialog("reopen-dialog");
let info = null;
let status = null;
let latestPreview = null; // the preview, with the ETag of its state
let reviewed = null; // the preview when the dialog was opened
let watch = null;
let isLoading = false;
let timer = null;
let closedKey = null; // closed ballots with lists of surviving items to unfold

begin(async (campaignInfo) => {
  info = campaignInfo;
  showPlan();
  find("close-form").addEventListener("submit", close);
  find("reopen-form").addEventListener("submit", reopen);
  watch = campaign.watch("/progress", showProgress, freshness);
});

function showProgress(progress) {
  status = progress.status;
  fill(find("all"), ballotTable(progress.ballots));
  listSurvivors(progress.ballots);
  showState(progress.ballots);
}

function isContinuous() {
  return info.plan.mode === "continuous";
}

function ballotTable(ballots) {
  if (ballots.length === 0) return element("p", { class: "muted" }, text("overview.no-ballot"));
  const last = ballots.at(-1);
  const columns = [
    { head: text("columns.ballot"), cell: (row) => number(row.ballot) },
    { head: text("columns.state"), cell: (row) => stateBadge(ballotState(row)) },
    { head: text("columns.items"), cell: (row) => number(row.n_items), number: true },
    {
      head: text("columns.answered"),
      cell: (row) => text("of", { done: number(row.n_counted), of: number(row.n_comparisons) }),
      number: true,
    },
    { head: text("columns.closed"), cell: (row) => time(row.closed_at) },
  ];
  if (last.state === "closed" && !isContinuous()) {
    columns.push({ head: text("columns.actions"), cell: (row) => (row === last ? reopenButton() : "") });
  }
  return table(columns, ballots, text("ballots.all"));
}

/** The items that survive each closed ballot, loaded when the list is unfolded. */
function listSurvivors(ballots) {
  const closed = ballots.filter((row) => row.state === "closed" && row.ballot < (status.n_ballots ?? 0));
  const key = closed.map((row) => `${row.ballot} ${row.closed_at}`).join("; ");
  if (key === closedKey) return;
  closedKey = key;
  fill(find("going-on"), ...closed.map(survivorList));
}

function survivorList({ ballot }) {
  const place = element("div");
  const details = element(
    "details",
    {},
    element("summary", { class: "summary" }, text("ballots.went-on", { n: number(ballot) })),
    place,
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || place.hasChildNodes()) return;
    try {
      const { going_on: items } = (await campaign.get(`/ballots/${ballot}`)).json;
      const rows = items.slice(0, MOST_SURVIVORS).map((item) => element("li", {}, label(item)));
      fill(place, element("ul", { class: "sample" }, ...rows, items.length > MOST_SURVIVORS ? element("li", {}, "…") : null));
    } catch (error) {
      fill(place, element("p", { class: "notice notice-warning" }, explain(error)));
    }
  });
  return details;
}

function reopenButton() {
  return button(text("ballots.reopen"), "reopen", () => {
    find("reopen-reason").value = "";
    find("reopen-error").hidden = true;
    reopening.showModal();
  });
}

function showState(ballots) {
  const place = find("now");
  if (status.state === "open") {
    showPreview(ballots.at(-1).ballot);
    return;
  }
  complain(null); // about a preview
  if (status.state === "finished") {
    fill(place, element("h2", {}, text("ballots.finished")), element("p", {}, text("overview.finished")));
  } else if (status.state === "ready") {
    fill(place, ...nextBallotView());
  } else {
    fill(place, element("h2", {}, text("ballots.closing", { n: number(status.ballot) })));
  }
}

function nextBallotView() {
  const n = number(status.ballot);
  const items = number(status.n_items);
  // The size of the first batch is known once it is drawn.
  const contents =
    status.mode === "continuous"
      ? text("ballots.next-items", { items })
      : text("ballots.next-text", { items, comparisons: number(status.n_comparisons) });
  const opener = button(text("overview.open", { n }), "open", (pressed) => open(pressed, {}), "primary");
  return [
    element("h2", {}, text("ballots.next", { n })),
    element("p", {}, contents),
    element("p", {}, opener),
  ];
}

async function open(pressed, body) {
  await once(pressed, find("message"), async () => {
    await campaign.post("/ballots", body);
    say(text("ballots.opened"));
  });
  watch.now();
}

async function showPreview(ballot) {
  // The preview fits all votes, so ask rarely enough that it takes only a small part of the server's time.
  const wait = isLoading ? FRESH : latestPreview?.ballot === ballot ? latestPreview.next - Date.now() : 0;
  clearTimeout(timer);
  if (wait > 0) {
    timer = setTimeout(() => {
      if (status.state === "open" && !document.hidden) showPreview(ballot);
    }, wait);
    return;
  }
  isLoading = true;
  if (latestPreview?.ballot !== ballot) {
    fill(
      find("now"),
      element("h2", {}, heading(ballot)),
      element("p", { class: "muted", role: "status" }, text("computing")),
    );
  }
  const began = Date.now();
  let answer;
  try {
    answer = await campaign.get(`/ballots/${ballot}/preview`);
  } catch (error) {
    if (error.status === 409) watch.now(); // closed since, here or by another organiser
    else complain(error);
    return;
  } finally {
    isLoading = false;
  }
  complain(null);
  const next = Date.now() + Math.max(FRESH, SHARE * (Date.now() - began));
  latestPreview = { ballot, tag: answer.tag, next, ...answer.json };
  const report = answer.json;
  const share = report.n_answered / report.n_comparisons;
  const answered = percent(Math.floor(1000 * share) / 1000, 1); // 89.97 % are not 90 %
  const least = info.settings.least_answered;
  const rows = [
    [
      text("ballots.answered"),
      text("ballots.answered-of", {
        done: number(report.n_answered),
        of: number(report.n_comparisons),
        share: answered,
        least: percent(least),
      }),
    ],
  ];
  const nExcluded = report.preview?.n_excluded ?? 0;
  if (nExcluded > 0) rows.push([text("ballots.left-out"), number(nExcluded)]);
  if (report.preview !== null) rows.push(...ballotFacts(report.preview));
  if (report.expected !== null) rows.push([text("ballots.expected"), number(report.expected, 3)]);
  if (report.cut !== null) rows.push([text("ballots.confidence", { k: number(report.cut.k) }), confidenceText(report.cut)]);
  const buttons = [];
  if (!hasSilent(report)) {
    const words = text(isContinuous() ? "ballots.end-now" : "ballots.close-now");
    buttons.push(button(words, "close", openCloseDialog, report.ready ? "primary" : ""));
  }
  if (isContinuous()) {
    buttons.push(button(text("ballots.draw"), "draw", (pressed) => open(pressed, { at_once: true })));
  }
  fill(
    find("now"),
    element("div", { class: "row row-apart" }, element("h2", {}, heading(ballot)), stateBadge("open")),
    element("progress", { max: "1", value: String(share), "aria-label": text("overview.progress") }),
    element("dl", { class: "facts" }, ...facts(rows)),
    element(
      "p",
      { class: report.ready ? "notice notice-good" : "notice notice-warning" },
      verdict(report, answered, percent(least)),
    ),
    element("p", { class: "row" }, ...buttons),
  );
}

/** Whether an item has no answer yet, which keeps a ballot open. */
function hasSilent({ preview }) {
  return preview !== null && preview.silent.length > 0;
}

/** Whether this can be closed now, or what is missing. */
function verdict(report, share, least) {
  if (report.ready) return text(isContinuous() ? "ballots.can-end" : "ballots.can-close");
  const nExcluded = report.preview?.n_excluded ?? 0;
  const others = nExcluded === 0 ? "" : ` ${text("ballots.ask-others", { n: number(nExcluded) })}`;
  if (!hasSilent(report)) return `${text("ballots.too-few", { share, least })}${others}`;
  const comparisons = report.preview.to_void.slice(0, MOST_SILENT).join(", ");
  const advice = comparisons === "" ? "" : ` ${text("ballots.to-void", { comparisons })}`;
  return `${text("ballots.silent-first")}${others}${advice}`;
}

function heading(ballot) {
  return isContinuous() ? text("ballots.if-ended") : text("ballots.if-closed", { n: number(ballot) });
}

function ballotFacts(preview) {
  const more = preview.silent.length > MOST_SILENT ? ["…"] : [];
  const silent = [...preview.silent.slice(0, MOST_SILENT).map(isolated), ...more].join("; ");
  const rows = [
    [
      text("ballots.silent"),
      preview.silent.length === 0
        ? text("ballots.none")
        : text("ballots.silent-are", { n: number(preview.silent.length), items: silent }),
    ],
    [text("ballots.fewest"), preview.fewest.map(([item, answers]) => `${isolated(item)} (${number(answers)})`).join("; ")],
  ];
  if (preview.n_going_on > 0) {
    rows.push([text("ballots.going-on"), number(preview.n_going_on)]);
    rows.push([text("ballots.tied"), number(preview.n_tied_at_cut)]);
  }
  return rows;
}

function confidenceText(cut) {
  if (cut.k === 1) return text("ballots.sure-one", { confidence: percent(cut.confidence) });
  return text("ballots.sure", { confidence: percent(cut.confidence), overlap: number(cut.overlap, 1), k: number(cut.k) });
}

function openCloseDialog() {
  if (latestPreview === null) return;
  reviewed = latestPreview;
  const n = number(latestPreview.ballot);
  find("close-title").textContent = text(isContinuous() ? "ballots.end-title" : "ballots.close-title", { n });
  const nSurvivors = latestPreview.preview?.n_going_on ?? 0;
  const words = isContinuous() ? "ballots.end-text" : nSurvivors > 0 ? "ballots.close-text" : "ballots.close-last";
  find("close-text").textContent = text(words, { items: number(nSurvivors) });
  find("close").textContent = text(isContinuous() ? "ballots.end" : "ballots.close");
  find("least-field").hidden = latestPreview.ready;
  Object.assign(find("least"), {
    value: "",
    required: !latestPreview.ready,
    max: latestPreview.ready ? 100 : Math.floor((100 * latestPreview.n_answered) / latestPreview.n_comparisons),
  });
  find("close-error").hidden = true;
  closing.showModal();
}

async function close(event) {
  event.preventDefault();
  const body = {};
  if (find("least").value !== "") body.least_answered = Number(find("least").value) / 100;
  await once(event.submitter, find("close-error"), async () => {
    await campaign.post(`/ballots/${reviewed.ballot}/close`, body, { "If-Match": reviewed.tag });
    closing.close();
    say(text(isContinuous() ? "ballots.ended" : "ballots.closed"));
  });
  latestPreview = null;
  watch.now();
}

async function reopen(event) {
  event.preventDefault();
  await once(event.submitter, find("reopen-error"), async () => {
    const last = info.plan.mode === "ballots" && status.state === "ready" ? status.ballot - 1 : status.ballot;
    await campaign.post(`/ballots/${last}/reopen`, { reason: find("reopen-reason").value.trim() });
    reopening.close();
    say(text("ballots.opened"));
  });
  latestPreview = null;
  watch.now();
}

async function showPlan() {
  try {
    const { json } = await campaign.get("/plan");
    const { plan, spending } = json;
    const more = [[text("outlook.comparisons"), number(spending.n_comparisons)]];
    if (spending.n_probes > 0) more.push([text("outlook.probes"), number(spending.n_probes)]);
    if (spending.hours !== null) more.push([text("outlook.hours"), duration(spending.hours)]);
    const sizes = element(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": text("ballots.plan") },
      sizeTable(plan),
    );
    fill(
      find("plan"),
      isContinuous() ? null : sizes, // batches are as large as the votes require
      element("dl", { class: "facts" }, ...facts(more)),
    );
  } catch (error) {
    fill(find("plan"), element("p", {}, explain(error)));
  }
}
