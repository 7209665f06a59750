"""How fast the page of `linkwise label` is: from a key to the next pair, and the map.

The command serves made-up rows in a process of its own; Chromium without a window is
driven by selenium (`make test-browser` installs both). Times are taken inside the page:
from the time stamp of the key event to the first message after the frame in which the
next pair was drawn. Only keys that were struck while a fit ran count.

    python benchmarks/label_latency.py --rows 10000 --keys 100
    python benchmarks/label_latency.py --map 100000
"""

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from sklearn.datasets import make_blobs

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    "--window-size=1280,900",
]
WATCH = """
window.times = []; let at = 0;
document.addEventListener('keydown', (event) => { at = event.timeStamp; }, true);
document.addEventListener('pair-painted', () => {
  const after = new MessageChannel();
  after.port1.onmessage = () => {
    const worker = document.getElementById('worker').className;
    window.times.push([performance.now() - at, worker]);
  };
  after.port2.postMessage(0);
});
"""
MAP = """
const { PointMap } = await import('/static/map.js');
const token = sessionStorage.getItem('linkwise-token');
const headers = { Authorization: 'Bearer ' + token };
const bytes = async (name) => (await fetch('/api/' + name, { headers })).arrayBuffer();
const begun = performance.now();
const points = new Uint16Array(await bytes('map'));
const labels = new Uint16Array(await bytes('labels'));
const there = performance.now();
const host = document.createElement('div');
host.style.cssText = 'position: fixed; inset: 0;';
document.body.append(host);
const painted = new Promise((done) => {
  const map = new PointMap(host, { onPaint: () => done(performance.now()) });
  map.setPoints(points);
  map.setLabels(labels, [{ color: '#0072b2', shape: 0 }, { color: '#d55e00', shape: 1 },
    { color: '#009e73', shape: 2 }]);
});
return [there - begun, (await painted) - there, points.length / 2];
"""


def browser_of() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def serve(folder: Path, n_rows: int) -> tuple[subprocess.Popen, str]:
    X, y = make_blobs(n_rows, n_features=20, centers=8, cluster_std=3.0, random_state=0)
    frame = pd.DataFrame(X.round(4), columns=[f"x{i}" for i in range(20)])
    frame.to_parquet(folder / "rows.parquet")
    np.save(folder / "y.npy", y)
    command = [sys.executable, "-m", "linkwise", "label", "rows.parquet", "-k", "8"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--no-browser"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    said = ""
    for line in process.stdout:
        said += line
        if "Ctrl-C" in line:
            break
    return process, re.search(r"http://\S+", said).group()


def key_times(browser: webdriver.Chrome, url: str, y: np.ndarray, n_keys: int) -> list:
    browser.get(url)
    pair = (
        "return [...document.querySelectorAll('#ask-card thead .id')].map(n => "
        "Number(n.textContent))"
    )
    while len(browser.execute_script(pair)) != 2:
        time.sleep(0.1)
    browser.execute_script(WATCH)
    found: list = []
    last = None
    while len(found) < n_keys:
        if browser.execute_script(
            "return document.getElementById('worker').className"
        ) != ("fitting"):
            ActionChains(browser).send_keys("b").perform()  # cluster now
            time.sleep(0.3)
        ends = browser.execute_script(pair)
        while len(ends) != 2 or ends == last:
            time.sleep(0.02)
            ends = browser.execute_script(pair)
        time.sleep(0.3)  # nobody reads faster
        ActionChains(browser).send_keys(
            "a" if y[ends[0]] == y[ends[1]] else "x"
        ).perform()
        last = ends
        time.sleep(0.2)
        times = browser.execute_script("return window.times")
        found = [ms for ms, worker in times if worker == "fitting"]
    requests = browser.execute_script(
        "return performance.getEntriesByType('resource').filter((e) => "
        "e.name.endsWith('/api/answer')).map((e) => e.duration)"
    )
    print(f"requests alone: median {np.median(requests):.0f} ms")
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--keys", type=int, default=100)
    parser.add_argument("--map", type=int, default=0)
    given = parser.parse_args()
    browser = browser_of()
    print(
        f"{time.strftime('%Y-%m-%d %H:%M')}, {platform.machine()}, "
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        process, url = serve(folder, given.map or given.rows)
        try:
            if given.map:
                browser.get(url)
                time.sleep(3)
                fetched, painted, n = browser.execute_script(MAP)
                print(
                    f"map of {n:,.0f} rows: bytes in {fetched:.0f} ms, painted "
                    f"{painted:.0f} ms after they had arrived"
                )
            else:
                times = key_times(browser, url, np.load(folder / "y.npy"), given.keys)
                print(
                    f"{len(times)} keys at {given.rows:,} rows while a fit ran: median "
                    f"{np.median(times):.0f} ms, 95 % "
                    f"{np.quantile(times, 0.95):.0f} ms, longest {max(times):.0f} ms"
                )
        finally:
            process.terminate()
            process.wait(30)
            browser.quit()


if __name__ == "__main__":
    main()
