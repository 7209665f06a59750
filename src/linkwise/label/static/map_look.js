// How points look: six shapes, sizes, colours. Both renderers draw what is said here.
// The shader in map_webgl.js repeats `distanceTo`; a browser test holds them together.

import { clamp } from "./map_geometry.js";

export const NO_LABEL = 65535;
export const N_SHAPES = 6; // circle, square, triangle, diamond, plus, triangle upside down
export const REACH = 1.4; // no shape goes farther from its middle, in radii

/** Distance of (x, y), y upwards, to a shape of radius 1; below 0 inside. */
export function distanceTo(shape, x, y) {
  const [ax, ay] = [Math.abs(x), Math.abs(y)];
  if (shape === 1) return Math.max(ax, ay) - 0.88;
  if (shape === 2) return Math.max(-y, 0.866 * ax + 0.5 * y) - 0.68;
  if (shape === 3) return 0.7071 * (ax + ay) - 0.88;
  if (shape === 4) return Math.max(Math.min(ax, ay) - 0.42, Math.max(ax, ay) - 1.15);
  if (shape === 5) return Math.max(y, 0.866 * ax - 0.5 * y) - 0.68;
  return Math.hypot(x, y) - 1;
}

const CORNERS = [
  null,
  [[-0.88, -0.88], [0.88, -0.88], [0.88, 0.88], [-0.88, 0.88]],
  [[0, -1.36], [1.178, 0.68], [-1.178, 0.68]],
  [[0, -1.244], [1.244, 0], [0, 1.244], [-1.244, 0]],
  [
    [-0.42, -1.15], [0.42, -1.15], [0.42, -0.42], [1.15, -0.42], [1.15, 0.42], [0.42, 0.42],
    [0.42, 1.15], [-0.42, 1.15], [-0.42, 0.42], [-1.15, 0.42], [-1.15, -0.42], [-0.42, -0.42],
  ],
  [[0, 1.36], [1.178, -0.68], [-1.178, -0.68]],
];

/** A shape as the `d` of an SVG path around (0, 0), y downwards: for lists and legends. */
export function shapePath(shape, radius = 1) {
  const r = radius;
  if (!CORNERS[shape]) return `M${-r},0A${r},${r} 0 1 1 ${r},0A${r},${r} 0 1 1 ${-r},0Z`;
  return `M${CORNERS[shape].map(([x, y]) => `${x * r},${y * r}`).join("L")}Z`;
}

/** Size and outline, in CSS pixels, and opacity of points that are so many pixels apart. */
export function pointLook(spacing) {
  const diameter = clamp(3.3 * spacing ** 0.38, 1.5, 12);
  const cover = (diameter / spacing) ** 2; // points over each other
  return {
    diameter,
    opacity: clamp(0.92 * cover ** -0.25, 0.2, 0.92),
    outline: diameter < 5 ? 0 : clamp(diameter / 8, 0.75, 1.5),
  };
}

const DEFAULTS = {
  light: { background: "#ffffff", line: "#4b5563", broken: "#c81e1e", muted: "#b4bac2" },
  dark: { background: "#14171b", line: "#aab2bd", broken: "#ff6b66", muted: "#565e69" },
};

/** Colours of the map as [red, green, blue], from --map-... of the host. */
export function readColors(host) {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const style = getComputedStyle(host);
  const colors = {};
  for (const [name, fallback] of Object.entries(DEFAULTS[dark ? "dark" : "light"])) {
    colors[name] = parseColor(style.getPropertyValue(`--map-${name}`).trim(), fallback);
  }
  const [red, green, blue] = colors.background;
  colors.ink = 0.299 * red + 0.587 * green + 0.114 * blue > 127 ? [0, 0, 0] : [255, 255, 255];
  return colors;
}

let dot = null;

/** Any colour that CSS knows, as the browser understands it. */
function parseColor(text, fallback) {
  dot ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  dot.fillStyle = fallback;
  if (text) dot.fillStyle = text; // not a colour: the fallback stays
  dot.fillRect(0, 0, 1, 1);
  return [...dot.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}

/** The palette as bytes red, green, blue, shape; an error names what is wrong. */
export function paletteBytes(palette) {
  const bytes = new Uint8Array(4 * palette.length);
  palette.forEach(({ color, shape }, k) => {
    if (!/^#[0-9a-f]{6}$/i.test(color)) {
      throw new RangeError(`palette[${k}].color = ${color} must be like "#1f77b4".`);
    }
    if (!(Number.isInteger(shape) && shape >= 0 && shape < N_SHAPES)) {
      throw new RangeError(`palette[${k}].shape = ${shape} must be in 0 .. ${N_SHAPES - 1}.`);
    }
    const value = parseInt(color.slice(1), 16);
    bytes.set([value >> 16, (value >> 8) & 255, value & 255, shape], 4 * k);
  });
  return bytes;
}

/** Colour of a shape's outline: its own, nearer to black on light, to white on dark. */
export const OUTLINE_MIX = 0.45;

export function outlineOf(fill, ink) {
  return fill.map((value, k) => value + (ink[k] - value) * OUTLINE_MIX);
}
