"""How long the map of `linkwise label` takes to paint in a browser without a window.

Run with ``python benchmarks/map_paint.py``; it needs selenium, chromium, chromedriver.
The clock starts when positions and labels have arrived in the page. It stops when the
browser has shown the frame and a pixel was read back, which waits for all of them. Each
time is of a new map, so shaders are compiled anew. "frame" is all points once more, as
when the map is moved. "lasso" finds the rows in a polygon of 200 corners, "hover" the
row next to a place, with the index that is made before. Medians, in milliseconds.
"""

import argparse
import http.server
import platform
import shutil
import statistics
import threading
from datetime import date
from pathlib import Path

import numpy as np
from selenium import webdriver

import linkwise

STATIC = Path(linkwise.__file__).parent / "label" / "static"
SIZES = (1_000, 100_000, 1_000_000)
N_CLUSTERS = 12
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
)
PAGE = """<!doctype html><meta charset="utf-8"><title>Map</title>
<div id="host" style="width: 1200px; height: 800px"></div>
<script type="module">
import { PointMap } from "/map.js";
import { GridIndex } from "/map_geometry.js";

const host = document.getElementById("host");
const palette = Array.from({ length: 12 }, (_, k) => ({
  color: "#" + (0x1f77b4 + 0x2a5c31 * k & 0xffffff).toString(16).padStart(6, "0"),
  shape: k % 6,
}));

function readPixel() {
  const canvas = host.querySelector("canvas");
  const gl = canvas.getContext("webgl2");
  if (gl) gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
  else canvas.getContext("2d").getImageData(0, 0, 1, 1);
}

function clock(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

window.measure = async (n, renderer) => {
  const [xy, labels] = await Promise.all(["xy", "labels"].map(async (name) => {
    const answer = await fetch(`/data/${name}/${n}`);
    return new Uint16Array(await answer.arrayBuffer());
  }));
  const start = performance.now();
  let map;
  await new Promise((resolve) => {
    map = new PointMap(host, { renderer, onPaint: resolve });
    map.setPoints(xy);
    map.setLabels(labels, palette);
  });
  readPixel();
  const paint = performance.now() - start;
  const frame = clock(() => { map.redraw(); readPixel(); });
  map.destroy();
  const turn = (k) => 2 * Math.PI * k / 200;
  const around = Array.from({ length: 200 }, (_, k) => [
    32768 + 25000 * Math.cos(turn(k)), 32768 + 25000 * Math.sin(turn(k)),
  ]);
  let index;
  const indexing = clock(() => { index = new GridIndex(xy); });
  const lasso = clock(() => index.inside(around));
  const hover = clock(() => index.nearest(32768, 32768, 500));
  return { paint, frame, index: indexing, lasso, hover };
};
window.ready = true;
</script>"""


def data(name: str, n: int) -> bytes:
    """Return 16-bit positions, or labels, of rows in clusters."""
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLUSTERS, size=n)
    if name == "labels":
        return labels.astype("<u2").tobytes()
    centres = rng.uniform(0.15, 0.85, size=(N_CLUSTERS, 2))
    points = centres[labels] + rng.normal(scale=0.05, size=(n, 2))
    return np.round(65535 * points.clip(0, 1)).astype("<u2").tobytes()


class Handler(http.server.SimpleHTTPRequestHandler):
    """The page at /, data below /data/, the modules of the map."""

    def do_GET(self) -> None:
        """Answer."""
        if self.path == "/":
            self.answer(PAGE.encode(), "text/html")
        elif self.path.startswith("/data/"):
            name, n = self.path.split("/")[2:]
            self.answer(data(name, int(n)), "application/octet-stream")
        else:
            super().do_GET()

    def answer(self, body: bytes, kind: str) -> None:
        """Send a body."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def translate_path(self, path: str) -> str:
        """Return the file of a module."""
        return str(STATIC / path.lstrip("/"))

    def log_message(self, *args: object) -> None:
        """Say nothing."""


def open_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    browser = webdriver.Chrome(options=options, service=service)
    browser.set_script_timeout(300)
    browser.set_window_size(1300, 1000)
    return browser


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = open_browser()
    try:
        browser.get(f"http://127.0.0.1:{server.server_port}/")
        version = browser.capabilities["browserVersion"]
        print(f"{date.today()}, Chromium {version}, {platform.machine()}, 1200 x 800")
        columns = ["paint", "frame", "index", "lasso", "hover"]
        print(
            f"{'rows':>9} {'':7}", *(f"{name:>8}" for name in columns), " slowest paint"
        )
        script = (
            "const done = arguments[2]; measure(arguments[0], arguments[1]).then(done);"
        )
        for n in SIZES:
            for renderer in ["webgl", "canvas"]:
                runs = [
                    browser.execute_async_script(script, n, renderer)
                    for _ in range(repeats)
                ]
                medians = [
                    statistics.median(run[key] for run in runs) for key in columns
                ]
                figures = " ".join(f"{value:8.1f}" for value in medians)
                slowest = max(run["paint"] for run in runs)
                print(f"{n:9,} {renderer:7} {figures}  {slowest:8.1f}")
    finally:
        browser.quit()
        server.shutdown()


if __name__ == "__main__":
    main()
