// The items of a new campaign: a plain list, a table or images, all as the table that the server reads.

import { ask } from "./api.js";

export const IMAGE_COLUMNS = "item,kind,content,alt_text";
const SIDE = 1600; // pixels of the longer side, to which large images are reduced
const LARGE = 1_500_000; // bytes
const NAMED = /^(item(_\d+)?|sep=.)$/; // the first cell of a table, or one of its first line
const FURTHER = ["kind", "content", "alt_text"];

/**
 * Text as CSV: a table stays as it is, and a list of one item a line gets these columns. A line number of a list is one
 * less than that of its table.
 */
export function itemTable(text, columns = "item") {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  const head = lines.find((line) => line.trim() !== "") ?? "";
  const cells = head.split(/[,;\t]/).map((cell) => cell.trim().replace(/^"(.*)"$/, "$1").toLowerCase());
  if (cells.some((cell) => NAMED.test(cell)) || (cells.length > 1 && cells.some((cell) => FURTHER.includes(cell)))) {
    return { columns: head.trim(), csv: text.trimEnd(), isList: false };
  }
  const empty = columns.split(",").slice(1).map(() => ",").join("");
  const rows = lines.map((line) => (line.trim() === "" ? "" : quoteCell(line.trim()) + empty));
  return { columns, csv: [columns, ...rows].join("\n").trimEnd(), isList: true };
}

export function isImage({ type }) {
  return type.startsWith("image/");
}

/** The row of an image; its name is the item and, until the organiser changes it, the description. */
export function imageRow({ name }, content) {
  const item = name.replace(/\.[^.]*$/, "").trim();
  return [quoteCell(item), "image", content, quoteCell(item)].join(",");
}

/** Send an image to the server; the answer is the name under which items refer to it. */
export async function upload(file, token) {
  const image = await encodeBase64(file.size > LARGE ? await reduceImage(file) : file);
  const { json } = await ask("POST", "/v1/campaigns/images", { body: { image }, token });
  return json.content;
}

function quoteCell(cell) {
  return `"${cell.replaceAll('"', '""')}"`;
}

/** A smaller copy; photographs stay JPEG, and other images keep their transparency. */
async function reduceImage(file) {
  const image = await createImageBitmap(file);
  const scale = Math.min(1, SIDE / Math.max(image.width, image.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(image.width * scale);
  canvas.height = Math.round(image.height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const type = file.type === "image/jpeg" ? file.type : "image/webp";
  return new Promise((resolve) => canvas.toBlob(resolve, type, 0.85));
}

async function encodeBase64(blob) {
  const reader = new FileReader();
  const read = new Promise((resolve, reject) => {
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
  });
  reader.readAsDataURL(blob);
  return (await read).split(",", 2)[1];
}
