// The pane with the clusters: map, list, members; merge, split, move, confirm, rename.

import { get, getJSON, post, Refused } from "./api.js";
import { lineOf } from "./compare.js";
import { askFor, byId, counted, el, fill, percent, say, swatch } from "./dom.js";
import { handle, keyButton } from "./keys.js";
import { PointMap } from "./map.js";
import { oneAtATime } from "./turns.js";

const NO_LABEL = 65535;

let store = null;
let map = null;
let clusters = [];
let palette = []; // of the places in labels: id, name, color, shape
let labels = new Uint16Array(0);
let chosen = null; // id of the cluster that is looked at
let other = null; // id of the one it is compared with
let rows = new Set(); // rows that are ticked or inside the lasso
let isLasso = false;
let seenRevision = -1;
let seenFits = -1;
let message = "";
let details = new Map(); // members by cluster, of this revision

export function start(theStore) {
  store = theStore;
  handle("down", () => step(1));
  handle("up", () => step(-1));
  handle("similar", nextSimilar);
  handle("merge", () => needOther() && correct({ kind: "merge", clusters: [chosen, other] }));
  handle("split", () => needRows() && correct({ kind: "split", cluster: chosen, rows: [...rows].filter((row) => idOf(row) === chosen) }));
  handle("move", () => needRows() && needOther() && correct({ kind: "move", rows: [...rows], to: other }));
  handle("right", () => chosen !== null && correct({ kind: "confirm", cluster: chosen }));
  handle("complete", () => chosen !== null && correct({ kind: "confirm", cluster: chosen, complete: true }));
  handle("rename", rename);
  handle("lasso", () => { isLasso = !isLasso; map?.select(isLasso ? "lasso" : "pan"); drawTools(); });
  handle("none", () => choose([]));
}

const idOf = (row) => (labels[row] === NO_LABEL ? null : palette[labels[row]]?.id ?? null);
const lookOf = (id) => clusters.find((cluster) => cluster.id === id);

function needOther() {
  if (other !== null && chosen !== null) return true;
  tell("Choose a second cluster first: space takes the next similar one.");
  return false;
}

function needRows() {
  if (rows.size > 0 && chosen !== null) return true;
  tell("Choose rows first: tick them, or draw a lasso on the map.");
  return false;
}

function tell(text) {
  message = text;
  say(text);
  drawTools();
}

async function correct(values) {
  try {
    const { result, state } = await post("correct", values);
    choose([], false);
    if (values.kind === "merge") other = null;
    if (values.kind === "split") other = result.cluster;
    message = { merge: "Merged; earlier answers that they differ no longer count.", split: "Split off.", move: "Moved.", confirm: "Confirmed." }[values.kind] + " It stays so over all refits; undo takes it back.";
    say(message);
    store.set(state);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    tell(error.message);
  }
}

async function rename() {
  if (chosen === null) return;
  const name = await askFor("Name of this cluster", { text: lookOf(chosen)?.name ?? "" });
  if (name) store.set((await post("correct", { kind: "rename", cluster: chosen, name })).state);
}

function step(by) {
  if (clusters.length === 0) return;
  const at = clusters.findIndex((cluster) => cluster.id === chosen);
  look(clusters[(at + by + clusters.length) % clusters.length].id);
}

function look(id) {
  chosen = id;
  other = null;
  drawLists();
}

// The nearest cluster first, then the others in their order.
function nextSimilar() {
  const near = lookOf(chosen)?.near;
  const order = [near, ...clusters.map((cluster) => cluster.id)].filter((id, at, all) => id !== chosen && id !== null && id !== undefined && all.indexOf(id) === at);
  if (order.length === 0) return;
  other = order[(order.indexOf(other) + 1) % order.length];
  drawLists();
}

function choose(list, isDrawn = true) {
  rows = new Set(list);
  map?.setSelection(Uint32Array.from(rows));
  if (isDrawn) drawLists();
}

function toggle(row) {
  if (!rows.delete(row)) rows.add(row);
  map?.setSelection(Uint32Array.from(rows));
  drawTools();
}

function skeleton() {
  if (byId("map")) return;
  fill(byId("pane-clusters"),
    el("div", { class: "map-side" },
      el("div", { id: "map", role: "img", "aria-label": "Map of the rows; the list beside it says the same in words" }),
      el("p", { id: "hovered", class: "dim" })),
    el("div", { class: "list-side" }, el("div", { id: "tools" }), el("ul", { id: "cluster-list", "aria-label": "Clusters, the most doubtful first" }), el("div", { id: "members" })));
  map = new PointMap(byId("map"), {
    onSelect: (found) => choose([...found]),
    onHover: hover,
    onPaint: () => document.dispatchEvent(new Event("map-painted")),
  });
}

let hovered = -1;
async function hover(row) {
  hovered = row;
  if (row < 0) return;
  const shown = await getJSON(`rows/${row}`).catch(() => null);
  if (shown && hovered === row) fill(byId("hovered"), lineOf(store.state, shown));
}

export const draw = oneAtATime(async () => {
  const { state } = store;
  if (!state) return;
  skeleton();
  const isNew = seenRevision !== state.revision;
  const isRefit = seenFits !== state.worker.fits;
  if (isNew || isRefit) {
    const { revision, worker: { fits } } = state; // news change the worker meanwhile
    await loadMap(isRefit);
    clusters = await getJSON("clusters");
    details = new Map();
    seenRevision = revision;
    seenFits = fits;
    if (!lookOf(chosen)) chosen = clusters[0]?.id ?? null;
    if (!lookOf(other)) other = null;
  }
  drawLists();
});

async function loadMap(isRefit) {
  if (isRefit) map.setPoints(new Uint16Array(await (await get("map")).arrayBuffer()));
  const answer = await get("labels");
  const before = labels.length ? Array.from(labels, (_, row) => idOf(row)) : null;
  palette = JSON.parse(answer.headers.get("x-clusters"));
  labels = new Uint16Array(await answer.arrayBuffer());
  map.setLabels(labels, palette);
  const pairs = await (await get("pairs")).arrayBuffer();
  const n = pairs.byteLength / 9;
  map.setPairs(new Uint32Array(pairs, 0, 2 * n), new Uint8Array(pairs, 8 * n));
  if (before) {
    const moved = before.flatMap((id, row) => (id !== idOf(row) && id !== null ? [row] : []));
    if (moved.length && isRefit) {
      message = `${counted(moved.length, "row")} moved.`;
      map.highlight(Uint32Array.from(moved));
    }
  }
}

function drawLists() {
  drawTools();
  fill(byId("cluster-list"), clusters.length ? clusters.map(entry)
    : el("li", { class: "dim" }, "No clusters yet: they come after five answers, or now with the key b."));
  drawMembers();
}

function drawTools() {
  const names = [chosen, other].map((id) => lookOf(id)?.name ?? "–");
  fill(byId("tools"),
    el("p", {}, el("b", {}, names[0]), other === null ? "" : ` and ${names[1]}`, `, ${counted(rows.size, "row")} chosen. `, el("span", { role: "status" }, message)),
    el("div", { class: "buttons small" }, ["similar", "merge", "split", "move", "right", "complete", "rename"].map((id) => keyButton(id)),
      keyButton("lasso", { "aria-pressed": String(isLasso) }), keyButton("none"), keyButton("undo")));
}

function entry(cluster) {
  const mark = cluster.id === chosen ? "chosen" : cluster.id === other ? "other" : "";
  const near = lookOf(cluster.near);
  return el("li", { class: mark }, el("button", { type: "button", class: "cluster", "data-key": `cluster ${cluster.id}`, "aria-pressed": String(cluster.id === chosen), onclick: () => look(cluster.id) },
    swatch(cluster), el("b", { dir: "auto" }, cluster.name), ` ${counted(cluster.size, "row")} `,
    el("small", {}, [`${percent(cluster.answered)} with pairs`, `doubt ${percent(cluster.doubt)}`, near ? `near ${near.name}` : null].filter(Boolean).join(" · ")),
    cluster.apart.length ? el("small", { class: "apart", dir: "auto" }, cluster.apart.join(", ")) : null));
}

async function drawMembers() {
  const wanted = [chosen, other].filter((id) => id !== null);
  const key = wanted.join();
  const known = details;
  for (const id of wanted) {
    const shown = known.get(id) ?? await getJSON(`clusters/${id}`).catch(() => null);
    if (shown) known.set(id, shown);
  }
  if (known !== details || key !== [chosen, other].filter((id) => id !== null).join()) return;
  fill(byId("members"), wanted.map((id) => known.get(id)).filter(Boolean).map((found) =>
    el("section", { class: "members" }, el("h3", {}, swatch(lookOf(found.id) ?? { shape: 0, color: "#888" }), found.name),
      part("From the middle", found.middle), part("From the rim", found.rim))));
}

function part(title, members) {
  if (members.length === 0) return null;
  return [el("h4", {}, title), el("ul", {}, members.map((row) => el("li", {}, el("label", {},
    el("input", { type: "checkbox", "data-key": `row ${row.row}`, checked: rows.has(row.row), onchange: () => toggle(row.row) }), lineOf(store.state, row)))))];
}
