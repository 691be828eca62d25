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
  explained,
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

const FRESH = 15_000;
const SHARE = 20;
const SILENT = 5; // silent items to name
const GOING_ON = 200;
const closing = dialog("close-dialog");
const reopening = dialog("reopen-dialog");
let about = null;
let status = null;
let seen = null; // the preview, with the ETag of its state
let watch = null;
let asking = false;
let timer = null;
let listed = null; // closed ballots with lists of surviving items to unfold

begin(async (found) => {
  about = found;
  plan();
  find("close-form").addEventListener("submit", close);
  find("reopen-form").addEventListener("submit", reopen);
  watch = campaign.watch("/progress", progress, freshness);
});

function progress(found) {
  status = found.status;
  fill(find("all"), all(found.ballots));
  goingOn(found.ballots);
  now(found.ballots);
}

function all(ballots) {
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
    {
      head: text("columns.actions"),
      cell: (row) => (row === last && row.state === "closed" && about.plan.mode === "ballots" ? again() : ""),
    },
  ];
  return table(columns, ballots, text("ballots.all"));
}

/** The items that survive each closed ballot, loaded when the list is unfolded. */
function goingOn(ballots) {
  const closed = ballots.filter((row) => row.state === "closed" && row.ballot < (status.n_ballots ?? 0));
  const now = closed.map((row) => `${row.ballot} ${row.closed_at}`).join("; ");
  if (now === listed) return;
  listed = now;
  fill(find("going-on"), ...closed.map(unfolded));
}

function unfolded({ ballot }) {
  const place = element("div");
  const made = element(
    "details",
    {},
    element("summary", { class: "summary" }, text("ballots.went-on", { n: number(ballot) })),
    place,
  );
  made.addEventListener("toggle", async () => {
    if (!made.open || place.hasChildNodes()) return;
    try {
      const { going_on: items } = (await campaign.get(`/ballots/${ballot}`)).json;
      const shown = items.slice(0, GOING_ON).map((item) => element("li", {}, label(item)));
      fill(place, element("ul", { class: "sample" }, ...shown, items.length > GOING_ON ? element("li", {}, "…") : null));
    } catch (error) {
      fill(place, element("p", { class: "notice notice-warning" }, explained(error)));
    }
  });
  return made;
}

function again() {
  return button(text("ballots.reopen"), "reopen", () => {
    find("reopen-reason").value = "";
    find("reopen-error").hidden = true;
    reopening.showModal();
  });
}

function now(ballots) {
  const place = find("now");
  if (status.state === "finished") {
    fill(place, element("h2", {}, text("ballots.finished")), element("p", {}, text("overview.finished")));
  } else if (status.state === "ready") {
    fill(place, ...ready());
  } else if (status.state === "closing") {
    fill(place, element("h2", {}, text("ballots.closing", { n: number(status.ballot) })));
  } else {
    preview(ballots.at(-1).ballot);
  }
}

function ready() {
  const n = number(status.ballot);
  const opener = button(text("overview.open", { n }), "open", (pressed) => open(pressed, {}), "primary");
  return [
    element("h2", {}, text("ballots.next", { n })),
    element(
      "p",
      {},
      text("ballots.next-text", { items: number(status.n_items), comparisons: number(status.n_comparisons) }),
    ),
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

async function preview(ballot) {
  // The preview fits all votes, so ask rarely enough that it takes only a small part of the server's time.
  const wait = asking ? FRESH : seen?.ballot === ballot ? seen.next - Date.now() : 0;
  clearTimeout(timer);
  if (wait > 0) {
    timer = setTimeout(() => {
      if (status.state === "open" && !document.hidden) preview(ballot);
    }, wait);
    return;
  }
  asking = true;
  if (seen?.ballot !== ballot) {
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
    complain(error);
    return;
  } finally {
    asking = false;
  }
  complain(null);
  const next = Date.now() + Math.max(FRESH, SHARE * (Date.now() - began));
  seen = { ballot, tag: answer.tag, next, ...answer.json };
  const found = answer.json;
  const share = found.n_answered / found.n_comparisons;
  const least = about.settings.least_answered;
  const rows = [
    [
      text("ballots.answered"),
      text("ballots.answered-of", {
        done: number(found.n_answered),
        of: number(found.n_comparisons),
        share: percent(share, 1),
        least: percent(least),
      }),
    ],
  ];
  const aside = status.n_answered - status.n_counted;
  if (aside > 0) rows.push([text("ballots.left-out"), number(aside)]);
  if (found.preview !== null) rows.push(...ofBallot(found.preview));
  if (found.expected !== null) rows.push([text("ballots.expected"), number(found.expected, 3)]);
  if (found.cut !== null) rows.push([text("ballots.confidence", { k: number(found.cut.k) }), sure(found.cut)]);
  const buttons = [];
  if (!hasSilent(found)) buttons.push(button(text("ballots.close-now"), "close", ask, found.ready ? "primary" : ""));
  if (about.plan.mode === "continuous") {
    buttons.push(button(text("ballots.draw"), "draw", (pressed) => open(pressed, { at_once: true })));
  }
  fill(
    find("now"),
    element("div", { class: "row row-apart" }, element("h2", {}, heading(ballot)), stateBadge("open")),
    element("progress", { max: "1", value: String(share), "aria-label": text("overview.progress") }),
    element("dl", { class: "facts" }, ...facts(rows)),
    element(
      "p",
      { class: found.ready ? "notice notice-good" : "notice notice-warning" },
      verdict(found, percent(Math.floor(1000 * share) / 1000, 1), percent(least)),
    ),
    element("p", { class: "row" }, ...buttons),
  );
}

/** Whether an item has no answer yet, which keeps a ballot open. */
function hasSilent({ preview: found }) {
  return found !== null && found.silent.length > 0;
}

/** Whether this can be closed now, or what is missing. */
function verdict(found, share, least) {
  if (found.ready) return text("ballots.can-close");
  return hasSilent(found) ? text("ballots.silent-first") : text("ballots.too-few", { share, least });
}

function heading(ballot) {
  return about.plan.mode === "continuous" ? text("ballots.if-ended") : text("ballots.if-closed", { n: number(ballot) });
}

function ofBallot(found) {
  const more = found.silent.length > SILENT ? ["…"] : [];
  const silent = [...found.silent.slice(0, SILENT).map(isolated), ...more].join("; ");
  const rows = [
    [
      text("ballots.silent"),
      found.silent.length === 0
        ? text("ballots.none")
        : text("ballots.silent-are", { n: number(found.silent.length), items: silent }),
    ],
    [text("ballots.fewest"), found.fewest.map(([item, answers]) => `${isolated(item)} (${number(answers)})`).join("; ")],
  ];
  if (found.n_going_on > 0) {
    rows.push([text("ballots.going-on"), number(found.n_going_on)]);
    rows.push([text("ballots.tied"), number(found.n_tied_at_cut)]);
  }
  return rows;
}

function sure(cut) {
  if (cut.k === 1) return text("ballots.sure-one", { confidence: percent(cut.confidence) });
  return text("ballots.sure", { confidence: percent(cut.confidence), overlap: number(cut.overlap, 1), k: number(cut.k) });
}

function ask() {
  if (seen === null) return;
  const continuous = about.plan.mode === "continuous";
  const n = number(seen.ballot);
  find("close-title").textContent = text(continuous ? "ballots.end-title" : "ballots.close-title", { n });
  const going = seen.preview?.n_going_on ?? 0;
  const words = continuous ? "ballots.end-text" : going > 0 ? "ballots.close-text" : "ballots.close-last";
  find("close-text").textContent = text(words, { items: number(going) });
  find("least-field").hidden = seen.ready;
  find("least").value = "";
  find("close-error").hidden = true;
  closing.showModal();
}

async function close(event) {
  event.preventDefault();
  const body = {};
  if (find("least").value !== "") body.least_answered = Number(find("least").value) / 100;
  await once(event.submitter, find("close-error"), async () => {
    await campaign.post(`/ballots/${seen.ballot}/close`, body, { "If-Match": seen.tag });
    closing.close();
    say(text(about.plan.mode === "continuous" ? "ballots.ended" : "ballots.closed"));
  });
  seen = null;
  watch.now();
}

async function reopen(event) {
  event.preventDefault();
  await once(event.submitter, find("reopen-error"), async () => {
    const last = about.plan.mode === "ballots" && status.state === "ready" ? status.ballot - 1 : status.ballot;
    await campaign.post(`/ballots/${last}/reopen`, { reason: find("reopen-reason").value.trim() });
    reopening.close();
    say(text("ballots.opened"));
  });
  seen = null;
  watch.now();
}

async function plan() {
  try {
    const { json } = await campaign.get("/plan");
    const { plan: shape, spending } = json;
    const rows = shape.sizes.map((items, at) => ({ at: at + 1, items, comparisons: shape.comparisons[at] }));
    const columns = [
      { head: text("columns.ballot"), cell: (row) => number(row.at) },
      { head: text("columns.items"), cell: (row) => number(row.items), number: true },
      { head: text("columns.comparisons"), cell: (row) => number(row.comparisons), number: true },
    ];
    const more = [[text("outlook.comparisons"), number(spending.n_comparisons)]];
    if (spending.n_probes > 0) more.push([text("outlook.probes"), number(spending.n_probes)]);
    if (spending.hours !== null) more.push([text("outlook.hours"), duration(spending.hours)]);
    fill(
      find("plan"),
      element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": text("ballots.plan") },
        table(columns, rows, text("ballots.plan"))),
      element("dl", { class: "facts" }, ...facts(more)),
    );
  } catch (error) {
    fill(find("plan"), element("p", {}, explained(error)));
  }
}
