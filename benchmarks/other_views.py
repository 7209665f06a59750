"""Views that did not earn their place in the rich bank: ranks, one-hot columns, NPK.

A method for ``linkwise bench run benchmarks/other_views.toml --store views.sqlite``, on
the store of the plan ``views``; ``benchmarks/rich_report.py --views`` then shows it
beside the others. Seeds go by the name of a method, so that this one draws other
candidates than KernelCSC there: its own lines without a view, "other draw", are what
its lines are to be compared with, and show what the draw alone does.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, normalize

from linkwise import Constraints, KernelCSC
from linkwise.baselines import NPK
from linkwise.kernels import Standardized
from linkwise.kernels._families import base_scales, learnt_kernels
from linkwise.kernels._learnt_views import neighbors
from linkwise.kernels._views import Points

MAX_VALUES = 10  # distinct values of a column that is taken for a category


@dataclass(frozen=True)
class Ranks:
    """Columns by the ranks of their values, between 0 and 1."""

    _scaler: Any = field(default=None, repr=False, compare=False)

    def fit(self, X: np.ndarray, sample_weight: Any = None, known: Any = None) -> Any:
        """Return this view, fitted to X."""
        scaler = QuantileTransformer(n_quantiles=min(1000, len(X)), subsample=None)
        return replace(self, _scaler=scaler.fit(X))

    def transform(self, X: np.ndarray) -> Points:
        """Return the points of X in this view."""
        return Points(self._scaler.transform(X))


@dataclass(frozen=True)
class OneHot:
    """A column for each value of those with three to ten; the others standardised."""

    _parts: Any = field(default=None, repr=False, compare=False)

    def fit(self, X: np.ndarray, sample_weight: Any = None, known: Any = None) -> Any:
        """Return this view, fitted to X."""
        few = is_category(X)
        encoder = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
        scaling = Standardized().fit(X[:, ~few], sample_weight)
        return replace(self, _parts=(few, encoder.fit(X[:, few]), scaling))

    def transform(self, X: np.ndarray) -> Points:
        """Return the points of X in this view."""
        few, encoder, scaling = self._parts
        numbers = scaling.transform(X[:, ~few]).plain()
        return Points(np.hstack([encoder.transform(X[:, few]), numbers]))


@dataclass(frozen=True)
class LearntRows:
    """Rows in the embedding of NPK, which all pairs have a part in.

    Rows that stand in pairs are where these have put them, or with ``as_new`` where
    their neighbours are, as new rows would be.
    """

    as_new: bool
    _scaling: Any = field(default=None, repr=False, compare=False)
    _model: Any = field(default=None, repr=False, compare=False)
    _in_pairs: Any = field(default=None, repr=False, compare=False)  # of nodes

    def learnt(self, X: np.ndarray, constraints: Constraints, n_clusters: int) -> Any:
        """Return this view, fitted to rows and their pairs."""
        scaling = Standardized().fit(X)
        rows = scaling.transform(X).values
        model = NPK(n_clusters, n_init=0, random_state=0)
        model.fit(rows, constraints=constraints)
        ends = np.concatenate([constraints.must_link, constraints.cannot_link])
        in_pairs = np.zeros(len(model._shares), dtype=bool)
        in_pairs[neighbors(model._index, rows[np.unique(ends)], 1).ravel()] = True
        return replace(self, _scaling=scaling, _model=model, _in_pairs=in_pairs)

    def fit(self, X: np.ndarray, sample_weight: Any = None, known: Any = None) -> Any:
        """Return this view as it is: it was fitted before."""
        return self

    def fit_transform(
        self, X: np.ndarray, sample_weight: Any = None, known: Any = None
    ) -> tuple[Any, Points]:
        """Return this view, and the points of training rows."""
        rows = self._scaling.transform(X).values
        node = neighbors(self._model._index, rows, 1).ravel()
        # Divided by the roots of degrees, places keep their directions.
        points = normalize(self._model._shares)[node]
        if self.as_new:
            moved = self._in_pairs[node]
            points[moved] = self._placed(rows[moved])
        return self, Points(points)

    def transform(self, X: np.ndarray) -> Points:
        """Return the points of new rows."""
        return Points(self._placed(self._scaling.transform(X).values))

    def _placed(self, rows: np.ndarray) -> np.ndarray:
        near = neighbors(self._model._index, rows)
        return normalize(self._model._shares[near].sum(axis=1))


VIEWS = {
    "ranks": Ranks(),
    "one-hot": OneHot(),
    "NPK": LearntRows(as_new=False),
    "NPK as new": LearntRows(as_new=True),
}


def is_category(X: np.ndarray) -> np.ndarray:
    """Return which columns are taken for categories."""
    return np.array([2 < len(np.unique(column)) <= MAX_VALUES for column in X.T])


def with_view(
    X: np.ndarray,
    constraints: Constraints,
    *,
    n_clusters: int,
    random_state: int,
    bank: str,
    view: str,
    n_candidates: int,
) -> np.ndarray:
    """Cluster with one more view than a bank has, if the data have any use for it."""
    kernels: list[Any] = [bank]
    if view != "none" and (view != "one-hot" or is_category(X).any()):
        chosen: Any = VIEWS[view]
        if isinstance(chosen, LearntRows):
            chosen = chosen.learnt(X, constraints, n_clusters)
        points = chosen.fit(X).transform(X)
        found = learnt_kernels(base_scales(points, np.random.default_rng(0)))
        kernels += [(chosen, kernel) for kernel in found]
    model = KernelCSC(
        n_clusters,
        kernels=kernels,
        selection="committee",
        n_candidates=n_candidates,
        random_state=random_state,
    )
    return model.fit_predict(X, constraints=constraints)
