"""Folds of pairs, for held-out constraints."""

from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.constraints._pairs import Constraints

Fold = tuple[Constraints, Constraints]


def constraint_folds(
    constraints: Constraints, n_folds: int = 5, random_state: Any = None
) -> list[Fold]:
    """Split pairs into training and held-out pairs.

    No held-out pair follows from the training pairs, nor do the closures of both
    share a pair. The must-links of a component are held out together, and so are
    the cannot-links between the same two components; each given pair is held out
    once. Must-links and cannot-links are both spread evenly.

    With fewer components than folds (labels of a few classes, say) whole components
    are too large to hold out. Then points are split instead: a fold holds out what
    the closure says about its own points, and trains on what it says about all
    others; pairs between the two are left aside.

    Parameters
    ----------
    constraints : Constraints
        Pairs of positions.
    n_folds : int, default=5
        Number of folds, at least 2.
    random_state : int, numpy Generator or None, default=None
        Seed of the split.

    Returns
    -------
    list of (Constraints, Constraints)
        ``(train, held_out)`` for each fold; ``held_out`` is never empty.

    Examples
    --------
    >>> from linkwise.constraints import Constraints, constraint_folds
    >>> pairs = Constraints([(0, 1), (2, 3), (4, 5)], [(0, 2), (2, 4), (1, 4)])
    >>> for train, held_out in constraint_folds(pairs, n_folds=3, random_state=0):
    ...     print(train, held_out)
    Constraints(n_must_link=2, n_cannot_link=2) Constraints(n_must_link=1, ...)
    Constraints(n_must_link=2, n_cannot_link=2) Constraints(n_must_link=1, ...)
    Constraints(n_must_link=2, n_cannot_link=2) Constraints(n_must_link=1, ...)
    """
    if n_folds < 2:
        raise ValueError(f"n_folds = {n_folds}: at least 2 are needed.")
    rng = np.random.default_rng(random_state)
    n_points = constraints._positions("constraint_folds").n_points
    component = constraints.components(n_points)
    must_item, cannot_item = _items(constraints, component)
    n_items = len(np.unique(np.concatenate([must_item, cannot_item])))
    n_components = len(np.unique(component[constraints.points]))
    if min(n_items, n_components) >= n_folds:
        return _folds_of_items(constraints, must_item, cannot_item, n_folds, rng)
    folds = _folds_of_points(constraints, component, n_folds, rng)
    if any(held_out.is_empty for _, held_out in folds):
        raise ValueError(
            f"n_folds = {n_folds}: the pairs fall into {n_items} independent part(s) "
            f"and are too few to hold out some in every fold. Use fewer folds, or "
            f"give more pairs."
        )
    return folds


def _items(constraints: Constraints, component: IntArray) -> tuple[IntArray, IntArray]:
    """Return the item of each must-link and of each cannot-link.

    An item is what must stay together: a component, or two joined components.
    """
    n_components = int(component.max(initial=-1)) + 1
    inside = component[constraints.must_link[:, 0]]
    ends = np.sort(component[constraints.cannot_link], axis=1)
    between = n_components + ends[:, 0] * n_components + ends[:, 1]
    # A contradictory cannot-link stays with the component it lies in.
    return inside, np.where(ends[:, 0] == ends[:, 1], ends[:, 0], between)


def _folds_of_items(
    constraints: Constraints,
    must_item: IntArray,
    cannot_item: IntArray,
    n_folds: int,
    rng: np.random.Generator,
) -> list[Fold]:
    items, inverse = np.unique(
        np.concatenate([must_item, cannot_item]), return_inverse=True
    )
    is_must = np.arange(len(inverse)) < len(must_item)
    n_must = np.bincount(inverse[is_must], minlength=len(items))
    n_cannot = np.bincount(inverse[~is_must], minlength=len(items))
    fold = np.empty(len(items), dtype=np.intp)
    load = np.zeros((n_folds, 2), dtype=np.intp)
    shuffled = rng.permutation(len(items))
    largest_first = np.argsort(-(n_must + n_cannot)[shuffled], kind="stable")
    for item in shuffled[largest_first].tolist():
        kind = 0 if n_must[item] else 1
        # Fewest pairs of the same kind, then fewest in all, then the first fold.
        chosen = np.lexsort((load.sum(axis=1), load[:, kind]))[0]
        fold[item] = chosen
        load[chosen] += n_must[item], n_cannot[item]
    of_pair = fold[inverse]
    must_fold, cannot_fold = of_pair[is_must], of_pair[~is_must]
    return [
        (
            constraints.subset(must_fold != held, cannot_fold != held),
            constraints.subset(must_fold == held, cannot_fold == held),
        )
        for held in range(n_folds)
    ]


def _folds_of_points(
    constraints: Constraints,
    component: IntArray,
    n_folds: int,
    rng: np.random.Generator,
) -> list[Fold]:
    points = rng.permutation(constraints.points)
    # Dealt in turn, component by component: each fold gets its part of each.
    points = points[np.argsort(component[points], kind="stable")]
    fold = np.full(len(component), -1, dtype=np.intp)
    fold[points] = np.arange(len(points)) % n_folds
    return [
        (
            constraints._entailed_on(np.flatnonzero((fold >= 0) & (fold != held))),
            constraints._entailed_on(np.flatnonzero(fold == held)),
        )
        for held in range(n_folds)
    ]
