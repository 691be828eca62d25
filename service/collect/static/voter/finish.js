// Finish: waits until the server has each vote, then shows the code; and the way to withdraw.

import { Api, Problem, untilAnswered } from "./api.js";
import { rememberedOf } from "./memory.js";
import { campaign, changeLanguage, data, find, pageOf, show, tell, text } from "./page.js";
import { Sender, Store } from "./queue.js";

const api = new Api(campaign);
const remembered = rememberedOf(campaign);

find("reload").addEventListener("click", () => location.reload());
find("copy").addEventListener("click", copy);
find("withdraw").addEventListener("click", () => find("sure").showModal());
find("stay").addEventListener("click", () => find("sure").close());
find("go").addEventListener("click", withdraw);
window.addEventListener("pageshow", (event) => event.persisted && location.reload());
if (!changeLanguage(remembered)) await begin();

async function begin() {
  if (data.known === undefined) return show("link");
  try {
    const me = await untilAnswered(() => api.me(), onwait);
    if (me.step === "consent") return location.replace(pageOf(""));
    await drained(me);
    const answer = await untilAnswered(() => api.finish(), onwait);
    tell("message", "");
    showFinished(answer);
  } catch (error) {
    tell("message", "");
    explain(error);
  }
  return undefined;
}

/** Wait until the votes that this browser still holds have been answered. */
async function drained(me) {
  let problem = null;
  const sender = new Sender(api, new Store(campaign, me.voter), {
    waiting: onwait,
    refused: (_entry, refusal) => {
      if (refusal.needsWelcome) problem = refusal;
      return refusal.needsWelcome ? "keep" : "remove";
    },
  });
  await sender.drained();
  if (problem !== null) throw problem;
}

function showFinished(answer) {
  find("counted").textContent = text("finish.counted", { votes: answer.votes });
  const { completion_code: code, completion_url: url } = answer;
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
    showUnfinished(error.body.missing);
  } else if (error.status === 401) {
    show("link");
  } else if (error.needsWelcome) {
    location.replace(pageOf(""));
  } else {
    show("failed");
  }
}

async function showUnfinished(missing) {
  const { answered, of } = (await untilAnswered(() => api.me(), onwait)).progress;
  const key = answered < of ? "unfinished-pairs" : missing > 0 ? "unfinished-sheets" : "unfinished-none";
  find("missing").textContent = text(`finish.${key}`, { missing });
  show("unfinished");
}

async function copy() {
  await navigator.clipboard.writeText(find("code").textContent);
  find("copied").textContent = text("finish.copied");
}

async function withdraw() {
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
