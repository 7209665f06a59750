import _thread
import math
import signal
import time

import numpy as np
import pytest

from linkwise.engines import JoblibEngine, SerialEngine
from linkwise.search import (
    Cube,
    ForestSearch,
    RandomSearch,
    SparseVectors,
    Trial,
    run_search,
)

ENGINES = [SerialEngine(), JoblibEngine(2)]


@pytest.fixture
def listens_to_ctrl_c():
    """Processes in the background of a shell may be deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class ListSearcher:
    """Asks for given batches of one-weight candidates and notes what it is told."""

    def __init__(self, *batches):
        self._batches = iter(batches)
        self.told = []

    def ask(self):
        return np.array(next(self._batches, []), dtype=float).reshape(-1, 1)

    def tell(self, trials):
        self.told.append([float(trial.weights[0]) for trial in trials])


def weight_as_score(weights):
    return float(weights[0]), 1.0


@pytest.fixture(params=ENGINES, ids=lambda engine: type(engine).__name__)
def engine(request):
    return request.param


class TestReasonsToStop:
    """Candidates' weights are their scores, unless a test says otherwise."""

    def test_the_budget_ends_the_search(self, engine):
        searcher = ListSearcher([0.1, 0.2], [0.3, 0.4], [0.5])
        result = run_search(searcher, weight_as_score, engine, n_candidates=4)
        assert result.stopped_by == "budget"
        assert [trial.score for trial in result.trials] == [0.1, 0.2, 0.3, 0.4]
        assert result.best == 3

    def test_a_batch_beyond_the_budget_is_cut(self, engine):
        searcher = ListSearcher([0.1, 0.2], [0.3, 0.4])
        result = run_search(searcher, weight_as_score, engine, n_candidates=3)
        assert (len(result.trials), result.stopped_by) == (3, "budget")
        assert searcher.told == [[0.1, 0.2], [0.3]]

    def test_an_empty_batch_ends_the_search(self, engine):
        searcher = ListSearcher([0.2, 0.1])
        result = run_search(searcher, weight_as_score, engine, n_candidates=100)
        assert (len(result.trials), result.stopped_by) == (2, "exhausted")
        assert result.best == 0

    def test_a_score_high_enough_ends_the_search_after_its_batch(self, engine):
        searcher = ListSearcher([0.1, 1.0, 0.3], [0.4])
        result = run_search(searcher, weight_as_score, engine, n_candidates=100)
        assert (len(result.trials), result.stopped_by) == (3, "score")
        assert result.best == 1

    def test_the_score_that_is_high_enough_may_be_set(self, engine):
        searcher = ListSearcher([0.1, 0.2], [0.4])
        result = run_search(
            searcher, weight_as_score, engine, n_candidates=100, stop_score=0.2
        )
        assert (len(result.trials), result.stopped_by) == (2, "score")

    def test_no_score_is_high_enough_if_it_is_none(self, engine):
        searcher = ListSearcher([1.0], [1.0], [1.0])
        result = run_search(
            searcher, weight_as_score, engine, n_candidates=3, stop_score=None
        )
        assert (len(result.trials), result.stopped_by) == (3, "budget")

    def test_patience_ends_after_as_many_trials_without_a_rise(self, engine):
        searcher = ListSearcher([0.1, 0.5], [0.2], [0.5, 0.5], [0.9], [0.9])
        result = run_search(
            searcher, weight_as_score, engine, n_candidates=100, patience=3
        )
        assert (len(result.trials), result.stopped_by) == (5, "patience")

    def test_a_rise_renews_patience(self, engine):
        searcher = ListSearcher([0.1], [0.1], [0.2], [0.2], [0.3])
        result = run_search(
            searcher, weight_as_score, engine, n_candidates=100, patience=2
        )
        assert (len(result.trials), result.stopped_by) == (5, "exhausted")

    def test_a_lower_objective_does_not_renew_patience(self, engine):
        searcher = ListSearcher([0.9], [0.8], [0.7], [0.6])
        result = run_search(
            searcher,
            lambda weights: (0.5, weights[0]),
            engine,
            n_candidates=100,
            patience=2,
            tie_break="objective",
        )
        assert (len(result.trials), result.stopped_by) == (3, "patience")

    def test_the_time_limit_is_looked_at_after_each_trial(self, engine):
        def slow(weights):
            time.sleep(0.02)
            return weight_as_score(weights)

        searcher = ListSearcher(np.linspace(0, 0.9, 500))
        start = time.perf_counter()
        result = run_search(searcher, slow, engine, n_candidates=500, time_limit=0.1)
        assert time.perf_counter() - start < 5
        assert result.stopped_by == "time"
        assert 1 <= len(result.trials) < 100
        assert searcher.told == []

    def test_one_trial_is_made_however_short_the_time(self, engine):
        searcher = ListSearcher([0.1, 0.2])
        result = run_search(
            searcher, weight_as_score, engine, n_candidates=2, time_limit=0
        )
        assert (len(result.trials), result.stopped_by) == (1, "time")

    def test_a_callback_ends_the_search_at_once(self, engine):
        searcher = ListSearcher([0.1, 0.2, 0.3, 0.4, 0.5])
        result = run_search(
            searcher,
            weight_as_score,
            engine,
            n_candidates=100,
            on_trial=lambda index, trial, best: index == 2,
        )
        assert (len(result.trials), result.stopped_by) == (3, "callback")
        assert searcher.told == []

    def test_an_interrupt_keeps_the_trials_before_it(self, engine):
        def interrupted_at_seven(weights):
            if weights[0] == 0.7:
                raise KeyboardInterrupt
            return weight_as_score(weights)

        searcher = ListSearcher([0.0, 0.1, 0.2], [0.3, 0.6, 0.5, 0.4, 0.7, 0.8], [0.9])
        result = run_search(searcher, interrupted_at_seven, engine, n_candidates=100)
        assert (len(result.trials), result.stopped_by) == (7, "interrupt")
        assert result.best == 4
        assert searcher.told == [[0.0, 0.1, 0.2]]

    def test_ctrl_c_keeps_the_trials_before_it(self, engine, listens_to_ctrl_c):
        def press_ctrl_c_at_seven(weights):
            if weights[0] == 0.7:
                _thread.interrupt_main()
            time.sleep(0.01)
            return weight_as_score(weights)

        searcher = ListSearcher(np.arange(40) / 10)
        result = run_search(
            searcher, press_ctrl_c_at_seven, engine, n_candidates=100, stop_score=None
        )
        assert result.stopped_by == "interrupt"
        assert 1 <= len(result.trials) < 20

    def test_an_interrupt_in_the_searcher_keeps_all_trials(self, engine):
        class Interrupted(ListSearcher):
            def tell(self, trials):
                raise KeyboardInterrupt

        searcher = Interrupted([0.1, 0.2])
        result = run_search(searcher, weight_as_score, engine, n_candidates=100)
        assert (len(result.trials), result.stopped_by) == (2, "interrupt")

    def test_an_interrupt_before_any_score_is_passed_on(self, engine):
        def interrupted(weights):
            if weights[0] == 0.2:
                raise KeyboardInterrupt
            return 0.5, math.nan

        searcher = ListSearcher([0.1, 0.2])
        with pytest.raises(KeyboardInterrupt):
            run_search(searcher, interrupted, engine, n_candidates=100)

    def test_other_errors_are_passed_on(self, engine):
        def broken(weights):
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            run_search(ListSearcher([0.1, 0.2]), broken, engine, n_candidates=100)


class TestBest:
    def test_the_first_of_equal_scores_wins(self, engine):
        searcher = ListSearcher([0.1, 0.5, 0.5], [0.5])
        result = run_search(searcher, weight_as_score, engine, n_candidates=4)
        assert result.best == 1

    def test_the_lowest_objective_wins_if_asked_for(self, engine):
        searcher = ListSearcher([0.4, 0.9, 0.3], [0.3, 0.8])

        def equal_but_the_second(weights):
            return (0.2 if weights[0] == 0.9 else 0.5), weights[0]

        result = run_search(
            searcher,
            equal_but_the_second,
            engine,
            n_candidates=5,
            tie_break="objective",
        )
        assert result.best == 2

    def test_another_way_to_break_ties_is_refused(self):
        with pytest.raises(ValueError, match="tie_break='last': must be 'first' or"):
            run_search(
                ListSearcher(),
                weight_as_score,
                SerialEngine(),
                n_candidates=1,
                tie_break="last",
            )

    @pytest.mark.parametrize("objective", [math.nan, math.inf, -math.inf])
    def test_a_trial_whose_objective_is_not_finite_fails(self, engine, objective):
        searcher = ListSearcher([0.1, 0.9, 0.2])
        result = run_search(
            searcher,
            lambda weights: (weights[0], objective if weights[0] == 0.9 else 1.0),
            engine,
            n_candidates=3,
        )
        assert [math.isnan(trial.score) for trial in result.trials] == [0, 1, 0]
        assert result.best == 2

    def test_a_failed_first_trial_is_not_the_best(self, engine):
        searcher = ListSearcher([0.9, 0.1])
        result = run_search(
            searcher,
            lambda weights: (weights[0], math.nan if weights[0] == 0.9 else 1.0),
            engine,
            n_candidates=2,
        )
        assert result.best == 1

    def test_a_search_without_a_finite_objective_is_an_error(self, engine):
        searcher = ListSearcher([0.1, 0.2], [0.3])
        with pytest.raises(ValueError, match="All 3 candidates .* not finite"):
            run_search(searcher, lambda _: (1.0, math.nan), engine, n_candidates=3)


class TestCallback:
    def test_it_sees_every_trial_in_order_with_the_best_so_far(self, engine):
        seen = []
        run_search(
            ListSearcher([0.2, 0.1], [0.3, 0.0]),
            lambda weights: (weights[0], math.nan if weights[0] == 0.2 else 1.0),
            engine,
            n_candidates=4,
            on_trial=lambda *arguments: seen.append(arguments),
        )
        assert [index for index, _, _ in seen] == [0, 1, 2, 3]
        assert [best for _, _, best in seen] == [-1, 1, 2, 2]
        assert all(isinstance(trial, Trial) for _, trial, _ in seen)

    def test_it_is_called_in_the_calling_thread(self, engine):
        threads = set()
        run_search(
            ListSearcher(np.linspace(0, 0.9, 10)),
            weight_as_score,
            engine,
            n_candidates=10,
            on_trial=lambda *_: threads.add(_thread.get_ident()),
        )
        assert threads == {_thread.get_ident()}


class TestTrials:
    def test_seconds_are_those_of_the_evaluation(self, engine):
        def slow_if_large(weights):
            time.sleep(0.05 if weights[0] > 0.5 else 0)
            return weight_as_score(weights)

        result = run_search(
            ListSearcher([0.9, 0.1]), slow_if_large, engine, n_candidates=2
        )
        slow, fast = (trial.seconds for trial in result.trials)
        assert slow >= 0.05 > fast

    def test_numbers_are_plain_floats(self, engine):
        result = run_search(
            ListSearcher([0.9]),
            lambda weights: (np.float32(0.5), np.float64(2.0)),
            engine,
            n_candidates=1,
        )
        assert type(result.trials[0].score) is float
        assert type(result.trials[0].objective) is float

    @pytest.mark.parametrize("n_labels", [1, 3, None])
    def test_the_best_keep_their_labels(self, engine, n_labels):
        values = np.random.default_rng(0).permutation(40) / 40

        def with_labels(weights):
            return weights[0], 1.0, np.zeros(3, int)

        result = run_search(
            ListSearcher(*[[value] for value in values]),
            with_labels,
            engine,
            n_candidates=40,
            n_labels=n_labels,
        )
        having = [t.score for t in result.trials if t.labels is not None]
        least = 40 if n_labels is None else n_labels
        most = 40 if n_labels is None else 2 * n_labels
        assert least <= len(having) <= most
        assert set(np.sort(values)[-least:]) <= set(having)


class TestWholeSearches:
    def planted(self, weights):
        return round(float(np.sqrt(weights[1] * weights[2])), 2), float(weights.sum())

    @pytest.mark.parametrize(
        "search", [RandomSearch(), ForestSearch(n_trees=5, n_draws=50)], ids=str
    )
    @pytest.mark.parametrize("domain", [SparseVectors(6), Cube(4)], ids=str)
    def test_every_engine_makes_the_same_search(self, search, domain):
        results = []
        for engine in ENGINES:
            searcher = search.start(domain, 60, np.random.default_rng(0))
            results.append(run_search(searcher, self.planted, engine, n_candidates=60))
        serial, threads = results
        assert serial.best == threads.best
        for one, other in zip(serial.trials, threads.trials, strict=True):
            assert np.array_equal(one.weights, other.weights)
            assert (one.score, one.objective) == (other.score, other.objective)

    def test_more_random_candidates_never_lower_the_best_score(self):
        bests = []
        for n_candidates in (12, 13, 50, 90, 200, 400):
            rng = np.random.default_rng(0)
            searcher = RandomSearch().start(SparseVectors(6), n_candidates, rng)
            result = run_search(
                searcher, self.planted, SerialEngine(), n_candidates=n_candidates
            )
            bests.append(result.trials[result.best].score)
        assert bests == sorted(bests)
        assert bests[0] < bests[-1]

    def test_a_planted_one_hot_ends_the_search_after_the_opening(self, engine):
        searcher = ForestSearch().start(
            SparseVectors(30), 1000, np.random.default_rng(0)
        )
        result = run_search(
            searcher,
            lambda weights: (float(weights[17]), 1.0),
            engine,
            n_candidates=1000,
        )
        assert (len(result.trials), result.best) == (30, 17)
        assert result.stopped_by == "score"
