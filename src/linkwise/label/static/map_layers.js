// The canvases of the map over each other, points, pairs and names, marks; and when each is
// drawn.

import { CanvasPoints } from "./map_canvas.js";
import { pointLook, readColors } from "./map_look.js";
import { Overlay } from "./map_overlay.js";
import { WebGLPoints } from "./map_webgl.js";

export const FLASH_MS = 1200;
const FADED = 0.6; // opacity of rows that are not selected, of the others'
const PARTS = ["points", "labels", "palette", "selection"];
const LAYERS = ["points", "pairs", "marks"];

export class Layers {
  #host;
  #shown; // what the map shows; see PointMap
  #signal;
  #points; // draws the points: #webgl or a canvas
  #webgl = null; // kept while its context is lost
  #pairs = new Overlay();
  #marks = new Overlay();
  #changed = new Set(); // parts of #shown that the points have not seen yet
  #stale = new Set(); // layers to be drawn
  #request = 0;
  #resized;

  /** `renderer` is "auto", "webgl" or "canvas"; the signal ends everything. */
  constructor(host, shown, renderer, signal) {
    if (!["auto", "webgl", "canvas"].includes(renderer)) {
      throw new RangeError(`renderer = ${renderer} must be "auto", "webgl" or "canvas".`);
    }
    this.#host = host;
    this.#shown = shown;
    this.#signal = signal;
    // Without a graphics card WebGL is slower than the canvas: only if it is asked for.
    if (renderer !== "canvas") this.#openWebGL(renderer === "webgl");
    this.#use(this.#webgl ?? new CanvasPoints());
    this.#attach(this.#pairs.canvas);
    this.#attach(this.#marks.canvas);
    this.#resized = new ResizeObserver(() => {
      // Now, before the browser shows the page: a canvas of another size is empty.
      if (this.#measure() && this.#stale.size > 0) this.#paint();
    });
    this.#resized.observe(this.#marks.canvas);
    this.#watchPixelRatio();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.drawNow(), {
      signal,
    });
    signal.addEventListener("abort", () => this.#end());
  }

  /** "webgl" or "canvas", whichever draws now. */
  get renderer() {
    return this.#points === this.#webgl ? "webgl" : "canvas";
  }

  /** Say which parts of what is shown have changed: "points", "labels" and so on. */
  change(...parts) {
    for (const part of parts) this.#changed.add(part);
    this.draw();
  }

  /** Have layers drawn with the next frame. */
  draw(...layers) {
    for (const layer of layers.length > 0 ? layers : LAYERS) this.#stale.add(layer);
    this.#request ||= requestAnimationFrame(() => this.#paint());
  }

  drawNow() {
    this.draw();
    this.#paint();
  }

  #paint() {
    cancelAnimationFrame(this.#request);
    this.#request = 0;
    if (!this.#measure()) return; // hidden; it is measured again when it is shown
    const { view, marks, onPaint } = this.#shown;
    const frame = this.#frame(view);
    const stale = this.#stale;
    this.#stale = new Set();
    if (stale.has("points")) {
      this.#points.update(this.#shown, this.#changed);
      this.#points.draw(frame);
      if (this.#changed.has("points")) setTimeout(() => onPaint?.()); // when the frame is seen
      this.#changed = new Set();
    }
    if (stale.has("pairs")) {
      this.#pairs.drawPairs(frame, this.#shown);
      this.#pairs.drawNames(frame, this.#shown);
    }
    if (stale.has("marks")) {
      const flash = flashOf(marks.flashStart);
      this.#marks.drawMarks(frame, this.#shown.xy, marks, flash);
      if (flash > 0) this.draw("marks");
    }
  }

  /** Give all canvases the size of the host; false if it has none. */
  #measure() {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (width === 0 || height === 0) return false;
    const ratio = devicePixelRatio || 1;
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    for (const { canvas } of [this.#points, this.#pairs, this.#marks]) {
      if (canvas.width === size[0] && canvas.height === size[1]) continue;
      [canvas.width, canvas.height] = size;
      for (const layer of LAYERS) this.#stale.add(layer);
    }
    this.#shown.view.resize(width, height);
    return true;
  }

  /** What the layers need to know besides their data. Lengths are pixels of the canvas. */
  #frame(view) {
    const ratio = this.#points.canvas.width / view.width;
    const look = pointLook(this.#shown.spacing * view.scale);
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

  #openWebGL(needed) {
    try {
      this.#webgl = new WebGLPoints(!needed);
    } catch (error) {
      if (needed) throw error;
      return;
    }
    const { canvas } = this.#webgl;
    const on = (type, handle) => canvas.addEventListener(type, handle, { signal: this.#signal });
    on("webglcontextlost", (event) => {
      event.preventDefault(); // else it would never come back
      this.#use(new CanvasPoints());
      this.drawNow();
    });
    on("webglcontextrestored", () => {
      this.#webgl.restore();
      this.#use(this.#webgl);
      this.drawNow();
    });
  }

  #use(points) {
    this.#points?.canvas.remove();
    this.#points = points;
    this.#attach(points.canvas);
    this.#host.prepend(points.canvas);
    const fresh = this.#changed.has("points");
    this.#points.update(this.#shown, new Set(PARTS));
    this.#changed = new Set(fresh ? ["points"] : []);
  }

  #attach(canvas) {
    Object.assign(canvas.style, {
      position: "absolute",
      inset: "0",
      width: "100%",
      height: "100%",
      pointerEvents: "none",
    });
    canvas.setAttribute("aria-hidden", "true");
    this.#host.append(canvas);
  }

  /** Draw anew when the window is zoomed or goes to a screen of finer pixels. */
  #watchPixelRatio() {
    const changed = () => {
      this.drawNow();
      this.#watchPixelRatio();
    };
    const options = { once: true, signal: this.#signal };
    matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener("change", changed, options);
  }

  #end() {
    this.#resized.disconnect();
    cancelAnimationFrame(this.#request);
    this.#webgl?.destroy();
    for (const { canvas } of [this.#points, this.#pairs, this.#marks]) canvas.remove();
  }
}

/** From 1, at the start, to 0; without motion it is 1 until it is 0. */
function flashOf(start) {
  const rest = 1 - (performance.now() - start) / FLASH_MS;
  if (rest <= 0) return 0;
  return matchMedia("(prefers-reduced-motion: reduce)").matches ? 1 : rest;
}
