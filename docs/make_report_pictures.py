"""Make reports on ``wine`` and on short texts, and keep what a browser shows of them.

``python docs/make_report_pictures.py`` writes ``docs/pictures/report-NAME-FORM.png``,
FORM being wide, narrow, dark and print. It needs chromium, chromedriver, selenium and
pdftoppm, and for the texts the folder named by ``LINKWISE_TEXT``.
"""

import base64
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from PIL import Image
from selenium import webdriver
from sklearn.datasets import load_wine

from linkwise import Constraints, KernelCSC
from linkwise.plots import report_page

PICTURES = Path(__file__).parent / "pictures"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --hide-scrollbars"
)
# Width, height and colour scheme of the window.
FORMS = {
    "wide": (1100, 1700, "light"),
    "narrow": (380, 1700, "light"),
    "dark": (1100, 1700, "dark"),
}
PAPER = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": False}


def wine() -> str:
    """Return the report on wine with 100 pairs."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    pairs = Constraints.sample(y.to_numpy(), 100, random_state=0)
    model = KernelCSC(3, random_state=0).fit(X, constraints=pairs)
    lines = ["wine.csv: 178 rows, 13 columns", "pairs.csv: 100 pairs"]
    return report_page(model, X, pairs, title="Clusters of wine.csv", lines=lines)


def texts() -> str:
    """Return the report on news, as embeddings, with 100 pairs."""
    folder = Path(os.environ["LINKWISE_TEXT"])
    table = pd.read_csv(folder / "agnews.csv.gz")
    y = np.unique(table["label"], return_inverse=True)[1]
    X = np.load(folder / "agnews.minilm.npy").astype(np.float32)
    pairs = Constraints.sample(y, 100, random_state=0)
    model = KernelCSC(4, n_candidates=200, random_state=0).fit(X, constraints=pairs)
    lines = ["news.csv: 4,000 rows, 1 column", "pairs.csv: 100 pairs"]
    shown = table[["text"]]
    return report_page(
        model, X, pairs, table=shown, title="Clusters of news.csv", lines=lines
    )


def browser() -> Any:
    """Return chromium without a window."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = shutil.which("chromedriver")
    return webdriver.Chrome(
        options=options, service=webdriver.ChromeService(executable_path=driver)
    )


def shoot(window: Any, page: Path, name: str) -> None:
    """Keep what a window shows of a page, in all forms."""
    for form, (width, height, scheme) in FORMS.items():
        feature = {"name": "prefers-color-scheme", "value": scheme}
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1}
        window.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", size | {"mobile": False}
        )
        window.get(page.as_uri())
        picture = page.with_name(f"{form}.png")
        picture.write_bytes(window.get_screenshot_as_png())
        keep(Image.open(picture), f"report-{name}-{form}.png")
    paper = page.with_suffix(".pdf")
    printed = window.execute_cdp_cmd("Page.printToPDF", PAPER)
    paper.write_bytes(base64.b64decode(printed["data"]))
    command = ["pdftoppm", "-r", "70", "-l", "2", "-png", paper, page.with_name("p")]
    subprocess.run(command, check=True)
    sheets = [Image.open(path) for path in sorted(page.parent.glob("p-*.png"))]
    width, height = sheets[0].size
    both = Image.new("RGB", (2 * width + 12, height), "#888888")
    for place, sheet in enumerate(sheets):
        both.paste(sheet, (place * (width + 12), 0))
    keep(both, f"report-{name}-print.png")


def keep(picture: Image.Image, name: str) -> None:
    """Write a picture with few colours: the file takes a third."""
    picture.convert("RGB").quantize(160).save(PICTURES / name, optimize=True)


def main() -> None:
    window = browser()
    try:
        for name, make in {"wine": wine, "texts": texts}.items():
            with tempfile.TemporaryDirectory() as folder:
                page = Path(folder) / "report.html"
                page.write_text(make(), encoding="utf-8")
                shoot(window, page, name)
    finally:
        window.quit()


if __name__ == "__main__":
    main()
