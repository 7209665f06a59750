"""Pairs that know how many rows they are for."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV

from linkwise import Constraints, KernelCSC

Y = [0, 0, 1, 1, -1]


@pytest.mark.parametrize(
    "pairs",
    [
        Constraints.from_labels(Y),
        Constraints.sample([0, 0, 1, 1, 1], 4, random_state=0),
        Constraints.from_matrix(csr_array(np.eye(5, k=1))),
        Constraints.from_matrix(np.eye(5, k=1).tolist()),
        Constraints.from_table([("a", "b", 1)], ids=list("abcde")),
        Constraints([("a", "b")]).locate(iter("abcde")),
        Constraints([(7, 8)]).restrict([8, 7, 0, 1, 2]),
        Constraints([(0, 1)], n_samples=5),
        Constraints.from_labels(Y).drop_conflicts(),
        Constraints.from_labels(Y).subset([True, False], [True]),
        Constraints.from_labels(Y) | Constraints([(0, 4)]),
        Constraints([(0, 4)]) | Constraints.from_labels(Y),
        pickle.loads(pickle.dumps(Constraints.from_labels(Y))),
    ],
)
def test_the_number_of_rows_is_kept(pairs):
    assert pairs.n_samples == 5
    with pytest.raises(ValueError, match="are for 5 rows, but the data have 6"):
        KernelCSC(2).fit(np.eye(6), constraints=pairs)


def test_pairs_alone_do_not_know_it():
    pairs = Constraints([(0, 1)], [(1, 2)])
    assert pairs.n_samples is None
    assert pairs == Constraints([(0, 1)], [(1, 2)], n_samples=3)
    assert hash(pairs) == hash(Constraints([(0, 1)], [(1, 2)], n_samples=3))


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"\(0, 4\) points outside the data"):
        Constraints([(0, 4)], n_samples=4)
    with pytest.raises(ValueError, match="Pairs for 5 rows and pairs for 3 rows"):
        Constraints.from_labels(Y).merge(Constraints([(0, 1)], n_samples=3))


def test_a_fold_without_ids_is_refused():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 2)) + 5.0 * y[:, None]
    pairs = Constraints.sample(y, 20, random_state=0)
    model = KernelCSC(kernels="paper", n_candidates=5, random_state=0)
    grid = GridSearchCV(model, {"n_clusters": [2]}, scoring=lambda *_: 0.0, cv=3)
    grid.set_params(error_score="raise")
    with pytest.raises(ValueError, match="are for 30 rows, but the data have 20"):
        grid.fit(X, constraints=pairs)
