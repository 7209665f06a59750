"""Where rows belong: a committee of clusterings and forests vote together.

The search leaves many clusterings, the pairs leave groups of rows that belong together.
Once the groups are assigned to clusters, two experts know more than one clustering
does: the committee, by the groups that each of its clusters holds, and learners that
find the groups in the columns: forests, or a kernel regression where that knows unseen
rows better. The same rule serves the rows of a fit and new rows.
"""

import warnings
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Closure
from linkwise.estimators._assignment import LinkedRows
from linkwise.estimators._ridge import Ridge, learn_ridge, mean_error
from linkwise.estimators._trees import Trees
from linkwise.kernels import Standardized
from linkwise.search import Committee, matched

# Least probability that opinions leave for a cluster.
_LEAST = 0.02
# Members that are looked at, the heaviest, and the least weight of a vote, relative.
_MAX_MEMBERS = 60
_LEAST_WEIGHT = 1e-3
# Error of a learner that makes none.
_LEAST_ERROR = 1e-6


@dataclass(frozen=True)
class PlacingSettings:
    """Numbers of the rule; ``benchmarks/placing.py`` measures all but ``sure``.

    Attributes
    ----------
    n_members : int
        Number of different clusterings that vote; groups are assigned by all. Each
        costs kernel values of new rows.
    trust : float
        Worth of the overlap between a member's cluster and a final one, in rows.
    smooth : float
        Rows of each final cluster added to every cluster of a member.
    n_rounds : int
        How often forests correct the assignment of the groups, for k > 2.
    n_trees : int
        Trees in each forest.
    full_say : float
        Rows with pairs per cluster up to which the committee counts as much as the
        learners. Beyond that its weight falls, unless the learners err clearly more.
    least_rows : float
        Rows with pairs per cluster below which nothing is placed.
    least_in_all : int
        Rows with pairs below which nothing is placed.
    shortfall : float
        How many fewer pairs, as a share, what is learnt may satisfy on rows that it has
        not seen than the committee does; beyond that columns do not show the clusters.
    least_for_ridge : int
        Rows with pairs from which the ridge regression takes part.
    clearly : float
        Ratio of two errors on unseen rows below which one is clearly better: that
        learner is used alone, that committee keeps its weight.
    """

    n_members: int = 5
    trust: float = 1.0
    smooth: float = 0.1
    n_rounds: int = 2
    n_trees: int = 30
    full_say: float = 50.0
    least_rows: float = 5.0
    least_in_all: int = 20
    shortfall: float = 0.2
    least_for_ridge: int = 100
    clearly: float = 0.8


SETTINGS = PlacingSettings()


class Voters(NamedTuple):
    """Members of a committee that vote; no two are the same clustering."""

    members: IntArray  # (n_used,), positions in the committee, heaviest first
    weights: FloatArray  # (n_used,), they sum to 1

    def heaviest(self, n_members: int) -> "Voters":
        """Return those of the largest weight."""
        weights = self.weights[:n_members]
        return Voters(self.members[:n_members], weights / weights.sum())


@dataclass(frozen=True, eq=False)
class Placing:
    """The rule that says where rows belong; made by :func:`learn_placing`.

    Attributes
    ----------
    members : ndarray of shape (n_used,)
        Members of the committee that vote; [0] if it is the chosen clustering alone.
    weights : ndarray of shape (n_used,)
        Their weights; they sum to 1.
    tables : ndarray of shape (n_used, n_clusters, n_clusters)
        Probability of each final cluster, for each cluster of each member.
    committee_weight : float
        Weight of the committee, in [0, 1]; the learners have the rest.
    learners : tuple of Trees or Ridge
        What has learnt the groups, each for the same clusters; empty if there was
        nothing to learn.
    scaling : Standardized or None
        Scaling of the columns that the learners see.
    """

    members: IntArray
    weights: FloatArray
    tables: FloatArray
    committee_weight: float
    learners: tuple[Trees | Ridge, ...]
    scaling: Standardized | None

    def probabilities(
        self, clusters: IntArray, features: FloatArray | None
    ) -> FloatArray:
        """Return how probable each final cluster is for each row.

        Parameters
        ----------
        clusters : ndarray of int, shape (n_used, n_rows)
            Cluster of each row by each of ``members``, in this order.
        features : ndarray of shape (n_rows, n_features) or None
            Columns of the rows, as in the fit.

        Returns
        -------
        ndarray of shape (n_rows, n_clusters)
            Each row sums to 1.
        """
        found = _shares(clusters, self.weights, self.tables)
        if not self.learners:
            return found
        assert self.scaling is not None and features is not None
        columns = self.scaling.transform(features).plain()
        learnt = sum(own.shares(columns) for own in self.learners) / len(self.learners)
        # Clusters that no pair tells of are left to the committee.
        known = self.learners[0].classes
        by_learners = found.copy()
        by_learners[:, known] = learnt * found[:, known].sum(axis=1, keepdims=True)
        weight = self.committee_weight
        return np.asarray(weight * found + (1.0 - weight) * by_learners)


def learn_placing(
    committee: Committee,
    labels: IntArray,
    closure: Closure,
    features: FloatArray | None,
    *,
    seed: int,
    is_alone: bool = False,
    settings: PlacingSettings = SETTINGS,
) -> Placing | None:
    """Learn where rows belong from a committee, pairs and columns.

    Parameters
    ----------
    committee : Committee
        Clusterings of the rows.
    labels : ndarray of int, shape (n_samples,)
        The chosen clustering; its ids are those of the final clusters.
    closure : Closure
        Of the pairs that are believed: wrong ones do much harm.
    features : ndarray of shape (n_samples, n_features) or None
        Columns of the rows. Without them the committee votes alone.
    seed : int
        Seed of the forests.
    is_alone : bool, default=False
        Whether the chosen clustering is the only voter, for many rows.
    settings : PlacingSettings
        Numbers of the rule.

    Returns
    -------
    Placing or None
        None if there are too few rows with pairs: then rows stay where they are.
    """
    n_clusters = committee.n_clusters
    linked = LinkedRows(closure, n_clusters)
    n_linked = len(linked.rows)
    least = max(settings.least_rows * n_clusters, settings.least_in_all)
    if n_clusters < 2 or n_linked < least:
        return None
    scaling, columns = _scaled(features, linked.rows)
    everyone = voting_members(committee)
    chances = _assign(committee, everyone, labels, linked, columns, seed, settings)
    own = chances.argmax(axis=1)
    if is_alone:
        voters, clusters = Voters(np.zeros(1, np.intp), np.ones(1)), labels[None]
    else:
        voters, clusters = everyone.heaviest(settings.n_members), committee.labels
    counts = _counts(clusters, n_clusters, voters, labels, linked.rows, own, settings)
    learners: tuple[Trees | Ridge, ...] = ()
    say = min(1.0, settings.full_say * n_clusters / n_linked)
    classes, at = np.unique(own, return_inverse=True)
    if columns is not None and len(classes) > 1:
        learners, unseen = _learn(columns, own, seed, is_alone, settings)
        guessed = np.array(labels)
        guessed[linked.rows] = classes[unseen.argmax(axis=1)]
        promised = float(committee.weights @ committee.scores)
        if closure.score(guessed) < promised - settings.shortfall:
            learners = ()
        places = clusters[voters.members][:, linked.rows]
        known = _left_out(places, voters.weights, counts, own)[:, classes]
        if mean_error(known, at) < settings.clearly * mean_error(unseen, at):
            say = 1.0
    tables = counts / counts.sum(axis=2, keepdims=True)
    return Placing(*voters, tables, say / (say + 1.0), learners, scaling)


def voting_members(committee: Committee) -> Voters:
    """Return the different clusterings; equal ones vote once, with their sum.

    Parameters
    ----------
    committee : Committee
        The committee; members of next to no weight have no vote.

    Returns
    -------
    Voters
        Members and weights, the heaviest first.

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 0]])
    >>> committee = Committee(labels, np.array([0.9, 0.8, 0.9]), 20.0, 2)
    >>> voting_members(committee).members.tolist()
    [0, 1]
    """
    weights = committee.weights
    found: dict[bytes, tuple[int, float]] = {}
    for member in np.argsort(-weights, kind="stable")[:_MAX_MEMBERS].tolist():
        same = _renumbered(committee.labels[member]).tobytes()
        first, total = found.get(same, (member, 0.0))
        found[same] = first, total + float(weights[member])
    members, sums = np.array(sorted(found.values(), key=lambda item: -item[1])).T
    voters = Voters(members.astype(np.intp), sums)
    return voters.heaviest(int((sums >= _LEAST_WEIGHT * sums[0]).sum()))


def _renumbered(labels: IntArray) -> IntArray:
    """Return the clustering with ids in the order in which they appear."""
    _, first, own = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[own]


def _scaled(
    features: FloatArray | None, rows: IntArray
) -> tuple[Standardized | None, FloatArray | None]:
    """Return the scaling of the columns, and those of some rows, scaled."""
    if features is None:
        return None, None
    # Trees see rows in single precision, which is lost far from zero.
    scaling = Standardized().fit(features)
    return scaling, scaling.transform(features[rows]).plain()


def _assign(
    committee: Committee,
    voters: Voters,
    labels: IntArray,
    linked: LinkedRows,
    columns: FloatArray | None,  # (n_linked, n_features), scaled
    seed: int,
    settings: PlacingSettings,
) -> FloatArray:
    """Return how probable each cluster is for each row with a pair."""
    rows = linked.rows
    chances = linked.assign(_log(committee.opinions(labels)[rows]))
    if committee.n_clusters == 2 or columns is None:
        return chances
    every, k = committee.labels, committee.n_clusters
    clusters = every[voters.members][:, rows]
    for round_ in range(settings.n_rounds):
        own = chances.argmax(axis=1)
        known = np.unique(own)
        if len(known) < 2:
            break
        counts = _counts(every, k, voters, labels, rows, own, settings)
        tables = counts / counts.sum(axis=2, keepdims=True)
        shares = _shares(clusters, voters.weights, tables)
        learnt = np.zeros_like(shares)
        learnt[:, known] = _out_of_bag(columns, own, seed + round_, settings.n_trees)
        chances = linked.assign(0.5 * (_log(shares) + _log(learnt)))
    return chances


def _log(chances: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(chances, _LEAST)))


def _counts(
    clusterings: IntArray,  # (n_members, n_samples)
    n_clusters: int,
    voters: Voters,
    labels: IntArray,
    rows: IntArray,
    own: IntArray,  # (n_linked,), clusters that the rows are assigned to
    settings: PlacingSettings,
) -> FloatArray:
    """Return how many rows of each final cluster each cluster of the voters holds.

    Their shares are probabilities; shape (n_used, n_clusters, n_clusters).
    """
    k = n_clusters
    sizes = np.bincount(own, minlength=k)
    is_known = sizes > 0
    # Clusters count the same: how many rows of one have pairs says little of its size.
    worth = sizes.sum() / is_known.sum() / np.maximum(sizes, 1)
    tables = np.full((len(voters.members), k, k), settings.smooth)
    for table, member in zip(tables, voters.members, strict=True):
        clusters = clusterings[member].astype(np.intp)
        match = matched(clusters, labels, k)
        np.add.at(table, (clusters[rows], own), worth[own])
        table[np.arange(k), match] += settings.trust
        # Pairs say nothing of the other clusters: there the committee's opinion stays.
        table[:, ~is_known] = 0.0
        table[~is_known[match]] = np.eye(k)[match[~is_known[match]]]
    return tables


def _left_out(
    clusters: IntArray,  # (n_used, n_linked)
    weights: FloatArray,
    counts: FloatArray,
    own: IntArray,
) -> FloatArray:
    """Return how probable each final cluster is for rows that do not count themselves.

    Shape (n_linked, n_clusters).
    """
    worth = len(own) / len(np.unique(own)) / np.bincount(own)[own]
    at = np.arange(len(own))
    found = np.zeros((len(own), counts.shape[2]))
    for places, weight, table in zip(clusters, weights, counts, strict=True):
        others = table[places]
        others[at, own] = np.maximum(others[at, own] - worth, 0.0)
        found += weight * others / others.sum(axis=1, keepdims=True)
    return found


def _shares(clusters: IntArray, weights: FloatArray, tables: FloatArray) -> FloatArray:
    """Return how probable each final cluster is for each row, by the voters."""
    found = np.zeros((clusters.shape[1], tables.shape[2]))
    for own, weight, table in zip(clusters, weights, tables, strict=True):
        found += weight * table[own]
    return found


def _learn(
    columns: FloatArray,
    own: IntArray,
    seed: int,
    is_alone: bool,
    settings: PlacingSettings,
) -> tuple[tuple[Trees | Ridge, ...], FloatArray]:
    """Return what has learnt the groups, and its shares for rows it has not seen.

    Forests, a regression or both: by their squared errors on unseen rows. One alone
    where each further vote would need another pass over many rows.
    """
    order = _order(columns, own)
    columns, own = columns[order], own[order]
    _, at = np.unique(own, return_inverse=True)
    trees, by_trees = _forests(columns, own, seed, settings.n_trees)
    learners: tuple[Trees | Ridge, ...] = (trees,)
    votes = by_trees
    if len(own) >= settings.least_for_ridge:
        ridge, by_ridge = learn_ridge(columns, own, np.random.default_rng(seed))
        ratio = mean_error(by_ridge, at) / max(mean_error(by_trees, at), _LEAST_ERROR)
        if ratio < settings.clearly:
            learners, votes = (ridge,), by_ridge
        elif ratio <= 1.0 / settings.clearly and not is_alone:
            learners, votes = (trees, ridge), 0.5 * (by_trees + by_ridge)
    unseen = np.empty_like(votes)
    unseen[order] = votes
    return learners, unseen


def _forests(
    columns: FloatArray, own: IntArray, seed: int, n_trees: int
) -> tuple[Trees, FloatArray]:
    """Return two forests: one for which all clusters count the same, one as they are.

    Together they neither lose small clusters nor exaggerate them. Also what the first
    says of the rows out of bag, (n_linked, n_known).
    """
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    forests = (
        RandomForestClassifier(
            n_trees,
            class_weight="balanced_subsample",
            oob_score=True,
            random_state=seed,
        ),
        ExtraTreesClassifier(n_trees, random_state=seed),
    )
    with warnings.catch_warnings():
        # A row that every tree has seen gets no vote: then it counts as the first.
        warnings.simplefilter("ignore")
        for forest in forests:
            forest.fit(columns, own)
    return Trees.of(forests), np.nan_to_num(forests[0].oob_decision_function_)


def _out_of_bag(
    columns: FloatArray, own: IntArray, seed: int, n_trees: int
) -> FloatArray:
    """Return the votes of trees that have not seen the row, (n_linked, n_known)."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_trees, oob_score=True, random_state=seed)
    order = _order(columns, own)
    with warnings.catch_warnings():
        # A row that every tree has seen gets no vote: then its opinions are even.
        warnings.simplefilter("ignore")
        forest.fit(columns[order], own[order])
    found = np.empty_like(forest.oob_decision_function_)
    found[order] = forest.oob_decision_function_
    return found


def _order(columns: FloatArray, own: IntArray) -> IntArray:
    """Return an order of rows that does not depend on the one they come in.

    Forests draw rows by position.
    """
    return np.lexsort((own, *columns.T))
