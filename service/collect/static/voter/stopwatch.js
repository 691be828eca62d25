// Time that a reader has had before the eyes: by performance.now(), less the time that the tab was hidden.

export class Stopwatch {
  #total = 0;
  #since = null;
  #runs = false;

  constructor() {
    document.addEventListener("visibilitychange", () => this.#turn());
  }

  /** Begin anew. */
  start() {
    this.#total = 0;
    this.#since = null;
    this.#runs = true;
    this.#turn();
  }

  /** No time counts until the next start. */
  stop() {
    this.#runs = false;
    this.#since = null;
  }

  /** Whole milliseconds since the start; undefined while it does not run. */
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
