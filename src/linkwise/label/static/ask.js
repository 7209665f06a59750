// The pane that asks: one pair, four keys; contradictions; the last answers.

import { post, Refused } from "./api.js";
import { pairOf, lineOf } from "./compare.js";
import { askFor, byId, counted, el, fill, percent, say, timeOf } from "./dom.js";
import { handle, keyButton } from "./keys.js";

// A key that was meant for the pair before is not taken for the new one.
const DEAF_MS = 150;
const SIGNS = { same: "=", different: "≠", unsure: "?" };

let store = null;
let paintedAt = 0;
let shownId = null;
let cardKey = null;
let isBusy = false;
let note = "";
let feedback = "";
const later = new Set(); // contradictions that are put off

const pane = () => byId("pane-ask");
const conflictNow = () => store.state.conflicts.find((conflict) => !later.has(conflict.id)) ?? null;

export function start(theStore) {
  store = theStore;
  for (const word of ["same", "different", "unsure"]) handle(word, () => answer(word));
  handle("flag", () => { note = note === "flagged" ? "" : "flagged"; draw(); });
  handle("note", async () => {
    const text = await askFor("Note on this pair", { text: note });
    if (text !== null) note = text;
    draw();
  });
  handle("later", () => { const conflict = conflictNow(); if (conflict) { later.add(conflict.id); draw(); } });
}

async function answer(word) {
  const question = store.state.question;
  if (isBusy || conflictNow() || !question || performance.now() - paintedAt < DEAF_MS) return;
  isBusy = true;
  try {
    const { result, state } = await post("answer", { question: question.id, answer: word, ...(note ? { note } : {}) });
    note = "";
    feedback = told(word, result);
    store.set(state);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    feedback = error.message;
    if (error.body.state) store.set(error.body.state);
    else draw();
  } finally {
    isBusy = false;
  }
}

function told(word, result) {
  if (result.repeated) return "Stored.";
  if (result.conflict !== null) return "This contradicts earlier answers.";
  const follow = result.implied > 1 ? `; ${result.implied} pairs follow from it` : "";
  const expected = result.expected === null ? "" : ` Good clusterings expected "same" with ${percent(result.expected)}.`;
  return `You said ${word}${follow}.${expected}`;
}

export async function settle(conflict, choice, wrong = null) {
  const { state } = await post("resolve", { conflict: conflict.id, choice, wrong });
  feedback = "Settled.";
  store.set(state);
}

// Keys 1 to 9 name the wrong answer of a contradiction.
export function digit(number) {
  const conflict = conflictNow();
  if (!conflict || store.pane !== "ask") return false;
  if (number === 1) settle(conflict, "this");
  else if (number - 2 < conflict.chain.length) settle(conflict, "that", conflict.chain[number - 2].event);
  else if (number - 2 === conflict.chain.length) settle(conflict, "unsure", conflict.weakest);
  else if (number - 3 === conflict.chain.length) settle(conflict, "aside");
  else return false;
  return true;
}

export function draw() {
  const { state } = store;
  if (!state) return;
  const conflict = conflictNow();
  const id = conflict ? `conflict ${conflict.id}` : state.question?.id ?? "";
  if (!byId("ask-card")) fill(pane(), ["criterion", "card", "feedback", "rest"].map((part) => el("div", { id: `ask-${part}` })));
  fill(byId("ask-criterion"), criterion(state));
  // The same pair stays as it is, with what was unfolded in it.
  if (cardKey !== `${id} ${note}`) {
    cardKey = `${id} ${note}`;
    fill(byId("ask-card"), conflict ? contradiction(state, conflict) : question(state));
  }
  fill(byId("ask-feedback"), el("p", { class: "feedback" }, feedback));
  fill(byId("ask-rest"), strip(state), counters(state));
  if (id !== shownId) {
    shownId = id;
    paintedAt = performance.now();
    byId("ask-card").dataset.state = "new";
    requestAnimationFrame(() => {
      paintedAt = performance.now();
      document.dispatchEvent(new Event("pair-painted"));
      setTimeout(() => { if (performance.now() - paintedAt >= DEAF_MS) byId("ask-card").dataset.state = "ready"; }, DEAF_MS + 5);
    });
    if (state.question && !conflict) say(`${feedback} Next: ${state.question.left.id} and ${state.question.right.id}.`);
  }
}

function criterion(state) {
  const text = state.criterion || "Say in your words what makes two belong together …";
  return el("button", { type: "button", class: "criterion", "data-key": "criterion", title: "Change what makes two belong together", onclick: async () => {
    const said = await askFor("What makes two belong together?", { text: state.criterion });
    if (said !== null) store.set((await post("criterion", { text: said })).state);
  } }, text);
}

function question(state) {
  if (!state.question) {
    return el("div", { class: "card" }, el("h2", {}, "Everything that can be asked is known."),
      el("p", {}, "Look at the clusters, or take the results with you."));
  }
  const { left, right, kind } = state.question;
  const title = kind === "again" ? "Once more: do these two belong together?" : "Do these two belong together?";
  return el("div", { class: "card" }, el("h2", {}, title), pairOf(state, left, right),
    el("div", { class: "buttons answers" }, keyButton("same", { class: "same" }), keyButton("different", { class: "different" }),
      keyButton("unsure"), keyButton("undo")),
    el("div", { class: "buttons small" }, keyButton("flag", { "aria-pressed": String(note === "flagged") }),
      keyButton("note", {}, note && note !== "flagged" ? `Note: ${note.slice(0, 40)}` : null)));
}

export function contradiction(state, conflict) {
  const key = (number) => el("kbd", {}, String(number));
  const steps = conflict.chain.map((step, at) => el("li", { class: step.event === conflict.weakest ? "weakest" : "" },
    el("div", {}, lineOf(state, step.left), el("b", { class: "said" }, ` ${SIGNS[step.answer]} ${step.answer} `), lineOf(state, step.right)),
    el("small", {}, [step.who ?? "you", timeOf(step.time), step.event === conflict.weakest ? "the weakest" : null].filter(Boolean).join(", ")),
    el("button", { type: "button", "data-key": `wrong ${conflict.id} ${step.event}`, onclick: () => settle(conflict, "that", step.event) }, "This one is wrong ", key(at + 2))));
  return el("div", { class: "card conflict", role: "group", "aria-label": "Contradiction" },
    el("h2", {}, `You said ${conflict.answer}, but the opposite follows from ${counted(conflict.chain.length, "earlier answer")}.`),
    pairOf(state, conflict.left, conflict.right), el("ol", { class: "chain" }, steps),
    el("div", { class: "buttons" },
      el("button", { type: "button", "data-key": `this ${conflict.id}`, onclick: () => settle(conflict, "this") }, `My new answer, ${conflict.answer}, is wrong `, key(1)),
      el("button", { type: "button", "data-key": `unsure ${conflict.id}`, onclick: () => settle(conflict, "unsure", conflict.weakest) }, "Unsure of both ", key(conflict.chain.length + 2)),
      el("button", { type: "button", "data-key": `aside ${conflict.id}`, onclick: () => settle(conflict, "aside") }, "Leave mine out, a colleague decides ", key(conflict.chain.length + 3)),
      keyButton("later"), keyButton("undo")));
}

function strip(state) {
  const chips = state.last.map((last) => el("li", {}, el("button", {
    type: "button", class: `chip ${last.answer}`, "data-key": `answer ${last.event}`, title: "Change this answer", onclick: () => changeAnswer(store, last),
  }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[last.answer]), ` ${last.i}, ${last.j} `, el("span", { class: "hidden-text" }, last.answer))));
  return el("ol", { class: "strip", "aria-label": "Last answers, the newest first" }, chips);
}

function counters(state) {
  const { status } = state;
  const parts = [counted(status.n_answers, "answer"), `${state.follow.toLocaleString("en")} pairs follow from them`, `${status.n_unsure} unsure`,
    `${counted(status.n_groups, "group")} that differ`];
  if (state.conflicts.length) parts.push(`${counted(state.conflicts.length, "contradiction")} open`);
  if (status.n_lost) parts.push(`${counted(status.n_lost, "answer")} about rows that are gone or have changed`);
  return el("p", { class: "counters" }, parts.join(" · "));
}

export async function changeAnswer(theStore, last) {
  const choices = ["same", "different", "unsure"].filter((word) => word !== last.answer).map((word) => ({ label: `${SIGNS[word]} ${word}`, value: word }));
  choices.push({ label: "Remove it", value: "removed" });
  const word = await askFor(`${last.i} and ${last.j}: ${last.answer}. Change it to`, { choices });
  if (word !== null) theStore.set((await post("change", { event: last.event, answer: word })).state);
}
