"""What is known of a clustering, in numbers, before it is put into words."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints import Conflict, Constraints
from linkwise.estimators import centre_distances
from linkwise.plots._cluster_display import (
    is_fitted_to,
    labels_of,
    pairs_that_hold,
    some_rows,
)
from linkwise.plots._search_display import chosen_candidate

# Contradictions that are explained.
_N_CONFLICTS = 20
# Share of a committee against a row's cluster from which on the row is in doubt; of a
# row without a committee, its distance from its centre over that from the next one.
_IN_DOUBT = {"committee": 0.2, "border": 0.9}
# Rows whose distances from centres are looked at: enough to find typical ones.
_N_LOOKED_AT = 20_000
# Share of rows that have the labels of the fit, so that its doubts are about them.
_LEAST_AGREEMENT = 0.9


class BrokenPair(NamedTuple):
    """A pair that the clusters do not satisfy."""

    i: int
    j: int
    kind: str  # "must-link" or "cannot-link"
    weight: float


class Search(NamedTuple):
    """How a model was found."""

    scores: FloatArray  # (n_candidates,)
    stopped_by: str
    chosen: int | None
    objective: float  # of the chosen candidate, 1 for random clusters; NaN: not known


@dataclass(frozen=True)
class Findings:
    """Rows, clusters and pairs of one clustering.

    Make one with :func:`findings_of`.
    """

    labels: IntArray  # (n,), -1 for none
    pairs: Constraints  # positions
    distances: FloatArray  # (n, k), squared, from the centres; infinite: not known
    doubt: FloatArray  # (n,), NaN where it is not known
    doubt_from: str  # "committee" or "border"
    is_predicted: bool  # whether the labels are those of a model for other rows
    search: Search | None
    disbelieved: pd.DataFrame  # columns i, j, kind, belief
    converged: bool
    had_pairs: bool  # whether pairs chose the clusters, given here or not
    by_chance: bool  # whether no more pairs hold than by chance

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows of each cluster."""
        return np.bincount(
            self.labels[self.labels >= 0], minlength=self.distances.shape[1]
        )

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.sizes)

    @property
    def n_pairs(self) -> int:
        """Number of pairs given."""
        return self.pairs.n_must_link + self.pairs.n_cannot_link

    @cached_property
    def holds(self) -> tuple[BoolArray, BoolArray]:
        """Which must-links and which cannot-links hold."""
        return pairs_that_hold(self.pairs, self.labels)

    @cached_property
    def broken(self) -> list[BrokenPair]:
        """Pairs that do not hold, the heaviest first."""
        parts = [
            ("must-link", self.pairs.must_link, self.pairs.must_link_weight),
            ("cannot-link", self.pairs.cannot_link, self.pairs.cannot_link_weight),
        ]
        found = [
            BrokenPair(int(i), int(j), kind, float(weight))
            for (kind, ends, weights), holds in zip(parts, self.holds, strict=True)
            for (i, j), weight in zip(ends[~holds], weights[~holds], strict=True)
        ]
        return sorted(found, key=lambda pair: -pair.weight)

    @cached_property
    def n_conflicts(self) -> int:
        """Number of cannot-links that contradict must-links."""
        return self.pairs.n_conflicts

    @cached_property
    def conflicts(self) -> list[Conflict]:
        """The first contradictions."""
        return self.pairs.conflicts(_N_CONFLICTS)

    @cached_property
    def in_doubt(self) -> BoolArray:
        """Which rows are in doubt."""
        with np.errstate(invalid="ignore"):
            is_doubtful = self.doubt >= _IN_DOUBT[self.doubt_from]
        return is_doubtful & (self.labels >= 0)

    @cached_property
    def own_distance(self) -> FloatArray:
        """Squared distance of each row from its own centre, infinite without one."""
        found = np.full(self.n_rows, np.inf)
        inside = np.flatnonzero(self.labels >= 0)
        found[inside] = self.distances[inside, self.labels[inside]]
        return found

    @cached_property
    def next_cluster(self) -> IntArray:
        """Nearest cluster of each row besides its own; -1 if there is no other."""
        others = self.distances.copy()
        inside = np.flatnonzero(self.labels >= 0)
        others[inside, self.labels[inside]] = np.inf
        nearest = others.argmin(axis=1)
        is_there = np.isfinite(others[np.arange(self.n_rows), nearest])
        return np.where(is_there, nearest, -1)

    def typical(self, cluster: int, n: int) -> list[int]:
        """Return rows of a cluster that are nearest to its centre."""
        return self._first(cluster, self.own_distance, n)

    def doubtful(self, cluster: int, n: int) -> list[int]:
        """Return rows of a cluster that are in doubt, the most doubtful first."""
        found = self._first(cluster, -np.nan_to_num(self.doubt, nan=-np.inf), n)
        return [row for row in found if self.in_doubt[row]]

    def _first(self, cluster: int, key: FloatArray, n: int) -> list[int]:
        inside = np.flatnonzero(self.labels == cluster)
        found: list[int] = inside[np.argsort(key[inside], kind="stable")[:n]].tolist()
        return found

    def questions(self, n: int) -> list[tuple[int, int]]:
        """Return pairs of rows that are worth to be judged next.

        Each is a row in doubt, the most doubtful first, with the most typical row of
        its cluster, if the pairs do not say already whether they belong together.
        """
        closure = self.pairs.closure(self.n_rows, on_conflict="drop")
        groups = closure.component
        apart = {frozenset(pair) for pair in closure.cannot_link.tolist()}
        order = np.argsort(-np.nan_to_num(self.doubt, nan=-np.inf), kind="stable")
        found: list[tuple[int, int]] = []
        seen: set[int] = set()
        for row in order.tolist():
            if len(found) == n or not self.in_doubt[row]:
                break
            if self.labels[row] < 0 or groups[row] in seen:
                continue
            seen.add(groups[row])
            for centre in self.typical(int(self.labels[row]), 5):
                ends = frozenset((int(groups[row]), int(groups[centre])))
                if len(ends) == 2 and ends not in apart:
                    found.append((row, centre))
                    break
        return found


def findings_of(
    model: Any, X: Any, constraints: Constraints | None = None, labels: Any = None
) -> Findings:
    """Return what is known of a clustering.

    Parameters
    ----------
    model : estimator, pipeline or None
        Fitted.
    X : array-like, sparse matrix, list of views or of objects, table of a pipeline
        The rows, as the model took them.
    constraints : Constraints, optional
        Pairs of positions.
    labels : array-like of shape (n_samples,), optional
        Clusters, where they are not those of the model.
    """
    own = model[-1] if hasattr(model, "steps") else model
    found = labels_of(model, X) if labels is None else _checked(labels)
    if found.max(initial=-1) < 0:
        raise ValueError("labels holds no cluster: all rows are in none (-1).")
    # Somebody may have moved a few rows since.
    is_of_fit = (
        own is not None
        and is_fitted_to(model, X)
        and bool(np.mean(np.asarray(own.labels_) == found) >= _LEAST_AGREEMENT)
    )
    pairs = Constraints() if constraints is None else constraints
    doubt = getattr(own, "doubt_", None) if is_of_fit else None
    distances = _distances(model, X, found, doubt)
    is_committee = doubt is not None
    return Findings(
        labels=found,
        pairs=pairs,
        distances=distances,
        doubt=np.asarray(doubt) if is_committee else _nearness(distances, found),
        doubt_from="committee" if is_committee else "border",
        is_predicted=labels is None and not is_of_fit,
        search=_search_of(own),
        disbelieved=_disbelieved(own, is_of_fit, pairs, found),
        converged=bool(getattr(own, "converged_", True)),
        had_pairs=bool(np.isfinite(getattr(own, "constraint_score_", np.nan))),
        by_chance=is_of_fit and bool(getattr(own, "by_chance_", False)),
    )


def _distances(model: Any, X: Any, labels: IntArray, doubt: Any) -> FloatArray:
    """Return squared distances of rows from centres, infinite for those not looked at.

    Of very many rows those are looked at that are most in doubt, and a sample.
    """
    n_rows = len(labels)
    rows = np.arange(n_rows)
    if n_rows > _N_LOOKED_AT:
        drawn = np.random.default_rng(0).permutation(n_rows)
        if doubt is not None:
            known = np.nan_to_num(np.asarray(doubt), nan=-1.0)
            most = np.argsort(-known, kind="stable")[: _N_LOOKED_AT // 4]
            drawn = np.concatenate([most, drawn[~np.isin(drawn, most)]])
        rows = np.sort(drawn[:_N_LOOKED_AT])
        X = some_rows(X, rows)
    own = np.asarray(centre_distances(model, X, labels[rows]))
    k = max(int(labels.max()) + 1, own.shape[1])
    distances = np.full((n_rows, k), np.inf)
    distances[rows, : own.shape[1]] = own
    return distances


def _checked(labels: Any) -> IntArray:
    found = np.asarray(labels)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.min(initial=0) < -1:
        raise ValueError(
            f"labels has shape {found.shape}, dtype {found.dtype} and least value "
            f"{found.min() if found.dtype.kind in 'iuf' and found.size else None}: it "
            "must hold a whole number for each row, -1 for rows in no cluster."
        )
    return found


def _nearness(distances: FloatArray, labels: IntArray) -> FloatArray:
    """Return how near rows are to another cluster: 1 at the border, 0 in the centre."""
    rows, places = np.arange(len(labels)), np.maximum(labels, 0)
    own = np.where(labels >= 0, distances[rows, places], np.nan)
    others = distances.copy()
    others[rows, places] = np.inf
    nearest = others.min(axis=1, initial=np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.where(np.isfinite(nearest), own / nearest, 0.0)
    # Equal rows in both centres, or a final step against the distances.
    found = np.clip(np.where(own == nearest, 1.0, ratio), 0.0, 1.0)
    return np.where(np.isinf(own), np.nan, found)


def _search_of(model: Any) -> Search | None:
    history = getattr(model, "history_", None)
    if history is None or len(history) == 0:
        return None
    chosen = chosen_candidate(model)
    objectives = history["objective"].to_numpy()
    objective = float("nan") if chosen is None else float(objectives[chosen])
    return Search(history["score"].to_numpy(), model.stopped_by_, chosen, objective)


def _disbelieved(
    model: Any, is_of_fit: bool, pairs: Constraints, labels: IntArray
) -> pd.DataFrame:
    """Return the pairs that are not believed; if none contradicts, only broken ones.

    A pair that holds, and that no other one contradicts, is worth no second look.
    """
    found = getattr(model, "disbelieved_", None)
    if found is None or not is_of_fit:
        return pd.DataFrame(columns=["i", "j", "kind", "belief"])
    if pairs.is_empty or pairs.n_conflicts:
        return pd.DataFrame(found)
    i, j = (found[end].to_numpy(dtype=np.intp) for end in ("i", "j"))
    is_together = (labels[i] == labels[j]) & (labels[i] >= 0)
    is_broken = is_together != (found["kind"] == "must-link").to_numpy()
    return pd.DataFrame(found[is_broken]).reset_index(drop=True)
