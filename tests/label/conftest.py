import numpy as np
import pytest
from tests.label.pages import Page, X, frame_of

from linkwise import KernelCSC
from linkwise.active import Session
from linkwise.label._desk import Desk
from linkwise.label._rows import Rows


@pytest.fixture
def make_desk(tmp_path):
    """Make a desk, or another one on the same log as before."""
    made = []

    def make(n_clusters=3, frame=None, rows=None, **options):
        for desk in made:
            desk.close()
        model = KernelCSC(n_clusters, n_candidates=20, random_state=0)
        rows = np.arange(len(X)) if rows is None else np.array(rows)
        ids, own = np.array([f"r{i}" for i in rows], dtype=object), X[rows]
        session = Session(own, model, ids=ids, log=tmp_path / "data.linkwise.jsonl")
        shown = frame_of(own) if frame is None else frame
        made.append(Desk(session, Rows(shown, session.ids, **options)))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def page(make_desk):
    return Page(make_desk())
