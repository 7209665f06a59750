"""How long asking takes: questions, answers on disk, rescoring, a refit.

Run with ``python benchmarks/asking.py [--rows 10000 1000000]``. Medians in milliseconds
on made-up rows; the refit has 300 candidates. ``--groups 1000 10000 100000`` measures
questions about groups alone: made-up embeddings of 384 columns in 77 classes.
"""

import argparse
import resource
import statistics
import tempfile
import time
import warnings
from datetime import date
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from linkwise import KernelCSC
from linkwise.active import Session, Truth
from linkwise.active._answers import Answer, Known
from linkwise.search import Committee


def seconds(call) -> float:
    tic = time.perf_counter()
    call()
    return time.perf_counter() - tic


def session_times(n_rows: int, n_answers: int = 100) -> dict[str, float]:
    X, y = make_blobs(n_rows, 50, centers=8, cluster_std=6.0, random_state=0)
    oracle = Truth(y)
    asks, tells = [], []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        with Session(X.astype(np.float32), KernelCSC(8), log=log) as session:
            for _ in range(n_answers):
                tic = time.perf_counter()
                question = session.ask()
                asks.append(time.perf_counter() - tic)
                said = oracle(question.i, question.j)
                tells.append(seconds(lambda q=question, s=said: session.tell(q, s)))
    return {
        "first ask": 1e3 * asks[0],
        "ask": 1e3 * statistics.median(asks),
        "tell with fsync": 1e3 * statistics.median(tells),
    }


def group_times(n_rows: int, n_answers: int = 150) -> dict[str, float]:
    """Return medians with questions about groups, and the memory of the process."""
    rng = np.random.default_rng(0)
    y = rng.integers(77, size=n_rows)
    X = rng.normal(size=(77, 384)).astype(np.float32)[y]
    X += 1.5 * rng.normal(size=X.shape).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    oracle = Truth(y)
    times: dict[str, list[float]] = {"ask": [], "tell": [], "labels": [], "status": []}
    with tempfile.TemporaryDirectory() as folder:
        tic = time.perf_counter()
        log = Path(folder) / "log.jsonl"
        session = Session(X, KernelCSC(77), log=log, questions="auto", prices={})
        opened = time.perf_counter() - tic
        with session:
            for _ in range(n_answers):
                question: list = []
                times["ask"].append(seconds(lambda q=question: q.append(session.ask())))
                said = oracle.answer(question[0])
                times["tell"].append(
                    seconds(lambda q=question, s=said: session.tell(q[0], s))
                )
                times["labels"].append(seconds(lambda: session.labels_))
                times["status"].append(seconds(session.status))
    found = {what: 1e3 * statistics.median(own) for what, own in times.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"open": 1e3 * opened, **found, "memory, MiB": memory}


def rescoring(
    n_rows: int = 10_000, n_members: int = 300, n_answers: int = 200
) -> float:
    rng = np.random.default_rng(0)
    labels = rng.integers(8, size=(n_members, n_rows)).astype(np.uint8)
    committee = Committee(labels, np.zeros(n_members), 0, 8).best(n_members)
    known = Known()
    for row in range(8, 8 + n_answers):  # of eight groups, each row is in one
        known.add(Answer(row, row % 8, True, row))
    for a, b in combinations(range(8), 2):
        known.add(Answer(a, b, False, -1))
    groups = known.as_groups()
    times = [seconds(lambda: committee.reweighted(groups).weights) for _ in range(30)]
    return 1e3 * statistics.median(times)


def refit(
    n_rows: int, n_answers: int = 200, n_jobs: int = 2
) -> tuple[list[float], float]:
    """Return the time of three refits, and of a question when there is a committee."""
    X, y = make_blobs(n_rows, 50, centers=8, cluster_std=6.0, random_state=0)
    model = KernelCSC(8, n_candidates=300, random_state=0, n_jobs=n_jobs)
    session, oracle = Session(X.astype(np.float32), model), Truth(y)
    times, asks = [], []
    for _ in range(3):
        for _ in range(n_answers // 4):
            question = session.ask()
            session.tell(question, oracle(question.i, question.j))
        times.append(seconds(session.fit))
    for _ in range(n_answers // 4):
        tic = time.perf_counter()
        question = session.ask()
        asks.append(time.perf_counter() - tic)
        session.tell(question, oracle(question.i, question.j))
    return times, 1e3 * statistics.median(asks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--groups", type=int, nargs="+", default=[])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(date.today())
    for n_rows in args.groups:
        for what, found in group_times(n_rows).items():
            print(f"{n_rows:>9,} rows  {what:18s}{found:9.1f}")
    if args.groups:
        return
    for n_rows in args.rows:
        for what, found in session_times(n_rows).items():
            print(f"{n_rows:>9,} rows  {what:18s}{found:9.2f} ms")
    print(f"rescoring 300 labelings of 10,000 rows{rescoring():9.2f} ms")
    for n_rows in args.rows:
        refits, ask = refit(n_rows)
        print(f"{n_rows:>9,} rows  ask with a committee{ask:7.2f} ms", end="; ")
        print("refits", ", ".join(f"{found:.1f} s" for found in refits))


if __name__ == "__main__":
    main()
