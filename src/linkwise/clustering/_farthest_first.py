"""Start labels from must-link components."""

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering._jit_starts import seed_and_place
from linkwise.constraints import Closure
from linkwise.kernels import Space, as_input

# For the compiled loops: seeds are not drawn.
NO_DRAWS = as_input(np.empty((0, 0)))


def as_draws(draws: FloatArray | None, n_seeds: int) -> FloatArray:
    """Return draws as compiled loops take them, shape (n_seeds, n_trials)."""
    if draws is None:
        return NO_DRAWS
    return as_input(draws[:n_seeds].reshape(n_seeds, -1))


def farthest_first(
    space: Space,
    closure: Closure,
    n_clusters: int,
    *,
    rule: str = "min",
    cl_aware_seeds: bool = False,
    draws: FloatArray | None = None,
) -> IntArray:
    """Return start labels that keep must-link components whole.

    The largest component is the first seed. The next seed is the component whose
    centroid is farthest from the chosen ones; components of several points come first,
    then single points with a cannot-link, then the others. Every other component joins
    the cluster where it breaks the least weight of cannot-links, among equals the one
    with the nearest seed.

    Parameters
    ----------
    space : Space
        The geometry, of n_samples points.
    closure : Closure
        Components and the cannot-links between them.
    n_clusters : int
        Number of seeds. With fewer components than that, all are seeds and the farthest
        single points complete them, each taken out of its component.
    rule : {"min", "sum"}, default="min"
        Distance of a candidate: to the nearest chosen seed, or the sum over all.
    cl_aware_seeds : bool, default=False
        Prefer candidates cannot-linked to the most chosen seeds.
    draws : ndarray of shape (n_clusters,) or (n_clusters, n_trials), optional
        Uniform in [0, 1). Seeds are then drawn as k-means++ does, must-link groups
        first: by mass, and by squared distance from the nearest seed. Of several trials
        for a seed the one is taken that leaves the least sum of squared distances, of
        groups if it is one, else of single rows.

    Returns
    -------
    ndarray of shape (n_samples,)
        Labels in ``range(n_clusters)``, each used.
    """
    n_seeds = min(n_clusters, closure.n_components)
    linked = space.fixed_totals(closure.linked, closure.n_linked)
    labels = np.empty(space.n_samples, dtype=np.intp)
    seed_and_place(
        *linked,
        space.rows,
        space.core,
        space.diagonal,
        space.sample_weight,
        closure.component,
        closure.indptr,
        closure.members,
        closure.tier if draws is None else closure.is_single,
        closure.cl_indptr,
        closure.cl_indices,
        closure.cl_weights,
        rule == "sum",
        cl_aware_seeds,
        as_draws(draws, n_seeds),
        n_seeds,
        labels,
    )
    if n_seeds < n_clusters:
        _add_farthest_points(space, labels, n_seeds, n_clusters)
    return labels


def _kernel_column(space: Space, point: int) -> FloatArray:
    """Return the kernel values of all points with one."""
    group = np.full(space.n_samples, -1)
    group[point] = 0
    return space.group_sums(group, 1).sums[0] / space.sample_weight[point]


def _add_farthest_points(
    space: Space, labels: IntArray, n_seeds: int, n_clusters: int
) -> None:
    """Give the farthest points clusters of their own, in place."""
    sums = space.group_sums(labels, n_seeds)
    nearest = (
        space.diagonal
        - 2.0 * sums.sums / sums.mass[:, None]
        + (sums.inner / sums.mass**2)[:, None]
    ).min(axis=0)
    for label in range(n_seeds, n_clusters):
        alone = np.bincount(labels)[labels] == 1
        point = int(np.argmax(np.where(alone, -np.inf, nearest)))
        labels[point] = label
        column = _kernel_column(space, point)
        distance = space.diagonal - 2.0 * column + space.diagonal[point]
        nearest = np.minimum(nearest, distance)
