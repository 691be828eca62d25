// Shared by the voter's pages: the campaign, addresses, and messages read aloud.

import { find, main, show, text } from "../elements.js";

export { find, show, text };

export const campaign = main.dataset.campaign;
export const home = main.dataset.home;
export const data = main.dataset;
export const isPreview = data.preview !== undefined; // an organiser tries the page, and no request is sent

/**
 * Reload the page in the language that the reader chose before, if the address names none; true if it reloads.
 */
export function changeLanguage(remembered) {
  const query = new URLSearchParams(location.search);
  const { language } = remembered.value;
  if (query.has("lang")) {
    remembered.set({ language: data.language });
    return false;
  }
  if (language === null || language === data.language || !data.languages.split(" ").includes(language)) return false;
  query.set("lang", language);
  location.replace(`?${query}${location.hash}`);
  return true;
}

/** Address of another page of the campaign, in the same language; a preview stays a preview. */
export function pageOf(name) {
  const language = new URLSearchParams(location.search).get("lang");
  const query = new URLSearchParams();
  if (isPreview) query.set("preview", "1");
  if (language !== null) query.set("lang", language);
  return home + (name === "" ? "" : `/${name}`) + (isPreview || language !== null ? `?${query}` : "");
}

/** Show a message in a paragraph; an empty one hides it. */
export function tell(id, message) {
  const place = find(id);
  place.textContent = message;
  place.hidden = message === "";
}
