import assert from "node:assert/strict";
import { test } from "node:test";
import {
  boundsOf,
  clipLine,
  GridIndex,
  middleRows,
  spacingOf,
  View,
} from "../../../src/linkwise/label/static/map_geometry.js";

/** Numbers in [0, 1) that are the same in every run (mulberry32). */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Points of one kind: spread, in clumps, on a coarse lattice, on a line, all equal. */
function makePoints(kind, n, random) {
  const xy = new Uint16Array(2 * n);
  for (let row = 0; row < n; row++) {
    let [x, y] = [random(), random()];
    if (kind === "clumps") [x, y] = [(row % 3) / 3 + 0.01 * x, ((row % 2) + 0.01 * y) / 2];
    if (kind === "lattice") [x, y] = [Math.floor(7 * x) / 7, Math.floor(7 * y) / 7];
    if (kind === "line") y = 0.5;
    if (kind === "equal") [x, y] = [0.25, 0.75];
    if (kind === "corners") [x, y] = [Math.round(x), Math.round(y)];
    xy.set([Math.round(65535 * x), Math.round(65535 * y)], 2 * row);
  }
  return xy;
}

const KINDS = ["spread", "clumps", "lattice", "line", "equal", "corners"];

function nearestByForce(xy, x, y, radius) {
  let best = [radius * radius, -1];
  for (let row = 0; row < xy.length / 2; row++) {
    const square = (xy[2 * row] - x) ** 2 + (xy[2 * row + 1] - y) ** 2;
    if (square < best[0] || (square === best[0] && best[1] < 0)) best = [square, row];
  }
  return best[1];
}

/** Rows around which a polygon turns, by the sum of the angles under which its edges are seen. */
function insideByAngles(xy, polygon) {
  const rows = [];
  for (let row = 0; row < xy.length / 2; row++) {
    let sum = 0;
    polygon.forEach(([x1, y1], k) => {
      const [x2, y2] = polygon[(k + 1) % polygon.length];
      const [ax, ay] = [x1 - xy[2 * row], y1 - xy[2 * row + 1]];
      const [bx, by] = [x2 - xy[2 * row], y2 - xy[2 * row + 1]];
      sum += Math.atan2(ax * by - ay * bx, ax * bx + ay * by);
    });
    if (Math.abs(sum) > Math.PI) rows.push(row);
  }
  return rows;
}

for (const kind of KINDS) {
  test(`the grid finds the row that a look at all rows finds: ${kind}`, () => {
    const random = randomNumbers(1);
    for (const n of [1, 2, 50, 3000]) {
      const xy = makePoints(kind, n, random);
      const index = new GridIndex(xy);
      let hits = 0;
      for (let trial = 0; trial < 200; trial++) {
        const near = Math.floor(random() * n);
        const radius = [1, 100, 1000, 30000][trial % 4];
        const x = trial % 2 ? random() * 70000 - 2000 : xy[2 * near] + (random() - 0.5) * radius;
        const y = trial % 2 ? random() * 70000 - 2000 : xy[2 * near + 1] + (random() - 0.5) * radius;
        const found = index.nearest(x, y, radius);
        assert.equal(found, nearestByForce(xy, x, y, radius));
        hits += found >= 0;
      }
      assert.ok(hits >= 90, `only ${hits} of 200 looks found anything`);
    }
  });

  test(`the lasso selects the rows that its line turns around: ${kind}`, () => {
    const random = randomNumbers(2);
    const xy = makePoints(kind, 2000, random);
    const index = new GridIndex(xy);
    let [some, all] = [0, 0];
    for (let trial = 0; trial < 60; trial++) {
      // Corners off the lattice of integers, so that no row lies on an edge.
      const corners = Array.from({ length: 3 + (trial % 40) }, () => [
        Math.floor(random() * 90000 - 12000) + 0.37,
        Math.floor(random() * 90000 - 12000) + 0.41,
      ]);
      const rows = [...index.inside(corners)];
      assert.deepEqual(rows, insideByAngles(xy, corners));
      some += rows.length > 0;
      all += rows.length === 2000;
    }
    assert.ok(some > 10 && (all < 60 || kind === "equal"));
  });
}

test("a lasso that crosses itself selects what lies in its overlap too", () => {
  const xy = Uint16Array.from([50, 50, 300, 300]);
  const twice = [[0, 0], [100, 0], [100, 100], [0, 100], [0, 0], [90, 0], [90, 90], [0, 90]];
  assert.deepEqual([...new GridIndex(xy).inside(twice)], [0]);
});

test("a lasso of fewer than three corners selects nothing, as any lasso without rows", () => {
  const index = new GridIndex(Uint16Array.from([5, 5]));
  assert.equal(index.inside([]).length, 0);
  assert.equal(index.inside([[0, 0], [10, 10]]).length, 0);
  const empty = new GridIndex(new Uint16Array(0));
  assert.equal(empty.inside([[0, 0], [9, 0], [0, 9]]).length, 0);
  assert.equal(empty.nearest(0, 0, 1e9), -1);
});

test("a point goes to the screen and back, at every size, zoom and corner of 16 bits", () => {
  const random = randomNumbers(3);
  for (const [width, height] of [[1, 1], [320, 900], [1600, 400], [3840, 2160]]) {
    const view = new View(boundsOf(Uint16Array.from([0, 0, 65535, 65535])), width, height);
    for (let step = 0; step < 50; step++) {
      for (const [x, y] of [[0, 0], [65535, 65535], [0, 65535], [32768, 1]]) {
        assert.ok(Math.abs(view.mapX(view.screenX(x)) - x) < 1e-6);
        assert.ok(Math.abs(view.mapY(view.screenY(y)) - y) < 1e-6);
      }
      view.zoomAt(0.5 + 1.5 * random(), random() * width, random() * height);
      view.pan((random() - 0.5) * width, (random() - 0.5) * height);
    }
  }
});

test("a fresh view shows every point within its padding, as large as fits, y upwards", () => {
  const xy = Uint16Array.from([1000, 2000, 3000, 2500, 1500, 2200]);
  const view = new View(boundsOf(xy), 800, 600, 20);
  assert.ok(Math.abs(view.screenX(1000) - 20) < 1e-9);
  assert.ok(Math.abs(view.screenX(3000) - 780) < 1e-9);
  assert.ok(view.screenY(2500) < view.screenY(2000));
  assert.ok(view.screenY(2500) >= 20 && view.screenY(2000) <= 580);
});

test("no point, one point and equal points are in the middle of a finite view", () => {
  for (const xy of [[], [7, 9], [65535, 0, 65535, 0]]) {
    const view = new View(boundsOf(Uint16Array.from(xy)), 640, 480);
    assert.ok(Number.isFinite(view.scale) && view.scale > 0);
    if (xy.length === 0) continue;
    assert.equal(view.screenX(xy[0]), 320);
    assert.equal(view.screenY(xy[1]), 240);
  }
});

test("zooming leaves the point under the pointer where it is, until a limit", () => {
  const view = new View(boundsOf(Uint16Array.from([0, 0, 65535, 65535])), 800, 600);
  const [x, y] = [view.mapX(300), view.mapY(200)];
  view.zoomAt(3, 300, 200);
  assert.ok(Math.abs(view.screenX(x) - 300) < 1e-6);
  assert.ok(Math.abs(view.screenY(y) - 200) < 1e-6);
  for (let step = 0; step < 100; step++) view.zoomAt(2);
  assert.equal(view.scale, 16);
  for (let step = 0; step < 100; step++) view.zoomAt(0.5);
  assert.ok(Math.abs(view.zoom - 0.5) < 1e-12);
});

test("panning never leaves the points' box", () => {
  const view = new View(boundsOf(Uint16Array.from([100, 100, 900, 500])), 800, 600);
  view.pan(1e9, 1e9);
  assert.deepEqual([view.centreX, view.centreY], [100, 500]);
  view.pan(-1e9, -1e9);
  assert.deepEqual([view.centreX, view.centreY], [900, 100]);
});

test("what is cut off a line lies outside, and what is left inside", () => {
  const random = randomNumbers(4);
  const inBox = (x, y, slack) =>
    x >= -8 - slack && x <= 208 + slack && y >= -8 - slack && y <= 108 + slack;
  let [kept, gone] = [0, 0];
  for (let trial = 0; trial < 2000; trial++) {
    const [x1, y1, x2, y2] = Array.from({ length: 4 }, () => random() * 1200 - 500);
    const line = clipLine(x1, y1, x2, y2, 200, 100, 8);
    const part = (t) => [x1 + t * (x2 - x1), y1 + t * (y2 - y1)];
    const seen = Array.from({ length: 301 }, (_, k) => part(k / 300)).filter(([x, y]) =>
      inBox(x, y, 0),
    );
    if (line === null) {
      assert.equal(seen.length, 0);
      gone++;
      continue;
    }
    kept++;
    assert.ok(inBox(line[0], line[1], 1e-6) && inBox(line[2], line[3], 1e-6));
    for (const [x, y] of seen) {
      const between = (value, a, b) => value >= Math.min(a, b) - 1e-6 && value <= Math.max(a, b) + 1e-6;
      assert.ok(between(x, line[0], line[2]) && between(y, line[1], line[3]));
    }
  }
  assert.ok(kept > 100 && gone > 100);
  assert.deepEqual(clipLine(5, 5, 5, 5, 200, 100, 8), [5, 5, 5, 5]);
});

test("the spacing is that of a lattice, whatever the number of rows on each spot", () => {
  for (const [side, copies] of [[10, 1], [10, 3], [40, 1], [40, 100], [300, 2]]) {
    const xy = [];
    for (let k = 0; k < side * side * copies; k++) {
      const spot = (k * 7919) % (side * side);
      xy.push((spot % side) * 200, Math.floor(spot / side) * 200);
    }
    const spacing = spacingOf(Uint16Array.from(xy));
    assert.ok(spacing > 130 && spacing < 260, `${side}, ${copies}: ${spacing}`);
  }
});

test("the spacing is that within clumps, not that between them", () => {
  const random = randomNumbers(5);
  const spread = spacingOf(makePoints("spread", 30000, random));
  const clumps = spacingOf(makePoints("clumps", 30000, random));
  assert.ok(spread > 300 && spread < 450);
  assert.ok(clumps < spread / 5);
});

test("no row and a single spot have all the room", () => {
  assert.equal(spacingOf(new Uint16Array(0)), 65535);
  assert.equal(spacingOf(Uint16Array.from([3, 4, 3, 4])), 65535);
});

test("a view of all points stays one on another screen; one that was moved stays where it is", () => {
  const view = new View(boundsOf(Uint16Array.from([0, 0, 1000, 500])), 800, 600, 20);
  view.resize(300, 900);
  assert.ok(Math.abs(view.screenX(0) - 20) < 1e-9 && Math.abs(view.screenX(1000) - 280) < 1e-9);
  view.zoomAt(2, 100, 100);
  const { scale, centreX, centreY } = view;
  view.resize(800, 600);
  assert.deepEqual([view.scale, view.centreX, view.centreY], [scale, centreX, centreY]);
  view.reset();
  view.resize(1040, 600);
  assert.ok(Math.abs(view.screenX(1000) - 1020) < 1e-9);
});

test("the middle row of a label is its row nearest to the mean; other labels do not count", () => {
  const random = randomNumbers(6);
  const xy = makePoints("spread", 500, random);
  const labels = Uint16Array.from({ length: 500 }, (_, row) => (row % 7 ? row % 4 : 65535));
  const middles = middleRows(xy, labels, 6);
  for (let label = 0; label < 4; label++) {
    const rows = [...labels.keys()].filter((row) => labels[row] === label);
    const mean = (axis) => rows.reduce((sum, row) => sum + xy[2 * row + axis], 0) / rows.length;
    const gap = (row) => Math.hypot(xy[2 * row] - mean(0), xy[2 * row + 1] - mean(1));
    assert.equal(labels[middles[label]], label);
    assert.ok(rows.every((row) => gap(row) >= gap(middles[label])));
  }
  assert.deepEqual([...middles.slice(4)], [-1, -1]);
});
