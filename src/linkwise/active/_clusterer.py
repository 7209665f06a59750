"""An estimator that asks while it is fitted."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from linkwise._typing import IntArray
from linkwise.active._committee import last_step
from linkwise.active._oracles import run
from linkwise.active._session import Session
from linkwise.constraints import Constraints
from linkwise.search import matched


class ActiveClusterer(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters rows with pairs that it asks an oracle for.

    Parameters
    ----------
    estimator : estimator
        Clusters with pairs, such as ``KernelCSC(5)``.
    oracle : callable
        ``oracle(i, j)`` returns "same", "different" or "unsure" for two rows of X.
    budget : int, default=100
        Number of answers.
    strategy : str or Strategy, default="auto"
        How questions are chosen, see ``Session``.
    fit_every : int, default=25
        Answers after which the clusters are made anew.
    stop : bool, default=False
        Whether to end when further answers are not worth it.
    random_state : int, default=0
        Seed of the questions.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Cluster of each row, as the session shows it.
    estimator_ : estimator
        The fitted estimator, which predicts.
    constraints_ : Constraints
        The pairs that were answered.
    session_ : Session
        The session.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from linkwise import KernelCSC
    >>> from linkwise.active import ActiveClusterer, Truth
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ActiveClusterer(KernelCSC(3, n_candidates=50), Truth(y), budget=20)
    >>> len(model.fit(X).labels_)
    150
    """

    def __init__(
        self,
        estimator: Any,
        oracle: Any,
        *,
        budget: int = 100,
        strategy: Any = "auto",
        fit_every: int = 25,
        stop: bool = False,
        random_state: int = 0,
    ) -> None:
        self.estimator = estimator
        self.oracle = oracle
        self.budget = budget
        self.strategy = strategy
        self.fit_every = fit_every
        self.stop = stop
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None
    ) -> "ActiveClusterer":
        """Ask, and cluster the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows.
        y : None
            Not used.
        constraints : Constraints, optional
            Pairs that are known already.
        """
        session = Session(
            X,
            clone(self.estimator),
            strategy=self.strategy,
            constraints=constraints,
            random_state=self.random_state,
        )
        run(
            session,
            self.oracle,
            self.budget,
            fit_every=self.fit_every,
            stop=self.stop,
        )
        self.session_, self.estimator_ = session, session.model_
        self.constraints_ = session.constraints_
        own = np.asarray(last_step(self.estimator_).labels_)
        self.labels_ = _numbered(np.asarray(session.labels_), own)
        return self

    def predict(self, X: Any) -> Any:
        """Return the cluster of each row of X."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)


def _numbered(labels: IntArray, own: IntArray) -> IntArray:
    """Return clusters by the ids of those of another clustering most like them."""
    is_in = labels >= 0
    ids, place = np.unique(labels[is_in], return_inverse=True)
    k = max(len(ids), int(own.max()) + 1)
    both = own[is_in] >= 0
    found = np.full(len(labels), -1)
    found[is_in] = matched(place[both], own[is_in][both], k)[place]
    return found
