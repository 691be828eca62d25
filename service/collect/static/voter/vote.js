// Comparisons: sheet after sheet, one pair at a time. One vote may be in flight while the voter reads the next pair;
// the answer to that pair waits until the first vote has arrived.

import { Api, Problem, needsWelcome, newId, untilAnswered } from "./api.js";
import { prefetch } from "./content.js";
import { listen } from "./input.js";
import { rememberedOf } from "./memory.js";
import { campaign, changeLanguage, data, find, isPreview, pageOf, show, tell, text } from "./page.js";
import { preview } from "./preview.js";
import { Sender, Store } from "./queue.js";
import { Sheet, forgetAnswer, lastRemembered } from "./sheet.js";
import { Stopwatch } from "./stopwatch.js";
import { allow, completed, isOff, layout, mark, named, openChoice, say, showFeedback, showPair, showProgress, warn } from "./view.js";

const LONGEST_WAIT = 15; // seconds until a waiting voter asks again: a sheet may be free early
const STALE = 60_000; // milliseconds away from this page, after which another device may have continued

const api = isPreview ? preview(JSON.parse(data.preview)) : new Api(campaign);
const remembered = rememberedOf(campaign);
const stopwatch = new Stopwatch();
let sender;

// The phase is one of: "loading"; "asking", while a pair is on display; "retracting", while an answer is being undone;
// "ending", while the last vote of the sheet is in flight; "resting", on the views without a pair.
const state = {
  phase: "loading",
  sheet: null,
  pair: null, // on display
  next: null, // the voter's next action, due when the last vote has arrived
  notice: "", // the message to show with the next pair
};

wire();
if (!changeLanguage(remembered)) await begin();

async function begin() {
  if (data.known === undefined && !isPreview) return leaveTo("");
  try {
    const me = await untilAnswered(() => api.me(), onwait);
    if (me.step === "consent") return leaveTo("");
    if (remembered.value.voter !== me.voter) {
      remembered.set({ voter: me.voter, sheet: null, skipped: [], answered: [], complete: false });
    }
    showKeys();
    sender = new Sender(api, new Store(campaign, me.voter), { sent: showSent, refused: handleRefusal, waiting: onwait, stuck: showStuck, idle: runNext });
    await sender.drained();
    showProgress(me.progress);
    if (remembered.value.complete && isStillDone(me)) return complete(me);
    const isThrough = me.step === "finish" && me.reason !== "not open";
    if (isThrough && state.notice === "") return leaveTo(me.progress.answers > 0 || data.platform !== undefined ? "finish" : "");
    await openSheet();
  } catch (error) {
    showFailure(error);
  }
  return undefined;
}

/** Whether to show the sheet that this browser completed; not if its ballot is closed and another sheet waits. */
function isStillDone({ available, progress: { answered, of } }) {
  return answered === of && (of > 0 || !available);
}

/** Load the current sheet, or the next one. */
async function openSheet() {
  const { sheet, me, reason, retry_after: seconds } = await untilAnswered(() => api.nextSheet(), onwait);
  say(""); // the message about the previous sheet
  sayNotice();
  if (reason === "wait") return waitFor(seconds);
  if (sheet === null) return showNothingLeft(me);
  state.sheet = new Sheet(sheet, remembered);
  return advance();
}

/** Ask again until other voters return a sheet or start to answer. */
function waitFor(seconds) {
  rest();
  find("wait-text").textContent = text("wait.text", { minutes: Math.ceil(seconds / 60) });
  show("wait", { focus: document.activeElement === document.body });
  setTimeout(reopen, 1000 * Math.min(seconds, LONGEST_WAIT));
}

/** No pair is on display. */
function rest() {
  Object.assign(state, { phase: "resting", sheet: null, pair: null });
  find("pause").hidden = true;
}

/** Show the first pair without an answer, or that the sheet is done. */
function advance() {
  const { open } = state.sheet;
  if (open.length > 0) return present(open[0]);
  state.pair = null;
  stopwatch.stop();
  if (sender.isIdle) return complete();
  state.phase = "ending";
  return undefined;
}

function present(pair) {
  Object.assign(state, { phase: "asking", pair });
  stopwatch.stop();
  find("pause").hidden = isPreview;
  showPair(pair, { ...allowedTools(), ready: () => stopwatch.start() });
  showProgress(state.sheet.progress);
  if (state.sheet.open[1] !== undefined) prefetch(state.sheet.open[1]);
}

function allowedTools() {
  const { sheet, pair } = state;
  return { canUndo: sheet.last !== undefined, canSkip: sheet.open.length > 1 && !pair?.practice };
}

function choose(part, how) {
  const { phase, pair } = state;
  if (phase !== "asking" || pair.answer !== null) return;
  const answer = completed(part);
  if (answer === undefined) {
    state.next = null; // one of two choices was taken back before they were sent
    say(openChoice());
    return;
  }
  const time = stopwatch.read();
  const details = { answer, given_by: how, layout: layout(), ...(time === undefined ? {} : { response_ms: time }) };
  mark(answer);
  whenIdle(() => vote(pair, details), text("said.saving"));
}

/** Run an action now, or when the last vote has arrived; a later action replaces it. */
function whenIdle(action, message) {
  if (sender.isIdle) {
    state.next = null;
    return action();
  }
  state.next = action;
  say(find("message").hidden ? message : text("said.held"));
  return undefined;
}

async function vote(pair, details) {
  const id = newId();
  stopwatch.stop();
  warn("");
  state.sheet.answered(pair, details.answer, id);
  const added = sender.add({ kind: "cast", event_id: id, vote: { pair: pair.id, ...details } });
  say(isPreview ? "" : text("said.saving"));
  if (!pair.practice) advance(); // the feedback on practice comes from the server
  await added;
}

function showSent(entry, answer) {
  warn("");
  find("send-again").hidden = true;
  if (entry.kind === "retract") return showRetracted(entry);
  const pair = state.sheet?.pair(answer.pair);
  if (pair === undefined) return say(""); // from another page, or from before a reload
  pair.answer = answer.answer;
  pair.event_id = answer.event_id;
  const { answered, of } = state.sheet.progress;
  showProgress(state.sheet.progress);
  say(text(isPreview ? "vote.count" : "said.saved", { done: answered, of }));
  if (pair === state.pair && pair.practice) {
    if (answer.feedback) showFeedback(answer.feedback);
    else advance();
  } else if (state.pair !== null) {
    allow(allowedTools());
  }
  return undefined;
}

function runNext() {
  const action = state.next;
  state.next = null;
  if (action !== null) action();
  else if (state.phase === "ending") complete();
}

/** Handle a vote that the server refuses; the voter sees the answer that counts. */
function handleRefusal(entry, problem) {
  if (needsWelcome(problem)) {
    leaveTo("");
    return "keep";
  }
  state.next = null;
  if (state.phase === "retracting") state.phase = state.pair === null ? "resting" : "asking";
  say(""); // nothing is being saved now
  const id = entry.kind === "retract" ? entry.pair : entry.vote.pair;
  const pair = state.sheet?.pair(id);
  const { answer } = problem.body;
  if (problem.kind === "late") {
    forgetAnswer(remembered, id);
    state.notice = text(entry.kind === "retract" ? "said.not-undone" : "said.late");
    if (state.sheet !== null || entry.kind === "retract") setTimeout(reopen, 0);
  } else if (entry.kind === "retract") {
    forgetAnswer(remembered, id);
    state.notice = text("said.not-undone");
    setTimeout(reopen, 0);
  } else if (state.sheet === null && answer) {
    state.notice = text("said.conflict-before", { answer: named(answer) }); // left over from before
  } else if (pair !== undefined && answer) {
    pair.answer = answer;
    pair.event_id = null;
    forgetAnswer(remembered, id);
    state.notice = text("said.conflict", { answer: named(answer, pair) });
    if (pair === state.pair) advance();
    else if (state.pair !== null) present(state.pair);
    if (state.pair !== null) sayNotice(); // otherwise the sheet is complete, and that message shows it
  } else if (problem.status === 404 || problem.status === 409) {
    state.notice = text("said.refused"); // not on this voter's sheet, or another voter has answered
    setTimeout(reopen, 0);
  } else if (pair !== undefined) {
    state.sheet.reopened(pair);
    present(pair);
    warn(text("said.refused"));
  }
  return "remove";
}

function sayNotice() {
  warn(state.notice);
  state.notice = "";
}

async function reopen() {
  try {
    if (state.phase === "ending") state.phase = "loading";
    await openSheet();
  } catch (error) {
    showFailure(error);
  }
}

function undo() {
  if (state.phase === "retracting") return;
  if (state.next !== null) {
    state.next = null; // not sent yet
    mark(null);
    say("");
    return;
  }
  const target = state.sheet === null ? lastRemembered(remembered) : state.sheet.last;
  if (target === undefined) return;
  state.phase = "retracting";
  const entry = { kind: "retract", event_id: newId(), target: target.event_id, pair: target.pair };
  whenIdle(() => sender.add(entry), text("said.saving"));
}

async function showRetracted(entry) {
  forgetAnswer(remembered, entry.pair);
  remembered.set({ complete: false });
  const pair = state.sheet?.pair(entry.pair);
  if (pair === undefined) {
    state.phase = "loading";
    await reopen();
  } else {
    state.sheet.reopened(pair);
    present(pair);
  }
  say(text("said.taken-back"));
}

function skip() {
  if (state.phase !== "asking" || state.next !== null) return;
  state.sheet.skip(state.pair);
  advance();
  say(text("said.skipped"));
}

function pause() {
  stopwatch.stop();
  Object.assign(state, { phase: "resting", next: null });
  mark(null);
  say("");
  const how = { invitation: "invitation", platform: "platform" }[remembered.value.arrival] ?? "browser";
  find("resume-how").textContent = text(`paused.${how}`);
  find("pause").hidden = true;
  show("paused");
}

async function resume() {
  show("loading");
  await reopen();
}

/** Every pair of the sheet is answered, and the server has all answers. */
async function complete(latest) {
  rest();
  remembered.set({ complete: true });
  try {
    const me = latest ?? (await untilAnswered(() => api.me(), onwait));
    sayNotice();
    showProgress(me.progress);
    showDone(me);
  } catch (error) {
    showFailure(error);
  }
}

function showNothingLeft(me) {
  rest();
  if (me.progress.answers === 0) return leaveTo(data.platform === undefined ? "" : "finish");
  showProgress(me.progress);
  return showDone(me);
}

function showDone({ available, reason, progress }) {
  const isMore = available || reason === "wait"; // the next page waits until a part is free
  find("more").hidden = !isMore;
  const titleKey = { ended: "ended", "not open": "welcome.not-open" }[reason] ?? "done.title";
  find("done-title").textContent = text(titleKey);
  const reasonKey = { ended: "ended-text", limit: "done.limit", "not open": "done.not-open" }[reason] ?? "done.none-left";
  find("done-text").textContent = text(isPreview ? "preview.end" : isMore ? "done.text" : reasonKey);
  const { sheets_done: done, sheets_limit: limit } = progress;
  find("to-finish").hidden = isMore && limit !== null; // the code is shown after the last sheet
  find("to-finish").classList.toggle("button-primary", !isMore);
  find("done-count").hidden = limit === null || limit === 1;
  find("done-count").textContent = text("done.count", { done, limit });
  const isClosed = progress.of === 0; // the voter holds a finished sheet until its ballot is closed
  find("undo-done").hidden = isClosed || lastRemembered(remembered) === undefined;
  show("done");
}

async function nextSheet() {
  remembered.set({ complete: false, sheet: null, answered: [], skipped: [] });
  show("loading");
  await reopen();
}

function onwait(problem) {
  const isBusy = problem.status !== 0;
  const key = sender === undefined || sender.isIdle ? "unreachable" : isBusy ? "said.busy" : "said.waiting";
  warn(text(key));
  say(state.next === null ? "" : text("said.held")); // no vote is being saved now
}

/** The server fails on the last answer: it is kept here, and sent again when the voter asks. */
function showStuck() {
  warn(text("said.stuck"));
  say("");
  find("send-again").hidden = false;
}

function sendAgain() {
  find("send-again").hidden = true;
  warn("");
  sender.refresh();
}

function showFailure(error) {
  if (!(error instanceof Problem)) throw error;
  if (needsWelcome(error)) leaveTo("");
  else show("failed");
}

function leaveTo(name) {
  location.replace(pageOf(name));
}

function showKeys() {
  find("keys").checked = remembered.value.keys;
  document.body.classList.toggle("no-keys", !remembered.value.keys);
}

/** Keys count only if their switch is visible: not on phones, where voters could not switch them off. */
function keysCount() {
  return remembered.value.keys && find("keys").offsetParent !== null && find("feedback").hidden;
}

/** Whether the voter looks at a pair, and nothing is being sent. */
function isUndisturbed() {
  return state.phase === "asking" && state.next === null && sender.isIdle;
}

function wire() {
  listen(find("voting"), choose, keysCount);
  const click = (id, work) => find(id).addEventListener("click", (event) => isOff(event.currentTarget) || work());
  click("undo", undo);
  click("undo-done", undo);
  click("skip", skip);
  click("pause", pause);
  click("resume", resume);
  click("next", advance);
  click("more", nextSheet);
  click("send-again", sendAgain);
  click("reload", () => location.reload());
  find("keys").addEventListener("change", (event) => {
    remembered.set({ keys: event.target.checked });
    showKeys();
  });
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  let hiddenAt = 0;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hiddenAt = performance.now();
    else if (performance.now() - hiddenAt > STALE && isUndisturbed()) reopen();
  });
}
