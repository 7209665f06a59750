"""How well a partition agrees with true classes."""

from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Average = Literal["arithmetic", "geometric", "max", "min"]


class PairCounts(NamedTuple):
    """Numbers of pairs of points, from the contingency table of two partitions."""

    together_in_both: int
    together_in_true: int
    together_in_predicted: int


class AgreementScores(NamedTuple):
    """Scores of the agreement of two partitions; 1 is perfect."""

    ari: float  # adjusted Rand index; 0 is chance
    fmi: float  # Fowlkes-Mallows index
    f_score: float  # of pairs that are together
    nmi: float  # normalised mutual information
    ami: float  # adjusted mutual information; 0 is chance


def pair_counts(
    labels_true: npt.ArrayLike, labels_predicted: npt.ArrayLike
) -> PairCounts:
    """Count the pairs of points that two partitions put together.

    Parameters
    ----------
    labels_true, labels_predicted : array-like of shape (n_samples,)
        Two partitions; any kind of label.

    Returns
    -------
    PairCounts
        Python integers, so that they cannot overflow.

    Examples
    --------
    >>> pair_counts([0, 0, 1, 1, 1], [0, 0, 1, 2, 1])
    PairCounts(together_in_both=2, together_in_true=4, together_in_predicted=2)
    """
    true = np.unique(np.asarray(labels_true), return_inverse=True)[1].ravel()
    predicted = np.unique(np.asarray(labels_predicted), return_inverse=True)[1].ravel()
    if len(true) != len(predicted):
        raise ValueError(
            f"labels_true has {len(true)} labels and labels_predicted "
            f"{len(predicted)}; they must have the same number."
        )
    n_predicted = int(predicted.max(initial=-1)) + 1
    cells = np.unique(true * n_predicted + predicted, return_counts=True)[1]
    return PairCounts(
        together_in_both=_n_pairs(cells),
        together_in_true=_n_pairs(np.bincount(true)),
        together_in_predicted=_n_pairs(np.bincount(predicted)),
    )


def _n_pairs(counts: npt.NDArray[np.integer]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.tolist())


def pairwise_f_score(
    labels_true: npt.ArrayLike, labels_predicted: npt.ArrayLike
) -> float:
    """Return the F score of the pairs that are together.

    Precision and recall count pairs of different points; a point with itself is none.

    Parameters
    ----------
    labels_true, labels_predicted : array-like of shape (n_samples,)
        Two partitions.

    Returns
    -------
    float
        In [0, 1]; 1 if neither partition puts any two points together.

    Examples
    --------
    >>> round(pairwise_f_score([0, 0, 1, 1, 1], [0, 0, 1, 2, 1]), 6)
    0.666667
    """
    both, in_true, in_predicted = pair_counts(labels_true, labels_predicted)
    together = in_true + in_predicted
    return 2 * both / together if together else 1.0


def agreement_scores(
    labels_true: npt.ArrayLike,
    labels_predicted: npt.ArrayLike,
    average: Average = "arithmetic",
) -> AgreementScores:
    """Return all scores of the agreement of a partition with true classes.

    Parameters
    ----------
    labels_true, labels_predicted : array-like of shape (n_samples,)
        Two partitions.
    average : {"arithmetic", "geometric", "max", "min"}, default="arithmetic"
        Mean of the two entropies by which mutual information is divided.

    Returns
    -------
    AgreementScores
        ARI, FMI, pairwise F score, NMI, AMI.

    Examples
    --------
    >>> scores = agreement_scores([0, 0, 1, 1, 1], [0, 0, 1, 2, 1])
    >>> round(scores.ari, 6), round(scores.nmi, 6)
    (0.545455, 0.778979)
    """
    from sklearn import metrics

    both = labels_true, labels_predicted
    return AgreementScores(
        float(metrics.adjusted_rand_score(*both)),
        float(metrics.fowlkes_mallows_score(*both)),
        pairwise_f_score(*both),
        float(metrics.normalized_mutual_info_score(*both, average_method=average)),
        float(metrics.adjusted_mutual_info_score(*both, average_method=average)),
    )
