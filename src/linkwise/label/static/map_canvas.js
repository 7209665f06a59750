// Points without WebGL: shapes are drawn once for each colour and stamped into the pixels.

import { clamp } from "./map_geometry.js";
import { distanceTo, outlineOf, REACH } from "./map_look.js";

const PARTS = 3; // a pixel has so many places across, and down, for the middle of a shape

export class CanvasPoints {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d", { alpha: false });
  }

  update(scene) {
    this.scene = scene;
  }

  draw(frame) {
    const { width, height } = this.canvas;
    const image = this.context.createImageData(width, height);
    const [red, green, blue] = frame.colors.background;
    // A pixel as one number, lowest byte first, as every machine with a browser has it.
    new Uint32Array(image.data.buffer).fill(
      ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0,
    );
    const { selection } = this.scene;
    if (selection.length === 0) {
      this.#stampAll(image, frame, null, frame.opacity, false);
    } else {
      this.#stampAll(image, frame, null, frame.fadedOpacity, true);
      this.#stampAll(image, frame, selection, frame.opacity, false);
    }
    this.context.putImageData(image, 0, 0);
  }

  /** Stamp these rows (all if null), in their order. */
  #stampAll(image, { view, ratio, radius, outline, colors }, rows, opacity, muted) {
    const { xy, labels, palette } = this.scene;
    const { width, height } = image;
    const pixels = new Uint8Array(image.data.buffer);
    const nColors = palette.length / 4;
    const look = { radius, outline, opacity, ink: colors.ink, width };
    const stamps = new Array((nColors + 1) * PARTS * PARTS); // the last for rows without label
    const scale = view.scale * ratio;
    const n = rows ? rows.length : labels.length;
    for (let p = 0; p < n; p++) {
      const row = rows ? rows[p] : p;
      const left = width / 2 + (xy[2 * row] - view.centreX) * scale;
      const top = height / 2 - (xy[2 * row + 1] - view.centreY) * scale;
      const x = Math.floor(left);
      const y = Math.floor(top);
      const partX = Math.floor((left - x) * PARTS);
      const partY = Math.floor((top - y) * PARTS);
      const k = Math.min(labels[row], nColors);
      const which = (k * PARTS + partY) * PARTS + partX;
      if (stamps[which] === undefined) {
        const shape = k < nColors ? palette[4 * k + 3] : 0;
        const color = k < nColors && !muted ? palette.slice(4 * k, 4 * k + 3) : colors.muted;
        stamps[which] = makeStamp(shape, [...color], look, partX, partY);
      }
      const { reach, spots } = stamps[which];
      if (x < -reach || y < -reach || x >= width + reach || y >= height + reach) continue;
      const whole = x >= reach && y >= reach && x < width - reach && y < height - reach;
      const origin = y * width + x;
      for (let s = 0; s < spots.length; s += 7) {
        if (!whole && !within(x + spots[s], y + spots[s + 1], width, height)) continue;
        const at = 4 * (origin + spots[s + 2]);
        const cover = spots[s + 3]; // of 256
        pixels[at] += ((spots[s + 4] - pixels[at]) * cover + 128) >> 8;
        pixels[at + 1] += ((spots[s + 5] - pixels[at + 1]) * cover + 128) >> 8;
        pixels[at + 2] += ((spots[s + 6] - pixels[at + 2]) * cover + 128) >> 8;
      }
    }
  }
}

function within(x, y, width, height) {
  return x >= 0 && y >= 0 && x < width && y < height;
}

/** Pixels that a shape touches: for each dx, dy, dx + dy * width, cover, red, green, blue. */
function makeStamp(shape, fill, { radius, outline, opacity, ink, width }, partX, partY) {
  const edge = outlineOf(fill, ink);
  const reach = Math.ceil(REACH * radius + 0.5);
  const spots = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const [x, y] = [dx + 0.5 - (partX + 0.5) / PARTS, dy + 0.5 - (partY + 0.5) / PARTS];
      const pixels = radius * distanceTo(shape, x / radius, -y / radius);
      const cover = Math.round(256 * opacity * clamp(0.5 - pixels, 0, 1));
      if (cover === 0) continue;
      const inner = outline > 0 ? clamp(0.5 - pixels - outline, 0, 1) : 1;
      const color = edge.map((value, k) => Math.round(value + (fill[k] - value) * inner));
      spots.push(dx, dy, dx + dy * width, cover, ...color);
    }
  }
  return { reach, spots: Int32Array.from(spots) };
}
