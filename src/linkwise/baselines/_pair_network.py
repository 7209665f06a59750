"""PairNetwork: a network whose outputs agree on must-links and differ on others."""

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.cluster import KMeans
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from linkwise.baselines._centres import DenseClusterer
from linkwise.baselines._closure_pairs import drawn_pairs
from linkwise.baselines._networks import Adam, DenseNetwork, batches_of
from linkwise.baselines._pair_losses import PairEnds, mean_loss
from linkwise.doors import (
    ConstrainedClusterer,
    Interval,
    StrOptions,
    attributes_of,
    fit_context,
    warn_caller,
)
from linkwise.exceptions import ConstraintWarning

_BLOCK = 4096  # rows that pass through the network at a time
_LAST_SHARE = 10  # one step of so many is a last one
_REST = 0.01  # share of the first loss by which the loss of rest may still fall


class PairNetwork(DenseClusterer):
    """A network that learns clusters from pairs alone (Hsu and Kira 2016).

    Dense layers end in one output for each cluster; p and q are the softmax outputs of
    the two rows of a pair. With ``loss="mcl"`` (Hsu et al. 2019) a must-link costs
    -log(p.q) and a cannot-link -log(1 - p.q). With ``loss="kcl"`` a must-link costs
    the two divergences KL(p||q) + KL(q||p), and a cannot-link what each of them falls
    short of ``margin``; the first output of a divergence is held in place. Pairs are
    those of the closure; the loss is their mean by weight. Rows without a pair are not
    used: the method needs many pairs.

    Clusters may stay empty. Without cannot-links one output for all is as good as any
    other, and without pairs there is nothing to learn: then it is k-means. Both come
    with a :class:`linkwise.ConstraintWarning`. X is not standardised: put a
    ``StandardScaler`` in front.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters.
    loss : {"mcl", "kcl"}, default="mcl"
        What a pair costs.
    hidden : tuple of int, default=(100, 50)
        Widths of the hidden layers.
    margin : float, default=2.0
        Divergence at which a cannot-link costs nothing, for "kcl".
    learning_rate : float, default=0.001
        Step size of Adam.
    batch_size : int, default=128
        Pairs in a step.
    max_iter : int, default=600
        Number of steps of a start.
    n_init : int, default=3
        Number of starts; the one with the lowest loss over all pairs is kept.
    max_pairs : int, default=20_000
        Most pairs of the closure that are used; of more, as many are drawn.
    on_conflict : {"raise", "drop"}, default="raise"
        What to do with a cannot-link inside a must-link group.
    random_state : int, RandomState instance or None, default=None
        Seed of first weights, of batches, and of pairs if there are too many.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Clusters of the rows: their largest outputs.
    objective_ : float
        Mean loss over the pairs; without pairs the scatter of k-means.
    n_iter_ : int
        Steps of the start that is kept.
    converged_ : bool
        Whether the loss of the last tenth of the steps was below that of the tenth
        before by less than 1 % of the first loss.
    constraint_score_, n_violated_, n_features_in_, feature_names_in_
        As in :class:`SSKKMeans`; over the whole closure.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from linkwise import Constraints
    >>> from linkwise.baselines import PairNetwork
    >>> X, y = make_blobs(60, centers=[(0, 0), (6, 0), (0, 6)], random_state=0)
    >>> pairs = Constraints.sample(y, 100, random_state=0)
    >>> model = PairNetwork(3, n_init=1, random_state=0).fit(X, constraints=pairs)
    >>> model.constraint_score_
    1.0
    """

    _parameter_constraints = {
        **ConstrainedClusterer._parameter_constraints,
        "loss": [StrOptions({"mcl", "kcl"})],
        "hidden": [tuple, list],
        "margin": [Interval(Real, 0, None, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_pairs": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        loss="mcl",
        hidden=(100, 50),
        margin=2.0,
        learning_rate=1e-3,
        batch_size=128,
        max_iter=600,
        n_init=3,
        max_pairs=20_000,
        on_conflict="raise",
        random_state=None,
    ):
        self.n_clusters = n_clusters
        self.loss = loss
        self.hidden = hidden
        self.margin = margin
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.n_init = n_init
        self.max_pairs = max_pairs
        self.on_conflict = on_conflict
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, *, constraints=None, sample_id=None):
        """Learn from the pairs, and cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Dense data.
        y, constraints, sample_id
            As for :meth:`linkwise.KernelCSC.fit`.

        Returns
        -------
        self
        """
        check_widths(self.hidden)
        given = self._check_fit(X, y, constraints, None, sample_id)
        return self._fit_in_one_task(given, self._attributes, self.n_init)

    def _attributes(self, given, end_start):
        pairs = listed_ends(given, self.max_pairs)
        if len(pairs.ends) == 0:
            warn_caller(
                "Without pairs the network has nothing to learn from: it is k-means.",
                ConstraintWarning,
            )
            best = _as_k_means(given.data, self.n_clusters, given.rng)
        else:
            if pairs.is_must.all():
                warn_caller(
                    "There are no cannot-links: nothing keeps the network from giving "
                    "all rows one cluster.",
                    ConstraintWarning,
                )
            best = None
            for _ in range(self.n_init):
                found = self._learn(given.data, pairs, given.rng)
                if best is None or found.objective < best.objective:
                    best = found
                if end_start():
                    break
        labels = _outputs(best.network, given.data).argmax(axis=1)
        result = best._replace(labels=labels)
        return {
            **attributes_of(result, given.closure),
            "objective_": result.objective,
            "_network": result.network,
        }

    def _learn(self, X, pairs, rng):
        """Return the network of one start."""
        sizes = [X.shape[1], *self.hidden, self.n_clusters]
        network = DenseNetwork(sizes, rng)
        descent = Adam(network.parameters, self.learning_rate)
        options = {"loss": self.loss, "margin": self.margin}
        losses = []
        for batch in batches_of(len(pairs.ends), self.batch_size, self.max_iter, rng):
            some = pairs.at(batch)
            # Rows that stand in several pairs pass through the network once.
            rows, places = np.unique(some.ends.T, return_inverse=True)
            values = network.forward(X[rows])
            loss, slope = mean_loss(values[-1][places.ravel()], some, **options)
            slope_of_row = np.zeros_like(values[-1])
            np.add.at(slope_of_row, places.ravel(), slope)
            descent.step(network.backward(values, slope_of_row)[0])
            losses.append(loss)
        rows, places = np.unique(pairs.ends.T, return_inverse=True)
        logits = _outputs(network, X[rows])[places.ravel()]
        loss, _ = mean_loss(logits, pairs, **options)
        return _Learned(network, loss, len(losses), is_at_rest(losses))

    def predict(self, X):
        """Return the largest output of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Clusters.
        """
        return self._predict_blocks(X, lambda rows: self._network(rows).argmax(axis=1))

    def predict_proba(self, X):
        """Return the outputs of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            Shares, with sum 1.
        """
        check_is_fitted(self, "labels_")
        return softmax(
            _outputs(self._network, self._check_data(X, reset=False)), axis=1
        )


class _Learned(NamedTuple):
    """A network and how it was reached."""

    network: DenseNetwork
    objective: float
    n_iter: int
    converged: bool
    labels: np.ndarray | None = None


def listed_ends(given, max_pairs):
    """Return the pairs of the closure of a FitInput, or so many drawn at random."""
    must, must_weight, cannot, cannot_weight = drawn_pairs(given, max_pairs)
    weight = np.concatenate([must_weight, cannot_weight])
    is_must = np.arange(len(weight)) < len(must)
    ends = np.concatenate([must, cannot])
    return PairEnds(ends, is_must, weight / weight.mean() if len(weight) else weight)


def check_widths(hidden):
    """Raise unless ``hidden`` holds widths of layers."""
    is_width = [isinstance(width, Integral) and width > 0 for width in hidden]
    if not all(is_width):
        raise ValueError(
            f"hidden={hidden!r}: give the widths of the hidden layers as whole numbers "
            "above 0, such as (100, 50)."
        )


def is_at_rest(losses):
    """Tell whether the last tenth of losses is little below the tenth before."""
    n_last = max(1, len(losses) // _LAST_SHARE)
    if len(losses) < 2 * n_last + 1:
        return False
    fall = np.mean(losses[-2 * n_last : -n_last]) - np.mean(losses[-n_last:])
    return bool(fall < _REST * losses[0])


def _as_k_means(X, n_clusters, rng):
    """Return the network of no hidden layer whose largest output is the nearest mean.

    Its shares are those of Gaussians of variance 1/2 about the means.
    """
    seed = int(rng.integers(2**32))
    means = KMeans(n_clusters, n_init=10, random_state=seed).fit(X)
    network = DenseNetwork([X.shape[1], n_clusters], rng)
    centres = means.cluster_centers_
    network.parameters = [2.0 * centres.T, -np.square(centres).sum(axis=1)]
    return _Learned(network, float(means.inertia_), int(means.n_iter_), True)


def _outputs(network, X):
    """Return the outputs before softmax, block by block."""
    return np.concatenate([network(X[rows]) for rows in gen_batches(len(X), _BLOCK)])
