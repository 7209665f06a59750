"""Make the pictures of the page labelling.md: the labelling page in Chromium.

``python docs/make_label_pictures.py`` serves the tickets of ``docs/data``, digits of
scikit-learn and pictures of shapes with ``linkwise label``, answers truly, and writes
``docs/pictures/label-*.png``. It needs selenium, chromium and chromium-driver
(``make test-browser`` installs them).
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
from make_tickets import SUBJECTS
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains

FOLDER = Path(__file__).parent
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
]
WIDE, NARROW = (1200, 760), (420, 800)
N_ANSWERS = 45


def open_browser() -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    return webdriver.Chrome(options=options, service=service)


def serve(folder: Path, *arguments: str) -> tuple[subprocess.Popen, str]:
    command = [sys.executable, "-m", "linkwise", *arguments, "--no-browser"]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ
    )
    said = ""
    for line in process.stdout:
        said += line
        if "Ctrl-C" in line:
            break
    return process, re.search(r"http://\S+", said).group()


class Page:
    """The page in a browser, with a person who knows the truth."""

    def __init__(self, browser: webdriver.Chrome, url: str) -> None:
        self.browser = browser
        browser.get("about:blank")
        browser.get(url)
        self.look("light", WIDE)
        time.sleep(2)

    def look(self, scheme: str, size: tuple[int, int]) -> None:
        self.browser.execute_cdp_cmd(
            "Emulation.setEmulatedMedia",
            {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
        )
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {**metrics, "mobile": False}
        )
        time.sleep(0.6)

    def press(self, key: str, seconds: float = 0.45) -> None:
        ActionChains(self.browser).send_keys(key).perform()
        time.sleep(seconds)

    def pair(self) -> list[str]:
        code = "return [...document.querySelectorAll('#ask-card thead .id')]"
        return self.browser.execute_script(f"{code}.map((n) => n.textContent)")

    def idle(self) -> None:
        code = "return document.getElementById('worker').className"
        while self.browser.execute_script(code) == "fitting":
            time.sleep(0.2)
        time.sleep(0.8)

    def picture(self, name: str) -> None:
        image = Image.open(io.BytesIO(self.browser.get_screenshot_as_png()))
        path = FOLDER / "pictures" / f"label-{name}.png"
        image.convert("RGB").quantize(96).save(path, optimize=True)

    def pictures(self, name: str, key: str) -> None:
        for scheme, size, ending in (
            ("light", WIDE, ""),
            ("dark", WIDE, "-dark"),
            ("light", NARROW, "-narrow"),
        ):
            self.look(scheme, size)
            if size == NARROW:
                self.browser.refresh()
                time.sleep(1.5)
                self.press(key, 1.5)
            self.picture(name + ending)
        self.look("light", WIDE)


def classes_of(tickets: pd.DataFrame) -> dict[str, str]:
    """Return what each ticket is about, by the sentence it was made from."""
    found = {}
    for name, subject in zip(tickets["ticket"], tickets["subject"], strict=True):
        for kind, sentences in SUBJECTS.items():
            parts = [sentence.split("{}") for sentence in sentences]
            if any(all(part in subject for part in both) for both in parts):
                found[name] = kind
    return found


def tickets(browser: webdriver.Chrome, folder: Path) -> None:
    shutil.copy(FOLDER / "data" / "tickets.csv", folder)
    kinds = classes_of(pd.read_csv(folder / "tickets.csv"))
    arguments = ("--id-column", "ticket", "--show", "subject,channel,order value")
    criterion = ("--criterion", "The customer wants the same kind of help.")
    process, url = serve(
        folder, "label", "tickets.csv", *arguments, *criterion, "--who", "Ann"
    )
    try:
        page = Page(browser, url)
        for at in range(N_ANSWERS):
            one, other = page.pair()
            page.press("a" if kinds.get(one) == kinds.get(other) else "x")
            if at in (4, 14, 19, 39):
                page.idle()
        page.press("b", 1.0)
        page.idle()
        page.pictures("ask", "q")
        page.press("w", 2.0)
        page.press(" ", 1.0)
        page.pictures("clusters", "w")
        page.press("e", 1.0)
        page.pictures("answers", "e")
        contradict(page, folder)
        page.press("q", 1.0)
        page.look("light", (1200, 900))
        page.picture("contradiction")
    finally:
        process.terminate()
        process.wait(30)


def contradict(page: Page, folder: Path) -> None:
    """Say the opposite of what follows from two answers."""
    code = """
    const token = sessionStorage.getItem('linkwise-token');
    const headers = {Authorization: 'Bearer ' + token};
    const found = await (await fetch('/api/answers', {headers})).json();
    const said = found.events.filter((event) => event.now === 'same');
    for (const one of said) for (const two of said) {
      if (one.i !== two.i && one.j === two.j) return [one.i, two.i, one.event];
    }
    """
    i, j, event = page.browser.execute_script(code)
    names = pd.read_csv(folder / "tickets.csv")["ticket"].tolist()
    rows = names.index(i), names.index(j)
    page.browser.execute_script(
        """
        const headers = {'Content-Type': 'application/json',
          Authorization: 'Bearer ' + sessionStorage.getItem('linkwise-token')};
        await fetch('/api/answer', {method: 'POST', headers, body: JSON.stringify({
          client: 'x', attempt: 'c', question: arguments[0], answer: 'different'})});
        """,
        f"1:{rows[0]}:{rows[1]}:{event}",
    )
    time.sleep(1.0)


def digits(browser: webdriver.Chrome, folder: Path) -> None:
    process, url = serve(folder, "demo", "--label")
    try:
        page = Page(browser, url)
        page.picture("digits")
    finally:
        process.terminate()
        process.wait(30)


def photos(browser: webdriver.Chrome, folder: Path) -> None:
    sys.path.insert(0, str(FOLDER.parent / "benchmarks"))
    from pictures import write_shapes

    (folder / "photos").mkdir()
    colours = write_shapes(folder / "photos")["colours"]
    process, url = serve(folder, "label", "photos", "--criterion", "the same colour")
    try:
        page = Page(browser, url)
        for _ in range(15):
            one, other = (colours[int(Path(name).stem)] for name in page.pair())
            page.press("a" if one == other else "x")
        page.press("b", 1.0)
        page.idle()
        page.picture("photos")
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    browser = open_browser()
    with tempfile.TemporaryDirectory() as name:
        tickets(browser, Path(name))
        digits(browser, Path(name))
        photos(browser, Path(name))
    browser.quit()
