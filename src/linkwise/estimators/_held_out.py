"""What candidates are worth by pairs that they have not seen."""

import numpy as np

from linkwise.constraints import constraint_folds
from linkwise.engines import engine_for
from linkwise.kernels import Known
from linkwise.search import Evaluator


def held_out_evaluators(model, bank, given, n_folds, rng, max_memory=np.inf):
    """Yield an evaluator for each fold of the pairs: it scores by those left out.

    Closures, starts, and views that are learnt from groups are those of the other
    pairs.
    """
    n_samples = given.closure.n_samples
    for train, held_out in constraint_folds(given.pairs, n_folds, rng):
        closure = train.closure(n_samples)
        known = Known(closure.groups(model.n_clusters), model.n_clusters)
        yield Evaluator(
            bank.relearnt(given.data, known, max_memory),
            closure,
            model.n_clusters,
            reward=model.reward,
            max_iter=model.max_iter,
            judge=held_out.closure(n_samples),
        )


def mean_held_out_scores(model, bank, given, candidates, n_folds, rng, max_memory):
    """Return the mean score of each candidate over the folds, shape (n_candidates,)."""
    engine = engine_for(model.n_jobs)
    evaluators = held_out_evaluators(model, bank, given, n_folds, rng, max_memory)
    # One fold after the other: their banks need not all be in memory.
    scores = [
        [score for score, _ in engine.map(evaluator, candidates)]
        for evaluator in evaluators
    ]
    return np.mean(scores, axis=0)
