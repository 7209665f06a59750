"""What an hour of a person's answers gives: ARI by minutes, on short texts.

Run with ``LINKWISE_TEXT=folder python benchmarks/questions.py runs.jsonl``; a run that
is in the file is not done again. ``--report`` prints the means. A session is answered
by the truth at the prices of a person; of each text set 1,000 rows may be asked about,
and 500 are never shown (``--rows all``: all rows, a third of them never shown).
Settings were chosen on stackoverflow and tweets.
"""

import argparse
import csv
import gzip
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import KernelCSC
from linkwise.active import Prices, Session, Truth
from linkwise.active._oracles import answer_to
from linkwise.clustering import UnitRows

SETS = ("stackoverflow", "tweets", "agnews", "banking")
MINUTES = (0, 2, 5, 10, 20, 30, 60)
SLOW = {"which": 10.0, "page": 8.0, "merge": 10.0, "grid": 8.0, "row": 1.5}
# By name: whether k is known, kinds of question, share of wrong answers, prices.
METHODS = {
    "all kinds": (True, "auto", 0.0, {}),
    "which only": (True, ("which",), 0.0, {}),
    "10 % wrong": (True, "auto", 0.1, {}),
    "slow reader": (True, "auto", 0.0, SLOW),
    "k unknown": (False, "auto", 0.0, {}),
}
# Minutes after which a status is written down, for the rule of stopping.
EVERY = 2
GAIN_MINUTES = 10


def load(name: str, vectors: str) -> tuple[np.ndarray, np.ndarray]:
    folder = Path(os.environ["LINKWISE_TEXT"])
    X = np.load(folder / f"{name}.{vectors}.npy").astype(np.float64)
    with gzip.open(
        folder / f"{name}.csv.gz", "rt", encoding="utf8", newline=""
    ) as file:
        y = [row["label"] for row in csv.DictReader(file)]
    return X, np.unique(y, return_inverse=True)[1]


def split(name: str, seed: int, rows: str, vectors: str):
    """Return rows, their classes, and which may be asked about."""
    X, y = load(name, vectors)
    n = 1500 if rows == "1500" else len(y)
    chosen = np.sort(np.random.RandomState(1000 + seed).permutation(len(y))[:n])
    X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
    n_askable = 1000 if rows == "1500" else 2 * n // 3
    askable = np.zeros(n, bool)
    askable[np.random.RandomState(2000 + seed).permutation(n)[:n_askable]] = True
    return X, y, askable


def right_share(y: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of rows in the right cluster, clusters matched at best."""
    _, own = np.unique(labels, return_inverse=True)
    table = np.zeros((y.max() + 1, own.max() + 1))
    np.add.at(table, (y, own), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(y))


def one_run(name, method, seed, rows, vectors, minutes) -> dict:
    is_known, kinds, wrong, own = METHODS[method]
    X, y, askable = split(name, seed, rows, vectors)
    k = len(np.unique(y))
    prices = Prices.of(own)
    model = KernelCSC(k if is_known else "auto")
    session = Session(
        X, model, askable=askable, questions=kinds, prices=prices, random_state=seed
    )
    oracle, spent, tic = Truth(y, wrong=wrong, random_state=seed), 0.0, time.time()
    marks = sorted({*MINUTES, *range(EVERY, max(MINUTES) + 1, EVERY)})
    marks = [minute for minute in marks if minute <= minutes]
    points: list[dict] = []
    counts: dict[str, int] = {}

    def note() -> None:
        labels, status = session.labels_, session.status()
        points.append(
            {
                "minute": marks[len(points)],
                "askable": adjusted_rand_score(y[askable], labels[askable]),
                "others": adjusted_rand_score(y[~askable], labels[~askable]),
                "right": right_share(y[askable], labels[askable]),
                "clusters": len(np.unique(labels)),
                "classes": len(np.unique(y[askable])),
                "answers": status.n_answers,
                "share": status.share,
                "bound": status.bound,
                "enough": status.enough,
            }
        )

    while len(points) < len(marks):
        question = session.ask()
        if question is None:
            note()
            continue
        answer = answer_to(oracle, question)
        cost = question.seconds(answer, prices)
        while len(points) < len(marks) and spent + cost > 60 * marks[len(points)]:
            note()
        session.tell(question, answer, seconds=cost)
        spent += cost
        counts[question.kind] = counts.get(question.kind, 0) + 1
    Z = UnitRows.fit(X)(X)
    blind = KMeans(k, n_init=3, random_state=seed).fit(Z).labels_
    return {
        "set": name,
        "method": method,
        "seed": seed,
        "rows": rows,
        "vectors": vectors,
        "points": points,
        "counts": counts,
        "k_means": adjusted_rand_score(y[askable], blind[askable]),
        "seconds": round(time.time() - tic, 1),
    }


def at(run: dict, minute: int, key: str) -> float:
    found = [p[key] for p in run["points"] if p["minute"] == minute]
    return float(found[0]) if found else float("nan")


def report(runs: list[dict]) -> None:
    for rows, vectors in sorted({(r["rows"], r["vectors"]) for r in runs}):
        print(f"\n{rows} rows, {vectors}: ARI at minutes {MINUTES}, others at 20, 60")
        for method in METHODS:
            own = [r for r in runs if r["method"] == method and r["rows"] == rows]
            own = [r for r in own if r["vectors"] == vectors]
            for name in ("all sets", *SETS):
                some = [r for r in own if name in ("all sets", r["set"])]
                if some:
                    print(_line(f"{method}, {name}", some))
    stops(runs)


def _line(title: str, runs: list[dict]) -> str:
    def mean(minute, key):
        return np.mean([at(run, minute, key) for run in runs])

    ask = " ".join(f"{mean(minute, 'askable'):.3f}" for minute in MINUTES)
    others = " ".join(f"{mean(minute, 'others'):.3f}" for minute in (20, 60))
    k = " ".join(f"{mean(m, 'clusters') / mean(m, 'classes'):.2f}" for m in (20, 60))
    blind = np.mean([run["k_means"] for run in runs])
    return f"{title:28s} {ask}  | {others} | k {k} | k-means {blind:.3f} ({len(runs)})"


def stops(runs: list[dict]) -> None:
    """Print how well a session knows when it is enough."""
    said = wrong = good = early = 0
    shown, true = [], []
    for run in runs:
        for point in run["points"]:
            if point["answers"] >= 60 and not np.isnan(point["share"]):
                shown.append(point["share"])
                true.append(point["right"])
        first = next((p for p in run["points"] if p["enough"]), None)
        reaches = any(p["askable"] >= 0.9 for p in run["points"])
        good += reaches
        if first is None:
            continue
        early += reaches and first["minute"] < 60
        said += 1
        later = at(run, first["minute"] + GAIN_MINUTES, "others")
        gain = later - first["others"]
        wrong += first["right"] < 0.7 or gain > 0.05
    print(f"\nenough: said in {said} runs, wrongly in {wrong}; before 60 minutes in")
    print(f"{early} of {good} runs that reach .9; rank correlation of the shown share")
    print(f"with the true one {spearmanr(shown, true)[0]:.2f} ({len(true)} moments)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", default="1500", choices=["1500", "all"])
    parser.add_argument("--vectors", default="minilm")
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = args.runs.read_text().splitlines() if args.runs.exists() else []
    runs = [json.loads(line) for line in lines]
    keys = ("set", "method", "seed", "rows", "vectors")
    done = {tuple(run[key] for key in keys) for run in runs}
    for method in [] if args.report else args.methods:
        for name in args.sets:
            for seed in range(args.seeds):
                what = (name, method, seed, args.rows, args.vectors)
                if what not in done:
                    runs.append(one_run(*what, args.minutes))
                    with args.runs.open("a") as file:
                        file.write(json.dumps(runs[-1]) + "\n")
    report(runs)


if __name__ == "__main__":
    main()
