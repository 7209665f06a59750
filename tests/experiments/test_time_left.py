import pandas as pd
import pytest

from linkwise.experiments import Job
from linkwise.experiments._store import COLUMNS
from linkwise.experiments._time_left import Pace

EMPTY = pd.DataFrame(columns=COLUMNS)


def job(dataset, method="a", time_limit=None):
    return Job(dataset, method, "COP", 0, 10, "{}", time_limit)


def done(method, n_samples, seconds):
    return {"method": method, "n_samples": n_samples, "seconds": seconds}


def test_nothing_is_said_before_anything_is_known():
    assert Pace([job("iris")], EMPTY).seconds_left(1) is None


def test_costs_are_carried_from_small_sets_to_large_ones():
    pace = Pace([job("iris"), job("adult")], EMPTY)  # 150 and 48,842 rows
    for n_samples in (75, 150, 300):
        pace.add(done("b", n_samples, 1e-4 * n_samples**2))
    pace.add(done("a", 150, 2.25))
    # One size of its own tells the height, not the slope: 1.
    assert pace.seconds_left(1) == pytest.approx(2.25 * 48_842 / 150)
    for n_samples in (75, 300):
        pace.add(done("a", n_samples, 1e-4 * n_samples**2))
    assert pace.seconds_left(1) == pytest.approx(1e-4 * 48_842**2)
    assert pace.seconds_left(2) == pytest.approx(1e-4 * 48_842**2 / 2)


def test_rare_long_jobs_count():
    pace = Pace([job("iris")] * 100, EMPTY)
    for _ in range(50):
        pace.add(done("a", 151, 1.0))
        pace.add(done("a", 151, 9.0))
    mean = pace.seconds_left(1) / 100
    assert 3 < mean < 9  # 5 in truth; the exponential of the mean logarithm is 3


def test_a_job_lasts_no_longer_than_its_limit():
    pace = Pace([job("adult", time_limit=60.0)], EMPTY)
    for n_samples in (75, 300):
        pace.add(done("a", n_samples, 1e-4 * n_samples**2))
    assert pace.seconds_left(1) == 60
