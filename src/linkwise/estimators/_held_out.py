"""What candidates are worth by pairs that they have not seen."""

import numpy as np

from linkwise.constraints import constraint_folds
from linkwise.kernels import Known
from linkwise.search import Evaluator, reward_of


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
            max_iter=model.max_iter,
            judge=reward_of(held_out.closure(n_samples), model.reward),
        )
