// Nodes, made with textContent alone: nothing that comes from data is ever read as markup.

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

export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

const SVG = "http://www.w3.org/2000/svg";
// The shapes of the map, so that clusters differ not by colour alone.
const SHAPES = [
  "M8 2a6 6 0 1 0 .01 0z",
  "M3 3h10v10H3z",
  "M8 1.5 14.5 13.5H1.5z",
  "M8 1 15 8 8 15 1 8z",
  "M6 2h4v4h4v4h-4v4H6v-4H2V6h4z",
  "M1.5 2.5h13L8 14.5z",
];

export function swatch(look) {
  const svg = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "swatch");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[look.shape % SHAPES.length]);
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

export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

// Ask for a line of text, or for one of some choices; null if the person leaves.
export function askFor(title, { text = null, choices = [] } = {}) {
  const dialog = byId("asker");
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
    dialog.onclose = () => resolve(answer);
    dialog.showModal();
    input?.select();
  });
}
