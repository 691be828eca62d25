// Replaces the server while an organiser tries the page; no request is sent.

/** An API with the pairs of a preview, whose answers are kept until the page is closed. */
export function preview(pairs) {
  const answers = new Map();
  const answeredPairs = () => pairs.map((pair) => ({ ...pair, ...(answers.get(pair.id) ?? { answer: null, event_id: null }) }));
  const counts = () => ({
    sheets_done: answers.size === pairs.length ? 1 : 0,
    sheets_limit: 1,
    answered: answers.size,
    of: pairs.length,
    answers: answers.size,
  });
  const me = () => ({ voter: "preview", step: "vote", progress: counts(), available: false });
  return {
    me: async () => me(),
    nextSheet: async () => ({ sheet: { ballot: 0, sheet: 0, pairs: answeredPairs() }, reason: null, me: me() }),
    async send(entry) {
      if (entry.kind === "retract") {
        answers.delete(entry.pair);
        return { pair: entry.pair, answer: null };
      }
      const { pair: id, answer } = entry.vote;
      const pair = pairs.find((candidate) => candidate.id === id);
      answers.set(id, { answer, event_id: entry.event_id });
      const feedback = pair.practice ? { expected: pair.expected, agrees: pair.expected === answer.replace(/ \d$/, "") } : null;
      return { pair: id, answer, event_id: entry.event_id, feedback };
    },
  };
}
