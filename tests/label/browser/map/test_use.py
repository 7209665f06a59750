"""What people do on the map by pointer, wheel and keys, and programs by calls."""

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.spatial.distance import cdist

pytestmark = pytest.mark.browser

# Keys, as drivers of browsers call them.
SHIFT, ESCAPE, LEFT, UP, RIGHT, DOWN = "\ue008\ue00c\ue012\ue013\ue014\ue015"

LASSOS = {
    "triangle": [(100, 80), (700, 120), (350, 560)],
    "star": [(400, 40), (450, 250), (700, 300), (460, 350), (400, 580), (350, 350)],
    "beyond the edge": [(600, 50), (790, 60), (780, 590), (610, 580)],
    "nothing": [(2, 2), (12, 2), (2, 12)],
}


@pytest.mark.parametrize("lasso", LASSOS)
@pytest.mark.parametrize("how", ["mode", "shift", "zoomed"])
def test_a_lasso_gives_the_rows_inside_it(page, rows, lasso, how):
    xy, labels = rows
    page.start(xy, labels)
    if how == "zoomed":
        page.host.send_keys("+", LEFT)
    if how != "shift":
        page.run("map.select('lasso');")
    places, view = page.places(xy), page.view()
    hands = page.hands()
    if how == "shift":
        hands.key_down(SHIFT)
    page.draw(LASSOS[lasso], hands).release().key_up(SHIFT).perform()
    inside = np.flatnonzero(Path(LASSOS[lasso]).contains_points(places))
    assert (len(inside) == 0) == (lasso == "nothing")
    assert page.told("selected") == [inside.tolist()]
    assert page.view() == view


def test_escape_gives_a_lasso_up(page, rows):
    page.start(*rows)
    still = page.pixels()
    page.run("map.select('lasso');")
    page.draw(LASSOS["triangle"], page.hands()).perform()
    assert (page.pixels() != still).any()
    page.hands().send_keys(ESCAPE).release().perform()
    assert page.told("selected") == []
    page.move((2, 2))
    assert (page.pixels() == still).all()


def test_the_nearest_row_within_eight_pixels_is_told(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    places = page.places(xy)
    rng = np.random.default_rng(2)
    spots = np.floor(places[rng.integers(1000, size=15)]) + rng.integers(-3, 4, (15, 2))
    spots = np.concatenate([spots, rng.integers([800, 600], size=(25, 2))])
    gaps = cdist(spots, places)
    expected = np.where(gaps.min(axis=1) <= 8, gaps.argmin(axis=1), -1)
    assert (expected < 0).sum() > 5 and (expected >= 0).sum() > 15
    changes = [-1]
    for spot, row in zip(spots, expected, strict=True):
        page.move(spot)
        if row != changes[-1]:
            changes.append(int(row))
    assert page.told("hovered") == changes[1:]


def test_a_ring_is_around_the_row_under_the_pointer(page):
    page.start([[0, 0], [65535, 0]], [0, 1])
    still = page.pixels()
    place = page.places([[65535, 0]])[0]
    page.move(place)
    changed = np.argwhere((page.pixels() != still).any(axis=2))[:, ::-1]
    assert len(changed) > 20
    assert np.linalg.norm(changed - place, axis=1).max() < 14
    page.move((5, 5))
    assert (page.pixels() == still).all()
    assert page.told("hovered") == [1, -1]


def test_a_click_selects_a_row_or_nothing_and_a_drag_moves_the_map(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    places = page.places(xy)
    alone = (cdist(places, places) + 99 * np.eye(1000)).min(axis=1).argmax()
    for place in [places[alone], (2, 2)]:
        page.draw([place], page.hands()).release().perform()
    assert page.told("selected") == [[alone], []]
    page.draw([(400, 300), (430, 280), (460, 250)], page.hands()).release().perform()
    np.testing.assert_allclose(page.places(xy), places + [60, -50], atol=1e-6)
    assert page.told("selected") == [[alone], []]


def test_the_wheel_zooms_around_the_pointer(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    target = page.places(xy)[7]
    page.wheel(target, -300)
    assert page.view()[2] == pytest.approx(np.exp(0.6))
    assert np.abs(page.places(xy)[7] - target).max() < 1
    page.wheel(target, 300)
    assert page.view()[2] == pytest.approx(1)


def test_keys_move_and_zoom_and_do_not_reach_the_page(page, rows):
    page.start(*rows)
    page.run(
        "window.keys = []; document.onkeydown = (event) => keys.push(event.key);"
        "document.getElementById('host').focus();"
    )
    start = page.view()
    press = page.host.send_keys
    press("+")
    assert page.view()[2] > start[2]
    press(RIGHT)
    assert page.view()[0] > start[0] and page.view()[1] == start[1]
    press(UP)
    assert page.view()[1] > start[1]
    press(LEFT, DOWN, "-")
    np.testing.assert_allclose(page.view(), start)
    press("===", DOWN, "0")
    assert page.view() == start
    assert page.run("return keys;") == ["Shift"]  # of the plus
    press("a", ESCAPE)
    assert page.run("return keys;") == ["Shift", "a", "Escape"]


def test_a_map_that_was_hidden_or_changes_its_size_shows_all_rows(page, rows):
    xy, labels = rows
    page.run("document.getElementById('host').hidden = true;")
    frame = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]));"
    page.run(
        "start(arguments[0]);", {"renderer": page.renderer, "xy": xy.ravel().tolist()}
    )
    page.wait(frame)
    assert page.told("paints") == 0
    page.run("document.getElementById('host').hidden = false;")
    page.wait(frame)
    assert page.told("paints") == 1
    page.run("document.getElementById('host').style.width = '300px';")
    page.wait(frame)
    places = page.places(xy)
    assert places.min() > 8 and places[:, 0].max() < 292
    assert page.pixels().shape[:2] == (600, 300)


def test_it_says_what_it_shows(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    host = page.host
    assert host.get_attribute("role") == "img"
    assert host.get_attribute("tabindex") == "0"
    assert "0 shows all" in host.get_attribute("aria-description")
    assert host.get_attribute("aria-label") == "Map of 1,000 rows in 5 clusters"
    page.run("map.setLabels(new Uint16Array(1000).fill(65535), [])")
    assert host.get_attribute("aria-label") == "Map of 1,000 rows in 0 clusters"
    page.start([[1, 1]], [3])
    assert host.get_attribute("aria-label") == "Map of 1 row in 1 cluster"


def test_each_set_of_points_is_told_once_when_painted(page, rows):
    page.start(*rows)
    page.run(
        "map.redraw(); map.setPoints(Uint16Array.from([1, 2, 3, 4])); map.redraw();"
    )
    page.wait("setTimeout(done, 100);")
    assert page.told("paints") == 2


def test_destroyed_it_leaves_an_empty_host(page, rows):
    page.start(*rows)
    page.run("map.highlight(Uint32Array.from([1])); map.destroy(); delete window.map;")
    assert page.run("return document.getElementById('host').childNodes.length;") == 0
    names = page.run("return document.getElementById('host').getAttributeNames();")
    assert sorted(names) == ["id", "style"]
    page.move((300, 300))
    assert page.told("hovered") == []


@pytest.mark.parametrize("page", ["auto"], indirect=True)
def test_without_a_graphics_card_the_canvas_draws(page, rows):
    page.start(*rows)
    assert page.run("return map.renderer;") == "canvas"
    assert (page.pixels() < 255).any()


WRONG = {
    "map.setPoints(new Uint16Array(3))": "xy has 3 numbers",
    "map.setLabels(new Uint16Array(2), [])": "labels has 2 entries, must have 4",
    "map.setLabels(new Uint16Array(4), [{color: 'red', shape: 0}])": "color = red",
    "map.setPairs(Uint32Array.from([0, 4]), new Uint8Array(1))": "ends[1] = 4 must be",
    "map.setPairs(Uint32Array.from([0, 1]), new Uint8Array(2))": "ends has 2 entries",
    "map.setSelection(Uint32Array.from([0, 9]))": "rows[1] = 9 must be below 4",
    "map.highlight(Uint32Array.from([4]))": "rows[0] = 4 must be below 4",
    "map.select('zoom')": "mode = zoom must be",
    "new map.constructor(document.body, {renderer: 'svg'})": "renderer = svg must be",
}


@pytest.mark.parametrize("script", WRONG)
def test_wrong_input_is_named_and_changes_nothing(page, script):
    page.start([[0, 0], [9, 9], [0, 9], [9, 0]], [0, 1, 2, 3])
    still = page.pixels()
    error = page.run(f"try {{ {script}; }} catch (error) {{ return String(error); }}")
    assert error.startswith("RangeError") and WRONG[script] in error
    assert (page.pixels() == still).all()
