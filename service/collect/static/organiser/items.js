// Items and their answers, fewest answers first.

import { begin, campaign, element, fill, find, freshness, label, number, table, text, thumb } from "./page.js";

const STEP = 200;
let most = STEP;

begin(async () => {
  const watch = campaign.watch(() => `/items?limit=${Math.min(1000, most)}`, show, freshness);
  find("more").addEventListener("click", () => {
    most += STEP;
    watch.now();
  });
});

function show({ n_items: nItems, items }) {
  const isOpen = items[0].presentations > 0; // items of the open ballot come first
  const title = text(isOpen ? "items.title" : "items.title-closed");
  find("items-title").textContent = title;
  find("closed").hidden = isOpen;
  const columns = [{ head: text("columns.item"), cell: (row) => label(row.item) }];
  // Leave out values that are the same for all items.
  if (items.some((row) => row.kind !== "text")) columns.push({ head: text("columns.kind"), cell: (row) => text(`kinds.${row.kind}`), lesser: true });
  if (items.some((row) => row.content !== null)) columns.push({ head: text("columns.content"), cell: content, wide: true });
  if (isOpen) {
    columns.push(
      { head: text("columns.shown"), cell: (row) => number(row.presentations), number: true },
      { head: text("columns.answered"), cell: (row) => number(row.n_answered), number: true },
      { head: text("columns.share"), cell: bar },
    );
  }
  fill(find("items"), table(columns, items, title));
  find("more-line").hidden = items.length >= Math.min(nItems, 1000);
}

function content(row) {
  if (row.content === null) return "";
  if (row.kind === "image") {
    return thumb(`/assets/${row.content}`, row.alt_text ?? "");
  }
  const excerpt = row.content.length > 120 ? `${row.content.slice(0, 120)}…` : row.content;
  return row.kind === "audio" ? `${excerpt} (${row.alt_text})` : excerpt;
}

function bar(row) {
  if (row.presentations === 0) return "";
  const progress = element("progress", { max: String(row.presentations), "aria-label": label(row.item) });
  progress.value = row.n_answered;
  return progress;
}
