"""Noise is called noise, and clusters that are there are not."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits, load_iris, load_wine, make_circles
from sklearn.metrics import adjusted_rand_score

import linkwise
from linkwise import Constraints, ConstraintWarning, KernelCSC
from linkwise.kernels import (
    RBF,
    KernelBank,
    Known,
    LandmarkBank,
    Linear,
    Standardized,
)
from linkwise.search import Evaluator, GivenPairs, Starts

WORDS = "No more pairs hold than by chance"


def fitted(X, pairs, k, **options):
    """Return a model that was fitted, and whether it said that pairs hold by chance."""
    options = {"n_candidates": 60, "random_state": 0, **options}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelCSC(k, **options).fit(X, constraints=pairs)
    assert all(warning.category is ConstraintWarning for warning in caught)
    return model, any(WORDS in str(warning.message) for warning in caught)


def noise(seed, k=3, n=150, d=5, n_pairs=100):
    rng = np.random.default_rng(seed)
    y = rng.integers(k, size=n)
    return rng.normal(size=(n, d)), y, Constraints.sample(y, n_pairs, random_state=seed)


def rings():
    X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    return X, y, 2


def one_column_of_many():
    """Only trees find the one column that counts."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_cauchy(size=(200, 30))
    X[:, 7] = y + 0.1 * rng.normal(size=200)
    return X, y, 2


def strips():
    """Only a view that is whitened within groups tells them apart."""
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    along, across = 4.0 * rng.normal(size=150), y + 0.15 * rng.normal(size=150)
    return np.column_stack([along + across, along - across]), y, 3


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:300], y[:300], 10


REAL = {
    "iris": lambda: (*load_iris(return_X_y=True), 3),
    "wine": lambda: (*load_wine(return_X_y=True), 3),
    "digits": digits,
    "rings": rings,
    "one column of many": one_column_of_many,
    "strips": strips,
}


@pytest.mark.parametrize("n_pairs", [100, 300])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_noise_is_called_noise(k, n_pairs):
    called = []
    for seed in range(4):
        X, _, pairs = noise(seed, k, n_pairs=n_pairs)
        model, is_said = fitted(X, pairs, k)
        assert is_said == model.by_chance_
        called.append(is_said)
    assert sum(called) >= 3


@pytest.mark.parametrize("n_pairs", [60, 200])
@pytest.mark.parametrize("name", REAL)
def test_what_is_there_is_not(name, n_pairs):
    X, y, k = REAL[name]()
    pairs = Constraints.sample(y, n_pairs, random_state=0)
    model, is_said = fitted(X, pairs, k, n_candidates=100)
    assert not is_said and model.by_chance_ is False
    assert model.p_value_ <= 0.05


def test_the_words_say_what_it_means_and_what_to_do():
    X, _, pairs = noise(0)
    with pytest.warns(ConstraintWarning, match=WORDS) as caught:
        KernelCSC(3, n_candidates=60, random_state=0).fit(X, constraints=pairs)
    text = str(caught[0].message)
    assert "columns" in text and "more pairs" in text and "right rows" in text
    assert caught[0].filename == __file__


@pytest.mark.parametrize("how", ["landmarks", "working_set", "nystroem"])
def test_many_rows(how):
    options = {"approximation": how, "n_landmarks": 40, "working_rows": 200}
    X, y, pairs = noise(1, n=500)
    assert fitted(X, pairs, 3, **options)[1]
    model, is_said = fitted(X + 4.0 * np.eye(3, 5)[y], pairs, 3, **options)
    assert not is_said and model.by_chance_ is False


def test_it_changes_nothing_whatever_the_number_of_jobs():
    X, _, pairs = noise(1)
    one, two = (fitted(X, pairs, 3, n_jobs=n)[0] for n in (1, 2))
    assert one.p_value_ == two.p_value_ and one.by_chance_ == two.by_chance_
    assert_array_equal(one.labels_, two.labels_)


def test_the_order_of_rows_and_of_pairs_does_not_matter():
    order = np.random.default_rng(0).permutation(150)
    place = np.argsort(order)
    for is_noise in (True, False):
        X, y = noise(2)[:2] if is_noise else load_iris(return_X_y=True)
        pairs = Constraints.sample(y, 100, random_state=2)
        moved = Constraints(
            place[pairs.must_link[::-1]], place[pairs.cannot_link[::-1, ::-1]]
        )
        before, after = fitted(X, pairs, 3)[1], fitted(X[order], moved, 3)[1]
        assert before == after == is_noise


@pytest.mark.parametrize(
    "options",
    [
        {"selection": "train", "kernels": "paper"},
        {"n_candidates": 10},
        {"kernels": [RBF(0.1)]},
    ],
)
def test_nothing_is_said_where_it_cannot_be_told(options):
    X, _, pairs = noise(0)
    model, is_said = fitted(X, pairs, 3, **options)
    assert not is_said and model.by_chance_ is None and np.isnan(model.p_value_)


def test_nothing_is_said_of_few_pairs_or_one_cluster():
    X, y, pairs = noise(0)
    few = Constraints.sample(y, 29, random_state=0)
    assert fitted(X, few, 3)[0].by_chance_ is None
    assert fitted(X, few, 3, approximation="landmarks")[0].by_chance_ is None
    assert fitted(X, pairs, 1)[0].by_chance_ is None


def test_models_on_disk_know_it(tmp_path):
    X, _, pairs = noise(0)
    model, _ = fitted(X, pairs, 3)
    linkwise.save(model, tmp_path / "model.linkwise")
    for again in (
        linkwise.load(tmp_path / "model.linkwise"),
        pickle.loads(pickle.dumps(model)),
    ):
        assert again.by_chance_ is True and again.p_value_ == model.p_value_


def test_a_second_fit_forgets_the_first():
    X, y, pairs = noise(0)
    model, _ = fitted(X, pairs, 3)
    with pytest.warns(ConstraintWarning, match="no constraints"):
        model.fit(X)
    assert model.by_chance_ is None and np.isnan(model.p_value_)


class TestHonestMembers:
    def test_views_that_bring_rows_of_a_group_together_are_not_honest(self):
        rng = np.random.default_rng(0)
        groups = np.where(np.arange(60) < 40, np.arange(60) % 2, -1)
        for d, is_honest in ((3, True), (20, False)):
            X = rng.normal(size=(60, d))
            bank = KernelBank.build(X, "rich", rng=rng, known=Known(groups, 2, 0))
            views = np.array([name.split(" on ")[1] for name in bank.names])
            assert {"within", "forest", "raw"} <= set(views)
            assert_array_equal(bank.is_honest, (views != "within") | is_honest)

    def test_landmarks_that_are_means_of_groups_are_not(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        groups = np.where(np.arange(200) < 40, np.arange(200) % 2, -1)
        known = Known(groups, 2, 0)
        options = {"n_landmarks": 30, "rng": rng, "known": known}
        assert not LandmarkBank.build(X, "paper", **options).is_honest.any()
        bank = LandmarkBank.build(X, "paper", separate=True, **options)
        assert bank.is_honest.all()

    @pytest.mark.parametrize("k", [3, 9])
    def test_a_candidate_is_blind_if_its_clusters_began_without_pairs(self, k):
        rng = np.random.default_rng(0)
        y = np.arange(180) % k
        X = 0.5 * np.eye(k)[y] + rng.normal(size=(180, k))
        pairs = Constraints.from_labels(np.where(np.arange(180) < 5 * k, y, -1))
        bank = KernelBank.build(
            X, [RBF(0.1), (Standardized(), Linear())], filter="none"
        )
        none = Constraints().closure(180)
        starts = Starts(pairs.points, none, rng.random((5, k, 1)))
        options = {"judge": GivenPairs(pairs)}
        closure = pairs.closure(180)
        told = Evaluator(bank, closure, k, starts=starts, **options)
        blind = Evaluator(
            bank, closure, k, starts=starts._replace(is_blind=True), **options
        )
        is_blind = []
        for weights in rng.random((30, 2)):
            labels, was_blind = told(weights)[2:]
            is_blind.append(was_blind)
            without, always = blind(weights)[2:]
            assert always
            if was_blind:
                assert_array_equal(labels, without)
        assert 0 < sum(is_blind) < 30


def test_a_high_score_on_noise_comforts_nobody():
    X, y, pairs = noise(3, k=5, n=300, d=60)
    model, is_said = fitted(X, pairs, 5, n_candidates=200)
    assert model.constraint_score_ > 0.75
    rest = np.setdiff1d(np.arange(300), pairs.points)
    assert abs(adjusted_rand_score(y[rest], model.labels_[rest])) < 0.1
    assert is_said


def test_noise_does_not_say_which_pairs_are_wrong():
    X, _, pairs = noise(0, n_pairs=300)
    model, is_said = fitted(X, pairs, 3)
    assert is_said and len(model.disbelieved_) == 0 and model.noise_ == 0.0
    assert len(fitted(X, pairs, 3, noise=0.1)[0].disbelieved_) > 0
