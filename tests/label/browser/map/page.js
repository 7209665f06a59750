// A map alone, for tests: `start` makes it, `told` keeps what it reports.

import { PointMap } from "/map.js";

const host = document.getElementById("host");

window.told = { selected: [], hovered: [], paints: 0 };

/** Make the map anew and show rows; resolves when they are painted. */
window.start = ({ renderer, xy, labels, palette, size }) => {
  window.map?.destroy();
  if (size) [host.style.width, host.style.height] = size.map((length) => `${length}px`);
  window.told = { selected: [], hovered: [], paints: 0 };
  return new Promise((resolve) => {
    window.map = new PointMap(host, {
      renderer,
      onSelect: (rows) => told.selected.push([...rows]),
      onHover: (row) => told.hovered.push(row),
      onPaint: () => {
        told.paints += 1;
        resolve();
      },
    });
    map.setPoints(Uint16Array.from(xy));
    if (labels) map.setLabels(Uint16Array.from(labels), palette);
  });
};

/** Where a row is on the screen, in CSS pixels. */
window.place = (xy) => [map.view.screenX(xy[0]), map.view.screenY(xy[1])];

/** All pixels of the map as they are seen, all layers over each other: RGBA, row by row. */
window.pixels = () => {
  map.redraw(); // WebGL shows its pixels only while they are fresh
  const layers = host.querySelectorAll("canvas");
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [layers[0].width, layers[0].height];
  const context = canvas.getContext("2d");
  for (const layer of layers) context.drawImage(layer, 0, 0);
  const { data, width, height } = context.getImageData(0, 0, canvas.width, canvas.height);
  let text = "";
  for (let k = 0; k < data.length; k += 8192) {
    text += String.fromCharCode(...data.subarray(k, k + 8192));
  }
  return { width, height, base64: btoa(text) };
};

window.ready = true;
