// Compares columns of scores in a browser: top-weighted rank correlations, chance, and the items that cost most.
// The page try.html loads this file, and it needs no server. In node it is a module with the functions below.
"use strict";

const MOST_ITEMS = 5000;
const MOST_EXACT = 8; // items of which all permutations are taken
const ROUNDING = 1e-12;
const MOST_OFFSET = 1e100; // beyond it, weights and their products are too small for a number
const LABELS = /^(id|item|label|word|doc(ument)?|name)s?$/i;
const sum = (values) => values.reduce((total, value) => total + value, 0);

// Text

class InputError extends Error {}

/** Rows of cells; a cell in double quotes may hold separators, line breaks and, doubled, quotes. */
function rowsOf(text, separator) {
  const rows = [];
  let cells = [], cell = "", isQuoted = false, wasQuoted = false;
  const endCell = () => {
    if (separator !== " " || cell.trim() || wasQuoted) cells.push(wasQuoted ? cell : cell.trim());
    [cell, wasQuoted] = ["", false];
  };
  const endRow = () => {
    endCell();
    if (cells.some((content) => content)) rows.push(cells);
    cells = [];
  };
  for (let place = 0; place < text.length; place++) {
    const sign = text[place];
    if (isQuoted && sign === '"' && text[place + 1] === '"') cell += text[++place];
    else if (isQuoted && sign !== '"') cell += sign;
    else if (sign === '"' && (isQuoted || !cell.trim())) {
      if (!isQuoted) cell = "";
      isQuoted = !isQuoted;
      wasQuoted = true;
    } else if (sign === "\n" || sign === "\r") endRow();
    else if (sign === separator || (separator === " " && sign === "\t")) endCell();
    else if (!wasQuoted) cell += sign;
    else if (sign.trim()) throw new InputError(`text follows a closed quote in row ${rows.length + 1}`);
  }
  if (isQuoted) throw new InputError(`a quote is not closed in row ${rows.length + 1}`);
  endRow();
  return rows;
}

const isNumber = (cell) => /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(cell) && Number.isFinite(Number(cell));

/** Labels, and columns of scores with their names, of pasted text. Throws an InputError that says what is wrong. */
function readTable(text) {
  const content = text.replace(/^\ufeff/, "").trim();
  const [first] = content.replace(/"[^"]*"/g, "").split(/[\r\n]/, 1);
  const separator = ["\t", ";", ","].find((sign) => first.includes(sign)) ?? " ";
  const rows = rowsOf(content, separator);
  if (rows.length < 2) throw new InputError("paste at least two rows, one for each item");
  const width = rows[0].length;
  if (width < 2) throw new InputError("paste at least two columns of scores: gold first, then the systems");
  const uneven = rows.findIndex((row) => row.length !== width);
  if (uneven >= 0) throw new InputError(`row ${uneven + 1} has ${rows[uneven].length} cells, and row 1 has ${width}`);
  const body = rows.slice(1);
  const hasHeader = LABELS.test(rows[0][0]) || rows[0].slice(1).every((cell) => cell && !isNumber(cell));
  const items = hasHeader ? body : rows;
  const header = hasHeader ? rows[0] : null;
  const hasLabels =
    items.some((row) => !isNumber(row[0])) || (header !== null && LABELS.test(header[0]));
  const nLabels = hasLabels ? 1 : 0;
  if (width - nLabels < 2) throw new InputError("one column of scores is not enough: paste gold first, then the systems");
  if (items.length < 2) throw new InputError("paste at least two items");
  if (items.length > MOST_ITEMS) throw new InputError(`this page takes at most ${MOST_ITEMS} items; got ${items.length}`);
  const labels = items.map((row, place) => (hasLabels ? row[0] : `item ${place + 1}`));
  const repeated = labels.find((label, place) => labels.indexOf(label) !== place);
  if (repeated !== undefined) throw new InputError(`two rows have the label "${repeated}"`);
  const columns = [];
  for (let column = nLabels; column < width; column++) {
    const wrong = items.findIndex((row) => !isNumber(row[column]));
    if (wrong >= 0) {
      const cell = items[wrong][column];
      const hint = cell === "" ? "is empty" : /^[+-]?[0-9]+,[0-9]+$/.test(cell) ? `is "${cell}": write a point, not a comma` : `is "${cell}"`;
      throw new InputError(`a score must be a number, but that of ${labels[wrong]} in column ${column + 1} ${hint}`);
    }
    const name = header?.[column] || (column === nLabels ? "gold" : `system ${column - nLabels}`);
    columns.push({ name, scores: items.map((row) => Number(row[column])) });
  }
  const names = columns.map((column) => column.name);
  const again = names.find((name, place) => names.indexOf(name) !== place);
  if (again !== undefined) throw new InputError(`two columns have the name "${again}"`);
  return { labels, columns };
}

// Formulas

/** Mid-ranks of scores: 1 for the largest, and the mean place for ties. */
function midranks(scores) {
  const order = scores.map((_, item) => item).sort((a, b) => scores[b] - scores[a]);
  const ranks = new Array(scores.length);
  for (let start = 0; start < order.length; ) {
    let end = start + 1;
    while (end < order.length && scores[order[end]] === scores[order[start]]) end++;
    for (let place = start; place < end; place++) ranks[order[place]] = (start + 1 + end) / 2;
    start = end;
  }
  return ranks;
}

const weightsOfRanks = (ranks, n0) => ranks.map((rank) => 1 / (rank + n0) ** 2);

/** Sums over pairs of items that are ordered in both rankings, or in one; `signs` weighs agreement. */
function pairSums(x, y, weights) {
  let signs = 0, inX = 0, inY = 0;
  for (let i = 1; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const weight = weights[i] * weights[j];
      const s = Math.sign(x[i] - x[j]), t = Math.sign(y[i] - y[j]);
      signs += weight * s * t;
      inX += weight * s * s;
      inY += weight * t * t;
    }
  }
  return { signs, inX, inY };
}

/** Top-weighted tau of two lists of ranks, or NaN if one is a single tie. */
function weightedTau(x, y, weights) {
  const { signs, inX, inY } = pairSums(x, y, weights);
  return inX > 0 && inY > 0 ? signs / Math.sqrt(inX * inY) : NaN;
}

/** Ranks less their weighted mean, over their weighted standard deviation. */
function standardized(ranks, weights) {
  const total = sum(weights);
  const mean = sum(ranks.map((rank, item) => weights[item] * rank)) / total;
  const spread = Math.sqrt(sum(ranks.map((rank, item) => weights[item] * (rank - mean) ** 2)));
  return ranks.map((rank) => (rank - mean) / spread);
}

const isTied = (ranks) => ranks.every((rank) => rank === ranks[0]);

/** Top-weighted rho of two lists of ranks, or NaN if one is a single tie. */
function weightedRho(x, y, weights) {
  if (isTied(x) || isTied(y)) return NaN;
  const a = standardized(x, weights), b = standardized(y, weights);
  return sum(weights.map((weight, item) => weight * a[item] * b[item]));
}

/** What each item takes away from a tau_w of 1; the costs add up to 1 - tau_w. */
function tauCosts(x, y, weights) {
  const { inX, inY } = pairSums(x, y, weights);
  const costs = new Array(x.length).fill(0);
  for (let i = 1; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const s = Math.sign(x[i] - x[j]) / Math.sqrt(inX), t = Math.sign(y[i] - y[j]) / Math.sqrt(inY);
      const cost = (weights[i] * weights[j] * (s - t) ** 2) / 4; // half of it for either item
      costs[i] += cost;
      costs[j] += cost;
    }
  }
  return costs;
}

/** Coefficients of two columns of scores, and the cost of each item. */
function compare(gold, system, n0 = 2) {
  const x = midranks(gold), y = midranks(system);
  const ofX = weightsOfRanks(x, n0), ofY = weightsOfRanks(y, n0);
  const weights = ofX.map((weight, item) => weight + ofY[item]);
  const total = sum(weights);
  const shares = weights.map((weight) => weight / total);
  const tau = weightedTau(x, y, shares), rho = weightedRho(x, y, shares);
  return { tau, rho, costs: Number.isNaN(tau) ? [] : tauCosts(x, y, shares), x, y };
}

// Chance

/** Random numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** All orders of n items, one after the other (Heap's algorithm). */
function* permutations(n) {
  const order = Array.from({ length: n }, (_, item) => item), counts = new Array(n).fill(0);
  yield order;
  for (let place = 1; place < n; ) {
    if (counts[place] < place) {
      const other = place % 2 ? counts[place] : 0;
      [order[place], order[other]] = [order[other], order[place]];
      yield order;
      counts[place]++;
      place = 1;
    } else counts[place++] = 0;
  }
}

/** Random orders of n items. */
function* shuffles(n, number, seed) {
  const random = randomNumbers(seed), order = Array.from({ length: n }, (_, item) => item);
  for (let draw = 0; draw < number; draw++) {
    for (let place = n - 1; place > 0; place--) {
      const other = Math.floor(random() * (place + 1));
      [order[place], order[other]] = [order[other], order[place]];
    }
    yield order;
  }
}

/** How many permutations are drawn: fewer for long lists, so that the page stays quick. */
const drawsFor = (n) => Math.max(200, Math.min(2000, Math.floor(4e8 / n ** 2)));

/**
 * Chance level and p-value of tau_w: the second ranking is permuted. Yields the share that is done, and returns
 * { mean, pvalue, number, isExact }.
 */
function* chance(gold, system, n0 = 2, seed = 0) {
  const { tau, x, y } = compare(gold, system, n0), n = x.length;
  if (Number.isNaN(tau)) return { mean: NaN, pvalue: NaN, number: 0, isExact: true };
  const ofX = weightsOfRanks(x, n0), ofY = weightsOfRanks(y, n0), isExact = n <= MOST_EXACT;
  const number = isExact ? 0 : drawsFor(n);
  let total = 0, count = 0, extreme = 0;
  for (const order of isExact ? permutations(n) : shuffles(n, number, seed)) {
    const value = weightedTau(x, order.map((item) => y[item]), order.map((item, place) => ofX[place] + ofY[item]));
    total += value;
    count++;
    extreme += value >= tau - ROUNDING ? 1 : 0;
    yield isExact ? 0 : count / number;
  }
  return { mean: total / count, pvalue: isExact ? extreme / count : (1 + extreme) / (1 + count), number: count, isExact };
}

/** The result of `chance` at once. */
function chanceAtOnce(...values) {
  const steps = chance(...values);
  for (let step = steps.next(); ; step = steps.next()) if (step.done) return step.value;
}

if (typeof module !== "undefined") module.exports = { InputError, readTable, midranks, compare, chanceAtOnce };

// The page

const numberText = (value) => (Number.isNaN(value) ? "undefined" : value.toFixed(3).replace(/^-0\.000$/, "0.000"));
const pvalueText = (value) => (Number.isNaN(value) ? "undefined" : value < 0.001 ? "< 0.001" : value.toFixed(3));
const rankText = (rank) => (Number.isInteger(rank) ? String(rank) : rank.toFixed(1));

function startPage() {
  const [input, offset, output, progress] = ["scores", "n0", "results", "progress"].map((id) => document.getElementById(id));
  let run = 0; // of the latest start; an earlier one stops

  /** A table with a caption; cells after the first of a row are numbers. */
  function tableOf(caption, header, rows) {
    const table = document.createElement("table"), box = document.createElement("div");
    table.createCaption().textContent = caption;
    const heading = table.createTHead().insertRow();
    for (const name of header) heading.append(Object.assign(document.createElement("th"), { textContent: name, scope: "col" }));
    const body = table.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      row.append(Object.assign(document.createElement("th"), { textContent: cells[0], scope: "row" }));
      for (const cell of cells.slice(1)) row.insertCell().textContent = cell;
    }
    box.className = "scroll";
    box.append(table);
    return box;
  }

  function verdictOf(name, tau, result) {
    if (Number.isNaN(tau)) return `${name}: τ_w is undefined, because all scores of a column are tied.`;
    const agrees = result.pvalue <= 0.05 ? "agrees with gold better than by chance" : "is not clearly better than chance";
    const how = result.isExact ? "all permutations" : `${result.number.toLocaleString("en")} random permutations`;
    return `${name} ${agrees} (τ_w ${numberText(tau)}, by chance ${numberText(result.mean)}, p ${result.pvalue < 0.001 ? "" : "= "}${pvalueText(result.pvalue)}, ${how}).`;
  }

  function show(table, results, n0) {
    const [gold, ...systems] = table.columns;
    const rows = systems.map((system, place) => {
      const { tau, rho } = results[place].values, { mean, pvalue } = results[place].chance;
      return [system.name, numberText(tau), numberText(mean), pvalueText(pvalue), numberText(rho)];
    });
    const verdicts = systems.map((system, place) =>
      Object.assign(document.createElement("p"), { textContent: verdictOf(system.name, results[place].values.tau, results[place].chance) }));
    const caption = `${table.labels.length} items, compared with ${gold.name}; n0 = ${n0}`;
    const parts = [...verdicts, tableOf(caption, ["system", "τ_w", "chance", "p", "ρ_w"], rows)];
    systems.forEach((system, place) => {
      const { costs, x, y } = results[place].values;
      const dear = costs.map((_, item) => item).filter((item) => costs[item] > ROUNDING);
      dear.sort((a, b) => costs[b] - costs[a] || x[a] - x[b]);
      if (!dear.length) return;
      const items = dear.slice(0, 5).map((item) => [table.labels[item], rankText(x[item]), rankText(y[item]), numberText(costs[item])]);
      parts.push(tableOf(`Items that cost ${system.name} most`, ["item", `rank in ${gold.name}`, `rank in ${system.name}`, "cost"], items));
    });
    output.replaceChildren(...parts);
  }

  async function start() {
    const number = ++run;
    output.replaceChildren();
    try {
      const table = readTable(input.value), n0 = Number(offset.value), [gold, ...systems] = table.columns;
      if (!(offset.value.trim() && n0 > -1 && n0 <= MOST_OFFSET)) throw new InputError("n0 must be a number above -1, and at most 1e100; 2 is usual");
      const results = [];
      progress.hidden = false;
      for (const system of systems) {
        const values = compare(gold.scores, system.scores, n0), steps = chance(gold.scores, system.scores, n0);
        let step = steps.next(), pause = performance.now() + 30;
        while (!step.done) {
          if (performance.now() > pause) {
            progress.value = (results.length + step.value) / systems.length;
            await new Promise((resume) => setTimeout(resume));
            if (number !== run) return;
            pause = performance.now() + 30;
          }
          step = steps.next();
        }
        results.push({ values, chance: step.value });
      }
      show(table, results, n0);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      const message = Object.assign(document.createElement("p"), { className: "error", textContent: `${error.message[0].toUpperCase()}${error.message.slice(1)}.` });
      output.replaceChildren(message);
    } finally {
      if (number === run) progress.hidden = true;
    }
  }

  document.getElementById("compare").addEventListener("click", start);
  start();
}

if (typeof document !== "undefined") startPage();
