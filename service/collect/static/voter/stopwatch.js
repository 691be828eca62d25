// Time that a pair was visible to the reader: by performance.now(), without the time that the tab was hidden.

export class Stopwatch {
  #total = 0;
  #since = null;
  #runs = false;

  constructor() {
    document.addEventListener("visibilitychange", () => this.#turn());
  }

  /** Start again from zero. */
  start() {
    this.#total = 0;
    this.#since = null;
    this.#runs = true;
    this.#turn();
  }

  /** Stop counting until the next start. */
  stop() {
    this.#runs = false;
    this.#since = null;
  }

  /** Whole milliseconds since the start; undefined if stopped. */
  read() {
    if (!this.#runs) return undefined;
    const current = this.#since === null ? 0 : performance.now() - this.#since;
    return Math.round(this.#total + current);
  }

  #turn() {
    if (!this.#runs) return;
    const moment = performance.now();
    if (this.#since !== null) this.#total += moment - this.#since;
    this.#since = document.hidden ? null : moment;
  }
}
