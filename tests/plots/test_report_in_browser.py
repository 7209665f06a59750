"""Reports in a real browser: wide, narrow, dark and printed."""

import base64
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from linkwise import Constraints, KernelCSC
from linkwise.plots import report_page

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=hacked=1><script>hacked=1</script>"
# Rectangles of all pieces of text that are shown, and what they are.
TEXTS = """
const found = [], walker = document.createTreeWalker(document.body, 4);
while (walker.nextNode()) {
  const node = walker.currentNode;
  if (!node.data.trim()) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const r of range.getClientRects())
    if (r.width > 0 && r.height > 0)
      found.push([r.left, r.top, r.right, r.bottom, node.data.trim().slice(0, 40)]);
}
return found;
"""
# Elements that can be scrolled sideways.
SCROLLED = """
return [...document.querySelectorAll("*")]
  .filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0
    && getComputedStyle(e).overflowX !== "visible" || e === document.documentElement
    && e.scrollWidth > window.innerWidth)
  .map(e => e.tagName + "." + e.className);
"""
SHOWN = """
return [...document.querySelectorAll("figure img")]
  .filter(i => i.getClientRects().length)
  .map(i => [i.className, i.naturalWidth > 0 && i.complete]);
"""


def wine_page():
    X, y = load_wine(return_X_y=True, as_frame=True)
    pairs = Constraints.sample(y.to_numpy(), 100, random_state=0)
    model = KernelCSC(3, n_candidates=50, random_state=0).fit(X, constraints=pairs)
    return report_page(model, X, pairs, title="Clusters of wine.csv")


def texts_page():
    if "LINKWISE_TEXT" not in os.environ:
        pytest.skip("LINKWISE_TEXT names no folder with texts")
    folder = Path(os.environ["LINKWISE_TEXT"])
    table = pd.read_csv(folder / "banking.csv.gz")
    y = np.unique(table["label"], return_inverse=True)[1]
    X = np.load(folder / "banking.minilm.npy").astype(np.float32)
    pairs = Constraints.sample(y, 200, random_state=0)
    model = KernelCSC(int(y.max()) + 1, n_candidates=20, random_state=0)
    model.fit(X, constraints=pairs)
    return report_page(
        model, X, pairs, table=table[["text"]], title="Clusters of texts"
    )


def hostile_page():
    """Long words, hostile names, many clusters, a contradiction."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    table = pd.DataFrame(X, columns=[HOSTILE, "w" * 90, "a b"])
    words = "long" * 30 + " word" * 60
    table["text"] = [f"{HOSTILE} {i % 7} {words}" for i in range(120)]
    must_link = [(0, 1), (1, 2), *((i, i + 9) for i in range(30, 60))]
    pairs = Constraints(must_link, [(0, 2)])
    ids = [f"{HOSTILE}{i}{'x' * 40}" for i in range(120)]
    labels = np.arange(120) % 35
    return report_page(None, X, pairs, table=table, ids=ids, labels=labels)


@pytest.fixture(scope="module", params=[wine_page, texts_page, hostile_page])
def page(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(request.param(), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def show(browser, page):
    """Opens the page in a window of some width, light or dark."""

    def open_page(width, scheme="light"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        browser.get_log("browser")  # of other pages
        browser.get(page)
        return browser

    yield open_page
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def overlapping(texts):
    """Pairs of pieces of text that hide each other."""
    boxes = np.array([text[:4] for text in texts])
    found = []
    for i, (left, top, right, bottom) in enumerate(boxes):
        # Boxes of lines are higher than their letters.
        slack = 0.25 * (bottom - top)
        hits = (
            (boxes[:i, 0] < right - 1)
            & (boxes[:i, 2] > left + 1)
            & (boxes[:i, 1] < bottom - slack)
            & (boxes[:i, 3] > top + slack)
        )
        found += [(texts[j][4], texts[i][4]) for j in np.flatnonzero(hits)]
    return found


@pytest.mark.parametrize("width", [1280, 800, 360])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_scrolled_hidden_or_complained_of(show, width, scheme):
    browser = show(width, scheme)
    assert browser.execute_script(SCROLLED) == []
    texts = browser.execute_script(TEXTS)
    assert len(texts) > 50
    assert overlapping(texts) == []
    assert max(text[2] for text in texts) <= width
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pictures_and_paper_go_with_the_scheme(show, scheme):
    browser = show(1280, scheme)
    shown = browser.execute_script(SHOWN)
    assert shown and all(one == [f"on-{scheme}", True] for one in shown)
    script = "return getComputedStyle(document.body).backgroundColor"
    numbers = browser.execute_script(script).strip("rgba()").split(",")
    is_light = sum(int(n) for n in numbers[:3]) > 382
    assert is_light == (scheme == "light")


def test_nothing_is_loaded_and_nothing_runs(show):
    browser = show(1280)
    script = "return performance.getEntriesByType('resource').map(e => e.name)"
    loaded = browser.execute_script(script)
    assert [name for name in loaded if not name.startswith("data:")] == []
    assert browser.execute_script("return window.hacked") is None
    # What would be put into the page later would not run either.
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.late = 1';"
        "document.body.append(s)"
    )
    assert browser.execute_script("return window.late") is None


def test_it_can_be_printed_on_light_paper(show):
    browser = show(1280, "dark")
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": False})
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    shown = browser.execute_script(SHOWN)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert shown and all(one[0] == "on-light" for one in shown)
