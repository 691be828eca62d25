// The expected questions, cost and accuracy of a plan, in a few lines.

import { duration, element, facts, money, number, percent, table, text } from "./page.js";

const IMPOSSIBLE = "too_many_comparisons"; // shown at once, while the organiser types

export function outlook({ plan, spending, advice, outlook: estimate }, isSimulated) {
  const rows = [[text("outlook.comparisons"), number(spending.n_comparisons)]];
  if (spending.n_probes > 0) rows.push([text("outlook.probes"), number(spending.n_probes)]);
  rows.push([text("outlook.sheets"), number(spending.n_sheets)]);
  if (spending.hours !== null) rows.push([text("outlook.hours"), duration(spending.hours)]);
  if (spending.cost !== null) {
    rows.push([text("outlook.cost"), money(spending.cost, spending.currency)]);
    if (spending.fee > 0) rows.push([text("outlook.fee"), money(spending.fee, spending.currency)]);
    if (spending.hourly !== null) rows.push([text("outlook.hourly"), money(spending.hourly, spending.currency)]);
  }
  const parts = [element("dl", { class: "facts" }, ...facts(rows))];
  const impossible = advice.filter(({ code }) => code === IMPOSSIBLE);
  parts.push(...impossible.map((item) => element("p", { class: "notice notice-warning" }, adviceText(item))));
  parts.push(element("h3", {}, text("outlook.accuracy")));
  const ofSets = element("p", { class: "muted" }, text("outlook.sets"));
  parts.push(...(plan.set_size > 2 ? [ofSets] : accuracyFacts(estimate, isSimulated)));
  if (plan.mode === "ballots") parts.push(sizeTable(plan));
  const suggestions = advice.filter(({ code }) => code !== IMPOSSIBLE);
  if (isSimulated && suggestions.length > 0) { // the simulation decides which advice applies
    parts.push(element("h3", {}, text("outlook.advice")));
    parts.push(element("ul", { class: "advice" }, ...suggestions.map((item) => element("li", {}, adviceText(item)))));
  }
  return parts;
}

/** Shares are percentages, as in the form, rounded towards the safe side. */
function adviceText({ code, value, bound }) {
  if (code === "many_survivors") return text("advice.many_survivors", { bound: percent(Math.floor(100 * bound) / 100) });
  if (code === "few_in_last_ballot") return text("advice.few_in_last_ballot", { bound: percent(Math.ceil(100 * bound) / 100) });
  return text(`advice.${code}`, { value: number(value), bound: number(Math.ceil(bound)) });
}

function accuracyFacts(estimate, isSimulated) {
  if (!isSimulated) return [element("p", { class: "muted" }, text("outlook.simulating"))];
  if (estimate === null || estimate.n_simulations === 0) return [element("p", { class: "muted" }, text("outlook.too-large"))];
  const rows = [];
  for (const name of ["scores", "strengths"]) {
    const accuracy = estimate[name];
    if (accuracy === null) continue;
    const values = { mean: number(accuracy.mean, 3), low: number(accuracy.low, 3), high: number(accuracy.high, 3) };
    rows.push([text(`outlook.${name}`), text("outlook.reached", values)]);
  }
  return [
    element("dl", { class: "facts" }, ...facts(rows)),
    element("p", { class: "hint" }, text("outlook.basis", { n: number(estimate.n_simulations), voters: number(estimate.n_voters) })),
  ];
}

/** Items and comparisons of each ballot. */
export function sizeTable(plan) {
  const rows = plan.sizes.map((items, at) => ({ at: at + 1, items, comparisons: plan.comparisons[at] }));
  const columns = [
    { head: text("columns.ballot"), cell: (row) => number(row.at) },
    { head: text("columns.items"), cell: (row) => number(row.items), number: true },
    { head: text("columns.comparisons"), cell: (row) => number(row.comparisons), number: true },
  ];
  return table(columns, rows, text("ballots.plan"));
}
