"""How far each pair is to be believed when some of them are wrong.

Every row with a pair has an unknown cluster. What is known of it are opinions, the
shares of a committee of clusterings that put the row there, and pairs, each of them
wrong with the same small probability. Pairs that close a cycle check each other,
opinions judge the others. The clusters are integrated out by a mean field. The share of
wrong pairs and the trust in opinions are those that explain the pairs best: a committee
that disagrees with many pairs is not believed against them.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints._pairs import Constraints

# Shares of wrong pairs that are tried, and how many right pairs the belief is worth
# that there are few.
_SHARES = (0.001, 0.02, 0.05, 0.1, 0.2, 0.3)
_PRIOR_PAIRS = 100.0
# Opinions of a committee are less certain than they look: its members are alike. They
# are raised to a power, one of these, after a part of them is given to all clusters.
_POWERS = (0.1, 0.25, 0.5, 1.0)
_DOUBT = 0.1
# The field is at rest when no probability moves by more than this, or after so many
# rounds.
_REST = 1e-3
_MAX_ROUNDS = 50


class Beliefs(NamedTuple):
    """How probable it is that each pair is right."""

    must_link: FloatArray  # (n_must_link,)
    cannot_link: FloatArray  # (n_cannot_link,)
    noise: float  # share of the pairs that are wrong, as estimated


def believe(
    pairs: Constraints, opinions: FloatArray, noise: float | None = None
) -> Beliefs:
    """Return how far each pair is to be believed.

    Parameters
    ----------
    pairs : Constraints
        Positions; they may contradict each other. A heavier pair is more certain.
    opinions : ndarray of shape (n_samples, n_clusters)
        How probable each cluster is for each row, by what is known without the pairs.
    noise : float, optional
        Share of the pairs that are wrong, above 0 and below 0.5; estimated by default.

    Returns
    -------
    Beliefs
        Probabilities that pairs are right, and the share of wrong ones.

    Examples
    --------
    >>> import numpy as np
    >>> from linkwise.constraints import Constraints, believe
    >>> pairs = Constraints([(0, 1), (1, 2), (0, 2), (2, 3)], [(0, 3), (1, 3)])
    >>> opinions = np.array([[0.8, 0.2], [0.8, 0.2], [0.8, 0.2], [0.2, 0.8]])
    >>> believe(pairs, opinions, noise=0.1).must_link.round(1)
    array([1. , 1. , 1. , 0.1])
    """
    rows = pairs.points
    place = np.zeros(len(opinions), dtype=np.intp)
    place[rows] = np.arange(len(rows))
    n_clusters = opinions.shape[1]
    prior = opinions[rows] * (1.0 - _DOUBT) + _DOUBT / n_clusters
    weight = np.concatenate([pairs.must_link_weight, pairs.cannot_link_weight])
    weight = weight / weight.mean()
    field = _Field(place[pairs.must_link], place[pairs.cannot_link], weight)
    found: FloatArray = np.empty(0)
    highest = -np.inf
    for power in _POWERS:
        log_prior = power * np.log(prior)
        log_prior -= np.log(np.exp(log_prior).sum(axis=1, keepdims=True))
        for share in _SHARES if noise is None else (noise,):
            right, worth = field.settle(log_prior, share)
            worth += (_PRIOR_PAIRS - 1.0) * np.log1p(-share)
            if worth > highest:
                found, highest = right, worth
    n_must = pairs.n_must_link
    wrong = float(1.0 - found.mean()) if noise is None else noise
    return Beliefs(found[:n_must], found[n_must:], wrong)


class _Field:
    """Pairs between rows, and the clusters of the rows under them."""

    def __init__(
        self,
        must_link: IntArray,  # (m, 2)
        cannot_link: IntArray,  # (c, 2)
        weight: FloatArray,  # (m + c,)
    ) -> None:
        self._pairs = np.concatenate([must_link, cannot_link])
        self._is_must = np.arange(len(self._pairs)) < len(must_link)
        self._weight = weight
        i, j = self._pairs.T
        signed = np.where(self._is_must, weight, -weight)
        n_rows = 1 + int(self._pairs.max())
        self._graph = csr_array(
            (np.tile(signed, 2), (np.r_[i, j], np.r_[j, i])), shape=(n_rows, n_rows)
        )

    def settle(
        self,
        log_prior: FloatArray,  # (r, k), of the rows' clusters by opinions
        share: float,
    ) -> tuple[FloatArray, float]:
        """Return the beliefs in pairs of which a share is wrong, and its evidence."""
        strength = np.log((1.0 - share) / share)
        chance = np.exp(log_prior)
        for _ in range(_MAX_ROUNDS):
            log_chance = log_prior + strength * (self._graph @ chance)
            log_chance -= log_chance.max(axis=1, keepdims=True)
            new = np.exp(log_chance)
            new /= new.sum(axis=1, keepdims=True)
            is_at_rest = np.abs(new - chance).max() < _REST
            chance = 0.5 * (chance + new)  # half a step, or it may swing to and fro
            if is_at_rest:
                break
        i, j = self._pairs.T
        together = (chance[i] * chance[j]).sum(axis=1)
        right = np.where(self._is_must, together, 1.0 - together)
        n_right = self._weight @ right
        n_wrong = self._weight.sum() - n_right
        entropy = -(chance * np.log(np.maximum(chance, 1e-300))).sum()
        evidence = n_right * np.log1p(-share) + n_wrong * np.log(share)
        return right, float(evidence + (chance * log_prior).sum() + entropy)
