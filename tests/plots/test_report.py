"""The report: what it says, what it escapes, that it needs nothing else."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from linkwise import Constraints, KernelCSC, MahalanobisCSC, table_pipeline
from linkwise.kernels import PairKernel
from linkwise.plots import report_page
from linkwise.plots._cluster_display import labels_of

HOSTILE = '"><script>alert(1)</script><img src=//evil.example/x onerror=x>\x00'
VOID = {"meta", "img", "wbr", "rect", "path"}


class Reader(HTMLParser):
    """Keeps the words, the addresses and what is not well-formed."""

    def __init__(self):
        super().__init__()
        self.words, self.addresses, self.open, self.tags = [], [], [], []
        self.attributes = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *a) for a in attrs]
        self.addresses += [v for k, v in attrs if k in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    pairs = Constraints.sample(y.to_numpy(), 100, random_state=0)
    model = KernelCSC(3, n_candidates=30, random_state=0).fit(X, constraints=pairs)
    return model, X, pairs, report_page(model, X, pairs, title="Wines")


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures take long, and have tests of their own."""
    monkeypatch.setattr("linkwise.plots._report.picture", lambda *_: "")


def test_the_page_says_in_words_what_was_found(wine):
    model, X, pairs, page = wine
    text = read(page).text
    sizes = np.bincount(model.labels_)
    assert f"178 rows in 3 clusters: {sizes[0]}, {sizes[1]} and {sizes[2]}." in text
    must, cannot = pairs.satisfied(model.labels_)
    assert f"{must.sum()} of {len(must)} must-links" in text
    assert f"{cannot.sum()} of {len(cannot)} cannot-links" in text
    assert "30 candidates in the search" in text
    for heading in ("In short", "What to do next", "Map of the rows", "Clusters"):
        assert heading in text


def test_the_page_loads_nothing_and_runs_nothing(wine):
    page = wine[3]
    reader = read(page)
    assert "script" not in reader.tags and "link" not in reader.tags
    assert all(address.startswith("data:image/") for address in reader.addresses)
    assert not [a for a in reader.attributes if a[1].startswith("on")]
    assert not [a for a in reader.attributes if a[1] == "style"]
    # Nor do the pictures inside it.
    for data in re.findall(r"data:image/svg\+xml;base64,([^\"]+)", page):
        svg = base64.b64decode(data).decode()
        addresses = re.findall(r'(?:href|src)="([^"]*)"', svg)
        assert all(a.startswith(("#", "data:image/png")) for a in addresses)
        assert "<script" not in svg


def test_the_policy_allows_the_one_style_and_no_more(wine):
    page = wine[3]
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)[1]
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.split("; ") == [
        "default-src 'none'",
        "img-src data:",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_the_same_model_gives_the_same_page(wine):
    model, X, pairs, page = wine
    assert report_page(model, X, pairs, title="Wines") == page


def test_hostile_cells_names_and_ids_are_text():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 5 * (np.arange(40) % 2)[:, None]
    table = pd.DataFrame(X, columns=[HOSTILE, "b$x_1$"])
    table["kind"] = [HOSTILE, "plain"] * 20
    table["text"] = [f"{HOSTILE} word {i % 9} of many" for i in range(40)]
    ids = [f"{HOSTILE}\ud800{i}" for i in range(40)]
    pairs = Constraints([(0, 1), (1, 2), (3, 5)], [(0, 2), (0, 4)])
    kernels = [(lambda A, B: A @ B.T)]
    model = KernelCSC(2, kernels=kernels, n_candidates=3, random_state=0, noise=0.2)
    with pytest.warns(UserWarning, match="contradict"):
        model.fit(X, constraints=pairs)
    page = report_page(
        model, X, pairs, table=table, ids=ids, title=HOSTILE, lines=[HOSTILE]
    )
    page.encode("utf-8")  # half a character is in it no more
    reader = read(page)
    assert "script" not in reader.tags
    assert set(reader.addresses) == {a for a in reader.addresses if a[:5] == "data:"}
    assert "\x00" not in page
    assert "<script>alert(1)</script>" in reader.text
    assert not [a for a in reader.attributes if a[1].startswith("on")]


def test_broken_pairs_stand_side_by_side(no_pictures):
    X = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 1.0], [5.1, 1.0]])
    table = pd.DataFrame({"name": ["ann", "bob", "cy", "di"], "size": X[:, 0]})
    pairs = Constraints([(0, 2)], [(2, 3)])
    page = report_page(
        None, X, pairs, table=table, ids=list("wxyz"), labels=[0, 0, 1, 1]
    )
    text = read(page).text
    assert "w and y must-link, but in cluster 0 and cluster 1" in text
    assert "y and z cannot-link, but both in cluster 1" in text
    assert "name ann cy" in text and "size 0 5" in text


def test_contradictions_are_listed_with_their_chain(no_pictures):
    X = np.arange(6.0)[:, None]
    pairs = Constraints([(0, 1), (1, 2)], [(0, 2)])
    page = report_page(None, X, pairs, ids=list("abcdef"), labels=[0, 0, 0, 1, 1, 1])
    text = read(page).text
    assert "Contradictions" in text
    assert "cannot-link a , c ; must-links a – b – c" in text
    assert "Correct contradictory pairs" in text


def test_long_lists_are_cut_and_say_so(no_pictures):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    labels = np.arange(400) % 40
    pairs = Constraints(np.arange(300).reshape(150, 2), [])
    text = read(report_page(None, X, pairs, labels=labels)).text
    assert "and 10 more clusters" in text
    assert "and 130 more" in text


def test_rows_in_no_cluster_are_said(no_pictures):
    X = np.arange(10.0)[:, None]
    labels = np.array([0] * 4 + [-1, -1] + [1] * 4)
    pairs = Constraints([(0, 4), (4, 5)], [(4, 5), (0, 9)])
    text = read(report_page(None, X, pairs, labels=labels)).text
    assert "8 rows in 2 clusters: 4 and 4. 2 rows in no cluster." in text
    assert "0 of 2 must-links and 2 of 2 cannot-links hold" in text


def test_any_kind_of_model_and_rows_has_a_page(wine, no_pictures):
    X, pairs = wine[1].to_numpy(), wine[2]
    rng = np.random.default_rng(0)
    texts = pd.DataFrame({"text": [f"word{i % 5} and more{i % 7}" for i in range(178)]})
    counts = csr_array(rng.poisson(0.3, (178, 40)).astype(float))
    words = [f"{'ab' if i % 2 else 'yz'}{i % 7}" for i in range(30)]
    sparse = KernelCSC(3, n_candidates=5, random_state=0)
    views = KernelCSC(3, n_candidates=5, random_state=0)
    kernel = PairKernel(lambda a, b: float(len(set(a) & set(b))))
    objects = KernelCSC(2, kernels=[kernel], n_candidates=3, random_state=0)
    table = table_pipeline(KernelCSC(3, n_candidates=5, random_state=0))
    frame = wine[1].assign(note=texts["text"], day=pd.Timestamp("2026-01-01"))
    parts = [X[:, :5], X[:, 5:]]
    cases = [
        (KMeans(3, n_init=1, random_state=0).fit(X), X, pairs, None),
        (MahalanobisCSC(3, n_candidates=5).fit(X, constraints=pairs), X, pairs, None),
        (sparse.fit(counts, constraints=pairs), counts, pairs, None),
        (sparse, counts, pairs, texts),
        (views.fit(parts, constraints=pairs), parts, pairs, None),
        (objects.fit(words, constraints=([(0, 2)], [(0, 1)])), words, None, None),
        (table.fit(frame, cluster__constraints=pairs), frame, pairs, None),
        (wine[0], wine[1].iloc[:20], None, None),
    ]
    for model, rows, given, shown in cases:
        text = read(report_page(model, rows, given, table=shown)).text
        assert "Typical rows" in text
    assert "their clusters are predicted" in text
    assert "Give the pairs to the report" in text
    plain = report_page(None, X, labels=np.arange(178) % 2)
    assert "Give some pairs" in read(plain).text


def test_rows_of_the_fit_are_known_again_and_no_others(no_pictures):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(57, 3)), rng.normal(9.0, 1.0, (3, 3))])
    pairs = Constraints([(0, 1), (57, 58)], [(0, 57)])
    # Nearly all rows are in one cluster, whatever their order.
    model = KernelCSC(2, n_candidates=20, random_state=0).fit(X, constraints=pairs)
    other = X[::-1]
    assert "predicted" not in read(report_page(model, X, pairs)).text
    assert "predicted" in read(report_page(model, other, None)).text
    np.testing.assert_array_equal(labels_of(model, other), model.predict(other))


@pytest.mark.parametrize("final_step", ["soft", "hard"])
def test_a_report_shows_the_labels_of_a_final_step(final_step, no_pictures):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.integers(3, size=60)
    pairs = Constraints.sample(y, 40, random_state=0)
    model = KernelCSC(3, n_candidates=10, final_step=final_step, random_state=0)
    model.fit(X, constraints=pairs)
    assert (model.predict(X) != model.labels_).any()
    np.testing.assert_array_equal(labels_of(model, X), model.labels_)


def test_labels_that_are_none_are_refused():
    for labels in ([0, 0, 1, -2], [0.0, 0.0, 1.0, 1.0], list("aabb")):
        with pytest.raises(ValueError, match="labels has shape"):
            report_page(None, np.eye(4), labels=labels)


def test_labels_that_somebody_has_corrected_are_not_predictions(wine, no_pictures):
    model, X, pairs, page = wine
    labels = model.labels_.copy()
    labels[:5] = (labels[:5] + 1) % 3
    text = read(report_page(model, X, pairs, labels=labels)).text
    assert "predicted" not in text and "puts them elsewhere" in text
    renamed = read(report_page(model, X, pairs, labels=(labels + 1) % 3)).text
    assert "predicted" not in renamed and "near the border" in renamed


def test_ids_and_labels_must_fit_the_rows(wine):
    model, X, pairs, _ = wine
    with pytest.raises(ValueError, match="ids has 3 entries for 178 rows"):
        report_page(model, X, pairs, ids=[1, 2, 3])
    with pytest.raises(ValueError, match="no cluster"):
        report_page(model, X, pairs, labels=np.full(178, -1))
    with pytest.raises(ValueError, match="178"):
        report_page(None, X, pairs, labels=[0, 1])
