"""The width of a Gaussian kernel that fits labels and pairs."""

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import squareform
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.baselines._closure_pairs import ListedPairs
from linkwise.clustering import farthest_first, soft_kmeans
from linkwise.constraints import Closure
from linkwise.kernels import GramSpace, GroupSums

_GRID = 15  # widths tried between the bounds
_SOFT_ROUNDS = 100
_LEAST_SHARE = 1e-3  # of the first width, where most rows have an equal one
_BLOCK = 256


class Terms(NamedTuple):
    """The parts of the objective at a width, or their slopes in its logarithm."""

    scatter: float  # W, within clusters
    broken: float  # of pairs
    total: float  # T, of all rows


class WidthProblem:
    """The objective as a function of the width, labels being fixed.

    With K = exp(-|x - y|^2 / 2 s^2) and D = 2 - 2 K it is W + w * (sum of D over broken
    must-links + sum of Dmax - D over broken cannot-links) - 2 * spread * T. W is the
    scatter within clusters, T the total scatter; or half the sum of D to one row.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances.
    pairs : ListedPairs
        The pairs of the closure.
    n_clusters : int
        Number of clusters.
    penalty_weight : float
        w.
    spread_weight : float
        Weight of the total scatter.
    reference : int or None
        The one row from which the total scatter is taken; None: the mean.
    """

    def __init__(
        self,
        squared: FloatArray,
        pairs: ListedPairs,
        n_clusters: int,
        penalty_weight: float,
        spread_weight: float,
        reference: int | None = None,
    ) -> None:
        self.squared, self.pairs, self.n_clusters = squared, pairs, n_clusters
        self.penalty_weight, self.spread_weight = penalty_weight, spread_weight
        self.reference = reference
        self._farthest = float(squared.max())
        self._lengths = [
            squared[ends[:, 0], ends[:, 1]]
            for ends in (pairs.must_link, pairs.cannot_link)
        ]

    def terms(self, width: float, labels: IntArray) -> tuple[Terms, Terms]:
        """Return the parts of the objective, and their slopes in log(width)."""
        sums, slopes = self._group_sums(width, labels)
        mass = np.bincount(labels, minlength=self.n_clusters)
        n = len(labels)
        scatter = n - float((np.diagonal(sums) / mass).sum())
        in_scatter = -float((np.diagonal(slopes) / mass).sum())
        if self.reference is None:
            total, in_total = n - sums.sum() / n, -slopes.sum() / n
        else:
            kernel, slope = _kernel(self.squared[self.reference], width)
            total, in_total = n - kernel.sum(), -slope.sum()
        broken, in_broken = self._broken(width, labels)
        return (
            Terms(scatter, broken, float(total)),
            Terms(in_scatter, in_broken, float(in_total)),
        )

    def objective(self, width: float, labels: IntArray) -> tuple[float, float]:
        """Return the objective, and its slope in log(width)."""
        values = [
            part.scatter
            + self.penalty_weight * part.broken
            - 2.0 * self.spread_weight * part.total
            for part in self.terms(width, labels)
        ]
        return values[0], values[1]

    def total(self, width: float) -> float:
        """Return the total scatter, which falls as the width grows."""
        n = len(self.squared)
        if self.reference is not None:
            return n - float(_kernel(self.squared[self.reference], width)[0].sum())
        blocks = gen_batches(n, _BLOCK)
        return n - sum(_kernel(self.squared[b], width)[0].sum() for b in blocks) / n

    def _group_sums(self, width: float, labels: IntArray) -> tuple[FloatArray, ...]:
        """Return the sums of K over pairs of clusters, (k, k), and of its slope."""
        member = np.eye(self.n_clusters)[labels]
        shape = (self.n_clusters, self.n_clusters)
        sums, slopes = np.zeros(shape), np.zeros(shape)
        for rows in gen_batches(len(labels), _BLOCK):
            kernel, slope = _kernel(self.squared[rows], width)
            sums += member[rows].T @ (kernel @ member)
            slopes += member[rows].T @ (slope @ member)
        return sums, slopes

    def _broken(self, width: float, labels: IntArray) -> tuple[float, float]:
        """Return the price of broken pairs, and its slope."""
        farthest, in_farthest = _kernel(np.array([self._farthest]), width)
        price, slope = 0.0, 0.0
        kinds = (
            (self.pairs.must_link, self.pairs.must_link_weight, True),
            (self.pairs.cannot_link, self.pairs.cannot_link_weight, False),
        )
        for (ends, weight, is_must), lengths in zip(kinds, self._lengths, strict=True):
            same = labels[ends[:, 0]] == labels[ends[:, 1]]
            is_broken = same != is_must
            kernel, in_kernel = _kernel(lengths[is_broken], width)
            if is_must:
                costs, slopes = 2.0 - 2.0 * kernel, -2.0 * in_kernel
            else:
                costs = 2.0 * (kernel - farthest)
                slopes = 2.0 * (in_kernel - in_farthest)
            price += float(weight[is_broken] @ costs)
            slope += float(weight[is_broken] @ slopes)
        return price, slope


class Adapted(NamedTuple):
    """Where labels and width came to rest."""

    labels: IntArray
    width: float
    objectives: list[float]  # after each step, of labels and of width
    n_iter: int
    converged: bool
    sums: GroupSums | None


def _kernel(squared: FloatArray, width: float) -> tuple[FloatArray, FloatArray]:
    """Return kernel values, and their slopes in log(width)."""
    scaled = squared / width**2
    kernel = np.exp(-0.5 * scaled)
    return kernel, kernel * scaled


def _gram(squared: FloatArray, width: float) -> FloatArray:
    """Return kernel values alone, in one matrix."""
    kernel = squared / width**2
    kernel *= -0.5
    return np.exp(kernel, out=kernel)


def median_square(squared: FloatArray) -> float:
    """Return the median squared distance of two rows; their mean if most are equal."""
    upper = squareform(squared, checks=False)
    mean = float(upper.mean())
    return float(np.median(upper, overwrite_input=True)) or mean


def first_width(squared: FloatArray) -> float:
    """Return the root of half the median squared distance of two rows."""
    return float(np.sqrt(median_square(squared) / 2.0)) or 1.0


def width_bounds(problem: WidthProblem, start: float) -> tuple[float, float]:
    """Return the least and the largest width.

    The least is the median distance to the nearest other row: below it each row is
    alone. The largest is where the total scatter is half of what it is at the start.
    """
    squared = problem.squared
    nearest = np.partition(squared, 1, axis=1)[:, 1]
    low = max(float(np.median(np.sqrt(nearest))), _LEAST_SHARE * start)
    goal = problem.total(start) / 2.0
    if goal <= 0.0:  # all rows are equal
        return start, start
    inside, high = start, 2.0 * start
    while problem.total(high) > goal:
        inside, high = high, 2.0 * high
    for _ in range(40):
        middle = np.sqrt(inside * high)
        above = problem.total(middle) > goal
        inside, high = (middle, high) if above else (inside, middle)
    return min(low, high), high


def best_width(
    problem: WidthProblem, labels: IntArray, width: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the width of the least objective between bounds, and that objective.

    The present width stays if no other has less.
    """
    low, high = np.log(bounds)
    grid = np.linspace(low, high, _GRID) if high > low else np.array([low])
    values = [problem.objective(np.exp(at), labels)[0] for at in grid]
    start = grid[int(np.argmin(values))]

    def at_log(x: Any) -> tuple[float, FloatArray]:
        value, slope = problem.objective(float(np.exp(x[0])), labels)
        return value, np.array([slope])

    found = minimize(at_log, [start], jac=True, method="L-BFGS-B", bounds=[(low, high)])
    best, least = float(np.exp(found.x[0])), float(found.fun)
    present = problem.objective(width, labels)[0]
    return (best, least) if least < present else (width, present)


def adapt(
    problem: WidthProblem,
    closure: Closure,
    width: float,
    bounds: tuple[float, float],
    order: IntArray,
    *,
    max_iter: int,
    tol: float,
) -> Adapted:
    """Move labels and width in turn until the objective rests.

    Parameters
    ----------
    problem : WidthProblem
        The objective.
    closure : Closure
        The pairs; the start is farthest-first on their groups.
    width : float
        First width.
    bounds : pair of float
        Between which it stays.
    order : ndarray of shape (n,)
        Order in which rows are visited.
    max_iter : int
        Limit on the rounds.
    tol : float
        Least relative fall of the objective that is worth another round.
    """
    n_clusters = problem.n_clusters
    space = GramSpace(_gram(problem.squared, width))
    labels = farthest_first(space, closure, n_clusters)
    objectives: list[float] = []
    n_iter, converged = 0, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        result = soft_kmeans(
            space,
            labels,
            n_clusters,
            closure,
            order=order,
            penalty="hmrf",
            penalty_weight=problem.penalty_weight,
            max_iter=_SOFT_ROUNDS,
        )
        rests = n_iter > 1 and np.array_equal(result.labels, labels)
        labels = result.labels
        before = objectives[-1] if objectives else np.inf
        objectives.append(problem.objective(width, labels)[0])
        new, least = best_width(problem, labels, width, bounds)
        objectives.append(least)
        converged = before - least < tol * abs(least) or (rests and new == width)
        if new != width:
            width = new
            del space, result  # both hold the kernel as it was
            space = GramSpace(_gram(problem.squared, width))
    sums = space.group_sums(labels, n_clusters)
    return Adapted(labels, width, objectives, n_iter, converged, sums)
