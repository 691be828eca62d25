// What this browser remembers of a campaign: order of answers, pairs put off, choices of the reader. No vote depends on it.

/** A value below a key of localStorage or sessionStorage; in memory alone where the browser keeps nothing. */
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

  /** Change some entries; true if they will still be there after a reload. */
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
      // nothing was kept
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

/** What pages of a campaign share. */
export function rememberedOf(campaign) {
  return new Memory("localStorage", `rankcorr:${campaign}`, {
    arrival: null, // "invitation", "open" or "platform"
    language: null, // as the reader chose it
    keys: true,
    voter: null,
    sheet: null,
    complete: false, // whether each pair of that sheet was answered
    skipped: [], // ids of pairs, in the order in which they come again
    answered: [], // {pair, event_id}, the last one last
  });
}
