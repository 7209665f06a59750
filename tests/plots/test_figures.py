import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from linkwise.plots import (
    Part,
    evolution_curves,
    figure_bytes,
    halves_figure,
    html_page,
    rank_bars,
    scatter_against,
)

METHODS = ["KernelCSC", "COP", "k-means"]


@pytest.fixture
def scores():
    """Eight data sets, four trials; KernelCSC is first on six of them, surely."""
    rng = np.random.default_rng(0)
    index = pd.MultiIndex.from_product(
        [[f"set {place}" for place in range(8)], range(4)], names=["dataset", "trial"]
    )
    table = pd.DataFrame(rng.uniform(0, 1e-3, (32, 3)), index=index, columns=METHODS)
    return table + np.repeat([[0.9, 0.5, 0.1]] * 6 + [[0.1, 0.5, 0.9]] * 2, 4, axis=0)


@pytest.fixture
def means(scores):
    return scores.groupby(level="dataset").mean()


@pytest.fixture
def sizes(means):
    n = len(means)
    return pd.DataFrame(
        {"n_samples": np.geomspace(100, 40_000, n), "n_clusters": np.arange(2, 2 + n)},
        index=means.index,
    )


def texts(figure):
    return [text.get_text() for text in figure.findobj() if hasattr(text, "get_text")]


def test_rank_bars_are_as_long_as_the_shares(scores):
    figure = rank_bars(scores, "Ranks")
    axes = figure.axes[0]
    methods = [label.get_text() for label in axes.get_yticklabels()]
    assert methods == ["KernelCSC", "COP", "k-means"]
    ranked, significant = axes.containers[::2], axes.containers[1::2]
    assert [bar.get_width() for bar in ranked[0]] == [0.75, 0, 0.25]
    assert [bar.get_width() for bar in significant[0]] == [0.75, 0, 0.25]
    ends = [bar.get_x() + bar.get_width() for bar in ranked[-1]]
    assert ends == pytest.approx([1, 1, 1])
    # The last has nobody behind it to be better than.
    assert [bar.get_width() for bar in significant[-1]] == [0, 0, 0]
    assert {"75 %", "1.50", "significant", "share of 8 data sets"} <= set(texts(figure))


def test_a_panel_of_the_scatter_has_a_point_for_each_set(means, sizes):
    figure = scatter_against(means, sizes, "KernelCSC")
    panels = [axes for axes in figure.axes if axes.get_xlabel() in METHODS]
    assert [panel.get_xlabel() for panel in panels] == ["COP", "k-means"]
    for panel in panels:
        points = panel.collections[0]
        expected = means[[panel.get_xlabel(), "KernelCSC"]].to_numpy()
        np.testing.assert_allclose(points.get_offsets(), expected)
        assert (np.diff(points.get_sizes()) > 0).all()
        np.testing.assert_array_equal(points.get_array(), sizes["n_clusters"])
    assert texts(figure).count("above: 6") == 2 and texts(figure).count("below: 2") == 2


def test_many_rivals_fill_several_rows(means, sizes):
    wide = pd.concat([means, means.add_suffix(" 2")], axis=1)
    figure = scatter_against(wide, sizes, "KernelCSC")
    assert sum(axes.get_visible() for axes in figure.axes) == 5 + 1  # and the colours


def test_evolution_curves_pass_through_the_shares():
    table = pd.DataFrame({"a": [0.2, 0.5], "b": [0.9, 0.5]}, index=[50, 100])
    figure = evolution_curves({"ARI": table, "NMI": 1 - table})
    lines = [axes.get_lines() for axes in figure.axes]
    np.testing.assert_allclose(lines[0][0].get_xydata(), [[50, 0.2], [100, 0.5]])
    np.testing.assert_allclose(lines[1][1].get_xydata(), [[50, 0.1], [100, 0.5]])
    assert lines[0][0].get_color() != lines[0][1].get_color()
    assert lines[0][0].get_marker() != lines[0][1].get_marker()


def test_twelve_methods_have_twelve_looks():
    table = pd.DataFrame(0.5, index=[50, 100], columns=[f"m{i}" for i in range(12)])
    lines = evolution_curves({"ARI": table}).axes[0].get_lines()
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 12


def test_halves_stand_side_by_side(scores):
    figure = halves_figure({"low": scores, "high": 1 - scores}, "coherence")
    low, high = figure.axes[0].collections[1:]
    order = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    firsts = {
        name: dict(zip(order, points.get_offsets()[:, 0], strict=True))
        for name, points in (("low", low), ("high", high))
    }
    assert firsts["low"] == {"KernelCSC": 0.75, "COP": 0, "k-means": 0.25}
    assert firsts["high"] == {"KernelCSC": 0.25, "COP": 0, "k-means": 0.75}
    assert "coherence" in texts(figure)


def test_the_same_figure_gives_the_same_bytes(scores):
    for kind, head in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        first, second = (figure_bytes(rank_bars(scores), kind) for _ in range(2))
        assert first.startswith(head) and first == second


def test_a_page_needs_no_other_file_and_escapes_what_it_shows(scores):
    table = pd.DataFrame({"name": ["<a & b>"], "value": [1 / 3], "n": [1234]})
    page = html_page(
        "A <title>",
        ["one line"],
        [Part("Figure", "words", rank_bars(scores)), Part("Table", table=table)],
    )
    assert page.count("data:image/svg+xml;base64,") == 1
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "A &lt;title&gt;" in page and "&lt;a &amp; b&gt;" in page
    assert "<td>0.333</td>" in page and "<td>1234</td>" in page


def test_only_plots_import_matplotlib():
    code = (
        "import sys, linkwise.cli, linkwise.experiments, linkwise.cli._bench;"
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
