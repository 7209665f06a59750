"""The rule of placing with the kernels of its members, for rows of any kind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from linkwise._typing import FloatArray, IntArray
from linkwise.clustering import Centres
from linkwise.constraints import Closure
from linkwise.doors import n_rows, rows_of
from linkwise.engines import DaskRows, engine_here
from linkwise.estimators._blocks import ROWS_PER_BLOCK
from linkwise.estimators._clustering import Clustering, cluster_under
from linkwise.estimators._committee import believed_closure
from linkwise.estimators._contradictions import contradict
from linkwise.estimators._decision import Decision
from linkwise.estimators._hindsight import Hindsight
from linkwise.estimators._kernel_fit import KernelFit
from linkwise.estimators._placed_embeddings import (
    SHORTFALL,
    PlacedEmbeddings,
    learn_embeddings,
)
from linkwise.estimators._placing import Placing, learn_placing, voting_members
from linkwise.kernels import sources_of
from linkwise.search import Committee, Trial


class NearestCentre(NamedTuple):
    """Rows belong where the nearest centre under a kernel is."""

    kernel: Any
    centres: Centres

    def decide(self, rows: Any) -> Decision:
        """Return where rows belong."""
        return Decision(self.centres.labels(self.kernel(rows).astype(np.float64)))


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows belong where the members of a committee and forests expect them."""

    placing: Placing
    members: tuple[NearestCentre, ...]
    order: IntArray  # (n_clusters,), which cluster of the rule each id stands for
    sources: tuple[int, ...]  # views whose columns the forests see

    def decide(self, rows: Any) -> Decision:
        """Return where rows belong."""
        chances = self.chances(rows)
        return Decision(chances.argmax(axis=1), 1.0 - chances.max(axis=1))

    def chances(self, rows: Any) -> FloatArray:
        """Return how probable each cluster is, (n_rows, n_clusters)."""
        clusters = np.stack([member.decide(rows).labels for member in self.members])
        columns = features_of(rows, self.sources)
        return self.placing.probabilities(clusters, columns)[:, self.order]

    def reordered(self, order: IntArray) -> "PlacedRows":
        """Return the rule with the clusters in another order."""
        return replace(self, order=self.order[order])


Rule = PlacedRows | PlacedEmbeddings


class Placed(NamedTuple):
    """A clustering whose labels are what prediction gives for the same rows."""

    clustering: Clustering
    doubt: FloatArray | None
    rule: Rule | None  # None: the nearest centre of the clustering


def place(
    fit: KernelFit,
    committee: Committee,
    trials: Sequence[Trial],
    found: Clustering,
    back: Hindsight,
) -> Placed:
    """Put rows where committee and learners expect them, if enough is known for it.

    Otherwise rows get the nearest centre, as new ones would. Labels stay as they are if
    a cluster would lose all its rows, and where rows have no columns.

    Parameters
    ----------
    fit : KernelFit
        Rows, kernels, and how they are clustered.
    committee : Committee
        What the search left.
    trials : sequence of Trial
        Those of its members.
    found : Clustering
        The chosen one; its ids are those of the result.
    back : Hindsight
        Doubts about rows and pairs: of pairs, only those that are believed count.
    """
    unchanged = Placed(found, back.doubt, None)
    all_kernels = fit.bank.kernel(np.ones(fit.bank.n_weights))
    tables = _tables(fit)
    if features_of(fit.problem.local.data, tables) is None:
        return unchanged
    if not all_kernels.is_of_rows:
        return unchanged
    rule = _learn(fit, committee, trials, found, back)
    nearest = NearestCentre(found.kernel, found.centres)
    for by in (nearest,) if rule is None else (rule, nearest):
        placed = _placed_by(by, fit, found)
        if placed is not None:
            decision, clustering = placed
            is_rule = by is rule
            doubt = decision.doubt if is_rule else back.doubt
            return Placed(clustering, doubt, rule if is_rule else None)
    return unchanged


def _tables(fit: KernelFit) -> tuple[int, ...]:
    """Return which views are not compared by angles."""
    sources = range(len(sources_of(fit.problem.local.data)))
    return tuple(s for s in sources if s not in fit.bank.angular_sources)


def _learn(
    fit: KernelFit,
    committee: Committee,
    trials: Sequence[Trial],
    found: Clustering,
    back: Hindsight,
) -> Rule | None:
    """Return the rule, None where too little is known."""
    local = fit.problem.local
    closure = local.closure
    # Where none contradicts another, those that are true and disbelieved are more.
    is_doubtful = contradict(local.pairs, local.n_clusters)
    if back.beliefs is not None and is_doubtful:
        closure = believed_closure(local, back.beliefs)
    tables, angular = _tables(fit), fit.bank.angular_sources
    by_forests = None
    if tables:
        by_forests = _learn_tables(fit, committee, trials, found, closure, tables)
    if not angular or (tables and by_forests is None) or local.n_clusters == 1:
        return by_forests
    rule = learn_embeddings(
        local.data,
        angular,
        [found.local_labels, *committee.labels[voting_members(committee).members]],
        closure,
        local.n_clusters,
        sample_weight=local.sample_weight,
        tables=by_forests,
    )
    # Where lengths tell clusters apart, angles do not.
    satisfied = closure.score(rule.decide(local.data).labels)
    return rule if satisfied >= closure.score(found.local_labels) - SHORTFALL else None


def _learn_tables(
    fit: KernelFit,
    committee: Committee,
    trials: Sequence[Trial],
    found: Clustering,
    closure: Closure,
    tables: tuple[int, ...],
) -> PlacedRows | None:
    """Return the rule of committee and forests, None where too little is known."""
    local = fit.problem.local
    # Of many rows, each further voter would need another pass over all of them.
    work = fit.problem.work
    is_alone = work is not None and not work.is_whole
    placing = learn_placing(
        committee,
        found.local_labels,
        closure,
        features_of(local.data, tables),
        seed=fit.problem.view_seed,
        is_alone=is_alone,
    )
    if placing is None:
        return None
    members = [NearestCentre(found.kernel, found.centres)]
    if not is_alone:
        votes = [
            cluster_under(fit.bank, fit.evaluator, local.closure, trials[at].weights)
            for at in placing.members
        ]
        members = [NearestCentre(own.kernel, own.centres) for own in votes]
    order = np.arange(committee.n_clusters)
    return PlacedRows(placing, tuple(members), order, tables)


def _placed_by(
    rule: NearestCentre | Rule, fit: KernelFit, found: Clustering
) -> tuple[Decision, Clustering] | None:
    """Return where all rows belong by a rule, None if a cluster would lose its rows."""
    problem = fit.problem
    decision = decide_all(fit.model, problem.given.data, rule)
    local = decision.labels
    if isinstance(problem.given.data, DaskRows):
        local = rule.decide(problem.local.data).labels
    elif problem.work is not None:
        local = local[problem.work.rows]
    if len(np.unique(local)) < problem.local.n_clusters:
        return None
    closure = problem.local.closure
    return decision, found.relabelled(decision.labels, local, closure)


def decide_all(model: Any, data: Any, rule: NearestCentre | Rule) -> Decision:
    """Return where rows belong, block by block."""
    if isinstance(data, DaskRows):
        return Decision(data.lazily(partial(_labels_of_chunk, rule)))
    blocks = gen_batches(n_rows(data), ROWS_PER_BLOCK)
    engine = engine_here(model.n_jobs)
    found = engine.map(lambda b: rule.decide(rows_of(data, b)), blocks)
    labels, doubts = zip(*found, strict=True)
    is_known = doubts[0] is not None
    return Decision(
        np.concatenate(labels), np.concatenate(doubts) if is_known else None
    )


def _labels_of_chunk(rule: NearestCentre | Rule, rows: Any, where: Any) -> Any:
    blocks = gen_batches(len(rows), ROWS_PER_BLOCK)
    return np.concatenate([rule.decide(rows[block]).labels for block in blocks])


def features_of(data: Any, sources: Sequence[int]) -> FloatArray | None:
    """Return the columns of some views as one array; None if one has none.

    Columns of sparse rows mean little by themselves, and objects have none.
    """
    every = sources_of(data)
    views = [every[source] for source in sources]
    if not all(_is_table(view) for view in views):
        return None
    if not views:
        return np.empty((n_rows(data), 0))
    return views[0] if len(views) == 1 else np.hstack(views)


def _is_table(data: Any) -> bool:
    return isinstance(data, np.ndarray) and data.ndim == 2 and data.dtype.kind == "f"
