"""What every searcher must do; a search's test class inherits this."""

import math

import numpy as np
import pytest

from linkwise.search import Cube, Search, SparseVectors, Trial

DOMAINS = {
    "sparse": SparseVectors(12, max_nonzero=4),
    "pairs": SparseVectors(7, max_nonzero=2),
    "two weights": SparseVectors(2),
    "cube": Cube(6),
}


def told(batch, score=lambda weights: float(weights[0])):
    """Return trials with a simple score, so that models have something to learn."""
    return [Trial(weights, score(weights), 1.0, 0.0) for weights in batch]


def ask_all(searcher, score=lambda weights: float(weights[0])):
    """Return the batches of a whole search."""
    batches = []
    while len(batch := searcher.ask()):
        batches.append(batch)
        searcher.tell(told(batch, score))
    return batches


class SearcherContract:
    """A subclass provides the fixture ``search``, quick settings of a search."""

    @pytest.fixture(params=DOMAINS, name="domain")
    def make_domain(self, request):
        return DOMAINS[request.param]

    @pytest.fixture
    def candidates_of(self, search):
        def candidates_of(domain, n_candidates, seed=0, **score):
            rng = np.random.default_rng(seed)
            searcher = search.start(domain, n_candidates, rng)
            batches = ask_all(searcher, **score)
            assert searcher.ask().shape == (0, domain.n_weights)
            return np.concatenate(batches)

        return candidates_of

    def test_settings_are_a_search(self, search):
        assert isinstance(search, Search)

    def test_candidates_lie_in_the_domain(self, candidates_of, domain):
        for weights in candidates_of(domain, 60):
            assert domain.contains(weights)
            assert np.count_nonzero(weights) <= domain.max_nonzero

    def test_no_candidate_is_tried_twice(self, candidates_of, domain):
        candidates = candidates_of(domain, 60)
        assert len(np.unique(candidates, axis=0)) == len(candidates)

    @pytest.mark.parametrize("n_candidates", [1, 2, 5, 24, 25, 60, 213])
    def test_all_candidates_are_asked_for_and_no_more(
        self, candidates_of, domain, n_candidates
    ):
        assert len(candidates_of(domain, n_candidates)) == n_candidates

    def test_the_domains_first_candidates_open_the_search(self, candidates_of, domain):
        first = domain.first()
        assert np.array_equal(candidates_of(domain, 60)[: len(first)], first)

    def test_a_small_budget_opens_with_a_random_half_in_order(self, search):
        domain = SparseVectors(50)
        drawn = []
        for seed in range(2):
            searcher = search.start(domain, 20, np.random.default_rng(seed))
            opening = searcher.ask()
            places = opening.argmax(axis=1)
            assert opening.shape == (10, 50)
            assert np.array_equal(opening, np.eye(50)[places])
            assert np.all(np.diff(places) > 0)
            drawn.append(places)
        assert not np.array_equal(*drawn)

    @pytest.mark.parametrize("domain", [SparseVectors(30), Cube(30)], ids=str)
    def test_a_single_candidate_is_one_of_the_first(self, candidates_of, domain):
        (weights,) = candidates_of(domain, 1)
        assert (domain.first() == weights).all(axis=1).any()

    @pytest.mark.parametrize("domain", [SparseVectors(1), Cube(1)], ids=str)
    def test_a_single_weight_is_tried_once(self, candidates_of, domain):
        assert candidates_of(domain, 1000).tolist() == [[1.0]]

    def test_one_hots_are_all_there_is_if_one_weight_may_differ_from_zero(
        self, candidates_of
    ):
        domain = SparseVectors(9, max_nonzero=1)
        for n_candidates in (9, 10, 1000):
            assert np.array_equal(candidates_of(domain, n_candidates), np.eye(9))
        assert len(candidates_of(domain, 5)) == 5

    def test_a_seed_determines_the_search(self, candidates_of, domain):
        once, again = (candidates_of(domain, 60, seed=3) for _ in range(2))
        other = candidates_of(domain, 60, seed=4)
        assert np.array_equal(once, again)
        assert not np.array_equal(once, other)

    @pytest.mark.parametrize(
        "score",
        [
            lambda weights: math.nan,
            lambda weights: 0.5,
            lambda weights: math.nan if weights[0] > 0.3 else float(weights[1]),
        ],
        ids=["always NaN", "constant", "sometimes NaN"],
    )
    def test_scores_that_tell_little_do_no_harm(self, candidates_of, domain, score):
        assert len(candidates_of(domain, 60, score=score)) == 60

    def test_failed_trials_leave_the_search_as_if_untold(self, search, domain):
        asked = []
        for with_failures in (False, True):
            searcher = search.start(domain, 250, np.random.default_rng(0))
            for _ in range(3):
                batch = searcher.ask()
                trials = told(batch)
                if with_failures:
                    failed = Trial(batch[0], math.nan, math.inf, 0.0)
                    trials = [failed, *trials, failed]
                searcher.tell(trials)
            asked.append(searcher.ask())
        assert np.array_equal(*asked)

    def test_told_trials_are_not_changed(self, search, domain):
        searcher = search.start(domain, 60, np.random.default_rng(0))
        for _ in range(4):
            batch = searcher.ask()
            batch.flags.writeable = False
            searcher.tell(told(batch))

    @pytest.mark.parametrize("n_candidates", [0, -1, 2.5])
    def test_a_budget_without_meaning_is_refused(self, search, n_candidates):
        with pytest.raises(ValueError, match=f"n_candidates={n_candidates}"):
            search.start(Cube(2), n_candidates, np.random.default_rng(0))
