"""Sessions in which features decide, and a table is what people see."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from linkwise import KernelCSC
from linkwise.active import Session

ROWS, CLASSES = make_blobs(40, 60, centers=3, cluster_std=3.0, random_state=0)
ROWS = ROWS.astype(np.float32)
TABLE = pd.DataFrame(
    {"key": [f"t{row}" for row in range(40)], "text": ["a b", "c"] * 20}
)


def model():
    return KernelCSC(3, n_candidates=10, random_state=0)


def asked(session, n=12):
    found = []
    for _ in range(n):
        question = session.ask()
        is_same = CLASSES[question.i] == CLASSES[question.j]
        found.append((question.i, question.j, question.kind))
        session.tell(question, "same" if is_same else "different")
        if len(found) == 6:
            session.fit()
    return found, session.fit().labels_.tolist()


@pytest.mark.parametrize(
    "shown, more",
    [
        (TABLE, {"id_column": "key"}),
        (TABLE, {"ids": TABLE["key"]}),
        (TABLE, {}),
        (TABLE["text"].tolist(), {}),
    ],
)
def test_questions_and_clusters_are_those_on_the_features_alone(shown, more):
    alone = asked(Session(ROWS, model()))
    assert asked(Session(shown, model(), features=ROWS, **more)) == alone


def test_rows_are_found_again_by_what_people_see(tmp_path):
    texts = pd.DataFrame({"text": [f"text {row}" for row in range(40)]})
    log = tmp_path / "log.jsonl"
    with Session(texts, model(), features=ROWS, log=log) as session:
        session.tell((3, 5), "same")
    order = np.random.default_rng(0).permutation(40)
    # Another encoder, another order.
    again = Session(texts.iloc[order], model(), features=2 * ROWS[order], log=log)
    with again as session:
        (found,) = session.answers.values()
        assert {order[found[0]], order[found[1]]} == {3, 5}


@pytest.mark.parametrize(
    "more, words",
    [
        ({"features": ROWS[:7]}, "features has 7 rows, and X has 40"),
        ({"features": ROWS, "id_column": "no"}, "'no' is no column"),
        ({"features": ROWS, "id_column": "text"}, "must name every row, each once"),
        ({"features": ROWS, "id_column": "key", "ids": range(40)}, "not both"),
        ({"features": np.full((40, 2), np.nan)}, "NaN"),
    ],
)
def test_what_does_not_fit_is_said(more, words):
    with pytest.raises(ValueError, match=words):
        Session(TABLE, model(), **more)


def test_views_of_a_table_can_be_asked_about():
    texts = [["a late parcel", "a wrong invoice", "a broken lamp"][c] for c in CLASSES]
    table = pd.DataFrame({"text": [f"{t} {i}" for i, t in enumerate(texts)]})
    table["number"] = CLASSES + np.linspace(0.0, 0.1, 40)
    session = Session(table, model())
    assert [view.shape for view in session.X_] == [(40, 256), (40, 1)]
    spreads = [session.features[:, :256], session.features[:, 256:]]
    assert [own.var(axis=0).sum() for own in spreads] == pytest.approx([1, 1], rel=1e-3)
    _, labels = asked(session)
    assert labels == session.model_.predict(session.X_).tolist()
    again = Session(session.X_, model())
    assert again.columns_ == [str(at) for at in range(257)]
