"""What pairs say about a part of the points."""

import numpy as np
import numpy.typing as npt

from linkwise._typing import IntArray
from linkwise.constraints._conflicts import WeightedPairs
from linkwise.constraints._graphs import widest_order


def row_numbers(rows: npt.ArrayLike, n_points: int = 0) -> IntArray:
    """Return chosen rows as positions; a mask must cover the first n_points rows."""
    array = np.asarray(rows)
    if array.ndim != 1:
        raise ValueError(f"rows has shape {array.shape}: it must be one-dimensional.")
    if array.dtype == bool:
        if len(array) < n_points:
            raise ValueError(
                f"rows is a mask of length {len(array)}, but pairs reach index "
                f"{n_points - 1}."
            )
        return np.flatnonzero(array)
    if array.size == 0:
        return np.empty(0, dtype=np.intp)
    if array.dtype.kind not in "iu":
        raise ValueError(f"rows must be integers or a mask, got dtype {array.dtype}.")
    if array.min() < 0:
        raise ValueError(f"rows holds {array.min()}: positions must not be negative.")
    values, counts = np.unique(array, return_counts=True)
    if (counts > 1).any():
        raise ValueError(
            f"rows holds {values[counts > 1][0]} more than once: a pair would not "
            f"know which copy it means."
        )
    return array.astype(np.intp)


def entailed_inside(
    given: WeightedPairs, rows: IntArray, n_points: int
) -> WeightedPairs:
    """Return pairs among the rows whose closure is the given closure on the rows.

    Bottleneck weights are kept: along the sequence of :func:`widest_order` the gap
    between two neighbours that stay is the smallest one between them, and the end
    of a cannot-link that goes is taken over by the point it is tied to most.
    """
    stays = np.zeros(n_points, dtype=bool)
    stays[rows] = True
    heir = np.where(stays, np.arange(n_points), -1)
    strength = np.full(n_points, np.inf)
    links, link_weights = [], []
    chains, gaps = widest_order(given.must_link, given.must_link_weight, n_points)
    for chain, gap in zip(chains, gaps, strict=True):
        for places in (range(len(chain)), range(len(chain) - 1, -1, -1)):
            last, width = -1, np.inf  # the staying point passed last, the gap since
            step = places.step
            for place in places:
                point = chain[place]
                if stays[point]:
                    if last >= 0 and step > 0:
                        links.append((last, point))
                        link_weights.append(width)
                    last, width = point, np.inf
                elif last >= 0 and (heir[point] < 0 or width > strength[point]):
                    heir[point], strength[point] = last, width
                following = place if step > 0 else place - 1
                if 0 <= following < len(gap):
                    width = min(width, gap[following])
    ends = heir[given.cannot_link]
    whole = (ends >= 0).all(axis=1)
    weakest = strength[given.cannot_link].min(axis=1, initial=np.inf)
    return WeightedPairs(
        np.array(links, dtype=np.intp).reshape(-1, 2),
        ends[whole],
        np.array(link_weights, dtype=np.float64),
        np.minimum(given.cannot_link_weight, weakest)[whole],
    )
