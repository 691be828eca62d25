// The formulas of docs/reference/definitions.md and definitions-tests.md, written from these pages alone,
// in another language than the library.
// Reads {"correlations": [..], "systems": [..], "runs": [..], "holm": [..]} on stdin and writes the same lists of results.
"use strict";

const EPSILON = 1e-12;
const sum = (values) => {
  let total = 0, lost = 0; // Neumaier: the mean of 40,320 values would otherwise lose two digits
  for (const value of values) {
    const grown = total + value;
    lost += Math.abs(total) >= Math.abs(value) ? total - grown + value : value - grown + total;
    total = grown;
  }
  return total + lost;
};
const count = (values, holds) => values.reduce((number, value) => number + (holds(value) ? 1 : 0), 0);

// Ranks

function midranks(scores) {
  return scores.map((own) => 1 + count(scores, (s) => s > own) + (count(scores, (s) => s === own) - 1) / 2);
}

/** Scores of two rankings, given as objects of label to score, as two lists over the same items. */
function aligned(x, y, missing) {
  const both = Object.keys(x).filter((label) => label in y);
  const added = Object.keys(y).filter((label) => !(label in x));
  const kept = { raise: Object.keys(x), intersection: both, bottom: [...Object.keys(x), ...added], gold: Object.keys(x) };
  const listed = (ranking) => kept[missing].map((label) => (label in ranking ? ranking[label] : -Infinity));
  return [listed(x), listed(y)];
}

// Weights

const WEIGHERS = {
  hyperbolic: () => (r) => 1 / r,
  logarithmic: () => (r) => 1 / Math.log2(r + 1),
  "top-k": (k) => (r) => (r <= k ? 1 : 0),
  uniform: () => () => 1,
  "inverse-square": (n0) => (r) => 1 / (r + n0) ** 2,
};
const SCHEMES = {
  additive: (u, v) => u + v,
  multiplicative: (u, v) => u * v,
  first: (u) => u,
  second: (_, v) => v,
};

function weightsOfRanks(ranks, f, tiedWeights) {
  if (tiedWeights === "midrank") return ranks.map(f);
  return ranks.map((rank) => {
    const size = count(ranks, (other) => other === rank);
    let total = 0;
    for (let place = 0; place < size; place++) total += f(rank - (size - 1) / 2 + place);
    return total / size;
  });
}

/** Weights that sum to 1; null if every one is 0. */
function itemWeights(a, b, options) {
  const plain = options.coefficient === "rho" || options.coefficient === "tau";
  const weigher = plain ? "uniform" : (options.weigher ?? `inverse-square:${options.n0 ?? 2}`);
  const [name, number] = weigher.split(":");
  if (!(name in WEIGHERS)) throw new Error(`add ${name} to WEIGHERS`);
  const f = WEIGHERS[name](Number(number));
  const u = weightsOfRanks(a, f, options.tied_weights ?? "midrank");
  const v = weightsOfRanks(b, f, options.tied_weights ?? "midrank");
  const c = u.map((own, i) => SCHEMES[options.scheme ?? "additive"](own, v[i]));
  const total = sum(c);
  return total > 0 ? c.map((weight) => weight / total) : null;
}

// Coefficients

function coefficient(a, b, options) {
  const w = itemWeights(a, b, options);
  if (w === null) return NaN;
  const heavy = w.flatMap((weight, i) => (weight > 0 ? [i] : []));
  if ([a, b].some((ranks) => heavy.every((i) => ranks[i] === ranks[heavy[0]]))) return NaN;
  const value = options.coefficient.startsWith("rho") ? rho(a, b, w) : tau(a, b, w, options.variant ?? "b");
  return Math.max(-1, Math.min(1, value));
}

function rho(a, b, w) {
  const centred = (ranks) => {
    const mean = sum(ranks.map((rank, i) => w[i] * rank));
    return ranks.map((rank) => rank - mean);
  };
  const [x, y] = [centred(a), centred(b)];
  const product = (p, q) => sum(w.map((weight, i) => weight * p[i] * q[i]));
  return product(x, y) / Math.sqrt(product(x, x) * product(y, y));
}

function tau(a, b, w, variant) {
  let numerator = 0, ofA = 0, ofB = 0, all = 0;
  for (let i = 0; i < w.length; i++) {
    for (let j = 0; j < w.length; j++) {
      if (i === j) continue;
      const [s, t, weight] = [Math.sign(a[j] - a[i]), Math.sign(b[j] - b[i]), w[i] * w[j]];
      numerator += weight * s * t;
      ofA += s === 0 ? 0 : weight;
      ofB += t === 0 ? 0 : weight;
      all += weight;
    }
  }
  return numerator / (variant === "a" ? all : Math.sqrt(ofA * ofB));
}

/** Cost of each item, of a coefficient that is defined. */
function costs(a, b, options) {
  const w = itemWeights(a, b, options);
  if (options.coefficient.startsWith("rho")) {
    const [x, y] = [a, b].map((ranks) => {
      const mean = sum(ranks.map((rank, i) => w[i] * rank));
      const S = sum(ranks.map((rank, i) => w[i] * (rank - mean) ** 2));
      return ranks.map((rank) => (rank - mean) / Math.sqrt(S));
    });
    return w.map((weight, i) => (weight * (x[i] - y[i]) ** 2) / 2);
  }
  const s = (i, j) => Math.sign(a[j] - a[i]), t = (i, j) => Math.sign(b[j] - b[i]);
  const ofItem = (i, term) => sum(w.map((weight, j) => (i === j ? 0 : w[i] * weight * term(i, j))));
  const ofAll = (term) => sum(w.map((_, i) => ofItem(i, term)));
  const [A, B] = [s, t].map((sign) => Math.sqrt(ofAll((i, j) => sign(i, j) ** 2)));
  const [all, isA] = [ofAll(() => 1), options.variant === "a"];
  return w.map((_, i) => ofItem(i, (i, j) => (isA ? (1 - s(i, j) * t(i, j)) / all : (s(i, j) / A - t(i, j) / B) ** 2 / 2)));
}

// Chance

/** Call back with every order of a list, n! of them, whatever its ties (Heap's algorithm). */
function forEachPermutation(list, call, size = list.length) {
  if (size <= 1) return call(list);
  for (let i = 0; i < size; i++) {
    forEachPermutation(list, call, size - 1);
    const j = size % 2 ? 0 : i;
    if (i < size - 1) [list[j], list[size - 1]] = [list[size - 1], list[j]];
  }
}

function standardize(t, exponent) {
  return exponent === 0 ? t : (2 * Math.expm1(exponent * (1 + t))) / Math.expm1(2 * exponent) - 1;
}

/** Root l of sum g(T_k) = 0, and NaN if it is beyond 8 in size. */
function exponentOf(values) {
  const mean = sum(values) / values.length;
  const side = Math.sign(mean);
  if (Math.abs(mean) <= EPSILON) return 0;
  if (2 * count(values, (value) => side * value >= 1 - EPSILON) >= values.length) return 0;
  const total = (exponent) => side * sum(values.map((value) => standardize(value, exponent)));
  let near = 0, far = 8 * side;
  if (total(far) > 0) return NaN;
  for (let step = 0; step < 100; step++) {
    const middle = (near + far) / 2;
    if (middle === near || middle === far) break;
    if (total(middle) > 0) near = middle;
    else far = middle;
  }
  return near || far;
}

function againstChance(a, b, options) {
  const found = { statistic: coefficient(a, b, options) };
  if (!options.chance) return Number.isNaN(found.statistic) ? found : { ...found, cost: costs(a, b, options) };
  const values = [];
  forEachPermutation([...b], (permuted) => values.push(coefficient(a, permuted, options)));
  const defined = values.filter((value) => !Number.isNaN(value));
  const [t, N] = [found.statistic, defined.length];
  const mean = sum(defined) / N;
  const std = Math.sqrt(sum(defined.map((value) => (value - mean) ** 2)) / N);
  const below = count(defined, (value) => value < t - EPSILON);
  const upTo = count(defined, (value) => value <= t + EPSILON);
  const exponent = N ? exponentOf(defined) : NaN;
  Object.assign(found, { mean, std, exponent, n_undefined: values.length - N });
  if (Number.isNaN(t)) return found;
  return Object.assign(found, {
    standardized: standardize(t, exponent),
    percentile: (100 * (below + upTo)) / (2 * N),
    zscore: std <= EPSILON ? NaN : (t - mean) / std,
    greater: count(defined, (value) => value >= t - EPSILON) / N,
    less: upTo / N,
    pvalue: Math.min(1, (2 * Math.min(N - below, upTo)) / N),
  });
}

// Two systems or two runs

/** All exchanges of n items or queries: the difference after each, and the share kept less the share exchanged. */
function exchanges(n, differenceAfter) {
  return Array.from({ length: 2 ** n }, (_, code) => {
    const exchanged = Array.from({ length: n }, (_, i) => Math.floor(code / 2 ** i) % 2 === 1);
    return { after: differenceAfter(exchanged), kept: 1 - (2 * count(exchanged, Boolean)) / n };
  });
}

/** Number of exchanges as extreme as the observation if the true difference is D, over all exchanges. */
function pvalueOf(d, all, D, alternative) {
  const snapped = (value) => (Math.abs(value) <= EPSILON ? 0 : value);
  const extreme = ({ after, kept }) => {
    const first = snapped(d - after) / (1 - kept), second = snapped(d + after) / (1 + kept);
    if (Number.isNaN(first)) return true;
    if (alternative === "greater") return D >= first;
    if (alternative === "less") return D <= first;
    return Number.isNaN(second) || (D >= Math.min(first, second) && D <= Math.max(first, second));
  };
  return count(all, extreme) / all.length;
}

function comparedSystems({ gold, a, b, alternative, ...options }) {
  const ranks = midranks(gold);
  const value = (scores) => coefficient(ranks, midranks(scores), options);
  const difference = (exchanged) =>
    value(a.map((own, i) => (exchanged[i] ? b[i] : own))) - value(b.map((own, i) => (exchanged[i] ? a[i] : own)));
  const d = difference(a.map(() => false));
  if (Number.isNaN(d)) return { difference: d, pvalue: NaN };
  return { difference: d, pvalue: pvalueOf(d, exchanges(a.length, difference), 0, alternative) };
}

function comparedRuns({ differences }) {
  const n = differences.length;
  const mean = (values) => sum(values) / n;
  const d = mean(differences);
  const after = (exchanged) => mean(differences.map((value, q) => (exchanged[q] ? -value : value)));
  const spread = Math.sqrt(sum(differences.map((value) => (value - d) ** 2)) / (n - 1));
  return { pvalue: pvalueOf(d, exchanges(n, after), 0, "two-sided"), effect_size: spread <= EPSILON ? NaN : d / spread };
}

function holm(pvalues) {
  const order = pvalues.map((_, i) => i).sort((i, j) => pvalues[i] - pvalues[j]);
  const corrected = [...pvalues];
  let largest = 0;
  order.forEach((i, k) => {
    largest = Math.max(largest, (order.length - k) * pvalues[i]);
    corrected[i] = Math.min(1, largest);
  });
  return corrected;
}

const asked = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const correlations = asked.correlations.map(({ x, y, missing, ...options }) => {
  const [first, second] = missing ? aligned(x, y, missing) : [x, y];
  return againstChance(midranks(first), midranks(second), options);
});
console.log(
  JSON.stringify({
    correlations,
    systems: asked.systems.map(comparedSystems),
    runs: asked.runs.map(comparedRuns),
    holm: asked.holm.map(holm),
  }),
);
