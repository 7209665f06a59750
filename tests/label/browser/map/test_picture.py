"""What the map shows, by its pixels."""

import numpy as np
import pytest
from scipy.ndimage import uniform_filter
from scipy.spatial.distance import cdist

pytestmark = pytest.mark.browser

WHITE = np.array([255, 255, 255])
GREY = np.array([180, 186, 194])  # #b4bac2


def blend(color, share, under=WHITE):
    return under + (color - under) * share


def test_every_cluster_has_its_colour_where_its_rows_are(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    places, pixels = page.places(xy), page.pixels()
    gaps = cdist(places, places) + 1000 * np.eye(len(xy))
    alone = np.flatnonzero(gaps.min(axis=1) > 10)
    assert len(alone) > 80 and set(labels[alone]) == set(range(5))
    colors = np.array([page.color(label) for label in range(6)])
    x, y = places[alone].astype(int).T
    found = cdist(pixels[y, x], blend(colors, 0.92))
    np.testing.assert_array_equal(found.argmin(axis=1), labels[alone])
    assert found.min(axis=1).max() < 60  # small shapes are half outline


def test_there_is_nothing_where_no_row_is(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    pixels = page.pixels()
    spots = np.random.default_rng(1).integers([800, 600], size=(3000, 2))
    empty = spots[cdist(spots, page.places(xy)).min(axis=1) > 9]
    assert len(empty) > 1000
    assert (pixels[empty[:, 1], empty[:, 0]] == 255).all()


def test_all_rows_are_on_the_map(page, rows):
    xy, labels = rows
    for size in [(800, 600), (300, 700), (900, 120)]:
        page.start(xy, labels, size=size)
        places = page.places(xy)
        assert (places > 8).all() and (places < np.array(size) - 8).all()
        assert page.pixels().shape == (size[1], size[0], 3)


@pytest.mark.parametrize("page", ["webgl"], indirect=True)
@pytest.mark.parametrize("n_rows", [60, 1000])
def test_both_renderers_draw_the_same(page, rows, n_rows):
    xy, labels = rows[0][:n_rows], np.arange(n_rows) % 7  # the seventh has no colour
    pictures = []
    for renderer in ["webgl", "canvas"]:
        page.start(xy, labels, renderer=renderer)
        assert page.run("return map.renderer;") == renderer
        pictures.append(page.pixels())
    one, other = (uniform_filter(picture, (5, 5, 0)) for picture in pictures)
    assert np.abs(one - other).max() < 30  # the canvas draws at whole pixels
    ink = np.abs(one - 255).mean()
    assert ink > 1 and np.abs(one - other).mean() < 0.05 * ink


@pytest.mark.parametrize("page", ["webgl"], indirect=True)
@pytest.mark.parametrize("shape", range(6))
def test_both_renderers_draw_the_same_shapes(page, shape):
    palette = [{"color": "#4477aa", "shape": shape}]
    pictures = []
    for renderer in ["webgl", "canvas"]:  # of odd size: the row is in a pixel's middle
        page.start([[5, 5]], [0], (101, 81), renderer=renderer, palette=palette)
        pictures.append(page.pixels())
    assert np.abs(pictures[0] - pictures[1]).max() <= 2
    assert (pictures[0] < 255).any(axis=2).sum() > 80


def test_each_shape_is_its_own_with_a_darker_outline(page):
    masks = []
    for shape in range(6):
        page.start([[5, 5]], [0], palette=[{"color": "#4477aa", "shape": shape}])
        light = page.pixels().sum(axis=2)[290:311, 390:411]
        masks.append(light < 600)
        assert 80 < masks[-1].sum() < 160
        assert light.min() < light[10, 10] - 100
    for shape in range(6):
        for other in range(shape):
            assert (masks[shape] != masks[other]).sum() >= 12


def test_rows_that_are_not_selected_are_grey_and_stay(page, rows):
    xy, labels = rows
    page.start(xy, labels)
    page.run("map.setSelection(Uint32Array.from(arguments[0]));", [3, 500])
    places, pixels = page.places(xy), page.pixels()
    for row in [3, 500]:
        x, y = places[row].astype(int)
        color = page.color(labels[row])
        assert np.abs(pixels[y, x] - blend(color, 0.92)).max() < 40
    gaps = cdist(places, places[[3, 500]]).min(axis=1)
    x, y = places[gaps > 12].astype(int).T
    others = pixels[y, x]
    assert np.ptp(others, axis=1).max() <= np.ptp(GREY) + 2  # no colour
    assert (others.mean(axis=1) < 245).all()  # and seen
    assert "2 rows selected" in page.host.get_attribute("aria-label")
    page.run("map.setSelection(new Uint32Array(0));")
    assert np.ptp(page.pixels()[y, x], axis=1).max() > 60


CORNERS = np.array([[0, 0], [60000, 0], [0, 40000], [60000, 40000]])


def along(page, start, end, low=0.15, high=0.4, n=100):
    """Colours along a part of a line, at each spot the darkest of 3 x 3 pixels."""
    pixels = page.pixels()
    places = page.places([start, end])
    spots = places[0] + np.linspace(low, high, n)[:, None] * (places[1] - places[0])
    x, y = np.floor(spots).astype(int).T
    near = [pixels[y + dy, x + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
    near = np.stack(near, axis=1)
    return near[np.arange(n), near.sum(axis=2).argmin(axis=1)]


@pytest.mark.parametrize("kind", [0, 1, 2, 3])
def test_pairs_are_lines_dashed_if_cannot_links_red_if_broken(page, kind):
    page.start(CORNERS, [0, 1, 2, 3])
    assert (along(page, CORNERS[0], CORNERS[3]) == 255).all()
    page.run(
        "map.setPairs(Uint32Array.from([0, 3]), Uint8Array.from([arguments[0]]));", kind
    )
    colors = along(page, CORNERS[0], CORNERS[3])
    inked = colors.sum(axis=1) < 650
    share = inked.mean()
    assert 0.4 < share < 0.9 if kind & 1 else share == 1
    red = colors[:, 0] - colors[:, 1] > 30
    assert red[inked].all() if kind & 2 else not red.any()


def test_a_cross_marks_the_middle_of_a_broken_pair_alone(page):
    page.start(CORNERS, [0, 1, 2, 3])
    ends, kinds = [0, 1, 2, 3], [2, 0]
    page.run(
        "map.setPairs(Uint32Array.from(arguments[0]), Uint8Array.from(arguments[1]));",
        ends,
        kinds,
    )
    pixels = page.pixels()
    places = page.places(CORNERS)
    for pair, broken in [((0, 1), True), ((2, 3), False)]:
        x, y = places[list(pair)].mean(axis=0).round().astype(int)
        corners = [pixels[y + dy, x + dx] for dy in (-4, 4) for dx in (-4, 4)]
        reds = [color[0] - color[1] > 80 for color in corners]
        assert all(reds) if broken else not any(reds)


def test_names_are_written_in_the_middles_of_clusters_if_there_is_room(page):
    xy = [[0, 0], [0, 65535], [65535, 0], [65535, 1], [65535, 65535]]
    palette = [
        {"color": "#4477aa", "shape": 0, "name": name}
        for name in [
            "<b>a name</b>",
            "",
            "x" * 1000,
            "covered",
            "\u05e9\u05dc\u05d5\u05dd",
        ]
    ]
    page.start(xy, range(5), palette=palette)
    pixels, places = page.pixels(), page.places(xy)
    ink = (pixels.max(axis=2) < 60).astype(int)
    x, y = places.astype(int).T
    columns = [ink[y[k] - 9 : y[k] + 9].any(axis=0).nonzero()[0] for k in range(5)]
    left, right = columns[0] < 400, columns[0] > 400
    assert np.ptp(columns[0][left]) > 40  # the first name, on the left
    assert right.sum() > 40 and columns[0].max() < 800
    assert len(columns[1][columns[1] < 400]) == 0  # no name
    assert len(columns[4][columns[4] > 400]) > 10


def test_colours_come_from_the_page(page, rows):
    xy, labels = rows
    page.start(xy)
    page.run(
        "const style = document.getElementById('host').style;"
        "style.setProperty('--map-background', 'rgb(10, 20, 30)');"
        "style.setProperty('--map-muted', 'hsl(120 100% 50%)');"
    )
    pixels = page.pixels()
    assert (pixels[1, 1] == [10, 20, 30]).all()
    x, y = page.places(xy).astype(int).T
    assert (pixels[y, x, 1] > 150).mean() > 0.9  # rows without a cluster


def test_dark_pages_have_a_dark_map(page, rows):
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.start(*rows)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    dark = page.pixels()[1, 1]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert dark.max() < 40
    assert (page.pixels()[1, 1] == 255).all()


def test_screens_of_many_pixels_get_sharp_maps(page, rows):
    metrics = {"width": 1000, "height": 800, "deviceScaleFactor": 2, "mobile": False}
    page.start(*rows)
    before = page.pixels()
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        pixels = page.pixels()
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert pixels.shape == (1200, 1600, 3)
    small = pixels.reshape(600, 2, 800, 2, 3).mean(axis=(1, 3))
    assert np.abs(uniform_filter(small - before, (5, 5, 0))).max() < 40


@pytest.mark.parametrize("page", ["webgl"], indirect=True)
def test_a_lost_graphics_context_is_no_lost_map(page, rows):
    page.start(*rows)
    before = page.pixels()
    page.wait(
        "const canvas = document.querySelector('#host canvas');"
        "window.lose = canvas.getContext('webgl2').getExtension('WEBGL_lose_context');"
        "canvas.addEventListener('webglcontextlost', () => setTimeout(done));"
        "canvas.addEventListener('webglcontextrestored', () => window.back = true);"
        "lose.loseContext();"
    )
    assert page.run("return map.renderer;") == "canvas"
    assert np.abs(uniform_filter(page.pixels() - before, (5, 5, 0))).max() < 30
    page.wait(
        "lose.restoreContext();"
        "const look = () => window.back ? done() : setTimeout(look, 10); look();"
    )
    assert page.run("return map.renderer;") == "webgl"
    assert (page.pixels() == before).all()


@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_no_row_one_row_and_equal_rows(page, n_rows):
    page.start(np.full((n_rows, 2), 777), np.zeros(n_rows, dtype=int))
    pixels = page.pixels()
    middle = np.abs(pixels[300, 400] - page.color(0)).max() < 40
    assert middle == (n_rows > 0)
    assert (pixels[10:250] == 255).all()
    page.move((400, 300))
    assert page.told("hovered") == ([0] if n_rows else [])


def test_a_million_rows(page):
    page.wait(
        "let s = 1;"
        "const next = () => s = Math.imul(s, 1664525) + 1013904223 | 0;"
        "const xy = Uint16Array.from({length: 2e6}, () => next() >>> 16);"
        f"start({{renderer: '{page.renderer}', xy, size: [800, 600]}}).then(done);"
    )
    assert page.host.get_attribute("aria-label").startswith("Map of 1,000,000 rows")
    pixels = page.pixels()
    assert (pixels[30:570, 130:670] < 255).any(axis=2).mean() > 0.5
    assert (pixels[:, :100] == 255)[10:].all()


def flash(page, rows):
    """Pictures before a flash, at its start, half a second later and at its end."""
    page.start(*rows)
    pictures = [page.pixels()]
    page.run(
        "performance.now = () => 1000; map.highlight(Uint32Array.from([1, 2, 3]));"
    )
    for time in [1000, 1500, 2300]:
        page.run(f"performance.now = () => {time};")
        pictures.append(page.pixels())
    return pictures


def test_moved_rows_flash_once(page, rows):
    before, first, second, last = flash(page, rows)
    assert (first != before).any() and (second != before).any()
    assert (first != second).any() and (last == before).all()


def test_a_flash_does_not_move_where_motion_is_unwanted(page, rows):
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    before, first, second, last = flash(page, rows)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert (first != before).any()
    assert (first == second).all() and (last == before).all()
