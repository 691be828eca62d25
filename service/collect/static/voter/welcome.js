// Welcome: identify the visitor and ask for consent. The secret of the link leaves the address as this page starts.

import { Api, Problem } from "./api.js";
import { Memory, rememberedOf } from "./memory.js";
import { campaign, changeLanguage, data, find, home, isPreview, pageOf, show, tell, text } from "./page.js";

const api = new Api(campaign);
const remembered = rememberedOf(campaign);
// Data of the link, kept until this tab has used them: they survive a change of language.
const arrival = new Memory("sessionStorage", `rankcorr:${campaign}`, { token: null, platform: null, message: "" });
let isFromPlatform = false; // by a link that does not identify the visitor
let isKnown = data.known !== undefined; // whether a cookie identifies the voter

find("agree").addEventListener("click", () => (isPreview ? location.assign(pageOf("vote")) : agree()));
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
window.addEventListener("hashchange", () => location.hash.length > 20 && location.reload()); // another link in the same tab
if (changeLanguage(remembered)) {
  // the page is loaded again
} else if (isPreview) {
  show("consent", { focus: false });
} else {
  takeFromAddress();
  tell("message", arrival.value.message);
  arrival.set({ message: "" });
  await begin();
}

function takeFromAddress() {
  const query = new URLSearchParams(location.search);
  const secret = location.hash.slice(1);
  const participant = query.get("PROLIFIC_PID");
  let isStored = true;
  if (participant !== null) {
    isStored = arrival.set({ token: null, platform: participantOf("prolific", participant, query, "STUDY_ID", "SESSION_ID", secret) });
  } else if (data.platform === "mturk" && query.get("workerId") !== null) {
    const worker = query.get("workerId");
    isStored = arrival.set({ token: null, platform: participantOf("mturk", worker, query, "hitId", "assignmentId", secret) });
  } else if (data.platform !== undefined && ["hitId", "assignmentId", "STUDY_ID"].some((name) => query.has(name))) {
    isFromPlatform = true; // such as the preview of a task that no participant has accepted yet
  } else if (secret !== "" && secret !== "main") {
    isStored = arrival.set({ token: secret, platform: null });
  } else {
    return;
  }
  if (isStored) cleanAddress(); // otherwise only after the server has it, because a reload would lose it
}

function participantOf(name, participant, query, study, session, secret) {
  const known = { name, participant, study: query.get(study) ?? "", secret };
  return query.get(session) ? { ...known, session: query.get(session) } : known;
}

function cleanAddress() {
  const language = new URLSearchParams(location.search).get("lang");
  history.replaceState(null, "", home + (language === null ? "" : `?lang=${encodeURIComponent(language)}`));
}

async function begin() {
  try {
    const { token, platform } = arrival.value;
    if (token !== null) {
      await open({ token });
    } else if (platform !== null) {
      await showNewcomer(); // the link names the participant; a cookie may be another one's
    } else if (data.known === undefined) {
      await showStranger();
    } else {
      greet(await api.me());
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 401 && arrival.value.token === null && arrival.value.platform === null) {
      await showStranger();
    } else {
      explain(error, begin);
    }
  }
}

/** Exchange the link for a cookie, which identifies the voter from now on. */
async function open(how) {
  const me = await api.startSession(how);
  remembered.set({ arrival: how.token ? "invitation" : how.platform ? "platform" : "open" });
  isKnown = true;
  arrival.set({ token: null, platform: null });
  cleanAddress();
  if (how.consent === undefined) greet(me);
}

async function showStranger() {
  if (isFromPlatform) show("platform", { focus: false });
  else if (data.open !== undefined) await showNewcomer();
  else show("link", { focus: false });
}

async function showNewcomer() {
  const { platform } = arrival.value;
  if (data.nothingLeft !== undefined && platform !== null) return turnAway(platform);
  return show(data.nothingLeft === undefined ? "consent" : "nothing", { focus: false });
}

/** No sheet is left for new voters: a participant may get a code for that, and a returning voter continues. */
async function turnAway(platform) {
  try {
    await api.startSession({ platform });
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== "consent-needed") throw error;
  }
  show("consent", { focus: false });
}

function showFull({ completion_code: code, completion_url: url }) {
  arrival.set({ token: null, platform: null });
  find("full-code").textContent = code;
  find("full-return-box").hidden = url === null;
  if (url !== null) find("full-return").href = url;
  show("full");
}

function greet(me) {
  find("leave").hidden = me.step === "consent";
  // A returning voter may be looking for the completion code, which is on the last page.
  const hasCode = me.progress.answers > 0 ? data.completes : data.platform;
  const isAfterCode = me.step === "finish" && hasCode !== undefined;
  if (isAfterCode) location.replace(pageOf("finish"));
  else if (me.step === "finish") show(me.progress.answers > 0 && me.reason !== "not open" ? "finished" : "nothing", { focus: false });
  else if (me.step === "consent") show(me.available || me.reason === "wait" ? "consent" : "nothing", { focus: false });
  else {
    find("answered").textContent = text("welcome.answered", { answers: me.progress.answers });
    show("continue", { focus: false });
  }
}

async function agree() {
  const button = find("agree");
  if (button.disabled) return;
  button.disabled = true;
  tell("message", "");
  try {
    const version = data.consentVersion;
    const { platform } = arrival.value;
    if (platform !== null) await open({ consent: version, platform });
    else if (isKnown) await api.consent(version);
    else await open({ consent: version });
    location.assign(pageOf("vote"));
  } catch (error) {
    if (error instanceof Problem && error.kind === "consent-changed") {
      arrival.set({ message: text("welcome.consent-changed") });
      location.reload();
      return;
    }
    explain(error, agree);
  } finally {
    button.disabled = false;
  }
}

function explain(error, again) {
  if (error instanceof Problem && error.kind === "nothing-left") {
    show("nothing");
  } else if (error instanceof Problem && error.kind === "quota-full") {
    showFull(error.body);
  } else if (error instanceof Problem && [401, 403, 404, 422].includes(error.status)) {
    const wasBare = data.platform !== undefined && arrival.value.token !== null;
    arrival.set({ token: null, platform: null });
    if (wasBare) {
      show("platform");
      return;
    }
    find("link-text").textContent = text("welcome.link-refused");
    show("link");
  } else if (error instanceof Problem && error.status === 429) {
    tell("message", text("welcome.full"));
  } else if (error instanceof Problem) {
    tell("message", text("unreachable"));
    setTimeout(again, 1000 * Math.max(3, error.retryAfter ?? 0));
  } else {
    throw error;
  }
}
