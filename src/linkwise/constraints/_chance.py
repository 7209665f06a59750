"""Whether clusterings satisfy pairs better than chance, by a permutation test."""

from typing import NamedTuple

import numpy as np

from linkwise._typing import BoolArray, FloatArray, IntArray
from linkwise.constraints._pairs import Constraints

# Fewer pairs, or rows, cannot be told from shuffled ones even where clusters are right;
# of fewer clusterings none may be.
LEAST_PAIRS = 30
_LEAST_CLUSTERINGS = 10
# Above this p-value, times the number of pairs, they hold by chance: with more of them
# both noise and clusters that are right are seldom taken for the other. Within limits.
_LIMIT_FOR_ONE = 4.0
_LIMITS = (0.01, 0.1)
# More pairs add time, not certainty.
_MAX_PAIRS = 500
_N_SHUFFLES = 199
# Difference of two scores that may be one of rounding.
_ROUNDING = 1e-9


class Chance(NamedTuple):
    """How well clusterings satisfy pairs, and how well they satisfy shuffled ones.

    A share is the mean of the shares of must-links and of cannot-links, so that many
    cannot-links, which hold by chance, do not hide that no must-link does.
    """

    by_chance: bool | None = None  # no more pairs hold than by chance; None: not known
    p_value: float = np.nan  # share of shuffles that hold as well
    share: float = np.nan  # of the pairs, by the best clustering
    shuffled_share: float = np.nan  # of shuffled pairs, by their best clustering


def against_chance(pairs: Constraints, clusterings: IntArray) -> Chance:
    """Return how well clusterings satisfy pairs, against shuffled pairs.

    Pairs are shuffled by exchanging the rows that they name, so that rows have as many
    pairs as before, and what follows from pairs follows still. Of many clusterings the
    best counts, for the pairs as for each shuffle: to have many to choose from is no
    advantage. It is one if the clusterings were made with a look at the pairs.

    Parameters
    ----------
    pairs : Constraints
        Positions; weights count.
    clusterings : ndarray of shape (n_clusterings, n_samples)
        Clusters of the rows, made without the pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.constraints import Constraints, against_chance
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=100)
    >>> pairs = Constraints.sample(y, 50, random_state=0)
    >>> others = rng.integers(3, size=(10, 100))
    >>> against_chance(pairs, others).by_chance
    True
    >>> against_chance(pairs, np.vstack([others, y])).p_value
    0.005
    """
    n_pairs = pairs.n_must_link + pairs.n_cannot_link
    rows = pairs.points
    n_known = min(n_pairs, len(rows))
    if n_known < LEAST_PAIRS or len(clusterings) < _LEAST_CLUSTERINGS:
        return Chance()
    rng = np.random.default_rng(0)
    labels = np.ascontiguousarray(clusterings[:, rows].T)
    ends = np.searchsorted(rows, np.concatenate([pairs.must_link, pairs.cannot_link]))
    weight = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    is_must = np.arange(n_pairs) < pairs.n_must_link
    if n_pairs > _MAX_PAIRS:
        drawn = rng.choice(n_pairs, _MAX_PAIRS, replace=False)
        ends, weight, is_must = ends[drawn], weight[drawn], is_must[drawn]
    # Minus for cannot-links: they hold where rows are apart.
    signed = _balanced(weight, is_must) * np.where(is_must, 1.0, -1.0)
    apart = -signed[~is_must].sum()
    shares = np.empty((1 + _N_SHUFFLES, labels.shape[1]))
    # Sums in one thread and one order, so that all machines find the same.
    for at in range(len(shares)):
        order = rng.permutation(len(rows)) if at else np.arange(len(rows))
        first, second = labels[order[ends[:, 0]]], labels[order[ends[:, 1]]]
        shares[at] = apart + np.einsum("p,pc->c", signed, first == second)
    together = _share_together(labels)
    spread = np.sqrt(together * (1.0 - together))
    spread[spread == 0.0] = np.inf  # all of these rows in one cluster
    scores = (shares - apart - signed.sum() * together) / spread
    best = scores.argmax(axis=1)
    places = np.arange(len(best))
    highest, own = scores[places, best], shares[places, best]
    p_value = float(np.mean(highest >= highest[0] - _ROUNDING))
    limit = np.clip(_LIMIT_FOR_ONE / n_known, *_LIMITS)
    is_chance = bool(p_value > limit)
    return Chance(is_chance, p_value, float(own[0]), float(own[1:].mean()))


def _balanced(weight: FloatArray, is_must: BoolArray) -> FloatArray:
    """Return weights that sum to 1, half of it for each kind if there are both."""
    kinds = [kind for kind in (is_must, ~is_must) if kind.any()]
    found = np.zeros(len(weight))
    for kind in kinds:
        found[kind] = weight[kind] / weight[kind].sum() / len(kinds)
    return found


def _share_together(labels: IntArray) -> FloatArray:
    """Return the share of all pairs of rows that are together, (n_clusterings,)."""
    n_rows = len(labels)
    clusters = range(int(labels.max()) + 1)
    sizes = np.array([(labels == c).sum(axis=0) for c in clusters], dtype=np.float64)
    return np.asarray((sizes * (sizes - 1)).sum(axis=0) / (n_rows * (n_rows - 1)))
