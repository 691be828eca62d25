// The sheet in hand: which pair comes next, which was answered last.

/** The pairs of a sheet as the server gave it, and what this browser remembers of it. */
export class Sheet {
  constructor(given, remembered) {
    this.name = `${given.ballot}-${given.sheet}`;
    this.pairs = given.pairs;
    this.remembered = remembered;
    if (remembered.value.sheet !== this.name) {
      remembered.set({ sheet: this.name, skipped: [], answered: [], complete: false });
    }
    remembered.set({ complete: false });
  }

  pair(id) {
    return this.pairs.find((pair) => pair.id === id);
  }

  /** Pairs without an answer: those put off come last, and practice is never put off. */
  get open() {
    const { skipped } = this.remembered.value;
    const place = (pair) => skipped.indexOf(pair.id);
    return this.pairs.filter((pair) => pair.answer === null).sort((one, other) => place(one) - place(other));
  }

  get progress() {
    return { answered: this.pairs.length - this.open.length, of: this.pairs.length };
  }

  skip(pair) {
    const skipped = this.remembered.value.skipped.filter((id) => id !== pair.id);
    this.remembered.set({ skipped: [...skipped, pair.id] });
  }

  answered(pair, answer, eventId) {
    pair.answer = answer;
    pair.event_id = eventId;
    const before = this.remembered.value.answered.filter((each) => each.pair !== pair.id);
    const skipped = this.remembered.value.skipped.filter((id) => id !== pair.id);
    this.remembered.set({ answered: [...before, { pair: pair.id, event_id: eventId }], skipped });
  }

  reopened(pair) {
    pair.answer = null;
    pair.event_id = null;
    forgetAnswer(this.remembered, pair.id);
  }

  /** The last answer that can be taken back, also one that another device or an earlier visit gave; or undefined. */
  get last() {
    const known = lastRemembered(this.remembered, (id) => Boolean(this.pair(id)?.event_id) && !this.pair(id).practice);
    if (known !== undefined) return { pair: known.pair, event_id: this.pair(known.pair).event_id };
    const pair = this.pairs.findLast((each) => each.event_id && !each.practice);
    return pair && { pair: pair.id, event_id: pair.event_id };
  }
}

/** The last answer that this browser gave, of those that a test lets pass. */
export function lastRemembered(remembered, test = () => true) {
  return remembered.value.answered.findLast((each) => test(each.pair));
}

export function forgetAnswer(remembered, id) {
  remembered.set({ answered: remembered.value.answered.filter((each) => each.pair !== id) });
}
