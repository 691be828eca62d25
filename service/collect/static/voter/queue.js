// Votes being sent: stored in IndexedDB under their event id and sent again until the server answers.

import { MOST_FAILURES, Problem, isFailure, waitingTime } from "./api.js";

const DATABASE = "rankcorr";
const STORE = "unsent";

/** Entries of one voter that the server has not acknowledged; only in memory if the browser stores nothing. */
export class Store {
  constructor(campaign, voter) {
    this.campaign = campaign;
    this.voter = voter;
    this.opened = open().catch(() => null);
  }

  async put(entry) {
    const record = { ...entry, campaign: this.campaign, voter: this.voter, at: Date.now() };
    await this.#run("readwrite", (store) => store.put(record));
  }

  async remove(id) {
    await this.#run("readwrite", (store) => store.delete(id));
  }

  /** Entries that another page of this voter left behind, oldest first. */
  async all() {
    const entries = (await this.#run("readonly", (store) => store.getAll())) ?? [];
    const unsent = entries.filter((entry) => entry.campaign === this.campaign && entry.voter === this.voter);
    return unsent.sort((one, other) => one.at - other.at);
  }

  async #run(mode, work) {
    const database = await this.opened;
    if (database === null) return undefined;
    return new Promise((resolve) => {
      const transaction = database.transaction(STORE, mode, { durability: "strict" });
      const request = work(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => resolve(undefined); // such as a full disk: the vote is sent anyway
    });
  }
}

function open() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "event_id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * Sends entries one by one, each until the server has answered it.
 *
 * `on` has `sent(entry, answer)`, `refused(entry, problem)`, `waiting(problem)`, `stuck()` and `idle()`. A refused
 * entry also leaves the store, unless `refused` returns "keep". An entry on which the server fails repeatedly is kept,
 * and tried again at `refresh`.
 */
export class Sender {
  #entries = [];
  #running = false;
  #wake = () => {};

  constructor(api, store, on) {
    this.api = api;
    this.store = store;
    this.on = on;
    window.addEventListener("online", () => this.refresh());
    document.addEventListener("visibilitychange", () => document.hidden || this.refresh());
  }

  get isIdle() {
    return this.#entries.length === 0;
  }

  /** Store an entry, then send it. */
  async add(entry) {
    this.#entries.push(entry);
    await this.store.put(entry);
    this.#run();
  }

  /** Load the entries in the store, and try at once. */
  async refresh() {
    const known = new Set(this.#entries.map((entry) => entry.event_id));
    const others = (await this.store.all()).filter((entry) => !known.has(entry.event_id));
    this.#entries.push(...others);
    this.#wake();
    this.#run();
  }

  /** Resolves when nothing is left to send. */
  async drained() {
    await this.refresh();
    if (!this.isIdle) await new Promise((resolve) => (this.whenIdle = resolve));
  }

  async #run() {
    if (this.#running) return;
    this.#running = true;
    while (!this.isIdle) await this.#deliver(this.#entries[0]);
    this.#running = false;
    this.whenIdle?.();
    this.on.idle?.();
  }

  async #deliver(entry) {
    for (let tries = 0, failures = 0; ; tries += 1) {
      let answer;
      try {
        answer = await this.api.send(entry);
      } catch (error) {
        failures = isFailure(error) ? failures + 1 : 0;
        if (failures === MOST_FAILURES) {
          this.on.stuck();
          await new Promise((resolve) => (this.#wake = resolve));
          tries = failures = 0;
          continue;
        }
        if (error.mayPass) {
          this.on.waiting?.(error);
          await this.#rest(waitingTime(tries, error), error.retryAfter !== undefined);
          continue;
        }
        if (!(error instanceof Problem)) throw error; // a bug, not an answer of the server
        this.#entries.shift();
        if ((await this.on.refused?.(entry, error)) !== "keep") await this.store.remove(entry.event_id);
        return;
      }
      await this.store.remove(entry.event_id);
      this.#entries.shift();
      this.on.sent?.(entry, answer);
      return;
    }
  }

  /** Wait; a restored network ends the wait, unless the server asked for this time. */
  #rest(milliseconds, isAsked) {
    return new Promise((resolve) => {
      setTimeout(resolve, milliseconds);
      if (!isAsked) this.#wake = resolve;
    });
  }
}
