// Geometry of the map: the view, an index of points, the lasso. Nothing here knows of the DOM.
// Points are 16-bit integers, x and y interleaved; y grows upwards on the map, and
// downwards on the screen, where lengths are CSS pixels.

const TOP = 65535;
const MOST_PIXELS_A_UNIT = 16;
const ROWS_FOR_SPACING = 20000;

/** The box around all points; all of the plane if there are none. */
export function boundsOf(xy) {
  if (xy.length === 0) return { left: 0, right: TOP, bottom: 0, top: TOP };
  let [left, bottom, right, top] = [xy[0], xy[1], xy[0], xy[1]];
  for (let p = 0; p < xy.length; p += 2) {
    const x = xy[p];
    const y = xy[p + 1];
    if (x < left) left = x;
    if (x > right) right = x;
    if (y < bottom) bottom = y;
    if (y > top) top = y;
  }
  return { left, right, bottom, top };
}

/** How far apart neighbours are where most points are; points on the same spot count once. */
export function spacingOf(xy, bounds = boundsOf(xy)) {
  const n = xy.length / 2;
  if (n === 0) return TOP;
  const looked = Math.min(n, ROWS_FOR_SPACING);
  const spots = new Set();
  for (let k = 0; k < looked; k++) {
    // Of many rows some, by the golden ratio: equal steps could meet equal rows only.
    const row = looked === n ? k : Math.floor(((k * 0.6180339887498949) % 1) * n);
    spots.add(xy[2 * row] * (TOP + 1) + xy[2 * row + 1]);
  }
  if (spots.size === 1) return TOP;
  const span = Math.max(bounds.right - bounds.left, bounds.top - bounds.bottom) + 1;
  const side = Math.max(Math.floor(Math.sqrt(spots.size / 8)), 1);
  const counts = new Uint32Array(side * side);
  for (const spot of spots) {
    const x = Math.floor(spot / (TOP + 1)) - bounds.left;
    const y = (spot % (TOP + 1)) - bounds.bottom;
    counts[Math.floor((y * side) / span) * side + Math.floor((x * side) / span)]++;
  }
  // Mean number of spots in the cell of a spot, and what the other rows add to it.
  const crowd = counts.reduce((sum, count) => sum + count * count, 0) / spots.size;
  const more = 1 + (n / looked - 1) * (spots.size / looked);
  return span / side / Math.sqrt(crowd * more);
}

/** Of each of so many labels, the row nearest to the mean of its rows; -1 if it has none. */
export function middleRows(xy, labels, nLabels) {
  const sums = new Float64Array(3 * nLabels); // of x, of y, of rows
  for (let row = 0; row < labels.length; row++) {
    const at = 3 * labels[row];
    if (labels[row] >= nLabels) continue;
    sums[at] += xy[2 * row];
    sums[at + 1] += xy[2 * row + 1];
    sums[at + 2]++;
  }
  const middles = new Int32Array(nLabels).fill(-1);
  const squares = new Float64Array(nLabels).fill(Infinity);
  for (let row = 0; row < labels.length; row++) {
    const label = labels[row];
    if (label >= nLabels) continue;
    const dx = xy[2 * row] - sums[3 * label] / sums[3 * label + 2];
    const dy = xy[2 * row + 1] - sums[3 * label + 1] / sums[3 * label + 2];
    if (dx * dx + dy * dy >= squares[label]) continue;
    squares[label] = dx * dx + dy * dy;
    middles[label] = row;
  }
  return middles;
}

/** Which part of the plane is on the screen: its centre, and pixels for a unit. */
export class View {
  constructor(bounds = boundsOf([]), width = 1, height = 1, padding = 24) {
    this.bounds = bounds;
    this.padding = padding;
    this.untouched = true; // by people: shows all points
    this.resize(width, height);
  }

  /** Take the size of the screen. A view of all points stays one, others keep their middle. */
  resize(width, height) {
    if (width === this.width && height === this.height) return;
    this.width = width;
    this.height = height;
    const { left, right, bottom, top } = this.bounds;
    const room = (length) => Math.max(length - 2 * this.padding, length / 4, 1);
    const scaleX = room(width) / (right - left); // infinite where all x are equal
    const scaleY = room(height) / (top - bottom);
    const whole = Math.min(room(width), room(height)) / TOP;
    const scale = Math.min(scaleX, scaleY);
    this.fitScale = Number.isFinite(scale) ? scale : whole;
    if (this.untouched) this.reset();
  }

  /** Show all points. */
  reset() {
    const { left, right, bottom, top } = this.bounds;
    this.centreX = (left + right) / 2;
    this.centreY = (bottom + top) / 2;
    this.scale = this.fitScale;
    this.untouched = true;
  }

  get zoom() {
    return this.scale / this.fitScale;
  }

  screenX(x) {
    return this.width / 2 + (x - this.centreX) * this.scale;
  }

  screenY(y) {
    return this.height / 2 - (y - this.centreY) * this.scale;
  }

  mapX(screenX) {
    return this.centreX + (screenX - this.width / 2) / this.scale;
  }

  mapY(screenY) {
    return this.centreY - (screenY - this.height / 2) / this.scale;
  }

  /** Move what is shown by so many pixels; the middle stays within the points' box. */
  pan(right, down) {
    const { left, right: end, bottom, top } = this.bounds;
    this.untouched = false;
    this.centreX = clamp(this.centreX - right / this.scale, left, end);
    this.centreY = clamp(this.centreY + down / this.scale, bottom, top);
  }

  /** Zoom by a factor; the point under (screenX, screenY) stays where it is. */
  zoomAt(factor, screenX = this.width / 2, screenY = this.height / 2) {
    const [x, y] = [this.mapX(screenX), this.mapY(screenY)];
    const most = Math.max(MOST_PIXELS_A_UNIT, this.fitScale * 8);
    this.scale = clamp(this.scale * factor, this.fitScale / 2, most);
    this.pan(screenX - this.screenX(x), screenY - this.screenY(y));
  }
}

/** Points sorted into equal cells, so that only those nearby are looked at. */
export class GridIndex {
  constructor(xy, bounds = boundsOf(xy)) {
    const n = xy.length / 2;
    const side = clamp(Math.ceil(Math.sqrt(n / 4)), 1, 1024);
    this.xy = xy;
    this.bounds = bounds;
    this.side = side;
    this.cellsAUnitX = side / (bounds.right - bounds.left + 1);
    this.cellsAUnitY = side / (bounds.top - bounds.bottom + 1);
    // Counting sort: rows of cell c are rows[start[c]] .. rows[start[c + 1] - 1], ascending.
    this.start = new Uint32Array(side * side + 1);
    this.rows = new Uint32Array(n);
    const cells = new Uint32Array(n);
    for (let row = 0; row < n; row++) {
      const cell = this.#band(xy[2 * row + 1]) * side + this.#column(xy[2 * row]);
      cells[row] = cell;
      this.start[cell + 1]++;
    }
    for (let c = 0; c < side * side; c++) this.start[c + 1] += this.start[c];
    const next = this.start.slice(0, -1);
    for (let row = 0; row < n; row++) this.rows[next[cells[row]]++] = row;
  }

  #column(x) {
    return clamp(Math.floor((x - this.bounds.left) * this.cellsAUnitX), 0, this.side - 1);
  }

  #band(y) {
    return clamp(Math.floor((y - this.bounds.bottom) * this.cellsAUnitY), 0, this.side - 1);
  }

  /** The row nearest to (x, y) that is at most `radius` away, the first of equals; or -1. */
  nearest(x, y, radius) {
    let best = -1;
    let bestSquare = radius * radius;
    const [first, last] = [this.#column(x - radius), this.#column(x + radius)];
    const lastBand = this.#band(y + radius);
    for (let band = this.#band(y - radius); band <= lastBand; band++) {
      const end = this.start[band * this.side + last + 1];
      for (let p = this.start[band * this.side + first]; p < end; p++) {
        const row = this.rows[p];
        const dx = this.xy[2 * row] - x;
        const dy = this.xy[2 * row + 1] - y;
        const square = dx * dx + dy * dy;
        if (square < bestSquare || (square === bestSquare && (best < 0 || row < best))) {
          [best, bestSquare] = [row, square];
        }
      }
    }
    return best;
  }

  /** Rows inside a polygon [[x, y], ...], ascending. */
  inside(polygon) {
    if (polygon.length < 3 || this.rows.length === 0) return new Uint32Array(0);
    // Only edges that reach a band can wind around its points: few, however long the lasso.
    const edgesOf = Array.from({ length: this.side }, () => []);
    polygon.forEach(([x1, y1], k) => {
      const [x2, y2] = polygon[(k + 1) % polygon.length];
      const last = this.#band(Math.max(y1, y2));
      for (let band = this.#band(Math.min(y1, y2)); band <= last; band++) {
        edgesOf[band].push(x1, y1, x2, y2);
      }
    });
    const xs = polygon.map((corner) => corner[0]);
    const first = this.#column(Math.min(...xs));
    const last = this.#column(Math.max(...xs));
    const isInside = new Uint8Array(this.rows.length);
    let count = 0;
    edgesOf.forEach((edges, band) => {
      if (edges.length === 0) return;
      const end = this.start[band * this.side + last + 1];
      for (let p = this.start[band * this.side + first]; p < end; p++) {
        const row = this.rows[p];
        if (!winds(edges, this.xy[2 * row], this.xy[2 * row + 1])) continue;
        isInside[row] = 1;
        count++;
      }
    });
    const found = new Uint32Array(count);
    for (let row = isInside.length - 1; count > 0; row--) {
      if (isInside[row]) found[--count] = row;
    }
    return found;
  }
}

/** Whether edges x1, y1, x2, y2, ... of a closed line wind around a point, in any direction. */
function winds(edges, x, y) {
  let turns = 0;
  for (let e = 0; e < edges.length; e += 4) {
    const y1 = edges[e + 1];
    const y2 = edges[e + 3];
    if (y1 <= y === y2 <= y) continue;
    const x1 = edges[e];
    const side = (edges[e + 2] - x1) * (y - y1) - (x - x1) * (y2 - y1);
    if (y1 <= y && side > 0) turns++;
    else if (y1 > y && side < 0) turns--;
  }
  return turns !== 0;
}

/** The part of a line within a box of that size around the screen, or null (Liang, Barsky). */
export function clipLine(x1, y1, x2, y2, width, height, margin) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  let [from, to] = [0, 1];
  const sides = [
    [-dx, x1 + margin],
    [dx, width + margin - x1],
    [-dy, y1 + margin],
    [dy, height + margin - y1],
  ];
  for (const [step, room] of sides) {
    if (step === 0 && room < 0) return null;
    if (step < 0) from = Math.max(from, room / step);
    if (step > 0) to = Math.min(to, room / step);
  }
  if (from > to) return null;
  return [x1 + from * dx, y1 + from * dy, x1 + to * dx, y1 + to * dy];
}

export function clamp(value, least, most) {
  return Math.min(Math.max(value, least), most);
}
