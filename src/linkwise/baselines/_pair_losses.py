"""What pairs cost by the outputs of a network, with slopes: KCL and MCL."""

from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax, softmax

_EPSILON = 1e-7  # keeps logarithms of MCL finite


class PairEnds(NamedTuple):
    """Pairs of both kinds, one after the other."""

    ends: np.ndarray  # (m, 2)
    is_must: np.ndarray  # (m,), bool
    weight: np.ndarray  # (m,), with mean 1 over all pairs

    def at(self, places):
        """Return some of the pairs."""
        return PairEnds(*(part[places] for part in self))


def mean_loss(logits, pairs, *, loss, margin):
    """Return the mean loss of pairs by weight, and its slope in the logits.

    Parameters
    ----------
    logits : ndarray of shape (2 * n_pairs, n_clusters)
        Outputs before softmax, of the first ends and then of the second ones.
    pairs : PairEnds
        Their kinds and weights.
    loss : {"mcl", "kcl"}
        What a pair costs.
    margin : float
        For "kcl".
    """
    first, second = np.split(logits, 2)
    if loss == "mcl":
        costs, *slopes = mcl_loss(first, second, pairs.is_must)
    else:
        costs, *slopes = kcl_loss(first, second, pairs.is_must, margin)
    share = pairs.weight / len(costs)
    return float(share @ costs), np.concatenate(slopes) * np.tile(share, 2)[:, None]


def mcl_loss(first, second, is_must):
    """Return what pairs cost by their likelihood, and the slopes in both logits.

    Parameters
    ----------
    first, second : ndarray of shape (n_pairs, n_clusters)
        Outputs before softmax.
    is_must : ndarray of shape (n_pairs,)
        Which pairs are must-links.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = np.log([[0.7, 0.3]]), np.log([[0.2, 0.8]])
    >>> mcl_loss(p, q, np.array([True]))[0].round(4)
    array([0.9676])
    """
    p, q = softmax(first, axis=1), softmax(second, axis=1)
    together = np.einsum("ij,ij->i", p, q)
    likelihood = np.where(is_must, together, 1.0 - together) + _EPSILON
    rate = (np.where(is_must, -1.0, 1.0) / likelihood)[:, None]
    common = p * q
    return (
        -np.log(likelihood),
        rate * (common - p * together[:, None]),
        rate * (common - q * together[:, None]),
    )


def kcl_loss(first, second, is_must, margin):
    """Return what pairs cost by their divergences, and the slopes in both logits.

    The slope in the second logits is that of KL(p||q) alone, for p is held in place
    there, and the other way round.

    Parameters
    ----------
    first, second, is_must
        As for :func:`mcl_loss`.
    margin : float
        Divergence that cannot-links are to have.

    Examples
    --------
    >>> import numpy as np
    >>> p, q = np.log([[0.7, 0.3]]), np.log([[0.2, 0.8]])
    >>> kcl_loss(p, q, np.array([True]), 2.0)[0].round(4)
    array([1.1168])
    """
    log_p, log_q = log_softmax(first, axis=1), log_softmax(second, axis=1)
    p, q, gap = np.exp(log_p), np.exp(log_q), log_p - log_q
    cost, slopes = 0.0, []
    for held, moved, sign in ((q, p, -1.0), (p, q, 1.0)):
        divergence = sign * np.einsum("ij,ij->i", held, gap)
        missing = np.maximum(0.0, margin - divergence)
        cost = cost + np.where(is_must, divergence, missing)
        rate = np.where(is_must, 1.0, -(missing > 0.0).astype(np.float64))
        slopes.append(rate[:, None] * (moved - held))
    return cost, *slopes
