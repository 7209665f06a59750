"""Where texts and embeddings belong: mixtures that have learnt the groups.

Rows of one length are compared by their angles. Each such view has a mixture on the
sphere that starts from the chosen clusters and keeps groups of rows together; views
that are tables have forests. All of them are averaged.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import (
    Mixture,
    MixtureSettings,
    UnitRows,
    directions_of,
    fit_mixture,
)
from linkwise.constraints import Closure
from linkwise.engines import one_blas_thread
from linkwise.estimators._assignment import LinkedRows
from linkwise.estimators._decision import Decision
from linkwise.kernels import Known, sources_of
from linkwise.search import matched

# How many fewer pairs, as a share, may hold than in the chosen clustering.
SHORTFALL = 0.05
# Least probability of a cluster where opinions become logarithms.
_LEAST = 1e-9
# Agreement (adjusted Rand index) from which on two starts count as one.
_ALIKE = 0.98
# By how much the last row needed is won, as a logarithm, and how often it is tried.
_MARGIN = 1e-3
_MAX_ROUNDS = 100


@dataclass(frozen=True)
class EmbeddingSettings:
    """Numbers of the rule; ``benchmarks/texts.py placed`` measures it with them.

    Attributes
    ----------
    mixture : MixtureSettings
        Of the mixtures. Rows with pairs weigh no more than others here: mixtures start
        from whole clusters, and a group is kept together in any case.
    n_starts : int
        Clusterings from which mixtures start: the chosen one, and members of the
        committee that differ from it. What rows belong to is averaged.
    n_rounds : int
        How often rows are whitened inside groups: first inside must-link groups, then
        inside the clusters that these are assigned to.
    """

    mixture: MixtureSettings = MixtureSettings(kappa=20.0, weight=1.0, cap=np.inf)
    n_starts: int = 5
    n_rounds: int = 2


SETTINGS = EmbeddingSettings()


class ViewMixtures(NamedTuple):
    """The mixtures of one view, and how they see rows."""

    source: int  # which view of several
    steps: tuple[UnitRows, ...]
    mixtures: tuple[Mixture, ...]  # at least one

    def posterior(self, rows: Any) -> FloatArray:
        """Return how probable each cluster is, (n_rows, n_clusters)."""
        rows = sources_of(rows)[self.source]
        for step in self.steps:
            rows = step(rows)
        return _mean([mixture.posterior(rows) for mixture in self.mixtures])


class Tables(Protocol):
    """What views that are tables say of rows."""

    def chances(self, rows: Any) -> FloatArray:
        """Return how probable each cluster is, (n_rows, n_clusters)."""


@dataclass(frozen=True, eq=False)
class PlacedEmbeddings:
    """Rows belong where the mixtures of their views expect them."""

    views: tuple[ViewMixtures, ...]
    tables: Any  # of type Tables; None if every view has a mixture
    biases: FloatArray  # (n_clusters,), what keeps clusters from losing all rows
    order: IntArray  # (n_clusters,), which cluster of the rule each id stands for

    def decide(self, rows: Any) -> Decision:
        """Return where rows belong."""
        opinions = _opinions(self.views, self.tables, rows) + self.biases
        chances = softmax(opinions, axis=1)[:, self.order]
        doubt = np.maximum(0.0, 1.0 - chances.max(axis=1))
        return Decision(chances.argmax(axis=1), doubt)

    def reordered(self, order: IntArray) -> "PlacedEmbeddings":
        """Return the rule with the clusters in another order."""
        return replace(self, order=self.order[order])


def learn_embeddings(
    data: Any,
    sources: Sequence[int],
    starts: Sequence[IntArray],
    closure: Closure,
    n_clusters: int,
    *,
    sample_weight: FloatArray | None = None,
    tables: Tables | None = None,
    settings: EmbeddingSettings = SETTINGS,
) -> PlacedEmbeddings:
    """Learn where rows of embeddings belong.

    Parameters
    ----------
    data : array, sparse matrix or SeveralSets
        The rows.
    sources : sequence of int
        Which views hold embeddings.
    starts : sequence of ndarray of int, shape (n_samples,)
        Clusterings from which mixtures start; the first is the chosen one, whose ids
        are those of the result. Those that are much like one before are passed over.
    closure : Closure
        Of the pairs that are believed.
    n_clusters : int
        Number of clusters.
    sample_weight : ndarray of shape (n_samples,), optional
        Multiplicity of each row.
    tables : Tables, optional
        What the other views say.
    settings : EmbeddingSettings
        Numbers of the rule.
    """
    with one_blas_thread():
        linked = LinkedRows(closure, n_clusters)
        views = tuple(
            _learn_view(
                source,
                sources_of(data)[source],
                starts,
                linked,
                sample_weight,
                settings,
            )
            for source in sources
        )
        biases = _biases(_opinions(views, tables, data))
    return PlacedEmbeddings(views, tables, biases, np.arange(n_clusters))


def _learn_view(
    source: int,
    X: Any,
    starts: Sequence[IntArray],
    linked: LinkedRows,
    sample_weight: FloatArray | None,
    settings: EmbeddingSettings,
) -> ViewMixtures:
    """Return the mixtures of one view."""
    closure, k = linked.closure, linked.n_clusters
    angles = UnitRows.fit(X, sample_weight=sample_weight)
    own = angles(X)
    groups = closure.groups(k)
    is_sure = (closure.size > 1)[closure.component[linked.rows]]

    def fitted(rows: FloatArray, labels: IntArray) -> Mixture:
        return fit_mixture(
            rows,
            directions_of(rows, labels, k, sample_weight),
            linked,
            is_sure=is_sure,
            sample_weight=sample_weight,
            settings=settings.mixture,
        )

    labels = starts[0]
    for _ in range(settings.n_rounds):
        within = UnitRows.fit_within(own, Known(groups, k), sample_weight)
        rows = within(own)
        mixture = fitted(rows, labels)
        labels = mixture.posterior(rows).argmax(axis=1)
        chances = linked.assign(mixture.log_opinions(rows[linked.rows]))
        groups = np.full(len(rows), -1)
        groups[linked.rows[is_sure]] = chances.argmax(axis=1)[is_sure]
    others = [
        _renamed(fitted(rows, start), rows, labels)
        for start in _different(starts, settings.n_starts)[1:]
    ]
    return ViewMixtures(source, (angles, within), (mixture, *others))


def _different(starts: Sequence[IntArray], n_starts: int) -> list[IntArray]:
    """Return the first clusterings of which no two are much alike."""
    kept: list[IntArray] = []
    for start in starts:
        if len(kept) == n_starts:
            break
        if all(adjusted_rand_score(start, own) < _ALIKE for own in kept):
            kept.append(start)
    return kept


def _renamed(mixture: Mixture, rows: FloatArray, labels: IntArray) -> Mixture:
    """Return a mixture with the components in the order of some clusters."""
    own = mixture.posterior(rows).argmax(axis=1)
    order = np.argsort(matched(own, labels, len(mixture.centres)))
    return replace(
        mixture,
        centres=mixture.centres[order],
        log_priors=mixture.log_priors[order],
    )


def _mean(opinions: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(sum(opinions) / len(opinions), dtype=np.float64)


def _opinions(
    views: Sequence[ViewMixtures], tables: Tables | None, rows: Any
) -> FloatArray:
    """Return logarithms of the mean opinion, (n_rows, n_clusters)."""
    each: list[FloatArray] = [view.posterior(rows) for view in views]
    if tables is not None:
        each.append(tables.chances(rows))
    return np.asarray(np.log(np.maximum(_mean(each), _LEAST)))


def _biases(opinions: FloatArray) -> FloatArray:
    """Return what is added to opinions so that every cluster has a row.

    A cluster without one gets the row that is nearest to it.
    """
    biases = np.zeros(opinions.shape[1])
    for _ in range(_MAX_ROUNDS):
        now = opinions + biases
        sizes = np.bincount(now.argmax(axis=1), minlength=len(biases))
        empty = np.flatnonzero(sizes == 0)
        if len(empty) == 0:
            break
        # Not from a cluster that would be empty then.
        is_free = sizes[now.argmax(axis=1)] > 1
        missing = np.where(is_free, now.max(axis=1) - now[:, empty[0]], np.inf)
        biases[empty[0]] += missing.min() + _MARGIN
    return biases
