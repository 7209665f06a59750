// The map of the rows: points coloured by cluster, pairs as lines, a lasso to select rows.
//
//   const map = new PointMap(host, { onSelect: (rows) => map.setSelection(rows) });
//   map.setPoints(xy);
//   map.setLabels(labels, [{ color: "#1f77b4", shape: 0, name: "on the map if given" }]);
//
// The map reports what was selected; what is shown as selected says setSelection alone.
// Colours come from --map-background, --map-line, --map-broken and --map-muted of the host.

import { counted } from "./dom.js";
import { boundsOf, GridIndex, middleRows, spacingOf, View } from "./map_geometry.js";
import { listen } from "./map_gestures.js";
import { Layers } from "./map_layers.js";
import { NO_LABEL, paletteBytes } from "./map_look.js";

const HOVER_PIXELS = 8;
const USE = "Plus and minus zoom, arrows move, 0 shows all. Dragged with shift: a lasso around rows.";
const ATTRIBUTES = ["role", "aria-label", "aria-description", "tabindex"];

export class PointMap {
  #host;
  #tell;
  #end = new AbortController();
  #layers;
  #index = null; // made when first needed
  #mode = "pan";
  #shown = {
    xy: new Uint16Array(0), // of all rows, x and y
    labels: new Uint16Array(0), // of each row, its place in the palette
    palette: new Uint8Array(0), // red, green, blue, shape
    names: [], // of the clusters in the palette
    middles: [], // rows where they are written
    selection: new Uint32Array(0), // rows
    ends: new Uint32Array(0), // two rows for each pair
    kinds: new Uint8Array(0), // of each pair
    spacing: 1, // between neighbours, in units of xy
    view: new View(),
    marks: { hover: -1, moved: [], flashStart: -Infinity, lasso: [] },
    onPaint: null,
  };

  /**
   * onSelect(rows): a lasso was drawn, or a row or nothing clicked on.
   * onHover(row): the row under the pointer is another one; -1 for none.
   * onPaint(): the points of setPoints are on the screen.
   * renderer: "auto", "webgl" or "canvas".
   */
  constructor(host, { onSelect, onHover, onPaint, renderer = "auto" } = {}) {
    this.#host = host;
    this.#tell = { onSelect, onHover };
    this.#shown.onPaint = onPaint;
    this.#layers = new Layers(host, this.#shown, renderer, this.#end.signal);
    if (getComputedStyle(host).position === "static") host.style.position = "relative";
    host.style.touchAction = "none";
    host.tabIndex = 0;
    host.setAttribute("role", "img");
    host.setAttribute("aria-description", USE);
    listen(host, this.#end.signal, this.#actions());
    this.select("pan");
    this.#describe();
    this.redraw();
  }

  /** "webgl" or "canvas", whichever draws now. */
  get renderer() {
    return this.#layers.renderer;
  }

  /** What is on the screen; only to be read. */
  get view() {
    return this.#shown.view;
  }

  /** Show other points. With another number of rows, all that was said of the old ones goes. */
  setPoints(xy) {
    if (xy.length % 2 !== 0) {
      throw new RangeError(`xy has ${xy.length} numbers, must have two for each row.`);
    }
    const shown = this.#shown;
    if (shown.xy.length !== xy.length) {
      shown.labels = new Uint16Array(xy.length / 2).fill(NO_LABEL);
      shown.selection = new Uint32Array(0);
      shown.ends = new Uint32Array(0);
      shown.kinds = new Uint8Array(0);
    }
    const bounds = boundsOf(xy);
    shown.xy = xy;
    shown.spacing = spacingOf(xy, bounds);
    shown.view = new View(bounds, shown.view.width, shown.view.height);
    Object.assign(shown.marks, { hover: -1, moved: [], lasso: [] });
    this.#index = null;
    this.#describe();
    this.#findMiddles();
    this.#layers.change("points", "labels", "selection");
  }

  /** Say which colour and shape of the palette each row has; 65535 for none. */
  setLabels(labels, palette) {
    const bytes = paletteBytes(palette);
    checkLength("labels", labels, this.#n);
    this.#shown.labels = labels;
    this.#shown.palette = bytes;
    this.#shown.names = palette.map((entry) => entry.name ?? "");
    this.#describe();
    this.#findMiddles();
    this.#layers.change("labels", "palette");
  }

  /** Show pairs: interleaved rows, and for each 1 if a cannot-link, plus 2 if broken. */
  setPairs(ends, kinds) {
    checkLength("ends", ends, 2 * kinds.length);
    checkRows("ends", ends, this.#n);
    this.#shown.ends = ends;
    this.#shown.kinds = kinds;
    this.#layers.draw("pairs");
  }

  /** Show these rows as selected and all others faded; none: all are shown as ever. */
  setSelection(rows) {
    checkRows("rows", rows, this.#n);
    this.#shown.selection = rows;
    this.#describe();
    this.#layers.change("selection");
  }

  /** Make rows flash once; where motion is unwanted, rings stay for a moment and go. */
  highlight(rows) {
    checkRows("rows", rows, this.#n);
    Object.assign(this.#shown.marks, { moved: rows, flashStart: performance.now() });
    this.#layers.draw("marks");
  }

  /** What dragging does: "pan" or "lasso". With shift it is always a lasso. */
  select(mode) {
    if (mode !== "pan" && mode !== "lasso") {
      throw new RangeError(`mode = ${mode} must be "pan" or "lasso".`);
    }
    this.#mode = mode;
    this.#host.style.cursor = mode === "lasso" ? "crosshair" : "grab";
  }

  /** Show all points. */
  resetView() {
    this.view.reset();
    this.#layers.draw();
  }

  /** Draw everything at once, with the colours that the host has now. */
  redraw() {
    this.#layers.drawNow();
  }

  /** Take the map out of the page and let go of everything. */
  destroy() {
    this.#end.abort();
    for (const name of ATTRIBUTES) this.#host.removeAttribute(name);
    for (const name of ["cursor", "touchAction"]) this.#host.style[name] = "";
  }

  get #n() {
    return this.#shown.xy.length / 2;
  }

  /** What gestures do; see `listen`. */
  #actions() {
    const { marks } = this.#shown;
    const layers = this.#layers;
    return {
      pan: (right, down) => {
        this.view.pan(right, down);
        layers.draw();
      },
      zoom: (factor, x, y) => {
        this.view.zoomAt(factor, x, y);
        layers.draw();
      },
      reset: () => this.resetView(),
      hover: (x, y) => this.#hover(this.#rowAt(x, y)),
      leave: () => this.#hover(-1),
      click: (x, y) => {
        const row = this.#rowAt(x, y);
        this.#tell.onSelect?.(Uint32Array.from(row < 0 ? [] : [row]));
      },
      lassoMode: () => this.#mode === "lasso",
      startLasso: () => this.#hover(-1),
      growLasso: (x, y) => {
        marks.lasso.push([this.view.mapX(x), this.view.mapY(y)]);
        layers.draw("marks");
      },
      endLasso: () => {
        const rows = this.#grid.inside(marks.lasso);
        marks.lasso = [];
        layers.draw("marks");
        this.#tell.onSelect?.(rows);
      },
      cancelLasso: () => {
        marks.lasso = [];
        layers.draw("marks");
      },
    };
  }

  get #grid() {
    this.#index ??= new GridIndex(this.#shown.xy, this.view.bounds);
    return this.#index;
  }

  #rowAt(x, y) {
    const { view } = this;
    return this.#grid.nearest(view.mapX(x), view.mapY(y), HOVER_PIXELS / view.scale);
  }

  #hover(row) {
    if (row === this.#shown.marks.hover) return;
    this.#shown.marks.hover = row;
    this.#layers.draw("marks");
    this.#tell.onHover?.(row);
  }

  #findMiddles() {
    const { xy, labels, names } = this.#shown;
    this.#shown.middles = names.some(Boolean) ? middleRows(xy, labels, names.length) : [];
  }

  #describe() {
    const { labels, palette, selection } = this.#shown;
    const seen = new Uint8Array(NO_LABEL + 1);
    for (let row = 0; row < labels.length; row++) seen[labels[row]] = 1;
    const clusters = seen.subarray(0, palette.length / 4).reduce((sum, one) => sum + one, 0);
    let text = `Map of ${counted(this.#n, "row")} in ${counted(clusters, "cluster")}`;
    if (selection.length > 0) text += `, ${counted(selection.length, "row")} selected`;
    this.#host.setAttribute("aria-label", text);
  }
}

function checkLength(name, values, expected) {
  if (values.length !== expected) {
    throw new RangeError(`${name} has ${values.length} entries, must have ${expected}.`);
  }
}

function checkRows(name, rows, n) {
  const wrong = rows.findIndex((row) => row >= n);
  if (wrong >= 0) {
    throw new RangeError(`${name}[${wrong}] = ${rows[wrong]} must be below ${n}, the number of rows.`);
  }
}
