import json

import numpy as np
import pandas as pd
import pytest

from linkwise.experiments import Job, draw_trial, load_dataset, load_plan, run_job
from linkwise.experiments._questions import ASKING, ask_about, fits_before

IRIS = load_dataset("sklearn:iris")
FEW = {"n_candidates": 15}


def asking(method="session", **parameters):
    trial = draw_trial(IRIS.y, "iris", 0, share=2)
    given = {**FEW, **parameters} if method == "session" else parameters
    return ask_about(IRIS.X, IRIS.y, trial.train, given, ASKING[method])


def job(function, n_answers, **parameters):
    given = {**FEW, **parameters} if function == "session" else parameters
    name = f"{function} {parameters}"
    return Job("sklearn:iris", name, function, 0, n_answers, json.dumps(given))


@pytest.mark.parametrize("n_answers", [3, 10, 25, 130, 200, 260])
def test_fits_come_in_order_and_end_with_the_last_answer(n_answers):
    found = fits_before(n_answers)
    assert found == sorted(set(found)) and found[-1] == n_answers


def test_a_number_of_the_plan_is_on_the_way_to_every_larger_one():
    numbers = load_plan("active").constraints
    for number in numbers:
        assert set(n for n in numbers if n < number) <= set(fits_before(number))


@pytest.mark.parametrize(
    "parameters",
    [{}, {"strategy": "random", "checks": False}, {"wrong_answers": 0.2}],
)
def test_a_session_that_goes_on_is_the_same_as_one_that_begins_anew(parameters):
    going_on = asking(**parameters)
    going_on.after(10)
    found, anew = going_on.after(25), asking(**parameters).after(25)
    np.testing.assert_array_equal(found.labels, anew.labels)
    assert found.notes == anew.notes or repr(found.notes) == repr(anew.notes)
    smaller = going_on.after(10)  # which it is beyond
    np.testing.assert_array_equal(smaller.labels, asking(**parameters).after(10).labels)


def test_only_some_rows_are_asked_about_and_no_more_answers_than_allowed():
    trial = draw_trial(IRIS.y, "iris", 0, share=2)
    for method in ("session", "COBRAS", "random pairs"):
        asked = asking(method).after(25)
        assert np.isin(asked.constraints.points, trial.train).all()
        pairs = asked.constraints
        assert 0 < pairs.n_must_link + pairs.n_cannot_link <= 25
        assert asked.labels.shape == IRIS.y.shape


def test_random_pairs_are_drawn_once_and_grow():
    drawn = asking("random pairs", **FEW)
    few, many = (drawn.after(n).constraints for n in (10, 40))
    assert few.n_must_link + few.n_cannot_link == 10
    assert {*map(tuple, few.must_link)} <= {*map(tuple, many.must_link)}
    assert many.score(IRIS.y) == 1.0
    again = asking("random pairs", **FEW).after(40)
    np.testing.assert_array_equal(again.labels, drawn.after(40).labels)


def test_pairs_are_right_unless_answers_are_wrong():
    assert asking().after(25).constraints.score(IRIS.y) == 1.0
    wrong = asking("COBRAS", wrong_answers=0.4).after(40).constraints
    assert wrong.n_must_link > 0
    must = wrong.must_link
    assert (IRIS.y[must[:, 0]] != IRIS.y[must[:, 1]]).any()


def test_an_unknown_number_of_clusters_is_found():
    asked = asking(known_clusters=False).after(50)
    assert asked.notes["n_groups"] == 3 == len(np.unique(asked.labels))


def test_records_have_scores_and_what_the_session_says():
    record = run_job(job("session", 10))
    assert record["status"] == "ok", record["error"]
    assert -0.5 < record["ari_test"] <= 1.0
    notes = json.loads(record["notes"])
    assert notes["n_answers"] <= 10 and notes["n_conflicts"] == 0
    for other in (job("COBRAS", 10), job("session", 10, model="MPCK", strategy="npu")):
        assert run_job(other)["status"] == "ok"


def test_the_plan_has_tables_and_texts():
    plan = load_plan("active", datasets=["sklearn:iris"])
    assert list(plan.methods)[:3] == ["neighbourhoods", "random pairs", "random"]
    assert {j.function for j in plan.jobs()} == set(ASKING)
    assert len(load_plan("active").datasets) > 64


def test_texts_are_embeddings_and_classes_of_a_folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.choice(["a", "b", "c"], 1_200)
    rows = rng.normal(size=(1_200, 4)).astype(np.float32)
    table = pd.DataFrame({"text": "words", "label": labels})
    table.to_csv(tmp_path / "some.csv.gz", index=False)
    np.save(tmp_path / "some.minilm.npy", rows)
    monkeypatch.setenv("LINKWISE_TEXT", str(tmp_path))
    X, y = load_dataset("text:some")
    assert X.shape == (1_000, 4) and set(y) == {0, 1, 2}
    where = {row.tobytes(): at for at, row in enumerate(rows)}
    found = [where[row.astype(np.float32).tobytes()] for row in X]
    assert found == sorted(set(found))
    assert (np.array(["a", "b", "c"])[y] == labels[found]).all()
    with pytest.raises(FileNotFoundError, match="LINKWISE_TEXT"):
        load_dataset("text:other")
