// The links that were issued: who can still join by them, and how to revoke one.

import { badge, button, campaign, dialog, element, fill, find, linkBox, once, say, table, text, time } from "./page.js";

const STEP = 50;
const revoking = dialog("revoke-dialog");
let most = STEP;
let chosen = null;
let loading = Promise.resolve();

/** Make the list work; it is loaded when the organiser opens it. */
export function givenLinks() {
  const place = find("given");
  place.addEventListener("toggle", () => place.open && load());
  find("given-more").addEventListener("click", () => {
    most = Math.min(1000, most + STEP);
    load();
  });
  find("another").addEventListener("click", (event) => another(event.currentTarget));
  find("revoke-form").addEventListener("submit", revoke);
}

/** Load the list again; the answer to an earlier request may predate a new or revoked link. */
function load() {
  const read = async () => {
    const { json } = await campaign.get(`/tokens?names=true&limit=${most}`);
    show(json);
  };
  loading = loading.catch(() => {}).then(() => once(find("given-more"), find("message"), read));
  return loading;
}

function show({ n_tokens: all, tokens }) {
  const columns = [
    { head: text("columns.link"), cell: what },
    { head: text("columns.made"), cell: (row) => time(row.made_at) },
    { head: text("columns.state"), cell: state },
    { head: text("columns.actions"), cell: action },
  ];
  fill(find("given-list"), table(columns, tokens, text("given.title")));
  find("given-more").hidden = tokens.length >= Math.min(all, 1000);
}

function what(row) {
  const kind = text(`given.kinds.${row.kind.replace(" ", "-")}`);
  const who = row.name ?? row.voter?.slice(0, 8);
  return who === undefined ? kind : element("span", {}, `${kind}: `, element("bdi", {}, who));
}

function state(row) {
  if (row.revoked_at !== null) {
    const at = element("span", { class: "small muted" }, time(row.revoked_at));
    return element("span", { class: "lines" }, element("span", {}, text("given.revoked")), at);
  }
  return row.is_valid ? badge(text("given.valid"), "good") : text("given.ended");
}

function action(row) {
  if (!row.is_valid) return "";
  const named = { "aria-label": `${text("given.revoke")} ${what(row).textContent ?? what(row)}` };
  return button(text("given.revoke"), `revoke-${row.id}`, () => ask(row), "quiet", named);
}

function ask(row) {
  chosen = row;
  find("revoke-text").textContent = text(`given.texts.${row.kind.replace(" ", "-")}`);
  find("revoke-error").hidden = true;
  revoking.showModal();
}

async function revoke(event) {
  event.preventDefault();
  await once(event.submitter, find("revoke-error"), async () => {
    await campaign.post(`/tokens/${chosen.id}/revoke`);
    revoking.close();
    say(text("given.done"));
    await load();
  });
}

async function another(pressed) {
  await once(pressed, find("message"), async () => {
    const { json } = await campaign.post("/tokens");
    fill(
      find("another-link"),
      element("p", { class: "notice notice-warning" }, text("links.once")),
      linkBox(json.organiser_url, text("given.kinds.organiser")),
    );
    await load();
  });
}
