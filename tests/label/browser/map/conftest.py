"""A page with nothing but the map, in both ways to draw it."""

import base64

import numpy as np
import pytest

COLORS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]
PALETTE = [{"color": color, "shape": k} for k, color in enumerate(COLORS)]


class MapPage:
    """The page; in scripts ``map`` is the map and ``told`` what it has reported."""

    def __init__(self, browser, renderer):
        self.browser = browser
        self.renderer = renderer
        self.host = browser.find_element("id", "host")

    def run(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def start(self, xy, labels=None, size=(800, 600), renderer=None, palette=PALETTE):
        """Show rows, and wait until they are painted."""
        options = {
            "renderer": renderer or self.renderer,
            "xy": np.ravel(xy).tolist(),
            "labels": None if labels is None else np.asarray(labels).tolist(),
            "palette": palette,
            "size": list(size),
        }
        script = "const [options, done] = arguments; start(options).then(done);"
        self.browser.execute_async_script(script, options)

    def places(self, xy):
        """Where rows are on the screen, in pixels: shape (n_rows, 2)."""
        script = "return arguments[0].map((xy) => place(xy));"
        return np.array(self.run(script, np.asarray(xy).tolist()))

    def pixels(self):
        """All colours on the map: shape (height, width, 3)."""
        picture = self.run("return pixels();")
        data = np.frombuffer(base64.b64decode(picture["base64"]), dtype=np.uint8)
        shape = (picture["height"], picture["width"], 4)
        return data.reshape(shape)[..., :3].astype(int)

    def color(self, label):
        """The colour of a cluster: shape (3,)."""
        digits = COLORS[label]
        return np.array([int(digits[k : k + 2], 16) for k in (1, 3, 5)])

    def wait(self, script):
        """Run a script and wait until it calls ``done``."""
        self.browser.execute_async_script(f"const done = arguments[0]; {script}")

    def hands(self):
        """Actions of the pointer and of keys, without moves of their own between."""
        from selenium.webdriver import ActionChains

        return ActionChains(self.browser, duration=0)

    def draw(self, corners, hands):
        """Press at the first corner and go over all others."""
        pointer = hands.w3c_actions.pointer_action
        for k, (x, y) in enumerate(corners):
            pointer.move_to_location(int(x), int(y))
            if k == 0:
                hands.click_and_hold()
        return hands

    def move(self, place):
        hands = self.hands()
        hands.w3c_actions.pointer_action.move_to_location(int(place[0]), int(place[1]))
        hands.perform()

    def wheel(self, place, down):
        x, y = (int(value) for value in place)
        hands = self.hands()
        hands.w3c_actions.wheel_action.scroll(x, y, 0, down, origin="viewport")
        hands.perform()

    def view(self):
        return self.run("return [map.view.centreX, map.view.centreY, map.view.zoom];")

    def told(self, what):
        return self.run(f"return told.{what};")


@pytest.fixture(params=["webgl", "canvas"])
def page(request, browser, files_url):
    """The page with a map, anew for each test; complaints on its console are errors."""
    browser.set_window_size(1000, 800)
    browser.get(f"{files_url}/tests/map/page.html")
    page = MapPage(browser, request.param)
    page.move((900, 10))  # away from the map
    yield page
    if page.run("return window.map !== undefined;"):
        page.run("map.destroy();")
    complaints = [
        entry["message"]
        for entry in browser.get_log("browser")
        if "GPU stall due to ReadPixels" not in entry["message"]  # as the tests do
    ]
    assert not complaints


@pytest.fixture(scope="session")
def rows():
    """Rows of five clusters: positions of shape (1000, 2) in 16 bits, and labels."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.1, 0.2], [0.5, 0.1], [0.9, 0.25], [0.3, 0.8], [0.75, 0.85]])
    labels = rng.integers(5, size=1000)
    points = centres[labels] + rng.normal(scale=0.06, size=(1000, 2))
    points = (points - points.min(axis=0)) / np.ptp(points, axis=0).max()
    return np.round(points * 65535).astype(np.uint16), labels
