"""The paper's protocol: which rows are for training, and which pairs are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.constraints import Constraints, coherence, informativeness
from linkwise.experiments._datasets import Dataset
from linkwise.experiments._seeds import derive_seed
from linkwise.metrics import agreement_scores

TRAIN_SHARE = 4  # one training row of so many
PAIR_SHARE = 10  # one pair of so many pairs of training rows
MAX_PAIRS = 5000


@dataclass(frozen=True)
class Trial:
    """The split of a data set and its order of pairs; no method has a part in it."""

    y: IntArray  # (n_samples,)
    train: IntArray  # training rows, ascending
    pair_seed: int  # seed of the permutation of all pairs of training rows

    @property
    def test(self) -> IntArray:
        """Rows that no pair can name."""
        return np.setdiff1d(np.arange(len(self.y)), self.train)

    def constraints(self, n_pairs: int, wrong: float = 0.0) -> Constraints:
        """Return the first pairs of the permutation, of weight 1.

        Of two numbers, the pairs of the smaller are among those of the larger. A share
        ``wrong`` of them, rounded, is turned into the opposite; of two shares, those of
        the smaller are among those of the larger.
        """
        pairs = Constraints.sample(
            self.y, n_pairs, random_state=self.pair_seed, rows=self.train
        )
        ends = np.concatenate([pairs.must_link, pairs.cannot_link])
        is_must = np.arange(len(ends)) < pairs.n_must_link
        rng = np.random.default_rng([self.pair_seed, 1])
        is_must[rng.permutation(len(ends))[: round(wrong * len(ends))]] ^= True
        return Constraints(ends[is_must], ends[~is_must])


def draw_trial(
    y: IntArray, dataset: str, trial: int, share: int = TRAIN_SHARE
) -> Trial:
    """Return a trial of the paper's protocol.

    Parameters
    ----------
    y : ndarray of int, shape (n_samples,)
        True classes.
    dataset : str
        Name of the data set; with ``trial`` it gives the seeds.
    trial : int
        Number of the trial, from 0.
    share : int, default=4
        One row of so many is for training.

    Returns
    -------
    Trial
        Of each class a quarter of the rows, rounded down, are for training.

    Examples
    --------
    >>> import numpy as np
    >>> trial = draw_trial(np.repeat([0, 1], [9, 3]), "example", 0)
    >>> len(trial.train), len(trial.test)
    (2, 10)
    """
    rng = np.random.default_rng(derive_seed(dataset, trial, "split"))
    by_class = [np.flatnonzero(y == label) for label in np.unique(y)]
    train = [rng.permutation(rows)[: len(rows) // share] for rows in by_class]
    return Trial(
        y, np.sort(np.concatenate(train)), derive_seed(dataset, trial, "pairs")
    )


def n_possible_pairs(n_train: int) -> int:
    """Return the number of pairs of training rows."""
    return n_train * (n_train - 1) // 2


def n_paper_pairs(n_train: int) -> int:
    """Return the number of pairs of the fixed experiment.

    Examples
    --------
    >>> n_paper_pairs(36), n_paper_pairs(12_000)
    (63, 5000)
    """
    return min(n_possible_pairs(n_train) // PAIR_SHARE, MAX_PAIRS)


def score_labels(
    trial: Trial, labels: IntArray, constraints: Constraints
) -> dict[str, float]:
    """Return the scores of a clustering on test, training and all rows, and R.

    R, here ``constraint_score``, is the share of the pairs of the closure that hold.
    """
    scores = {"constraint_score": constraints.score(labels)}
    rows = {"test": trial.test, "train": trial.train, "all": np.arange(len(labels))}
    for part, inside in rows.items():
        agreement = agreement_scores(trial.y[inside], labels[inside])
        scores |= {
            f"{name}_{part}": value for name, value in agreement._asdict().items()
        }
    return scores


def pair_properties(
    data: Dataset, dataset: str, trial: int, constraints: Constraints
) -> dict[str, float]:
    """Return informativeness and coherence of the pairs of a trial.

    Both look at standardised data. The partition made without pairs is that of
    k-means, one for all methods and numbers of pairs of a trial.
    """
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    scaled: Any = StandardScaler().fit_transform(data.X)
    n_classes = int(data.y.max()) + 1
    kmeans = KMeans(
        n_classes,
        n_init=10,
        random_state=derive_seed(dataset, trial, "informativeness"),
    )
    seed = derive_seed(dataset, trial, "coherence")
    return {
        "informativeness": informativeness(constraints, kmeans.fit_predict(scaled)),
        "coherence": coherence(constraints, scaled, random_state=seed),
    }
