"""Pictures of a model: what is drawn is what was found, and no label hides another."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from linkwise import Constraints, KernelCSC, MahalanobisCSC, table_pipeline
from linkwise.estimators import row_map
from linkwise.plots import (
    DARK,
    LIGHT,
    ClusterDisplay,
    DoubtDisplay,
    SearchDisplay,
    TraitsDisplay,
    WeightsDisplay,
)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    pairs = Constraints.sample(y.to_numpy(), 100, random_state=0)
    model = KernelCSC(3, n_candidates=30, random_state=0).fit(X, constraints=pairs)
    return model, X, pairs


def hidden_texts(figure):
    """Ticks outside the limits of their axis, and all of hidden panels."""
    found = set()
    for axes in figure.axes:
        if not axes.get_visible():
            found |= set(axes.findobj(Text))
        for axis, at in ((axes.xaxis, 0), (axes.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.majorTicks:
                if not low - 1e-9 <= tick.label1.get_position()[at] <= high + 1e-9:
                    found |= {tick.label1, tick.label2}
    return found


def overlaps(figure):
    """Pairs of texts that hide each other, and texts that leave the figure."""
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    hidden = hidden_texts(figure)
    texts = [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and text not in hidden
    ]
    boxes = [text.get_window_extent(renderer) for text in texts]
    words = [text.get_text() for text in texts]
    found = []
    for i, box in enumerate(boxes):
        if not (
            box.x0 >= -1
            and box.y0 >= -1
            and box.x1 <= figure.bbox.x1 + 1
            and box.y1 <= figure.bbox.y1 + 1
        ):
            found.append((words[i], "outside"))
        for j in range(i):
            inner, other = box.shrunk(0.96, 0.9), boxes[j].shrunk(0.96, 0.9)
            if inner.overlaps(other):
                found.append((words[i], words[j]))
    return found


def named_axes(figure):
    return all(
        ax.get_xlabel() and ax.get_ylabel() for ax in figure.axes if ax.get_visible()
    )


def test_points_are_where_the_map_puts_them(wine):
    model, X, pairs = wine
    display = ClusterDisplay.from_estimator(model, X, pairs)
    coordinates = row_map(model, X)
    for cluster, points in enumerate(display.points_):
        expected = coordinates[model.labels_ == cluster]
        np.testing.assert_array_equal(points.get_offsets(), expected)
    assert display.ax_.figure is display.figure_ and named_axes(display.figure_)
    assert overlaps(display.figure_) == []


def test_lines_are_the_pairs_and_broken_ones_stand_out(wine):
    model, X, pairs = wine
    display = ClusterDisplay.from_labels(X, model.predict(X), pairs)
    must, cannot = pairs.satisfied(model.predict(X))
    lines = [c for c in display.ax_.collections if c not in display.points_]
    counts = {len(line.get_segments()) for line in lines}
    assert counts == {n for n in (must.sum(), (~must).sum(), cannot.sum()) if n} | {
        n for n in ((~cannot).sum(),) if n
    }
    legend = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert f"must-link holds: {must.sum()}" in legend
    broken = ClusterDisplay.from_labels(X, np.arange(len(X)) % 3, pairs)
    colours = {tuple(c.get_color()[0]) for c in broken.ax_.collections[:4]}
    assert len(colours) == 2


def test_clusters_differ_in_colour_and_in_marker():
    for theme in (LIGHT, DARK):
        few = [theme.cluster(i) for i in range(11)]
        assert len({s["color"] for s in few}) == len({s["marker"] for s in few}) == 11
        many = {tuple(theme.cluster(i).values()) for i in range(143)}
        assert len(many) == 143
        assert theme.broken not in theme.clusters


def test_colours_are_told_apart_by_colour_blind_eyes():
    # Machado, Oliveira, Fernandes 2009, full severity, in linear light.
    kinds = [
        [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    ]
    for theme in (LIGHT, DARK):
        first = [theme.broken, *theme.clusters[:5]]
        rgb = np.array([to_rgb(colour) for colour in first])
        for matrix in kinds:
            seen = np.clip(rgb**2.2 @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
            apart = np.linalg.norm(seen[:, None] - seen, axis=2)
            assert apart[np.triu_indices(len(first), 1)].min() > 0.1


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_many_clusters_and_far_rows_have_a_legible_map(theme):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2)) + 0.3 * rng.integers(0, 5, (500, 1))
    labels = np.arange(500) % 25 - 1
    display = ClusterDisplay.from_labels(X, labels, theme=theme)
    legend = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert "in no cluster: 20 rows" in legend and "and 13 more clusters" in legend
    assert overlaps(display.figure_) == []


def test_many_pairs_are_thinned_and_it_is_said():
    X = np.random.default_rng(0).normal(size=(1000, 2))
    pairs = Constraints(np.arange(1000).reshape(500, 2), [])
    display = ClusterDisplay.from_labels(X, np.zeros(1000, int), pairs)
    assert "must-link holds: 500 (250 drawn)" in [
        t.get_text() for t in display.ax_.get_legend().get_texts()
    ]


def test_many_rows_are_drawn_as_pixels():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    display = ClusterDisplay.from_labels(X, np.arange(3000) % 2)
    assert all(points.get_rasterized() for points in display.points_)


def test_axes_of_the_user_are_used(wine):
    model, X, pairs = wine
    figure = Figure()
    axes = figure.subplots(2, 2).ravel()
    ClusterDisplay.from_estimator(model, X, pairs, ax=axes[0])
    SearchDisplay.from_estimator(model, ax=axes[1])
    WeightsDisplay.from_estimator(model, ax=axes[2])
    display = DoubtDisplay.from_estimator(model, ax=axes[3])
    assert display.ax_ is axes[3] and display.figure_ is figure
    assert all(ax.get_xlabel() for ax in axes)


def test_other_models_and_pipelines_have_a_map(wine):
    model, X, pairs = wine
    other = KMeans(3, n_init=1, random_state=0).fit(X.to_numpy())
    display = ClusterDisplay.from_estimator(other, X.to_numpy(), pairs)
    assert display.ax_.get_xlabel() == "1st principal component"
    table = table_pipeline(KernelCSC(3, n_candidates=5, random_state=0))
    table.fit(X, cluster__constraints=pairs)
    display = ClusterDisplay.from_estimator(table, X, pairs)
    assert display.ax_.get_xlabel() == "1st kernel principal component"
    new = ClusterDisplay.from_estimator(model, X.iloc[:9])
    np.testing.assert_array_equal(new.labels, model.predict(X.iloc[:9]))


def test_the_search_is_drawn_with_the_best_so_far_and_the_chosen_one(wine):
    model = wine[0]
    display = SearchDisplay.from_estimator(model)
    scores = model.history_["score"].to_numpy()
    np.testing.assert_array_equal(
        display.ax_.collections[0].get_offsets()[:, 1], scores
    )
    best, chosen = display.ax_.get_lines()
    np.testing.assert_array_equal(best.get_ydata(), np.maximum.accumulate(scores))
    place = int(chosen.get_xdata()[0]) - 1
    np.testing.assert_array_equal(
        model.history_.iloc[place, 3:].to_numpy(), model.kernel_weights_
    )
    assert overlaps(display.figure_) == [] and named_axes(display.figure_)


def test_weights_add_up_by_view_and_family(wine):
    model = wine[0]
    display = WeightsDisplay.from_estimator(model)
    shares = display.ax_.collections[0].get_array()
    assert shares.sum() == pytest.approx(1.0)
    views = [t.get_text() for t in display.ax_.get_yticklabels()]
    families = [t.get_text() for t in display.ax_.get_xticklabels()]
    total = model.kernel_weights_.sum()
    for name, weight in zip(model.kernel_names_, model.kernel_weights_, strict=True):
        kernel, _, view = name.rpartition(" on ")
        at = views.index(view), families.index(kernel.split("(")[0])
        assert shares[at] >= weight / total - 1e-12
    assert overlaps(display.figure_) == [] and named_axes(display.figure_)


def test_weights_of_features_are_bars(wine):
    _, X, pairs = wine
    model = MahalanobisCSC(3, n_candidates=5, random_state=0).fit(X, constraints=pairs)
    display = WeightsDisplay.from_estimator(model)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == sorted(model.feature_weights_, reverse=True)
    assert overlaps(display.figure_) == [] and named_axes(display.figure_)


def test_doubt_is_counted_in_steps(wine):
    model = wine[0]
    display = DoubtDisplay.from_estimator(model)
    widths = np.array([bar.get_width() for bar in display.ax_.patches]).reshape(4, 3)
    np.testing.assert_allclose(widths.sum(axis=0), 1.0)
    for cluster in range(3):
        own = model.doubt_[model.labels_ == cluster]
        assert widths[0, cluster] == pytest.approx(np.mean(own < 0.05))
        assert widths[3, cluster] == pytest.approx(np.mean(own >= 0.5))
    assert overlaps(display.figure_) == [] and named_axes(display.figure_)


def test_doubt_needs_a_committee(wine):
    _, X, pairs = wine
    model = KernelCSC(3, n_candidates=5, selection="train", random_state=0)
    with pytest.raises(ValueError, match="has no doubt_"):
        DoubtDisplay.from_estimator(model.fit(X, constraints=pairs))


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_traits_are_bars_of_each_cluster(wine, theme):
    model, X, _ = wine
    long_names = X.rename(columns=lambda name: f"{name} $of$ a wine, measured twice")
    display = TraitsDisplay.from_estimator(model, X, long_names, theme=theme)
    assert len(display.axes_) == 3
    for cluster, ax in enumerate(display.axes_):
        own = display.traits[display.traits["cluster"] == cluster]
        widths = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(widths, own["difference"])
    assert overlaps(display.figure_) == [] and named_axes(display.figure_)


def test_clusters_that_nothing_sets_apart_say_so():
    table = pd.DataFrame({"x": np.arange(30.0) % 7})
    display = TraitsDisplay.from_labels(table, np.arange(30) % 14)
    texts = [t.get_text() for ax in display.axes_ for t in ax.texts]
    assert texts == ["nothing stands out"] * 12
    assert "and 2 more clusters" in display.figure_.get_suptitle()
    assert overlaps(display.figure_) == []


def test_a_cluster_without_traits_leaves_room_for_the_bars_of_others():
    table = pd.DataFrame({"x": np.repeat([0.0, 5.0, 2.5], 40)})
    display = TraitsDisplay.from_labels(table, np.repeat([0, 1, 2], 40))
    assert [len(ax.patches) for ax in display.axes_] == [1, 1, 0]
    low, high = display.axes_[0].get_xlim()
    for ax in display.axes_[:2]:
        assert low < ax.patches[0].get_width() < high


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"labels has shape \(2,\)"):
        ClusterDisplay(np.zeros((3, 2)), np.array([0, 1]))
