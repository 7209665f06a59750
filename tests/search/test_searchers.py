import numpy as np
import pytest
from tests.contracts.searcher import SearcherContract, ask_all

from linkwise.search import (
    BaggedLinearSearch,
    Cube,
    ForestSearch,
    GaussianProcessSearch,
    RandomSearch,
    SparseVectors,
    search_for,
)

GUIDED = [ForestSearch, BaggedLinearSearch, GaussianProcessSearch]


class TestRandomSearch(SearcherContract):
    @pytest.fixture
    def search(self):
        return RandomSearch()

    def test_batches_have_the_size_asked_for(self):
        rng = np.random.default_rng(0)
        searcher = RandomSearch(batch_size=20).start(SparseVectors(10), 75, rng)
        assert [len(batch) for batch in ask_all(searcher)] == [10, 20, 20, 20, 5]

    def test_a_small_budget_opens_a_larger_one(self, candidates_of):
        domain = SparseVectors(20)
        large = candidates_of(domain, 217)
        for n_candidates in (40, 41, 100, 120):
            small = candidates_of(domain, n_candidates)
            assert np.array_equal(small, large[:n_candidates])

    def test_empty_batches_are_refused(self):
        with pytest.raises(ValueError, match="batch_size=0"):
            RandomSearch(batch_size=0)


class TestForestSearch(SearcherContract):
    @pytest.fixture
    def search(self):
        return ForestSearch(n_trees=2, n_draws=30, refit_every=10)


class TestBaggedLinearSearch(SearcherContract):
    @pytest.fixture
    def search(self):
        return BaggedLinearSearch(n_models=5, n_draws=30, refit_every=10)


class TestGaussianProcessSearch(SearcherContract):
    @pytest.fixture
    def search(self):
        return GaussianProcessSearch(n_draws=30, refit_every=10)


def quick(kind, **settings):
    """Return settings of a guided search with a small model."""
    small = {ForestSearch: {"n_trees": 3}, BaggedLinearSearch: {"n_models": 5}}
    return kind(**{"n_draws": 50, **small.get(kind, {}), **settings})


@pytest.mark.parametrize("kind", GUIDED)
class TestPhases:
    def sizes(self, search, domain, n_candidates):
        searcher = search.start(domain, n_candidates, np.random.default_rng(0))
        return [len(batch) for batch in ask_all(searcher)]

    def test_half_of_what_remains_is_random_and_then_one_at_a_time(self, kind):
        sizes = self.sizes(quick(kind), SparseVectors(5), 20)
        assert sizes == [5, 8] + 7 * [1]

    def test_no_more_than_a_hundred_are_random_and_then_ten_at_a_time(self, kind):
        sizes = self.sizes(quick(kind), SparseVectors(5), 243)
        assert sizes == [5, 100] + 13 * [10] + [8]

    def test_the_user_may_set_both(self, kind):
        search = quick(kind, n_initial=3, refit_every=4)
        assert self.sizes(search, Cube(3), 14) == [1, 3, 4, 4, 2]

    def test_no_random_candidates_are_needed(self, kind):
        search = quick(kind, n_initial=0, refit_every=5)
        assert self.sizes(search, Cube(3), 11) == [1, 5, 5]

    def test_more_random_candidates_than_the_budget_are_cut(self, kind):
        assert self.sizes(quick(kind, n_initial=500), Cube(3), 11) == [1, 10]

    def test_fewer_draws_than_a_batch_are_made_up_for(self, kind):
        search = quick(kind, n_initial=2, n_draws=1, refit_every=4)
        assert self.sizes(search, Cube(3), 11) == [1, 2, 4, 4]

    def test_normalised_weights_are_for_the_model_only(self, kind):
        searcher = quick(kind, normalize=True).start(
            Cube(3), 20, np.random.default_rng(0)
        )
        candidates = np.concatenate(ask_all(searcher))
        assert np.ptp(candidates.sum(axis=1)) > 0.5

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"kappa": -1}, "kappa=-1: must be a finite number, at least 0"),
            ({"kappa": np.nan}, "kappa=nan"),
            ({"n_initial": -1}, "n_initial=-1: must be an integer, at least 0"),
            ({"n_draws": 0}, "n_draws=0: must be an integer, at least 1"),
            ({"refit_every": 0}, "refit_every=0"),
            ({"refit_every": 2.0}, "refit_every=2.0"),
        ],
    )
    def test_settings_without_meaning_are_refused(self, kind, settings, message):
        with pytest.raises(ValueError, match=message):
            kind(**settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForestSearch(n_trees=0), "n_trees=0"),
        (lambda: BaggedLinearSearch(n_models=0), "n_models=0"),
        (lambda: GaussianProcessSearch(noise=0), "noise=0: .* above 0"),
    ],
)
def test_models_of_no_size_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class TestGuidance:
    """On a planted score, a guided search finds more than a random one."""

    N_WEIGHTS, N_CANDIDATES, SEEDS = 20, 120, range(5)

    def additive(self, weights):
        return float(weights[3] + weights[7] - weights[11:].sum())

    def interaction(self, weights):
        return float(np.sqrt(weights[3] * weights[7]) - 0.5 * weights[11:].sum())

    def mean_best(self, search, score):
        """Return the best score after the opening, averaged over seeds."""
        bests = []
        for seed in self.SEEDS:
            rng = np.random.default_rng(seed)
            searcher = search.start(SparseVectors(20), self.N_CANDIDATES, rng)
            candidates = np.concatenate(ask_all(searcher, score)[1:])
            bests.append(max(map(score, candidates)))
        return np.mean(bests)

    @pytest.mark.parametrize(
        "search",
        [
            ForestSearch(n_trees=20, refit_every=5),
            BaggedLinearSearch(n_models=30, refit_every=5),
            GaussianProcessSearch(refit_every=5),
        ],
        ids=lambda search: type(search).__name__,
    )
    def test_all_models_beat_chance_on_an_additive_score(self, search):
        random = self.mean_best(RandomSearch(), self.additive)
        assert self.mean_best(search, self.additive) > random + 0.1

    @pytest.mark.parametrize(
        "search",
        [
            ForestSearch(n_trees=20, refit_every=5),
            GaussianProcessSearch(refit_every=5),
        ],
        ids=lambda search: type(search).__name__,
    )
    def test_models_with_interactions_beat_chance_on_one(self, search):
        random = self.mean_best(RandomSearch(), self.interaction)
        assert self.mean_best(search, self.interaction) > random + 0.1

    def test_the_last_batch_goes_by_the_mean_alone(self):
        # Only the last batch is guided, so kappa must make no difference at all.
        batches = []
        for kappa in (0.0, 100.0):
            search = ForestSearch(kappa=kappa, n_trees=5, n_initial=30, refit_every=10)
            searcher = search.start(Cube(4), 41, np.random.default_rng(0))
            batches.append(ask_all(searcher)[-1])
        assert np.array_equal(*batches)

    def test_kappa_matters_before_the_last_batch(self):
        batches = []
        for kappa in (0.0, 100.0):
            search = ForestSearch(kappa=kappa, n_trees=5, n_initial=30, refit_every=10)
            searcher = search.start(Cube(4), 51, np.random.default_rng(0))
            batches.append(ask_all(searcher)[-2])
        assert not np.array_equal(*batches)


class TestSearchFor:
    domain = SparseVectors(62)

    @pytest.mark.parametrize(
        ("name", "search"),
        [
            ("random", RandomSearch()),
            ("forest", ForestSearch()),
            ("bagged_linear", BaggedLinearSearch()),
            ("gp", GaussianProcessSearch()),
        ],
    )
    def test_a_name_stands_for_default_settings(self, name, search):
        assert search_for(name, self.domain, 0.001, 100) == search

    def test_an_object_stands_for_itself(self):
        search = ForestSearch(kappa=0.1)
        assert search_for(search, self.domain, 0.001, 100) is search

    @pytest.mark.parametrize("n_candidates", [100, 1000])
    def test_auto_is_random_if_candidates_are_cheap_else_a_forest(self, n_candidates):
        kinds = [
            type(search_for("auto", self.domain, seconds, n_candidates))
            for seconds in (1e-4, 1e-2, 10.0)
        ]
        assert kinds == [RandomSearch, RandomSearch, ForestSearch]

    @pytest.mark.parametrize(
        ("n_weights", "n_candidates", "seconds"),
        [
            (62, 200, 10 * (0.1 + 200 * (2e-4 + 62e-5))),
            (62, 201, 1 * (0.1 + 201 * (2e-4 + 62e-5))),
            (62, 1000, 1 * (0.1 + 1000 * (2e-4 + 62e-5))),
            (9, 1000, 1 * (0.1 + 1000 * (2e-4 + 9e-5))),
        ],
    )
    def test_a_forest_pays_where_candidates_take_ten_times_longer_than_their_choice(
        self, n_weights, n_candidates, seconds
    ):
        # Up to 200 candidates each is chosen by a forest of its own, then ten are.
        domain = SparseVectors(n_weights)
        assert search_for("auto", domain, 0.99 * seconds, n_candidates) == (
            RandomSearch()
        )
        assert search_for("auto", domain, 1.01 * seconds, n_candidates) == (
            ForestSearch()
        )

    def test_auto_is_random_where_there_is_nothing_to_choose(self):
        search = search_for("auto", SparseVectors(9, max_nonzero=1), 60.0, 1000)
        assert search == RandomSearch()

    @pytest.mark.parametrize("search", ["forrest", None, 3, ForestSearch])
    def test_anything_else_is_refused_with_a_list(self, search):
        names = "'auto', 'random', 'forest', 'bagged_linear', 'gp'"
        with pytest.raises(ValueError, match=f"search=.*: must be one of {names}"):
            search_for(search, self.domain, 0.001, 100)
