import json

import pytest

from linkwise.experiments import (
    MethodEntry,
    Plan,
    PlanError,
    load_plan,
    parse_duration,
    ready_plans,
)

METHODS = {"k-means": MethodEntry("k-means")}


def test_ready_plans_are_those_of_the_paper_and_our_own():
    assert ready_plans() == [
        "active",
        "evolution",
        "few",
        "fixed",
        "mahalanobis",
        "noise",
        "nystrom",
        "rich",
        "single-kernel",
        "smoke",
        "views",
    ]


@pytest.mark.parametrize("name", ["evolution", "fixed", "mahalanobis", "nystrom"])
def test_ready_plans_have_a_job_for_each_set_method_trial_and_number(name):
    plan = load_plan(name, trials=1)
    jobs = plan.jobs()
    assert len({job.key for job in jobs}) == len(jobs)
    assert {job.dataset for job in jobs} == set(plan.datasets)
    if name != "evolution":
        assert len(jobs) == len(plan.datasets) * len(plan.methods)


def test_a_set_takes_part_only_where_it_has_enough_pairs():
    plan = Plan("p", ["sklearn:iris"], METHODS, constraints=["paper", 50, 630, 631])
    assert plan.pair_numbers(36) == [50, 63, 630]


def test_small_sets_come_first_then_trial_by_trial():
    plan = Plan("p", ["adult", "iris"], METHODS, trials=2)
    assert [(job.dataset, job.trial) for job in plan.jobs()] == [
        ("iris", 0),
        ("iris", 1),
        ("adult", 0),
        ("adult", 1),
    ]


def test_candidates_go_to_the_methods_that_search():
    plan = load_plan("fixed", trials=1, candidates=7, datasets=["iris"])
    parameters = {job.method: json.loads(job.parameters) for job in plan.jobs()}
    assert parameters["KernelCSC"] == {
        "final_step": None,  # "none" in the file
        "kernels": "paper",
        "n_candidates": 7,
        "selection": "train",
    }
    assert parameters["MahalanobisCSC"] == {"n_candidates": 7}
    assert parameters["COP"] == {}


def test_variants_of_a_method_share_their_seeds_and_others_do_not():
    methods = {
        "a": MethodEntry("KernelCSC"),
        "b": MethodEntry("KernelCSC", {"max_kernels": 2}),
        "c": MethodEntry("COP"),
    }
    jobs = Plan("p", ["iris"], methods, trials=2, constraints=[50, 60]).jobs()
    seeds = {(job.method, job.trial): job.seed for job in jobs}
    assert seeds["a", 0] == seeds["b", 0]
    assert len({seeds["a", 0], seeds["a", 1], seeds["c", 0]}) == 3
    assert len({job.seed for job in jobs if (job.method, job.trial) == ("a", 0)}) == 1


def test_a_users_plan_names_methods_data_and_limits(write_plan):
    plan = load_plan(
        write_plan(
            "mine",
            """
            datasets = ["my_methods:two_blobs", "sklearn:iris"]
            trials = 2
            constraints = [10, "paper"]
            time_limit = "1m30s"
            memory_limit = "2GiB"
            [methods]
            COP = {}
            Mine = { method = "my_methods:Halves", column = 1 }
            [rankings]
            both = ["Mine", "COP"]
            """,
        )
    )
    assert plan.name == "mine" and plan.time_limit == 90
    assert plan.memory_limit == 2 * 2**30
    assert plan.methods["Mine"] == MethodEntry("my_methods:Halves", {"column": 1})
    assert {job.n_constraints for job in plan.jobs()} == {10, 19, 63}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("datasets = [", "no valid TOML"),
        ("datasets = ['iris']", "has no methods"),
        ("[methods]\nCOP = {}", "has no datasets"),
        ("datasets = ['iris']\ntrails = 3\n[methods]\nCOP = {}", "entry 'trails'"),
        ("datasets = ['iris']\n[methods]\nNone = {}", "no method 'None'"),
        ("datasets = ['iris']\ntrials = 0\n[methods]\nCOP = {}", "trials = 0"),
        ("datasets = ['iris']\nconstraints = [-5]\n[methods]\nCOP = {}", "holds -5"),
        (
            "datasets = ['iris']\ntime_limit = 'soon'\n[methods]\nCOP = {}",
            "'soon' is not a time",
        ),
        (
            "datasets = ['iris']\n[methods]\nCOP = {}\n[rankings]\na = ['MPCK']",
            "names 'MPCK'",
        ),
    ],
)
def test_a_wrong_plan_is_told_what_is_wrong(write_plan, text, message):
    with pytest.raises(PlanError, match=message):
        load_plan(write_plan("wrong", text))


def test_an_unknown_plan_is_told_which_there_are():
    with pytest.raises(PlanError, match="no plan 'fix'.*fixed"):
        load_plan("fix")


def test_rankings_follow_the_choice_of_methods():
    plan = load_plan("fixed", methods=["COP", "KernelCSC", "MPCK"])
    assert list(plan.methods) == ["COP", "KernelCSC", "MPCK"]
    both = ["MPCK", "COP"]
    assert plan.rankings == {
        "paper": ["KernelCSC", *both],
        "rich": both,
        "related": both,
    }
    with pytest.raises(PlanError, match="no method 'Mine'"):
        load_plan("fixed", methods=["Mine"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("2h", 7200), ("1h 30m", 5400), ("0.5m", 30), (3, 3)],
)
def test_times_are_read_as_people_write_them(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2d", "0s", "-3"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="is not a time"):
        parse_duration(text)
