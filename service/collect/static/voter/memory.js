// State of a campaign in this browser: order of answers, skipped pairs, the reader's choices. No vote depends on it.

/** A value under a key of localStorage or sessionStorage; only in memory if the browser stores nothing. */
export class Memory {
  #value;

  constructor(area, key, fallback) {
    this.area = area;
    this.key = key;
    this.#value = { ...fallback, ...this.#read() };
  }

  get value() {
    return this.#value;
  }

  /** Change some entries; true if they survive a reload. */
  set(changes) {
    this.#value = { ...this.#value, ...changes };
    try {
      window[this.area].setItem(this.key, JSON.stringify(this.#value));
      return true;
    } catch {
      return false;
    }
  }

  forget() {
    this.#value = {};
    try {
      window[this.area].removeItem(this.key);
    } catch {
      // the browser stores nothing
    }
  }

  #read() {
    try {
      const value = JSON.parse(window[this.area].getItem(this.key) ?? "{}");
      return typeof value === "object" && value !== null ? value : {};
    } catch {
      return {};
    }
  }
}

/** State that the pages of a campaign share. */
export function rememberedOf(campaign) {
  return new Memory("localStorage", `rankcorr:${campaign}`, {
    arrival: null, // "invitation", "open" or "platform"
    language: null, // as the reader chose it
    keys: true,
    voter: null,
    sheet: null,
    complete: false, // whether each pair of that sheet was answered
    skipped: [], // ids of pairs, in the order to show them again
    answered: [], // {pair, event_id}, latest at the end
  });
}
