// What lies over the points, for both renderers: pairs, names of clusters, the lasso, rings
// around rows.

import { clamp, clipLine } from "./map_geometry.js";

const CANNOT_LINK = 1;
const BROKEN = 2;
const MOST_RINGS = 5000; // more cannot be told apart
const FONT = "600 12px system-ui, sans-serif";
const LONGEST_NAME = 24;

/** A canvas over the points. */
export class Overlay {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  /** Begin anew, in CSS pixels. */
  #clear({ view, ratio }) {
    this.context.setTransform(1, 0, 0, 1, 0, 0);
    this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    // Chromium may go on showing the old picture of a canvas that was cleared and no more.
    this.context.fillStyle = "rgb(0 0 0 / 0.004)";
    this.context.fillRect(0, 0, 1, 1);
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    return { context: this.context, view };
  }

  /** Must-links are lines, cannot-links dashed; broken ones are red with a cross on top. */
  drawPairs(frame, { xy, ends, kinds }) {
    const { context, view } = this.#clear(frame);
    const opacity = clamp(0.7 * (50 / kinds.length) ** 0.3, 0.2, 0.7); // many lines are faint
    for (const kind of [0, CANNOT_LINK, BROKEN, BROKEN | CANNOT_LINK]) {
      const broken = (kind & BROKEN) !== 0;
      context.strokeStyle = css(broken ? frame.colors.broken : frame.colors.line);
      context.globalAlpha = broken ? 0.95 : opacity;
      context.lineWidth = broken ? 2 : 1.25;
      context.setLineDash((kind & CANNOT_LINK) !== 0 ? [6, 5] : []);
      context.beginPath();
      const middles = [];
      for (let p = 0; p < kinds.length; p++) {
        if (kinds[p] !== kind) continue;
        const [i, j] = [ends[2 * p], ends[2 * p + 1]];
        const [x1, y1] = [view.screenX(xy[2 * i]), view.screenY(xy[2 * i + 1])];
        const [x2, y2] = [view.screenX(xy[2 * j]), view.screenY(xy[2 * j + 1])];
        // Dashes far outside of the screen would take long.
        const line = clipLine(x1, y1, x2, y2, view.width, view.height, 8);
        if (!line) continue;
        context.moveTo(line[0], line[1]);
        context.lineTo(line[2], line[3]);
        if (broken) middles.push([(x1 + x2) / 2, (y1 + y2) / 2]);
      }
      context.stroke();
      this.#drawCrosses(middles, frame.colors);
    }
  }

  /** Names of clusters in their middles, but for those that would cover one before. */
  drawNames({ view, colors }, { xy, names, middles }) {
    const context = this.context;
    const taken = [];
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    context.lineWidth = 4;
    names.forEach((name, k) => {
      if (!name || middles[k] < 0) return;
      const text = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
      const [x, y] = [view.screenX(xy[2 * middles[k]]), view.screenY(xy[2 * middles[k] + 1])];
      const half = context.measureText(text).width / 2 + 4;
      const covers = (box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < 18;
      if (taken.some(covers)) return;
      taken.push({ x, y, half });
      context.globalAlpha = 0.85;
      context.strokeStyle = css(colors.background);
      context.strokeText(text, x, y);
      context.globalAlpha = 1;
      context.fillStyle = css(colors.ink);
      context.fillText(text, x, y);
    });
  }

  #drawCrosses(middles, colors) {
    const context = this.context;
    context.setLineDash([]);
    context.globalAlpha = 1;
    for (const [color, width] of [[colors.background, 5.5], [colors.broken, 2.5]]) {
      context.strokeStyle = css(color);
      context.lineWidth = width;
      context.beginPath();
      for (const [x, y] of middles) {
        context.moveTo(x - 5, y - 5);
        context.lineTo(x + 5, y + 5);
        context.moveTo(x + 5, y - 5);
        context.lineTo(x - 5, y + 5);
      }
      context.stroke();
    }
  }

  /** The row under the pointer, moved rows (flash from 1 to 0) and the lasso. */
  drawMarks(frame, xy, { hover, moved, lasso }, flash) {
    const { context, view } = this.#clear(frame);
    const ink = css(frame.colors.ink);
    const radius = frame.radius / frame.ratio;
    if (flash > 0) {
      context.globalAlpha = flash;
      this.#drawRings(frame, xy, moved, radius + 3 + 6 * (1 - flash), 2);
      context.globalAlpha = 1;
    }
    if (hover >= 0) this.#drawRings(frame, xy, [hover], Math.max(radius * 1.5, 5), 2);
    if (lasso.length > 1) {
      context.beginPath();
      lasso.forEach(([x, y]) => context.lineTo(view.screenX(x), view.screenY(y)));
      context.closePath();
      context.fillStyle = context.strokeStyle = ink;
      context.globalAlpha = 0.08;
      context.fill();
      context.globalAlpha = 0.8;
      context.lineWidth = 1.5;
      context.setLineDash([4, 3]);
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 1;
    }
  }

  #drawRings({ view, colors }, xy, rows, radius, width) {
    const context = this.context;
    const step = Math.ceil(rows.length / MOST_RINGS) || 1;
    context.beginPath();
    for (let p = 0; p < rows.length; p += step) {
      const [x, y] = [view.screenX(xy[2 * rows[p]]), view.screenY(xy[2 * rows[p] + 1])];
      if (x < -20 || y < -20 || x > view.width + 20 || y > view.height + 20) continue;
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    context.strokeStyle = css(colors.ink);
    context.lineWidth = width;
    context.stroke();
  }
}

function css([red, green, blue]) {
  return `rgb(${red} ${green} ${blue})`;
}
