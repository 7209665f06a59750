// Nodes, made with textContent alone: nothing that comes from data is ever read as markup.

import { shapePath } from "./map_look.js";

export const byId = (id) => document.getElementById(id);

// el("p", { class: "dim", onclick: f }, "text", node, ...)
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// What has the focus has it afterwards, found by its data-key; if it is gone, the place where it was.
export function fill(node, ...children) {
  const isInside = node !== document.activeElement && node.contains(document.activeElement);
  const key = isInside ? document.activeElement.dataset.key : null;
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  if (!isInside) return;
  const found = withKey(node, key);
  if (!found) node.tabIndex = -1;
  (found ?? node).focus({ preventScroll: true });
}

const withKey = (node, key) => (key ? node.querySelector(`[data-key="${CSS.escape(key)}"]`) : null);

const SVG = "http://www.w3.org/2000/svg";

// Clusters differ by shape too, as on the map.
export function swatch(look) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "-8 -8 16 16");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", shapePath(look.shape, 5.5));
  path.setAttribute("fill", look.color);
  svg.append(path);
  return svg;
}

export function say(text) {
  byId("said").textContent = text;
}

export function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.round(100 * share)} %`;
}

export function timeOf(text) {
  return text ? new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "";
}

export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

// Ask for a line of text, or for one of some choices; null if the person leaves.
export function askFor(title, { text = null, choices = [] } = {}) {
  const dialog = byId("asker");
  const key = document.activeElement?.dataset.key;
  return new Promise((resolve) => {
    const input = text === null ? null : el("input", { value: text, maxlength: 200, "aria-label": title });
    let answer = null;
    const choose = (value) => { answer = value; dialog.close(); };
    const buttons = choices.map((choice) =>
      el("button", { type: "button", onclick: () => choose(choice.value) }, choice.label));
    if (input) buttons.push(el("button", { type: "button", class: "main", onclick: () => choose(input.value) }, "Save"));
    buttons.push(el("button", { type: "button", onclick: () => dialog.close() }, "Leave"));
    fill(dialog, el("h2", { id: "asker-title" }, title), input, el("p", { class: "buttons" }, buttons));
    input?.addEventListener("keydown", (event) => { if (event.key === "Enter") choose(input.value); });
    dialog.onclose = () => {
      if (document.activeElement === document.body) withKey(document.body, key)?.focus(); // it was drawn anew
      resolve(answer);
    };
    dialog.showModal();
    input?.select();
  });
}
