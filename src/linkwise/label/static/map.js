// The map of the rows: points coloured by cluster, pairs as lines, a lasso to select rows.
//
//   const map = new PointMap(host, { onSelect: (rows) => map.setSelection(rows) });
//   map.setPoints(xy);
//   map.setLabels(labels, [{ color: "#1f77b4", shape: 0 }]);
//
// The map reports what was selected; what is shown as selected says setSelection alone.
// Colours come from --map-background, --map-line, --map-broken and --map-muted of the host.

import { boundsOf, GridIndex, spacingOf, View } from "./map_geometry.js";
import { listen } from "./map_gestures.js";
import { CanvasPoints } from "./map_canvas.js";
import { NO_LABEL, paletteBytes, pointLook, readColors } from "./map_look.js";
import { Overlay } from "./map_overlay.js";
import { WebGLPoints } from "./map_webgl.js";

const HOVER_PIXELS = 8;
const FLASH_MS = 1200;
const FADED = 0.45; // opacity of rows that are not selected, of the others'
const EVERYTHING = new Set(["points", "labels", "palette", "selection"]);

export class PointMap {
  #host;
  #tell; // { onSelect, onHover, onPaint }
  #stop = new AbortController();
  #scene = {
    xy: new Uint16Array(0),
    labels: new Uint16Array(0),
    palette: new Uint8Array(0),
    selection: new Uint32Array(0),
    ends: new Uint32Array(0),
    kinds: new Uint8Array(0),
  };
  #marks = { hover: -1, moved: [], flash: 0, lasso: [] };
  #view = new View();
  #spacing = 1;
  #untouched = true; // the view still shows all points
  #index = null; // made when first needed
  #mode = "pan";
  #renderer;
  #webgl = null; // kept while its context is lost
  #pairs = new Overlay();
  #overlay = new Overlay();
  #resized;
  #changed = new Set(EVERYTHING);
  #stale = new Set(); // layers to be drawn: "points", "pairs", "marks"
  #request = 0;
  #newPoints = false;
  #flashStart = 0;
  #flashEnd = 0;

  constructor(host, { onSelect, onHover, onPaint, renderer = "auto" } = {}) {
    if (!["auto", "webgl", "canvas"].includes(renderer)) {
      throw new RangeError(`renderer = ${renderer} must be "auto", "webgl" or "canvas".`);
    }
    this.#host = host;
    this.#tell = { onSelect, onHover, onPaint };
    if (renderer !== "canvas") this.#webgl = this.#openWebGL(renderer === "webgl");
    if (getComputedStyle(host).position === "static") host.style.position = "relative";
    host.style.overflow = "hidden";
    host.style.touchAction = "none";
    host.tabIndex = 0;
    host.setAttribute("role", "img");
    for (const layer of [this.#pairs, this.#overlay]) this.#attach(layer.canvas);
    this.#use(this.#webgl ?? new CanvasPoints());
    listen(host, this.#stop.signal, this.#actions());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw(), {
      signal: this.#stop.signal,
    });
    this.#resized = new ResizeObserver(() => this.#resize());
    this.#resized.observe(this.#overlay.canvas);
    addEventListener("resize", () => this.#resize(), { signal: this.#stop.signal }); // pixel ratio
    this.#resize();
    this.select("pan");
    this.#describe();
  }

  /** "webgl" or "canvas", whichever draws now. */
  get renderer() {
    return this.#renderer === this.#webgl ? "webgl" : "canvas";
  }

  /** What is on the screen; see View. Only to be read. */
  get view() {
    return this.#view;
  }

  /** Show other points. With another number of rows, all that was said of the old ones goes. */
  setPoints(xy) {
    if (xy.length % 2 !== 0) {
      throw new RangeError(`xy has ${xy.length} numbers; x and y of each row must be an even number.`);
    }
    const n = xy.length / 2;
    const scene = this.#scene;
    scene.xy = xy;
    if (scene.labels.length !== n) {
      scene.labels = new Uint16Array(n).fill(NO_LABEL);
      scene.selection = new Uint32Array(0);
      scene.ends = new Uint32Array(0);
      scene.kinds = new Uint8Array(0);
    }
    this.#marks = { hover: -1, moved: [], flash: 0, lasso: [] };
    this.#index = null;
    this.#newPoints = true;
    this.#view = new View(boundsOf(xy), this.#view.width, this.#view.height);
    this.#spacing = spacingOf(xy, this.#view.bounds);
    this.#untouched = true;
    this.#describe();
    this.#change("points", "labels", "selection");
  }

  /** Say which colour and shape of the palette each row has; 65535 for none. */
  setLabels(labels, palette) {
    const bytes = paletteBytes(palette);
    checkLength("labels", labels, this.#n);
    this.#scene.labels = labels;
    this.#scene.palette = bytes;
    this.#describe();
    this.#change("labels", "palette");
  }

  /** Show pairs: interleaved rows, and for each 1 if a cannot-link, plus 2 if broken. */
  setPairs(ends, kinds) {
    checkLength("ends", ends, 2 * kinds.length);
    checkRows("ends", ends, this.#n);
    this.#scene.ends = ends;
    this.#scene.kinds = kinds;
    this.#draw("pairs");
  }

  /** Show these rows as selected and all others faded; none: all are shown as ever. */
  setSelection(rows) {
    checkRows("rows", rows, this.#n);
    this.#scene.selection = rows;
    this.#describe();
    this.#change("selection");
  }

  /** Make rows flash once; where motion is unwanted, rings stay for a moment and go. */
  highlight(rows) {
    checkRows("rows", rows, this.#n);
    this.#marks.moved = rows;
    this.#flashStart = performance.now();
    this.#flashEnd = this.#flashStart + FLASH_MS;
    this.#draw("marks");
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
    this.#view.reset();
    this.#untouched = true;
    this.#draw("points", "pairs", "marks");
  }

  /** Draw everything at once, with the colours that the host has now. */
  redraw() {
    this.#draw("points", "pairs", "marks");
    this.#paint();
  }

  /** Take the map out of the page and let go of everything. */
  destroy() {
    this.#stop.abort();
    this.#resized.disconnect();
    cancelAnimationFrame(this.#request);
    for (const part of [this.#renderer, this.#webgl, this.#pairs, this.#overlay]) part?.destroy();
    for (const name of ["role", "aria-label", "tabindex"]) this.#host.removeAttribute(name);
    for (const name of ["cursor", "touchAction"]) this.#host.style[name] = "";
  }

  get #n() {
    return this.#scene.xy.length / 2;
  }

  #openWebGL(needed) {
    let webgl;
    try {
      webgl = new WebGLPoints();
    } catch (error) {
      if (needed) throw error;
      return null;
    }
    const { signal } = this.#stop;
    const swap = (renderer) => {
      this.#use(renderer);
      this.#resize();
    };
    webgl.canvas.addEventListener(
      "webglcontextlost",
      (event) => {
        event.preventDefault(); // else it would never come back
        swap(new CanvasPoints());
      },
      { signal },
    );
    webgl.canvas.addEventListener(
      "webglcontextrestored",
      () => {
        webgl.restore();
        swap(webgl);
      },
      { signal },
    );
    return webgl;
  }

  #use(renderer) {
    this.#renderer?.canvas.remove();
    this.#renderer = renderer;
    this.#attach(renderer.canvas, true);
    this.#changed = new Set(EVERYTHING);
  }

  #attach(canvas, below = false) {
    Object.assign(canvas.style, {
      position: "absolute",
      inset: "0",
      width: "100%",
      height: "100%",
      display: "block",
      pointerEvents: "none",
    });
    canvas.setAttribute("aria-hidden", "true");
    if (below) this.#host.prepend(canvas);
    else this.#host.append(canvas);
  }

  #resize() {
    const [width, height] = [this.#host.clientWidth, this.#host.clientHeight];
    if (width === 0 || height === 0) return; // hidden; comes again when shown
    const ratio = devicePixelRatio || 1;
    for (const { canvas } of [this.#renderer, this.#pairs, this.#overlay]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    this.#view.resize(width, height);
    if (this.#untouched) this.#view.reset();
    this.redraw(); // now: a canvas whose size was set is empty
  }

  #actions() {
    const marks = () => this.#marks;
    const moved = () => {
      this.#untouched = false;
      this.#draw("points", "pairs", "marks");
    };
    const toMap = (x, y) => [this.#view.mapX(x), this.#view.mapY(y)];
    return {
      pan: (right, down) => {
        this.#view.pan(right, down);
        moved();
      },
      zoom: (factor, x, y) => {
        this.#view.zoomAt(factor, x, y);
        moved();
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
        marks().lasso.push(toMap(x, y));
        this.#draw("marks");
      },
      endLasso: () => {
        const rows = this.#grid.inside(marks().lasso);
        marks().lasso = [];
        this.#draw("marks");
        this.#tell.onSelect?.(rows);
      },
      cancelLasso: () => {
        marks().lasso = [];
        this.#draw("marks");
      },
    };
  }

  get #grid() {
    this.#index ??= new GridIndex(this.#scene.xy, this.#view.bounds);
    return this.#index;
  }

  #rowAt(x, y) {
    const { view } = this;
    return this.#grid.nearest(view.mapX(x), view.mapY(y), HOVER_PIXELS / view.scale);
  }

  #hover(row) {
    if (row === this.#marks.hover) return;
    this.#marks.hover = row;
    this.#draw("marks");
    this.#tell.onHover?.(row);
  }

  #change(...parts) {
    for (const part of parts) this.#changed.add(part);
    this.#draw("points", "pairs", "marks");
  }

  /** Have layers drawn with the next frame. */
  #draw(...layers) {
    for (const layer of layers) this.#stale.add(layer);
    this.#request ||= requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
    const frame = this.#frame();
    if (frame === null) return;
    const stale = this.#stale;
    this.#stale = new Set();
    if (stale.has("points")) {
      this.#renderer.update(this.#scene, this.#changed);
      this.#changed = new Set();
      this.#renderer.draw(frame);
    }
    if (stale.has("pairs")) this.#pairs.drawPairs(frame, this.#scene);
    if (stale.has("marks")) {
      this.#marks.flash = this.#flash();
      this.#overlay.drawMarks(frame, { ...this.#marks, xy: this.#scene.xy });
      if (this.#marks.flash > 0) this.#draw("marks");
    }
    if (this.#newPoints) {
      this.#newPoints = false;
      setTimeout(() => this.#tell.onPaint?.()); // after the browser has shown this frame
    }
  }

  #flash() {
    const now = performance.now();
    if (now >= this.#flashEnd) return 0;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return 1;
    return 1 - (now - this.#flashStart) / FLASH_MS;
  }

  /** All that the layers need to know to draw now; null while the map has no size. */
  #frame() {
    const view = this.#view;
    const { canvas } = this.#renderer;
    if (this.#host.clientWidth === 0 || this.#host.clientHeight === 0) return null;
    const ratio = canvas.width / view.width;
    const look = pointLook(this.#spacing * view.scale);
    return {
      view,
      ratio,
      colors: readColors(this.#host),
      radius: (look.diameter / 2) * ratio,
      outline: look.outline * ratio,
      opacity: look.opacity,
      fadedOpacity: look.opacity * FADED,
    };
  }

  #describe() {
    const { labels, palette, selection } = this.#scene;
    const seen = new Uint8Array(65536);
    for (let row = 0; row < labels.length; row++) seen[labels[row]] = 1;
    const clusters = seen.subarray(0, palette.length / 4).reduce((sum, one) => sum + one, 0);
    let text = `Map of ${count(this.#n, "row")} in ${count(clusters, "cluster")}`;
    if (selection.length > 0) text += `, ${count(selection.length, "row")} selected`;
    this.#host.setAttribute("aria-label", text);
  }
}

function count(n, word) {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
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
