// The current sheet: the next pair, and the last one answered.

/** The pairs of a sheet from the server, with this browser's state for it. */
export class Sheet {
  constructor(sheet, remembered) {
    this.name = `${sheet.ballot}-${sheet.sheet}`;
    this.pairs = sheet.pairs;
    this.remembered = remembered;
    if (remembered.value.sheet !== this.name) {
      remembered.set({ sheet: this.name, skipped: [], answered: [], complete: false });
    }
    remembered.set({ complete: false });
  }

  pair(id) {
    return this.pairs.find((pair) => pair.id === id);
  }

  /** Pairs without an answer: skipped ones are at the end, and practice is never skipped. */
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
    const before = this.remembered.value.answered.filter((entry) => entry.pair !== pair.id);
    const skipped = this.remembered.value.skipped.filter((id) => id !== pair.id);
    this.remembered.set({ answered: [...before, { pair: pair.id, event_id: eventId }], skipped });
  }

  reopened(pair) {
    pair.answer = null;
    pair.event_id = null;
    forgetAnswer(this.remembered, pair.id);
  }

  /** The last answer that can be retracted, possibly from another device or an earlier visit; or undefined. */
  get last() {
    const known = lastRemembered(this.remembered, (id) => Boolean(this.pair(id)?.event_id) && !this.pair(id).practice);
    if (known !== undefined) return { pair: known.pair, event_id: this.pair(known.pair).event_id };
    const pair = this.pairs.findLast((candidate) => candidate.event_id && !candidate.practice);
    return pair && { pair: pair.id, event_id: pair.event_id };
  }
}

/** The last answer from this browser among those that pass a test. */
export function lastRemembered(remembered, test = () => true) {
  return remembered.value.answered.findLast((entry) => test(entry.pair));
}

export function forgetAnswer(remembered, id) {
  remembered.set({ answered: remembered.value.answered.filter((entry) => entry.pair !== id) });
}
