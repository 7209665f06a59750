// The one table of keys. Buttons, the help and the handlers are made from it.

import { byId, el, fill } from "./dom.js";

// pane: where it works ("" everywhere); keys: the first is printed on the button.
export const KEYS = [
  { id: "same", pane: "ask", keys: ["a", "y"], label: "Same" },
  { id: "different", pane: "ask", keys: ["x", "n"], label: "Different" },
  { id: "unsure", pane: "ask", keys: [" ", "u"], label: "Unsure" },
  { id: "flag", pane: "ask", keys: ["f"], label: "Flag", help: "Flag this pair to look at it again" },
  { id: "note", pane: "ask", keys: ["c"], label: "Note", help: "Write a note on this pair" },
  { id: "later", pane: "ask", keys: ["0"], label: "Settle it later" },
  { id: "down", pane: "clusters", keys: ["ArrowDown", "j"], label: "Next cluster" },
  { id: "up", pane: "clusters", keys: ["ArrowUp"], label: "Cluster before" },
  { id: "similar", pane: "clusters", keys: [" "], label: "Compare", help: "Compare with the next similar cluster" },
  { id: "merge", pane: "clusters", keys: ["g"], label: "Merge", help: "Merge the two clusters" },
  { id: "split", pane: "clusters", keys: ["k"], label: "Split off", help: "Split the chosen rows off" },
  { id: "move", pane: "clusters", keys: ["m"], label: "Move", help: "Move the chosen rows to the other cluster" },
  { id: "right", pane: "clusters", keys: ["r"], label: "Right", help: "The cluster is right" },
  { id: "complete", pane: "clusters", keys: ["shift+r"], label: "Complete", help: "The cluster is right, and nothing is missing" },
  { id: "rename", pane: "clusters", keys: ["n"], label: "Rename" },
  { id: "lasso", pane: "clusters", keys: ["l"], label: "Lasso", help: "Choose rows with a lasso on the map" },
  { id: "none", pane: "clusters", keys: ["Escape"], label: "Clear", help: "Choose no rows" },
  { id: "undo", pane: "", keys: ["Backspace", "ctrl+z"], label: "Undo" },
  { id: "redo", pane: "", keys: ["ctrl+y", "ctrl+shift+z"], label: "Redo" },
  { id: "ask", pane: "", keys: ["q"], label: "Ask" },
  { id: "clusters", pane: "", keys: ["w"], label: "Clusters" },
  { id: "answers", pane: "", keys: ["e"], label: "Answers" },
  { id: "fit", pane: "", keys: ["b"], label: "Cluster now" },
  { id: "help", pane: "", keys: ["?", "h"], label: "Keys" },
];
const NAMES = { " ": "space", ArrowDown: "↓", ArrowUp: "↑", Backspace: "⌫", Escape: "esc" };
const PANES = { ask: "While asked", clusters: "With clusters", "": "Everywhere" };

const handlers = new Map();
let paneNow = () => "ask";

export function handle(id, action) {
  handlers.set(id, action);
}

const shown = (key) => key.split("+").map((part) => NAMES[part] ?? part).join("+");

// A button that does what its key does, with the key printed on it.
export function keyButton(id, attributes = {}, label = null) {
  const entry = KEYS.find((known) => known.id === id);
  return el("button", {
    type: "button", "data-key": id, "aria-keyshortcuts": shown(entry.keys[0]),
    title: entry.help, ...attributes, onclick: (event) => {
      // After a click the keys are the page's again, and space is no second click.
      if (event.detail > 0) event.currentTarget.blur();
      handlers.get(id)?.();
    },
  }, label ?? entry.label, " ", el("kbd", { "aria-hidden": "true" }, shown(entry.keys[0])));
}

export function fillHelp() {
  const parts = Object.entries(PANES).map(([pane, title]) => [
    el("h3", {}, title),
    el("dl", {}, KEYS.filter((entry) => entry.pane === pane).map((entry) => el("div", {},
      el("dt", {}, entry.keys.map((key) => el("kbd", {}, shown(key)))), el("dd", {}, entry.help ?? entry.label)))),
  ]);
  fill(byId("help"), el("h2", { id: "help-title" }, "Keys"), el("div", { class: "columns" }, parts.map((part) => el("section", {}, part))),
    el("p", {}, "In a contradiction, 1 to 9 say which answer is wrong."),
    el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => byId("help").close() }, "Close ", el("kbd", {}, "esc"))));
}

function nameOf(event) {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const isLetter = /^[a-z]$/.test(letter);
  return (event.ctrlKey || event.metaKey ? "ctrl+" : "") + (event.shiftKey && (isLetter || letter.length > 1) ? "shift+" : "") + letter;
}

// Space is printed on Unsure: it presses no other answer, also where that has the focus.
const isForUnsure = (event) => event.key === " " && paneNow() === "ask" && Boolean(event.target.closest?.(".answers button"));

const isTyping = (node) => Boolean(node.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]"));

document.addEventListener("keyup", (event) => { if (isForUnsure(event)) event.preventDefault(); });

// digits(n) takes the keys 1 to 9 where a pane wants them; it returns whether it did.
export function listen(pane, digits) {
  paneNow = pane;
  document.addEventListener("keydown", (event) => {
    if (event.repeat || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return; // a dialog has keys of its own
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const name = nameOf(event);
    // Enter and space press the button that has the focus.
    if ((name === "Enter" || name === " ") && !isForUnsure(event) && event.target.closest?.("button, a, summary, [type=checkbox]")) return;
    if (/^[1-9]$/.test(name) && digits(Number(name))) return event.preventDefault();
    const entry = KEYS.find((known) => known.pane === paneNow() && known.keys.includes(name))
      ?? KEYS.find((known) => known.pane === "" && known.keys.includes(name));
    if (entry && handlers.has(entry.id)) {
      event.preventDefault();
      handlers.get(entry.id)();
    }
  });
}
