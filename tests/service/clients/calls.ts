// Every operation of the service, called with the types that openapi-typescript makes. Prints what came, as JSON.
import createClient from "openapi-fetch";
import type { components, paths } from "./contract.js";

declare const process: { argv: string[] };

type Ranking = components["schemas"]["Ranking"];
type Vote = components["schemas"]["Vote"];

const client = createClient<paths>({ baseUrl: process.argv[2]! });

async function answer<T extends { data?: unknown; error?: { detail: string } }>(call: Promise<T>) {
  const { data, error } = await call;
  if (error) throw new Error(error.detail);
  return data as NonNullable<T["data"]>;
}

const rankings: Record<string, Ranking> = {
  scores_by_label: { scores: { king: 9.1, queen: 8.7, stone: 0.8 } },
  scores_array: { scores: [9.1, 8.7, 0.8], labels: ["king", "queen", "stone"] },
  ranks_by_label: { ranks: { king: 1, queen: 2, stone: 3 } },
  ranks_array: { ranks: [1, 2, 3], labels: ["king", "queen", "stone"] },
  order: { order: ["king", "queen", "stone"] },
};
const gold = rankings.order!;
const system: Ranking = { order: ["queen", "king", "stone"] };

const statistics: Record<string, number | null> = {};
for (const [way, ranking] of Object.entries(rankings)) {
  const correlation = await answer(client.POST("/v1/correlations", { body: { gold: ranking, system } }));
  statistics[way] = correlation.coefficients["tau_w"] ?? null;
}
// No option is needed but those that have no default.
const inferred = await answer(
  client.POST("/v1/correlations", { body: { gold, system, coefficients: ["tau_w"], inference: { seed: 1 } } }),
);
const systems = { bm25: system, dense: gold };
const batch = await answer(client.POST("/v1/correlations/batch", { body: { gold, systems, sort_by: "tau" } }));
const matrix = await answer(client.POST("/v1/correlations/matrix", { body: { rankings: systems } }));
const board = await answer(client.POST("/v1/leaderboards", { body: { gold, systems, n_resamples: 50, seed: 1 } }));
const merged = await answer(client.POST("/v1/rankings/merged", { body: { rankings: systems, method: "borda" } }));
const byScores = await answer(
  client.POST("/v1/leaderboards/scores", {
    body: { scores: { small: { en: [71, 70.4], de: 66.2 }, large: { en: 78.8, de: [74, 73.5] } }, seed: 1 },
  }),
);
const rankSets = await answer(
  client.POST("/v1/leaderboards/rank-sets", {
    body: { estimates: { small: 0.6, large: 0.7 }, standard_errors: { small: 0.01, large: 0.01 }, seed: 1 },
  }),
);
const weights = await answer(client.GET("/v1/weights", { params: { query: { n0: 2, top: 3 } } }));

const texts = ["apple", "pear", "plum", "fig"];
const tokens = texts.map((token) => ({ token, area: "fruit" }));
const pairing = await answer(client.POST("/v1/pairings", { body: { tokens, sample: 4, seed: 1 } }));
const planned = await answer(
  client.POST("/v1/plans", { body: { n_items: pairing.n_items, n_ballots: 2, presentations: 2 } }),
);
const items = planned.plan.n_items;
const ballots: components["schemas"]["VotedBallot"][] = [];
let drawn = await answer(
  client.POST("/v1/ballots", { body: { items, presentations: planned.plan.presentations, voters: 2, seed: 1 } }),
);
let ranking: components["schemas"]["RanksArray"];
for (;;) {
  const comparisons = drawn.comparisons.map((form) => {
    const votes = form.left.map((left, place): Vote =>
      Number(left) < Number(form.right[place]) ? "left" : "right",
    );
    return { ...form, votes };
  });
  ballots.push({ comparisons });
  const scored = await answer(client.POST("/v1/scores", { body: { plan: planned.plan, items, seed: 1, ballots } }));
  ranking = scored.ranking;
  if (!scored.next_ballot) break;
  drawn = await answer(client.POST("/v1/ballots", { body: { ...scored.next_ballot, voters: 2, seed: 1 } }));
}
const judged = drawn.comparisons.flatMap((form) =>
  form.left.map((left, place) => ({ left, right: form.right[place]!, winner: "left" as Vote, voter: form.voter })),
);
const fitted = await answer(client.POST("/v1/strengths", { body: { items, comparisons: judged } }));
const choices = await answer(
  client.POST("/v1/strengths/choices", {
    body: { answers: [{ items: texts, best: "fig", worst: "plum", voter: "first" }], prior: 1 },
  }),
);
const next = await answer(
  client.POST("/v1/comparisons/next", { body: { items, comparisons: judged, size: 2, seed: 1 } }),
);
const self = await answer(client.POST("/v1/correlations", { body: { gold: ranking, system: ranking } }));
const simulated = await answer(
  client.POST("/v1/simulations", {
    body: { plan: planned.plan, similarity: "exponential", n_simulations: 1, seed: 1 },
  }),
);
const qrels = { q1: { a: 2, b: 1 }, q2: { a: 0, c: 1 } };
const runs = { x: { q1: { a: 2, b: 1 }, q2: { c: 1, a: 0 } }, y: { q1: { b: 2, a: 1 }, q2: { a: 1 } } };
const evaluated = await answer(
  client.POST("/v1/evaluations", { body: { qrels, runs, metrics: ["ap"], comparison: { seed: 1, versus: "y" } } }),
);
const fused = await answer(
  client.POST("/v1/evaluations/fused", { body: { runs: { x: runs.x, y: runs.y }, method: "combsum" } }),
);
const groups = await answer(
  client.POST("/v1/evaluations/groups", {
    body: {
      groups: [{ target: "oak", candidates: { tree: "positive", plant: "positive", leaf: "random" }, comparisons: [] }],
      models: { vectors: { oak: { tree: 0.7, plant: 0.6, leaf: 0.5 } } },
      seed: 1,
    },
  }),
);
const job = await client.GET("/v1/jobs/{job}", { params: { path: { job: "none" } } });
const deleted = await client.DELETE("/v1/jobs/{job}", { params: { path: { job: "none" } } });
const live = await answer(client.GET("/health/live"));
const ready = await answer(client.GET("/health/ready"));
const metrics = await answer(client.GET("/metrics", { parseAs: "text" }));
const refused = await client.POST("/v1/correlations", { body: { gold, system, worst: 0 } });

console.log(
  JSON.stringify({
    statistics,
    pvalue: inferred.inference?.["tau_w"]?.pvalue,
    best: batch.systems[0]?.name,
    matrix: matrix.matrix,
    leader: board.rows[0]?.system,
    merged: merged.ranking.at(-1)?.item,
    scores: byScores.rows.map((row) => row.system),
    rank_sets: rankSets.rows.map((row) => row.name),
    ranks: weights.ranks.length,
    n_ballots: ballots.length,
    n_strengths: fitted.items.length,
    choices: choices.items.length,
    n_next: next.comparisons.left.length,
    self: self.coefficients["tau_w"],
    simulated: Object.keys(simulated.approaches),
    means: evaluated.means.map((row) => row.mean),
    fused: fused.n_queries,
    groups: groups.scores.map((score) => score.model),
    jobs: [job.response.status, deleted.response.status],
    live: live.status,
    ready: ready.status,
    metrics: metrics.includes("rankcorr_requests_total"),
    refused: [refused.response.status, Object.keys(refused.error?.errors ?? {})],
  }),
);
