// The page: it shows what the session says, and sends what the person does.

import * as answers from "./answers.js";
import { banner, follow, getState, post, Refused } from "./api.js";
import * as ask from "./ask.js";
import * as clusters from "./clusters.js";
import { byId, el, fill, say } from "./dom.js";
import { fillHelp, handle, keyButton, listen } from "./keys.js";
import { drawStop } from "./stop.js";

const NEWS_MS = 250;
const PANES = { ask, clusters, answers };

const store = {
  state: null,
  pane: "ask",
  set(state) {
    if (this.state && state.revision < this.state.revision) return; // it was overtaken
    this.state = state;
    draw();
  },
};

function draw() {
  drawWorker(store.state.worker);
  drawStop(store.state, banner);
  for (const name of Object.keys(PANES)) {
    byId(`pane-${name}`).hidden = name !== store.pane;
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === store.pane));
  }
  Object.assign(document.body.dataset, { pane: store.pane, revision: store.state.revision });
  PANES[store.pane].draw();
}

function drawWorker(worker) {
  const words = { idle: "", fitting: `Clustering … ${worker.done || ""}`, failed: `Clustering failed: ${worker.error} The clusters from before stay.` };
  const node = byId("worker");
  if (node.textContent !== words[worker.state]) node.textContent = words[worker.state];
  node.className = worker.state;
}

async function load() {
  store.set(await getState());
}

function show(pane) {
  store.pane = pane;
  if (store.state) draw();
  say(`${pane} pane`);
}

async function go(way) {
  const { result, state } = await post(way);
  const nothing = result.whose ? `Nothing of yours there: the last was done by ${result.whose}.` : "Nothing there.";
  const said = result.undone ? (way === "undo" ? "Taken back." : "Brought back.") : nothing;
  if (result.whose) banner(said);
  say(said);
  store.set(state);
}

// Others have changed something, or a fit is done: only then all is fetched anew.
let news = null;
let timer = 0;
let isDue = false;
function onNews(found, isBack) {
  isDue ||= isBack; // the server is another one, perhaps
  news = found;
  store.state.worker = { ...found.worker, fits: store.state.worker.fits };
  drawWorker(found.worker);
  // What this page did itself comes with the answer to its request, a little later.
  timer ||= setTimeout(async () => {
    timer = 0;
    const isSame = !isDue && news.revision <= store.state.revision && news.worker.fits === store.state.worker.fits;
    isDue = false;
    if (!isSame) await load();
  }, NEWS_MS);
}

window.addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof Refused) {
    event.preventDefault();
    banner(event.reason.message);
    if (event.reason.body.state) store.set(event.reason.body.state);
  }
});

fill(byId("tabs"), Object.keys(PANES).map((name) => keyButton(name, { role: "tab", id: `tab-${name}`, "aria-controls": `pane-${name}` })));
fill(byId("help-place"), keyButton("help"));
fillHelp();
byId("who").value = sessionStorage.getItem("linkwise-who") ?? "";
byId("who").addEventListener("change", (event) => sessionStorage.setItem("linkwise-who", event.target.value));
for (const name of Object.keys(PANES)) handle(name, () => show(name));
handle("undo", () => go("undo"));
handle("redo", () => go("redo"));
handle("fit", async () => store.set((await post("fit")).state));
handle("help", () => byId("help").showModal());
for (const pane of Object.values(PANES)) pane.start(store);
listen(() => store.pane, ask.digit);

await load();
if (!byId("who").value && store.state.who) byId("who").placeholder = store.state.who;
follow(onNews);
