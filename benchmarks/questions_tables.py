"""Tables: all kinds of question against pairs alone, by minutes of a person's time.

Run with ``LINKWISE_PMLB=folder python benchmarks/questions_tables.py [NAME ...]``. Half
of the rows may be asked about (of 1,000 rows at most); printed is the ARI of the other
half after 5 and 10 minutes, answered by the truth at the default prices.
"""

import sys
import time
import warnings

import numpy as np
from _pmlb import load
from sklearn.metrics import adjusted_rand_score

from linkwise import KernelCSC
from linkwise.active import Prices, Session, Truth
from linkwise.active._oracles import answer_to

SETS = ("iris", "wine_recognition", "ecoli", "glass", "breast_cancer_wisconsin")
SETS += ("sonar", "heart_statlog", "diabetes", "dermatology", "ionosphere")
MARKS = (300.0, 600.0)
FITS = (10, 25, 50, 75, 100, 125, 150)
MAX_ROWS = 1_000


def scores_of(X, y, askable, questions: str) -> tuple[list[float], int]:
    """Return the ARI of the other rows at each mark, and the number of answers."""
    model = KernelCSC(int(y.max()) + 1, n_candidates=100, random_state=0)
    session = Session(X, model, askable=askable, questions=questions, prices=Prices())
    others = np.setdiff1d(np.arange(len(y)), askable)
    oracle, spent, n_told = Truth(y), 0.0, 0
    found: list[float] = []
    while len(found) < len(MARKS):
        question = session.ask()
        cost = np.inf
        if question is not None:
            answer = answer_to(oracle, question)
            cost = question.seconds(answer, Prices())
        if spent + cost > MARKS[len(found)]:
            session.fit()
            found.append(adjusted_rand_score(y[others], session.labels_[others]))
            continue
        session.tell(question, answer)
        spent, n_told = spent + cost, n_told + 1
        if n_told in FITS:
            session.fit()
    return found, n_told


def main() -> None:
    warnings.simplefilter("ignore")
    every = []
    for name in sys.argv[1:] or SETS:
        X, y = load(name)
        rng = np.random.default_rng(0)
        chosen = rng.permutation(len(y))[:MAX_ROWS]
        X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
        askable = np.sort(rng.permutation(len(y))[: len(y) // 2])
        line = f"{name:26s}"
        scores = []
        for questions in ("pair", "auto"):
            tic = time.time()
            found, n_told = scores_of(X, y, askable, questions)
            scores.append(found)
            shown = " ".join(f"{score:.3f}" for score in found)
            line += f"  {questions} {shown} ({n_told}, {time.time() - tic:.0f} s)"
        print(line, flush=True)
        every.append(scores)
    print(
        "mean (pair, auto) x (5, 10 minutes)", np.mean(every, axis=0).round(3).tolist()
    )


if __name__ == "__main__":
    main()
