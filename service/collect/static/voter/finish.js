// Finish: wait until the server has every vote, then show the code; and let the voter withdraw.

import { Api, Problem, needsWelcome, untilAnswered } from "./api.js";
import { rememberedOf } from "./memory.js";
import { campaign, changeLanguage, data, find, isPreview, pageOf, show, tell, text } from "./page.js";
import { Sender, Store } from "./queue.js";

const api = new Api(campaign);
const remembered = rememberedOf(campaign);
let answers = 0; // that count

find("reload").addEventListener("click", () => location.reload());
find("copy").addEventListener("click", copy);
find("withdraw").addEventListener("click", () => find("sure").showModal());
find("stay").addEventListener("click", () => find("sure").close());
find("go").addEventListener("click", withdraw);
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
if (!changeLanguage(remembered)) await begin();

async function begin() {
  if (isPreview) return showFinished(JSON.parse(data.preview));
  if (data.known === undefined) return show("link");
  try {
    const me = await untilAnswered(() => api.me(), onwait);
    if (me.step === "consent") return location.replace(pageOf(""));
    await drain(me);
    const { progress, available, reason } = await untilAnswered(() => api.me(), onwait);
    answers = progress.answers;
    tell("message", "");
    const isMore = available || reason === "wait";
    find("back").hidden = progress.answered === progress.of && !isMore;
    const missing = missingText(progress, isMore);
    if (missing !== null) return showUnfinished(missing);
    const answer = await untilAnswered(() => api.finish(), onwait);
    tell("message", "");
    showFinished(answer);
  } catch (error) {
    tell("message", "");
    explain(error);
  }
  return undefined;
}

/** Wait until the server has answered the votes that this browser still holds. */
async function drain(me) {
  let problem = null;
  const sender = new Sender(api, new Store(campaign, me.voter), {
    waiting: onwait,
    stuck: () => {
      tell("message", text("said.stuck"));
      find("send-again").hidden = false;
    },
    refused: (_entry, refusal) => {
      if (needsWelcome(refusal)) problem = refusal;
      else if (refusal.kind === "late") find("late").hidden = false;
      return needsWelcome(refusal) ? "keep" : "remove";
    },
  });
  find("send-again").addEventListener("click", () => {
    find("send-again").hidden = true;
    tell("message", "");
    sender.refresh();
  });
  await sender.drained();
  if (problem !== null) throw problem;
}

function showFinished(answer) {
  find("counted").textContent = text("finish.counted", { answers: answer.answers });
  find("counted").hidden = answer.answers === 0;
  find("early").hidden = answer.outcome === "complete";
  if (answer.outcome !== "complete") find("early").textContent = text(`early.${answer.outcome}`);
  const { completion_code: code, completion_url: url } = answer;
  if (code || url || data.platform !== undefined) remembered.set({ answered: [] }); // the end is recorded: no answer can be undone
  find("completion").hidden = !code && !url;
  find("code-box").hidden = !code;
  find("code").textContent = code ?? "";
  find("copy").hidden = navigator.clipboard === undefined; // only with https
  find("return-box").hidden = !url;
  if (url) find("return").href = url;
  show("finished");
}

function explain(error) {
  if (!(error instanceof Problem)) throw error;
  if (error.kind === "unfinished") {
    const { missing, unit } = error.body;
    showUnfinished(missing > 0 ? text(`finish.unfinished-${unit}`, { missing }) : text("finish.unfinished-none"));
  } else if (error.status === 401) {
    show("link");
  } else if (needsWelcome(error)) {
    location.replace(pageOf(""));
  } else {
    show("failed");
  }
}

/** A message if something is missing before the server can be asked for the code; otherwise null. */
function missingText({ answered, of, sheets_done: done, sheets_limit: limit, answers }, isMore) {
  if (answered < of) return text("finish.unfinished-pairs", { missing: of - answered });
  if (isMore && limit !== null) return text("finish.unfinished-sheets", { missing: limit - done });
  return answers === 0 && data.platform === undefined ? text("finish.unfinished-none") : null;
}

function showUnfinished(message) {
  find("missing").textContent = message;
  find("stop").hidden = answers === 0;
  show("unfinished");
}

async function copy() {
  await navigator.clipboard.writeText(find("code").textContent);
  find("copied").textContent = text("finish.copied");
}

async function withdraw() {
  if (isPreview) {
    find("sure").close();
    show("withdrawn");
    return;
  }
  find("go").disabled = true;
  try {
    await untilAnswered(() => api.withdraw(), onwait);
  } catch (error) {
    find("sure").close();
    explain(error);
    return;
  }
  remembered.forget();
  find("sure").close();
  tell("message", "");
  show("withdrawn");
}

function onwait() {
  tell("message", text("unreachable"));
}
