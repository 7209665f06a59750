import assert from "node:assert/strict";
import { test } from "node:test";
import {
  distanceTo,
  N_SHAPES,
  paletteBytes,
  pointLook,
  REACH,
  shapePath,
} from "../../../src/linkwise/label/static/map_look.js";

test("every shape has about the area of the circle and stays within reach", () => {
  for (let shape = 0; shape < N_SHAPES; shape++) {
    let area = 0;
    for (let x = -2; x < 2; x += 0.02) {
      for (let y = -2; y < 2; y += 0.02) {
        if (distanceTo(shape, x, y) >= 0) continue;
        area += 0.02 * 0.02;
        assert.ok(Math.max(Math.abs(x), Math.abs(y)) <= REACH);
      }
    }
    assert.ok(area > 2.3 && area < 3.4, `shape ${shape} has an area of ${area}`);
  }
});

test("the corners of a shape's path lie on its border", () => {
  for (let shape = 1; shape < N_SHAPES; shape++) {
    const corners = shapePath(shape).slice(1, -1).split("L").map((text) => text.split(",").map(Number));
    assert.ok(corners.length >= 3);
    for (const [x, y] of corners) assert.ok(Math.abs(distanceTo(shape, x, -y)) < 0.005);
  }
});

test("points that are nearer are smaller and fainter, and none can vanish", () => {
  const looks = [1e6, 100, 17, 7, 2, 0.6, 0.14, 1e-6].map(pointLook);
  for (let k = 1; k < looks.length; k++) {
    assert.ok(looks[k].diameter <= looks[k - 1].diameter);
    assert.ok(looks[k].opacity <= looks[k - 1].opacity);
    assert.ok(looks[k].outline <= looks[k - 1].outline);
  }
  assert.ok(looks[0].diameter === 12 && looks[2].diameter > 9 && looks[4].diameter > 3);
  assert.ok(looks.at(-1).diameter >= 1.5 && looks.at(-1).opacity >= 0.2);
});

test("a palette becomes bytes, and what is wrong in it is named", () => {
  const palette = [{ color: "#0102FF", shape: 5 }, { color: "#000000", shape: 0 }];
  assert.deepEqual([...paletteBytes(palette)], [1, 2, 255, 5, 0, 0, 0, 0]);
  const wrong = (entry, message) =>
    assert.throws(() => paletteBytes([palette[0], entry]), { name: "RangeError", message });
  wrong({ color: "red", shape: 0 }, /palette\[1\]\.color = red must be like/);
  wrong({ color: "#12345", shape: 0 }, /color = #12345/);
  wrong({ color: "#123456", shape: 6 }, /palette\[1\]\.shape = 6 must be in 0 \.\. 5/);
  wrong({ color: "#123456", shape: 1.5 }, /shape = 1\.5/);
});
