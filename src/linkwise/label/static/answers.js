// The pane with everything that was said and done.

import { getJSON, post } from "./api.js";
import { changeAnswer, contradiction } from "./ask.js";
import { askFor, byId, counted, el, fill, percent, timeOf } from "./dom.js";
import { oneAtATime } from "./turns.js";

const FIRST = 200;
const KINDS = {
  all: () => true,
  answers: (event) => event.what === "answer" || event.what === "conflict",
  corrections: (event) => ["merge", "split", "move", "confirm", "rename"].includes(event.what),
  changes: (event) => event.what === "change" || event.what === "resolve",
  notes: (event) => event.note !== "" && event.note !== null,
};

let store = null;
let found = { events: [], agreement: [0, null, null] };
let filter = { text: "", kind: "all" };
let nShown = FIRST;
let seen = -1;

export function start(theStore) {
  store = theStore;
}

export const draw = oneAtATime(async () => {
  const { state } = store;
  if (!state) return;
  skeleton();
  if (seen !== state.revision) {
    found = await getJSON("answers");
    seen = state.revision;
  }
  fill(byId("answers-open"), state.conflicts.map((conflict) => contradiction(state, conflict)));
  byId("answers-agreement").textContent = agreement(found.agreement);
  drawTable();
});

// The field in which somebody writes is not made anew by each letter.
function skeleton() {
  if (byId("find")) return;
  const input = el("input", { id: "find", type: "search", placeholder: "Find", "aria-label": "Find in answers",
    oninput: (event) => { filter.text = event.target.value; drawTable(); } });
  const kinds = el("select", { "aria-label": "Which", onchange: (event) => { filter.kind = event.target.value; drawTable(); } },
    Object.keys(KINDS).map((kind) => el("option", { value: kind }, kind)));
  fill(byId("pane-answers"), el("h2", {}, "Everything that was said and done"), el("div", { id: "answers-open" }),
    el("p", { class: "agreement", id: "answers-agreement" }), el("p", { class: "buttons" }, input, kinds), el("div", { id: "answers-table" }));
}

function drawTable() {
  const text = filter.text.toLowerCase();
  const events = found.events.filter((event) => KINDS[filter.kind](event)
    && (text === "" || [event.i, event.j, event.answer, event.who, event.note, event.what].some((part) => part?.toLowerCase().includes(text))));
  const body = el("tbody", {}, events.slice(0, nShown).map(line));
  const table = el("table", { class: "events" }, el("thead", {}, el("tr", {},
    ["What", "Rows", "Said", "Counts as", "Who", "When", "Note", ""].map((name) => el("th", { scope: "col" }, name)))), body);
  const more = events.length > nShown
    ? el("button", { type: "button", "data-key": "more", onclick: () => { nShown += FIRST; drawTable(); } }, `${events.length - nShown} more`) : null;
  fill(byId("answers-table"), table, more);
}

function agreement([n, share, alpha]) {
  if (n === 0) return "No pair was judged by two people yet.";
  return `${counted(n, "pair")} judged by two people or more: they agree on ${percent(share)}`
    + (alpha === null ? "." : `, alpha ${alpha.toFixed(2)}.`);
}

function line(event) {
  const isAnswer = ["same", "different", "unsure"].includes(event.now);
  const rows = event.i === null ? "" : `${event.i}, ${event.j}`;
  const cells = [event.what, rows, event.answer ?? "", event.now ?? "", event.who ?? "", timeOf(event.time), event.note ?? ""];
  return el("tr", { class: event.active ? "" : "undone" }, cells.map((cell) => el("td", { dir: "auto" }, cell)),
    el("td", { class: "buttons" },
      isAnswer ? el("button", { type: "button", "data-key": `change ${event.event}`, onclick: () => changeAnswer(store, { ...event, answer: event.now }) }, "Change") : null,
      event.active ? el("button", { type: "button", "data-key": `note ${event.event}`, onclick: async () => {
        const text = await askFor("Note", { text: event.note ?? "" });
        if (text !== null) store.set((await post("note", { event: event.event, text })).state);
      } }, "Note") : null));
}
