"""What follows from pairs: components, contradictions, closures, scores, numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints._canonical import Pairs
from linkwise.constraints._closure import (
    Closure,
    EntailedWeight,
    as_labels,
    build_closure,
)
from linkwise.constraints._conflicts import (
    Conflict,
    WeightedPairs,
    conflicting,
    consistent,
    explain,
    raise_inconsistent,
)
from linkwise.constraints._feasibility import (
    Feasibility,
    FeasibleRange,
    feasibility,
    feasible_range,
)
from linkwise.constraints._graphs import must_link_components


class PairConsequences:
    """The part of ``Constraints`` that says what follows from the pairs."""

    must_link: Pairs
    cannot_link: Pairs
    must_link_weight: FloatArray
    cannot_link_weight: FloatArray

    if TYPE_CHECKING:

        @property
        def is_named(self) -> bool: ...

        def subset(
            self, must_link_mask: npt.ArrayLike, cannot_link_mask: npt.ArrayLike
        ) -> Self: ...

    def check_range(self, n_samples: int) -> None:
        """Raise ``ValueError`` if a pair points outside the data.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(0, 9)]).check_range(10)
        """
        self._positions("check_range")
        for name in ("must_link", "cannot_link"):
            pairs = getattr(self, name)
            outside = np.flatnonzero((pairs >= n_samples).any(axis=1))
            if len(outside):
                row = int(outside[0])
                raise ValueError(
                    f"{name}[{row}] = {tuple(pairs[row].tolist())} points outside the "
                    f"data: indices must be in [0, {n_samples})."
                )

    def components(self, n_samples: int) -> IntArray:
        """Return the must-link component of each sample.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        ndarray of shape (n_samples,)
            Components are numbered by size, largest first, then by smallest member.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(2, 3), (3, 4), (0, 1)]).components(6)
        array([1, 1, 0, 0, 0, 2])
        """
        self.check_range(n_samples)
        return must_link_components(self.must_link, n_samples)

    @property
    def n_conflicts(self) -> int:
        """Number of cannot-links that contradict must-links."""
        return int(conflicting(self._positions("n_conflicts")).sum())

    def conflicts(self, limit: int | None = None) -> list[Conflict]:
        """Return every cannot-link that contradicts must-links, with a path.

        Parameters
        ----------
        limit : int, optional
            Number of contradictions to explain at the most: of many, finding a path for
            each takes long.

        Returns
        -------
        list of Conflict
            In the order of ``cannot_link``; empty if the pairs are consistent.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> print(*Constraints([(0, 1), (1, 2)], [(0, 2)]).conflicts())
        cannot-link (0, 2) contradicts must-links 0-1-2
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit={limit!r}: must be None or at least 0.")
        given = self._positions("conflicts")
        return explain(given, np.flatnonzero(conflicting(given))[:limit])

    def drop_conflicts(self) -> Self:
        """Return consistent pairs: of each contradiction the lighter pair goes.

        A cannot-link stands against the weakest must-link of the strongest path
        between its ends; if they weigh the same the cannot-link goes. Contradictions
        are settled by falling weight, so a pair is dropped only for the sake of
        pairs that stay.

        Returns
        -------
        Constraints
            The pairs kept; the object itself if nothing contradicts.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> pairs = Constraints([(0, 1), (1, 2)], [(0, 2)], [3, 1], [2])
        >>> pairs.drop_conflicts().must_link.tolist()
        [[0, 1]]
        """
        given = self._positions("drop_conflicts")
        if not conflicting(given).any():
            return self
        return self.subset(*consistent(given))

    def closure(
        self,
        n_samples: int,
        on_conflict: Literal["raise", "drop"] = "raise",
        weight: EntailedWeight = "bottleneck",
    ) -> Closure:
        """Return everything that follows from the pairs.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.
        on_conflict : {"raise", "drop"}, default="raise"
            Whether contradictions raise ``InconsistentConstraintsError`` or are
            settled by :meth:`drop_conflicts`.
        weight : {"bottleneck", "product"}, default="bottleneck"
            Weight of an entailed pair: the smallest on the best path, or, for
            weights in (0, 1], the largest product along a path.

        Returns
        -------
        Closure
            Computed once per set of arguments and kept.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(0, 1), (1, 2)], [(2, 3)]).closure(4).n_cannot_link
        3
        """
        key = (int(n_samples), on_conflict, weight)
        cache: dict[tuple[int, str, str], Closure] = self.__dict__["_closures"]
        if key not in cache:
            _check_choice("on_conflict", on_conflict, ("raise", "drop"))
            _check_choice("weight", weight, ("bottleneck", "product"))
            self.check_range(n_samples)
            if on_conflict == "raise":
                self.check_consistent()
                source = self
            else:
                source = self.drop_conflicts()
            given = source._positions("closure")
            cache[key] = build_closure(given, int(n_samples), weight)
        return cache[key]

    def score(self, labels: npt.ArrayLike, *, closed: bool = True) -> float:
        """Return the share of the weight that a partition satisfies.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each row, 0 or larger.
        closed : bool, default=True
            Whether to count all entailed pairs or only those given.

        Returns
        -------
        float
            In [0, 1]; NaN without pairs.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> pairs = Constraints([(0, 1), (1, 2)], [(2, 3)])
        >>> pairs.score([0, 0, 1, 1]), pairs.score([0, 0, 1, 1], closed=False)
        (0.5, 0.3333333333333333)
        """
        if closed:
            return self.closure(len(np.asarray(labels))).score(labels)
        must, cannot = self.satisfied(labels)
        weight = np.concatenate([self.must_link_weight, self.cannot_link_weight])
        kept = np.concatenate([must, cannot])
        return float((weight * kept).sum() / weight.sum()) if len(weight) else np.nan

    def satisfied(self, labels: npt.ArrayLike) -> tuple[BoolArray, BoolArray]:
        """Return which of the given pairs a partition satisfies.

        Parameters
        ----------
        labels : array-like of int, shape (n_samples,)
            Cluster of each row, 0 or larger.

        Returns
        -------
        must_link, cannot_link : ndarray of bool, (n_must_link,), (n_cannot_link,)
            One value per row of ``must_link`` and of ``cannot_link``.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(0, 1), (1, 2)], [(2, 3)]).satisfied([0, 0, 1, 1])
        (array([ True, False]), array([False]))
        """
        checked = as_labels(labels, len(np.asarray(labels)))
        self.check_range(len(checked))
        must, cannot = checked[self.must_link], checked[self.cannot_link]
        return must[:, 0] == must[:, 1], cannot[:, 0] != cannot[:, 1]

    def feasibility(
        self, n_clusters: int, n_samples: int, budget: int = 100_000
    ) -> Feasibility:
        """Return whether some partition into k clusters satisfies every pair.

        This is colouring of the cannot-link graph of the components, hard in
        general: DSATUR with backtracking stops after ``budget`` steps.

        Parameters
        ----------
        n_clusters : int
            Number of clusters, none of them empty.
        n_samples : int
            Number of rows of the data.
        budget : int, default=100_000
            Nodes of the search after which the answer is "unknown".

        Returns
        -------
        Feasibility
            Status, a partition if one was found, and the reason.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> clique = Constraints(cannot_link=[(0, 1), (0, 2), (1, 2)])
        >>> clique.feasibility(n_clusters=2, n_samples=3).status
        'infeasible'
        >>> clique.feasibility(n_clusters=3, n_samples=3).colouring
        array([0, 1, 2])
        """
        if n_clusters < 1:
            raise ValueError(f"n_clusters = {n_clusters}: it must be at least 1.")
        self.check_range(n_samples)
        given = self._positions("feasibility")
        contradictory = np.flatnonzero(conflicting(given))
        if len(contradictory):
            conflict = explain(given, contradictory[:1])[0]
            return Feasibility("infeasible", None, f"{conflict}.")
        return feasibility(self.closure(n_samples), n_clusters, budget)

    def feasible_range(self, n_samples: int, budget: int = 100_000) -> FeasibleRange:
        """Return for how many clusters every pair can be satisfied.

        Parameters
        ----------
        n_samples : int
            Number of rows of the data.
        budget : int, default=100_000
            Nodes of the search for each number of clusters tried.

        Returns
        -------
        FeasibleRange
            Smallest and largest number, and whether the smallest is proven to be.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(3, 4)], [(0, 1), (0, 2), (1, 2)]).feasible_range(5)
        FeasibleRange(smallest=3, largest=4, is_tight=True)
        """
        if n_samples < 1:
            raise ValueError(f"n_samples = {n_samples}: it must be at least 1.")
        return feasible_range(self.closure(n_samples), budget)

    def _positions(self, method: str) -> WeightedPairs:
        """Return the arrays, or raise if they hold names."""
        if self.is_named:
            raise ValueError(
                f"{method} needs positions, but these pairs hold names: call "
                f".locate(ids) first, with the id of each row of the data."
            )
        return WeightedPairs(
            self.must_link,
            self.cannot_link,
            self.must_link_weight,
            self.cannot_link_weight,
        )

    def check_consistent(self, names: Sequence[Any] | None = None) -> None:
        """Raise ``InconsistentConstraintsError`` if pairs contradict each other.

        Parameters
        ----------
        names : sequence of shape (n_samples,), optional
            Ids by which the error calls points, if not by positions.

        Examples
        --------
        >>> from linkwise.constraints import Constraints
        >>> Constraints([(0, 1)], [(1, 2)]).check_consistent()
        """
        given = self._positions("check_consistent")
        is_conflict = conflicting(given)
        if is_conflict.any():
            raise_inconsistent(given, is_conflict, names)


def _check_choice(name: str, value: str, allowed: tuple[str, str]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}.")
