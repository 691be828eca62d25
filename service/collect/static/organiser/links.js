// Issued links: who can still join by them, and how to revoke one.

import { badge, button, campaign, dialog, element, fill, find, linkBox, once, say, table, text, time } from "./page.js";

const STEP = 50;
const revoking = dialog("revoke-dialog");
let most = STEP;
let selectedLink = null;
let loading = Promise.resolve();

/** Make the list work; it is loaded when the organiser opens it. */
export function listIssuedLinks() {
  const place = find("issued-links");
  place.addEventListener("toggle", () => place.open && load());
  find("issued-more").addEventListener("click", () => {
    most = Math.min(1000, most + STEP);
    load();
  });
  find("another").addEventListener("click", (event) => makeLink(event.currentTarget));
  find("revoke-form").addEventListener("submit", revoke);
}

/** Load the list again; the answer to an earlier request may predate a new or revoked link. */
function load() {
  const read = async () => {
    const { json } = await campaign.get(`/tokens?names=true&limit=${most}`);
    show(json);
  };
  loading = loading.catch(() => {}).then(() => once(find("issued-more"), find("message"), read));
  return loading;
}

function show({ n_tokens: nTokens, tokens }) {
  const columns = [
    { head: text("columns.link"), cell: linkName },
    { head: text("columns.made"), cell: (row) => time(row.made_at) },
    { head: text("columns.state"), cell: stateOf },
    { head: text("columns.actions"), cell: revokeButton },
  ];
  fill(find("issued-list"), table(columns, tokens, text("issued.title")));
  find("issued-more").hidden = tokens.length >= Math.min(nTokens, 1000);
}

function linkName(row) {
  const kind = text(`issued.kinds.${row.kind.replace(" ", "-")}`);
  const holder = row.name ?? row.voter?.slice(0, 8);
  return holder === undefined ? kind : element("span", {}, `${kind}: `, element("bdi", {}, holder));
}

function stateOf(row) {
  if (row.revoked_at !== null) {
    const at = element("span", { class: "small muted" }, time(row.revoked_at));
    return element("span", { class: "lines" }, element("span", {}, text("issued.revoked")), at);
  }
  return row.is_valid ? badge(text("issued.valid"), "good") : text("issued.ended");
}

function revokeButton(row) {
  if (!row.is_valid) return "";
  const labelled = { "aria-label": `${text("issued.revoke")} ${linkName(row).textContent ?? linkName(row)}` };
  return button(text("issued.revoke"), `revoke-${row.id}`, () => confirmRevoking(row), "quiet", labelled);
}

function confirmRevoking(row) {
  selectedLink = row;
  find("revoke-text").textContent = text(`issued.texts.${row.kind.replace(" ", "-")}`);
  find("revoke-error").hidden = true;
  revoking.showModal();
}

async function revoke(event) {
  event.preventDefault();
  await once(event.submitter, find("revoke-error"), async () => {
    await campaign.post(`/tokens/${selectedLink.id}/revoke`);
    revoking.close();
    say(text("issued.done"));
    await load();
  });
}

async function makeLink(pressed) {
  await once(pressed, find("message"), async () => {
    const { json } = await campaign.post("/tokens");
    fill(
      find("another-link"),
      element("p", { class: "notice notice-warning" }, text("links.once")),
      linkBox(json.organiser_url, text("issued.kinds.organiser")),
    );
    await load();
  });
}
