"""A real browser for the tests of the page, and a server of the page's files alone."""

import http.server
import shutil
import threading
from importlib.util import find_spec
from pathlib import Path

import pytest

import linkwise

# Not even looked at for doctests where there is no browser to drive.
collect_ignore = [] if find_spec("selenium") else ["served.py"]
STATIC = Path(linkwise.__file__).parent / "label" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'"
)

BROWSER_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",  # WebGL without a graphics card
    "--enable-unsafe-swiftshader",
    "--force-device-scale-factor=1",
    "--hide-scrollbars",
]


class _Files(http.server.SimpleHTTPRequestHandler):
    """Files of the package, and of this folder at /tests/, with the page's policy."""

    def translate_path(self, path):
        folder = Path(__file__).parent if path.startswith("/tests/") else STATIC
        return str(folder / path.removeprefix("/tests/").lstrip("/"))

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture(scope="session")
def files_url():
    """Address of a server of the static files."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window, driven by selenium."""
    webdriver = pytest.importorskip(
        "selenium.webdriver", reason="no selenium: `make test-browser` installs it"
    )
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no chromium and chromedriver: install chromium, chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in BROWSER_FLAGS:
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=driver)
    browser = webdriver.Chrome(options=options, service=service)
    yield browser
    browser.quit()
