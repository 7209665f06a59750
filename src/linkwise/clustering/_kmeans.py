"""k-means in any geometry."""

from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering._jit import nearest_centres, next_better_move
from linkwise.kernels import GroupSums, Space


class KMeansResult(NamedTuple):
    """Where k-means ended."""

    labels: IntArray  # (n,), every cluster has at least one point
    objective: float  # within-cluster scatter
    n_iter: int
    converged: bool  # it came to rest before max_iter
    sums: GroupSums  # of the clusters, as prediction needs them


def kmeans(
    space: Space,
    start: IntArray,
    n_clusters: int,
    *,
    max_iter: int = 300,
    polish: bool = False,
) -> KMeansResult:
    """Cluster by Lloyd's iterations from start labels.

    Parameters
    ----------
    space : Space
        The geometry, of n_samples points.
    start : ndarray of shape (n_samples,)
        Labels in ``range(n_clusters)``.
    n_clusters : int
        Number of clusters, at most n_samples.
    max_iter : int, default=300
        Limit on the number of assignment steps.
    polish : bool, default=False
        Afterwards move single points as long as one lowers the objective (Hartigan).
        Lloyd's iterations cannot see such moves.

    Returns
    -------
    KMeansResult
        The labels with the lowest objective on the way. That is the last one, unless
        the kernel is indefinite: then the descent is not assured, and the search ends
        where the objective rises or a labelling returns.
    """
    sums = space.group_sums(start, n_clusters)
    total = float(space.sample_weight @ space.diagonal)
    labels = np.array(start, dtype=np.intp)
    new_labels = np.empty_like(labels)
    cost = np.empty(space.n_samples)
    objective = total - _explained(sums)
    seen: set[bytes] = set()
    n_iter, converged = 0, False
    while n_iter < max_iter:
        n_iter += 1
        n_moved = nearest_centres(
            sums.sums,
            sums.inner,
            sums.mass,
            space.diagonal,
            space.sample_weight,
            labels,
            new_labels,
            cost,
        )
        if n_moved == 0:
            converged = True
            break
        sums.move(new_labels, n_moved)
        new_objective = total - _explained(sums)
        if not new_objective < objective:
            # Equal objectives are met on plateaus, so only a return ends there.
            seen.add(labels.tobytes())
            rounding = 1e-9 * max(abs(total), abs(objective))
            if (
                not new_objective <= objective + rounding
                or new_labels.tobytes() in seen
            ):
                sums.move(labels, n_moved)
                converged = True
                break
        labels, new_labels = new_labels, labels
        objective = new_objective
    if polish:
        objective = total - _polish(space, labels, sums)
    return KMeansResult(labels, objective, n_iter, converged, sums)


def _explained(sums: GroupSums) -> float:
    """Return the part of the total scatter that the centres explain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = sums.inner / sums.mass
    return float(share[sums.mass > 0.0].sum())


def _polish(space: Space, labels: IntArray, sums: GroupSums) -> float:
    """Make single moves that lower the objective, in place; return what is explained.

    Every round visits all points once; a round without a move is the end.
    """
    n_members = np.bincount(labels, minlength=len(sums.mass))
    moved = True
    while moved:
        moved = False
        position = 0
        while position < space.n_samples:
            point, cluster = next_better_move(
                sums.sums,
                sums.inner,
                sums.mass,
                space.diagonal,
                space.sample_weight,
                labels,
                n_members,
                position,
            )
            if point < 0:
                break
            n_members[labels[point]] -= 1
            n_members[cluster] += 1
            labels[point] = cluster
            sums.move(labels, 1)
            position, moved = point + 1, True
    return _explained(sums)


def squared_distances(space: Space, sums: GroupSums) -> FloatArray:
    """Return the squared distances of all points to the centres, shape (k, n)."""
    mass = sums.mass[:, None]
    return space.diagonal - 2.0 * sums.sums / mass + (sums.inner[:, None] / mass**2)
