"""How KernelCSC judges candidates: by pairs as given, together, from honest starts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray, IntArray
from linkwise.constraints import Beliefs, Closure, Constraints, believe
from linkwise.doors import FitInput
from linkwise.engines import engine_for
from linkwise.estimators._contradictions import contradict
from linkwise.estimators._kernel_problem import KernelProblem
from linkwise.estimators._search import Judging
from linkwise.search import (
    Committee,
    Evaluator,
    GivenPairs,
    RandomSearch,
    SparseVectors,
    Starts,
    Trial,
    alone,
    run_search,
)

# Clusterings of plain k-means, of which the most compact counts.
_N_DRAWS = 5
# Part of the candidates that are tried before contradictory pairs are believed.
_SHARE_OF_FIRST = 1 / 3
# Pairs that views learnt from them pay where plain k-means has a credit: they were made
# to satisfy these pairs.
_PRICE_OF_LEARNING = 3.0
# Bytes that labels of candidates may take, and how many are kept at the least.
_MAX_BYTES = 2**28
_LEAST_MEMBERS = 30
# Belief up to which a pair is worth a second look: where pairs contradict each other
# some are wrong for certain, elsewhere there is nothing against them but opinions.
_LISTED = {True: 0.5, False: 0.2}


def committee_evaluator(
    model: Any, problem: KernelProblem, bank: Any, *, is_blind: bool = False
) -> Evaluator:
    """Return what judges candidates by the pairs as given, from several starts.

    ``is_blind``: no start knows the pairs.
    """
    local, k = problem.local, problem.local.n_clusters
    n_trials = 1
    if bank.plain is not None and bank.plain.credit > 0.0:
        # Seeds of plain k-means that is believed are as good as scikit-learn's.
        n_trials = 2 + int(np.log(k))
    rng = np.random.default_rng(problem.view_seed)
    return Evaluator(
        bank,
        local.closure,
        k,
        max_iter=model.max_iter,
        unrest=0.0 if is_blind else problem.unrest,
        judge=GivenPairs(local.pairs, model.reward),
        starts=Starts(
            local.pairs.points,
            Constraints().closure(local.closure.n_samples),
            rng.random((_N_DRAWS, k, n_trials)),
            is_blind,
            kernel_of(bank.plain),
        ),
    )


def by_committee(model: Any, problem: KernelProblem, bank: Any) -> Judging:
    """Return how candidates are judged whose labels form a committee."""
    return Judging(
        committee_evaluator(model, problem, bank),
        SparseVectors(bank.n_weights, model.max_kernels, kernel_of(bank.plain)),
        # Where few pairs all hold, further candidates still have something to say.
        stop_score=None,
        n_labels=n_members(problem.local.closure.n_samples),
    )


def n_members(n_samples: int) -> int:
    """Return how many candidates' labels are kept at the most."""
    return max(_LEAST_MEMBERS, _MAX_BYTES // n_samples)


def by_score(
    model: Any, problem: KernelProblem, bank: Any, max_kernels: int
) -> Judging:
    """Return how candidates are judged in the paper: each by the pairs that hold."""
    evaluator = Evaluator(
        bank,
        problem.local.closure,
        problem.local.n_clusters,
        reward=model.reward,
        max_iter=model.max_iter,
        unrest=problem.unrest,
    )
    return Judging(evaluator, SparseVectors(bank.n_weights, max_kernels))


def kernel_of(plain: Any) -> int | None:
    """Return the kernel of plain k-means, None if a bank has none."""
    return None if plain is None else plain.kernel


def committee_of(
    trials: Sequence[Trial], evaluator: Evaluator, bank: Any
) -> tuple[Committee, list[int]]:
    """Return the committee of the trials whose labels are kept, and their places."""
    members = [
        i for i, t in enumerate(trials) if t.labels is not None and t.score == t.score
    ]
    weights = np.stack([trials[i].weights for i in members])
    is_blind = np.array([trials[i].is_blind for i in members])
    judge: Any = evaluator.judge
    committee = Committee(
        np.stack([np.asarray(trials[i].labels) for i in members]),
        np.array([trials[i].score for i in members]),
        judge.n_pairs,
        evaluator.n_clusters,
        bank.sample_weight,
        _handicap(weights, bank),
        is_blind & ~weights[:, ~bank.is_honest].any(axis=1),
    )
    return committee, members


def _handicap(weights: FloatArray, bank: Any) -> FloatArray | None:
    """Return how many pairs more candidates have to satisfy for what they learnt."""
    if bank.plain is None or bank.plain.credit == 0.0:
        return None
    share = weights[:, bank.is_learnt].sum(axis=1) / weights.sum(axis=1)
    return _PRICE_OF_LEARNING * share


def choose(
    committee: Committee, trials: Sequence[Trial], plain: Any, tie_break: str = "first"
) -> int:
    """Return which member wins: the central one, unless plain k-means does as well.

    ``trials`` are those of the members.

    What satisfies fewer pairs than plain k-means never wins, and where that has a
    credit, so many more have to hold. ``tie_break`` says which one of those that are
    as central: the first, or the one with the least objective.
    """
    objectives = None
    if tie_break == "objective":
        objectives = np.array([trial.objective for trial in trials])
    if plain is None:
        return committee.central(objectives=objectives)
    is_plain = np.array([alone(trial.weights) == plain.kernel for trial in trials])
    if not is_plain.any():
        return committee.central(objectives=objectives)
    scores = committee.scores
    rival = int(np.where(is_plain, scores, -np.inf).argmax())
    chosen = committee.central(scores[rival], objectives)
    is_better = committee.n_pairs * (scores[chosen] - scores[rival]) >= plain.credit
    return chosen if is_better else rival


def believed(model: Any, problem: KernelProblem) -> KernelProblem:
    """Return the problem with groups of those pairs only that are believed."""
    pairs, k = problem.local.pairs, problem.local.n_clusters
    noise = None if model.noise == "auto" else model.noise
    if noise == 0 or (noise is None and not contradict(pairs, k)):
        return problem
    committee = first_committee(model, problem)
    opinions = committee.opinions(committee.labels[committee.central()])
    beliefs = believe(pairs, opinions, noise)
    return problem.believing(believed_closure(problem.local, beliefs))


def first_committee(model: Any, problem: KernelProblem) -> Committee:
    """Return a committee on kernels and from starts that know nothing of the pairs."""
    n_samples = problem.local.closure.n_samples
    bank = problem.believing(Constraints().closure(n_samples)).bank()
    evaluator = committee_evaluator(model, problem, bank, is_blind=True)
    domain = SparseVectors(bank.n_weights, model.max_kernels, kernel_of(bank.plain))
    n_candidates = max(_LEAST_MEMBERS, int(_SHARE_OF_FIRST * model.n_candidates))
    rng = np.random.default_rng(problem.view_seed)
    result = run_search(
        RandomSearch(n_candidates).start(domain, n_candidates, rng),
        evaluator,
        engine_for(model.n_jobs),
        n_candidates=n_candidates,
        stop_score=None,
    )
    return committee_of(result.trials, evaluator, bank)[0]


def believed_closure(given: FitInput, beliefs: Beliefs) -> Closure:
    """Return the closure of the pairs that are believed."""
    pairs = given.pairs
    must, cannot = beliefs.must_link > 0.5, beliefs.cannot_link > 0.5
    kept = pairs.subset(must, cannot)
    weighted = Constraints(
        kept.must_link,
        kept.cannot_link,
        beliefs.must_link[must],
        beliefs.cannot_link[cannot],
    )
    # What still contradicts: the less believed pair goes.
    weighted = weighted.drop_conflicts()
    keep = Constraints(
        weighted.must_link,
        weighted.cannot_link,
        _own_weight(weighted.must_link, pairs.must_link, pairs.must_link_weight),
        _own_weight(weighted.cannot_link, pairs.cannot_link, pairs.cannot_link_weight),
    )
    return keep.closure(given.closure.n_samples)


def _own_weight(
    chosen: IntArray, pairs: IntArray, weight: FloatArray
) -> FloatArray | None:
    """Return the weights of chosen pairs; all are sorted."""
    if len(chosen) == 0:
        return None
    size = int(pairs.max()) + 1
    code = pairs[:, 0] * size + pairs[:, 1]
    return weight[np.searchsorted(code, chosen[:, 0] * size + chosen[:, 1])]


def doubts(opinions: FloatArray, labels: IntArray) -> FloatArray:
    """Return for each row the share of the committee that puts it elsewhere."""
    return np.maximum(0.0, 1.0 - opinions[np.arange(len(labels)), labels])


def disbelieved(
    pairs: Constraints,
    beliefs: Beliefs,
    n_clusters: int,
    rows: IntArray | None = None,
) -> pd.DataFrame:
    """Return the pairs that are probably wrong.

    ``rows`` are the positions that those of the pairs stand for.
    """
    parts = [
        (pairs.must_link, "must-link", beliefs.must_link),
        (pairs.cannot_link, "cannot-link", beliefs.cannot_link),
    ]
    table = pd.concat(
        pd.DataFrame(
            {
                "i": ends[:, 0] if rows is None else rows[ends[:, 0]],
                "j": ends[:, 1] if rows is None else rows[ends[:, 1]],
                "kind": kind,
                "belief": belief,
            }
        )
        for ends, kind, belief in parts
        if len(ends)
    )
    is_contradictory = contradict(pairs, n_clusters)
    limit = _LISTED[is_contradictory]
    if is_contradictory:  # at least one of them is wrong
        limit = max(limit, table["belief"].min())
    table = table[table["belief"] <= limit].sort_values("belief", kind="stable")
    return table.reset_index(drop=True)
