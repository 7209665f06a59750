// Two rows side by side: what is equal is dim, what differs is marked.

import { getJSON, picture } from "./api.js";
import { el } from "./dom.js";

// Letters from which on a cell scrolls by itself.
const LONG = 600;

const words = (text) => text.split(/(\s+)/);

// Share of words that both must have: marks all over would show nothing.
const ALIKE = 0.4;

// The text of a cell; words that the other one has not are marked.
function marked(text, other) {
  if (text === other || other === null) return [text];
  const known = new Set(words(other.toLowerCase()));
  const own = words(text.toLowerCase()).filter((word) => word.trim() !== "");
  const nShared = own.filter((word) => known.has(word)).length;
  if (nShared < ALIKE * own.length) return [text];
  const parts = [];
  for (const word of words(text)) {
    const isNew = word.trim() !== "" && !known.has(word.toLowerCase());
    if (!isNew && typeof parts.at(-1) === "string") parts[parts.length - 1] += word;
    else parts.push(isNew ? el("mark", {}, word) : word);
  }
  return parts;
}

function cellOf(row, cell, other) {
  const node = el("td", { class: other !== null && cell.text === other.text ? "equal" : "" });
  const body = el("span", { class: cell.text.length > LONG ? "cell long" : "cell", dir: "auto" });
  const isNumber = cell.value !== undefined;
  body.append(...(isNumber || other === null ? [cell.text] : marked(cell.text, other.text)));
  node.append(cell.text === "" ? el("span", { class: "gap" }, "(empty)") : body);
  if (isNumber) node.append(el("small", { class: "place", title: "so many percent of the rows have less" }, `above ${cell.percentile} %`));
  if (cell.letters) {
    const more = el("button", { type: "button", class: "more", onclick: async () => {
      body.textContent = (await getJSON(`cells/${row}/${cell.column}`)).text;
      more.remove();
    } }, `show all ${cell.letters.toLocaleString("en")} letters`);
    node.append(more);
  }
  return node;
}

function difference(left, right) {
  if (left.value === undefined || right.value === undefined || left.value === right.value) return null;
  const apart = Math.abs(left.value - right.value);
  return el("small", { class: "place" }, `apart by ${Number(apart.toPrecision(4))}`);
}

export function photo(row) {
  if (!row.picture) return null;
  const image = el("img", { alt: `picture of ${row.id}`, class: "photo", hidden: true });
  // Few pixels are shown as they are, many are smoothed.
  image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalHeight < 100));
  picture(row.row).then((url) => { if (url) { image.src = url; image.hidden = false; } });
  return image;
}

function table(columns, left, right, from, to, heads) {
  const body = el("tbody");
  for (let at = from; at < to; at++) {
    const [a, b] = [left.cells[at], right.cells[at]];
    body.append(el("tr", {},
      el("th", { scope: "row", dir: "auto" }, columns[a.column], difference(a, b)),
      cellOf(left.row, a, b), cellOf(right.row, b, a)));
  }
  const head = heads && el("thead", {}, el("tr", {}, el("td"),
    ...[left, right].map((row) => el("th", { scope: "col", dir: "auto" }, photo(row), el("span", { class: "id" }, row.id)))));
  return el("table", { class: "pair" }, head, body);
}

export function pairOf(state, left, right) {
  const { columns, shown } = state;
  const n = left.cells.length;
  const folded = n > shown ? el("details", {}, el("summary", {}, `${n - shown} more columns`), table(columns, left, right, shown, n, false)) : null;
  return el("div", { class: "pairs" }, table(columns, left, right, 0, shown, true), folded);
}

// One row in a line, for lists.
export function lineOf(state, row) {
  const texts = row.cells.slice(0, state.shown).map((cell) => cell.text).filter((text) => text !== "");
  return el("span", { class: "line", dir: "auto", title: row.id },
    photo(row), el("b", { class: "id" }, row.id), " ", texts.join(" · ").slice(0, 160));
}
