// Requests of an organiser's page, and polling that costs nothing while nothing changes.

import { Problem, request } from "../requests.js";

const PATIENCE = 60_000; // milliseconds, long enough to simulate the accuracy of a plan
const EVERY = 5_000;
const LONGEST = 60_000;
const SHARE = 5; // the longer the server takes for a path, the less often the page asks for it

export { Problem };

/** An answer: its JSON (null if it has none or nothing has changed), the ETag of its state, and its status. */
export function ask(method, path, { body, headers = {}, token } = {}) {
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return request(method, path, { patience: PATIENCE, body, headers: { ...headers, ...authorization } });
}

/** The API of one campaign, for the organiser whose session this browser has. */
export class Campaign {
  constructor(key) {
    this.key = key;
    this.base = `/v1/campaigns/${key}`;
  }

  get(path = "") {
    return ask("GET", this.base + path);
  }

  post(path, body = {}, headers = {}) {
    return ask("POST", this.base + path, { body, headers });
  }

  put(path, body, headers = {}) {
    return ask("PUT", this.base + path, { body, headers });
  }

  begin(token) {
    return ask("POST", "/v1/organiser/sessions", { body: { campaign: this.key, token } });
  }

  end() {
    return ask("POST", `/v1/organiser/sessions/${this.key}/end`, { body: {} });
  }

  /**
   * Poll a path every five seconds while the page is visible, and call `show` with new data. `failed` is called with
   * an error, and with null once it is over. Only the last ETag is kept, so that a page can stay open all day. `every`
   * sets a longer interval for paths that take the server long.
   */
  watch(path, show, failed, every = EVERY) {
    return new Watch(() => this.base + (typeof path === "function" ? path() : path), show, failed, every);
  }
}

class Watch {
  constructor(path, show, failed, every) {
    this.path = path;
    this.show = show;
    this.failed = failed;
    this.every = every;
    this.tag = null;
    this.lastPath = null; // of the last data
    this.wait = every;
    this.timer = null;
    this.isRunning = false;
    this.isDue = false;
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.stop();
      else this.now();
    });
    if (!document.hidden) this.now();
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  /** Ask at once, because the page was opened or the organiser did something. */
  async now() {
    this.stop();
    if (this.isRunning) {
      this.isDue = true;
      return;
    }
    this.isRunning = true;
    do {
      this.isDue = false;
      await this.poll();
    } while (this.isDue);
    this.isRunning = false;
    if (!document.hidden) this.timer = setTimeout(() => this.now(), this.wait);
  }

  async poll() {
    const path = this.path();
    const began = Date.now();
    const known = path === this.lastPath && this.tag !== null;
    try {
      const answer = await ask("GET", path, { headers: known ? { "If-None-Match": this.tag } : {} });
      this.wait = Math.max(this.every, SHARE * (Date.now() - began));
      this.failed(null);
      if (answer.status === 304) return;
      this.lastPath = path;
      this.tag = answer.tag;
      this.show(answer.json);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      this.wait = Math.min(LONGEST, this.wait * 2);
      this.failed(error);
    }
  }
}
