"""Speed and objective of the baselines next to other libraries, and their cost.

``python benchmarks/rivals.py PYTHON`` compares with metric-learn (ITML, MMC) and
active-semi-supervised-clustering (COP-, PCK-, MPCK-KMeans), which PYTHON can import, an
interpreter of an environment of their own. Both sides get the same standardised data
and the same 500 pairs; ITML and MMC get the closure of the pairs, for metric-learn
makes none. One function computes the objective of both. Times are those of ``fit``,
the shortest of three (of one above 5 s), on one thread; a peer is stopped after
``--limit`` seconds, and the ratio is then a lower bound. What a peer raises is recorded
in the place of its result.

``python benchmarks/rivals.py --adult`` measures seconds and peak memory of every
baseline on ``adult`` (48,842 rows) with 5,000 pairs, warm, each in its own process.
Each should end within 10 minutes and 6 GiB, or refuse before it starts.

LINKWISE_PMLB names the data folder. Rows are appended to the records file as they are
done, and those already there are not run again.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from datetime import date
from importlib import import_module
from pathlib import Path

import numpy as np

SETS = ["vehicle", "segmentation", "spambase"]
PEERS = ["COPKMeans", "PCKMeans", "MPCKMeans", "ITML", "MMC", "MMC diagonal"]
PEER_COLUMNS = [
    "dataset",
    "method",
    "rows",
    "columns",
    "clusters",
    "pairs",
    "closure",
    "seconds",
    "peer_seconds",
    "ratio",
    "objective",
    "peer_objective",
    "better",
    "violated",
    "peer_violated",
    "note",
    "date",
]
ADULT_COLUMNS = [
    "method",
    "verdict",
    "seconds",
    "peak_gib",
    "before_gib",
    "violated",
    "note",
    "date",
]
MODULES = {
    "SeededKMeans": "_seeded_kmeans",
    "ConstrainedKMeans": "_seeded_kmeans",
    "COPKMeans": "_cop_kmeans",
    "PCKMeans": "_pck_means",
    "MPCKMeans": "_mpck_means",
    "HMRFKMeans": "_hmrf_kmeans",
    "LCVQE": "_lcvqe",
    "SSKKMeans": "_ssk_kmeans",
    "ITML": "_itml",
    "MMC": "_mmc",
    "MetricLCVQE": "_metric_lcvqe",
}
METRIC_LEARNERS = ("ITML", "MMC")


# Ours ------------------------------------------------------------------------


def our_model(method: str, k: int, as_peer: bool = False):
    """Return a baseline; ``as_peer`` with the settings of the other library."""
    name, _, variant = method.partition(" ")
    kind = getattr(import_module(f"linkwise.baselines.{MODULES[name]}"), name)
    options = {"random_state": 0}
    if name not in METRIC_LEARNERS:
        options["n_clusters"] = k
    if variant:
        options[variant] = True
    if as_peer and name == "ITML":
        options |= {"bounds": "unsquared", "max_pairs": None}
    if as_peer and name == "MMC":
        options["max_pairs"] = None
    return kind(**options)


def shortest(call, n_times: int = 3) -> float:
    """Return the shortest time of a few equal calls, or that of one that is long."""
    times = []
    for _ in range(n_times):
        np.random.seed(0)  # noqa: NPY002, one of the peers knows no other way
        tic = time.perf_counter()
        call()
        times.append(time.perf_counter() - tic)
        if times[-1] > 5:
            break
    return min(times)


def warm_up(model) -> None:
    """Fit a small problem, so that what is compiled is there."""
    from sklearn.base import clone

    from linkwise import Constraints

    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 3)) + 3.0 * y[:, None]
    model = clone(model)
    if "n_clusters" in model.get_params():
        model.set_params(n_clusters=2)
    model.fit(X, constraints=Constraints.sample(y, 30, random_state=0))


# Objectives, from labels or a metric alone -----------------------------------


def squared_to_means(X, labels):
    means = np.stack([X[labels == c].mean(axis=0) for c in range(labels.max() + 1)])
    return (X - means[labels]) ** 2


def cop_objective(X, labels, closure):
    """Return the inertia."""
    return squared_to_means(X, labels).sum()


def pck_objective(X, labels, closure):
    """Return half the inertia plus the number of broken pairs."""
    return squared_to_means(X, labels).sum() / 2 + closure.n_violated(labels)


def mpck_objective(X, labels, closure):
    """Return the lowest objective under one diagonal metric, by its closed form.

    Peers do not give their metric away, so that of the labels is taken: the best of ten
    rounds of the closed form and the farthest two points under it.
    """
    from scipy.spatial.distance import cdist

    must, cannot = closure.must_link_pairs().pairs, closure.cannot_link_pairs().pairs
    must = must[labels[must[:, 0]] != labels[must[:, 1]]]
    cannot = cannot[labels[cannot[:, 0]] == labels[cannot[:, 1]]]
    scatter = squared_to_means(X, labels).sum(axis=0)
    scatter += ((X[must[:, 0]] - X[must[:, 1]]) ** 2).sum(axis=0)
    close = ((X[cannot[:, 0]] - X[cannot[:, 1]]) ** 2).sum(axis=0)
    metric, lowest = np.ones(X.shape[1]), np.inf
    for _ in range(10):
        rows = X * np.sqrt(metric)
        far = np.argmax(cdist(rows, rows, "sqeuclidean"))
        i, j = np.unravel_index(far, (len(X), len(X)))
        total = scatter + len(cannot) * (X[i] - X[j]) ** 2 - close
        lowest = min(lowest, metric @ total - len(X) * np.log(metric).sum())
        metric = len(X) / np.maximum(total, 1e-9)
    return lowest


def differences(X, closure):
    must, cannot = closure.must_link_pairs().pairs, closure.cannot_link_pairs().pairs
    return X[must[:, 0]] - X[must[:, 1]], X[cannot[:, 0]] - X[cannot[:, 1]]


def itml_objective(X, metric, closure, bounds):
    """Return the divergence from the identity plus the price of the slack needed."""
    value = np.trace(metric) - np.linalg.slogdet(metric)[1] - len(metric)
    for v, sign, bound in zip(differences(X, closure), (1, -1), bounds, strict=True):
        ratio = np.einsum("ij,ij->i", v @ metric, v) / bound
        ratio = ratio[(sign * (ratio - 1) > 0) & (ratio > 0)]
        value += (ratio - np.log(ratio) - 1).sum()
    return value


def mmc_objective(X, metric, closure):
    """Return minus the log spread of cannot-links, at must-links of sum 1."""
    must, cannot = differences(X, closure)
    total = np.einsum("ij,ij->", must @ metric, must)
    spread = np.sqrt(np.maximum(np.einsum("ij,ij->i", cannot @ metric, cannot), 0.0))
    return -np.log(spread.sum() / np.sqrt(total))


LABEL_OBJECTIVES = {
    "COPKMeans": cop_objective,
    "PCKMeans": pck_objective,
    "MPCKMeans": mpck_objective,
}


def evaluate(method, X, closure, result, bounds):
    """Return the objective, lower is better, and the number of broken pairs."""
    if method in LABEL_OBJECTIVES:
        labels = np.asarray(result, dtype=np.intp)
        value = LABEL_OBJECTIVES[method](X, labels, closure)
        return float(value), closure.n_violated(labels)
    if method == "ITML":
        return float(itml_objective(X, result, closure, bounds)), ""
    return float(mmc_objective(X, result, closure)), ""


# Peers -----------------------------------------------------------------------


def run_peer(method: str, source: str, target: str) -> None:
    """Fit a model of another library; runs in the environment of the peers."""
    data = np.load(source)
    X, k = data["X"], int(data["k"])
    if method in LABEL_OBJECTIVES:
        from active_semi_clustering.semi_supervised import pairwise_constraints

        sys.setrecursionlimit(100_000)  # it walks along must-links by recursion
        model = getattr(pairwise_constraints, method)(n_clusters=k)
        links = {name: [tuple(p) for p in data[name].tolist()] for name in ("ml", "cl")}
        seconds = shortest(lambda: model.fit(X, **links))
        result = model.labels_
    else:
        import metric_learn

        name, _, variant = method.partition(" ")
        options = {variant: True} if variant else {}
        model = getattr(metric_learn, name)(preprocessor=X, **options)
        pairs = np.concatenate([data["closed_ml"], data["closed_cl"]])
        kinds = np.repeat([1, -1], [len(data["closed_ml"]), len(data["closed_cl"])])
        # fit would also calibrate a threshold
        seconds = shortest(lambda: model._fit(pairs, kinds))
        result = model.get_mahalanobis_matrix()
    np.savez(target, seconds=seconds, result=result)


def ask_peer(python: str, method: str, source: Path, limit: float):
    """Return seconds, result and a note of the peer; no result if it failed."""
    target = source.with_name("answer.npz")
    target.unlink(missing_ok=True)
    command = [python, "-W", "ignore", __file__, "--peer", method]
    single = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    try:
        run = subprocess.run(
            [*command, str(source), str(target)],
            timeout=limit,
            capture_output=True,
            text=True,
            env={**os.environ, **single},
        )
    except subprocess.TimeoutExpired:
        return limit, None, f"over {limit:g} s"
    if run.returncode != 0 or not target.exists():
        lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        return np.nan, None, lines[-1]
    answer = np.load(target)
    return float(answer["seconds"]), answer["result"], ""


def compare(name, method, python, limit, n_pairs, folder):
    """Return the row of one data set and method."""
    from _pmlb import load
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    from linkwise import Constraints

    X, y = load(name)
    X = StandardScaler().fit_transform(X)
    k = len(np.unique(y))
    pairs = Constraints.sample(y, n_pairs, random_state=0)
    closure = pairs.closure(len(y))
    source = Path(folder) / f"{name}.npz"
    np.savez(
        source,
        X=X,
        k=k,
        ml=pairs.must_link,
        cl=pairs.cannot_link,
        closed_ml=closure.must_link_pairs().pairs,
        closed_cl=closure.cannot_link_pairs().pairs,
    )
    model = our_model(method, k, as_peer=True)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warm_up(model)
        seconds = shortest(lambda: model.fit(X, constraints=pairs))
    ours = model.labels_ if method in LABEL_OBJECTIVES else model.metric_
    bounds = getattr(model, "bounds_", None)
    objective, violated = evaluate(method, X, closure, ours, bounds)
    peer_seconds, theirs, note = ask_peer(python, method, source, limit)
    peer_objective, peer_violated = "", ""
    if theirs is not None:
        peer_objective, peer_violated = evaluate(method, X, closure, theirs, bounds)
    slack = 1e-6 * abs(objective)
    return {
        "dataset": name,
        "method": method,
        "rows": len(y),
        "columns": X.shape[1],
        "clusters": k,
        "pairs": n_pairs,
        "closure": closure.n_must_link + closure.n_cannot_link,
        "seconds": seconds,
        "peer_seconds": peer_seconds,
        "ratio": peer_seconds / seconds,
        "objective": objective,
        "peer_objective": peer_objective,
        "better": ""
        if theirs is None
        else ("ours" if objective < peer_objective - slack else "peer")
        if abs(objective - peer_objective) > slack
        else "same",
        "violated": violated,
        "peer_violated": peer_violated,
        "note": note,
    }


# Adult -----------------------------------------------------------------------


def measure_one(method: str, source: str) -> None:
    """Fit a baseline and print what it took; runs in a process of its own."""
    from linkwise import Constraints

    data = np.load(source)
    pairs = Constraints(data["ml"], data["cl"])
    model = our_model(method, int(data["k"]))
    row = {"verdict": "done", "violated": "", "note": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warm_up(model)
        caught.clear()
        row["before_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        tic = time.perf_counter()
        try:
            model.fit(data["X"], constraints=pairs)
        except (ValueError, MemoryError) as error:
            row |= {"verdict": "refused", "note": str(error).splitlines()[0]}
        else:
            row["violated"] = getattr(model, "n_violated_", "")
            row["note"] = "; ".join(sorted({str(w.message) for w in caught}))
        row["seconds"] = time.perf_counter() - tic
    row["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps(row))


def measure(method, source, limit, max_gib):
    """Return the row of one baseline on the data of a file."""
    command = [sys.executable, __file__, "--one", method, str(source)]
    try:
        run = subprocess.run(command, timeout=limit, capture_output=True, text=True)
    except subprocess.TimeoutExpired:
        return {"method": method, "verdict": f"over {limit:g} s", "seconds": limit}
    if run.returncode != 0:
        lines = run.stderr.strip().splitlines() or [f"exit code {run.returncode}"]
        return {"method": method, "verdict": "failed", "note": lines[-1]}
    row = json.loads(run.stdout.strip().splitlines()[-1])
    if row["peak_gib"] > max_gib:
        row["verdict"] = f"over {max_gib:g} GiB"
    return {"method": method, **row}


def save_adult(folder, n_pairs: int) -> Path:
    """Write the standardised data and the pairs; return the file."""
    from _pmlb import load
    from sklearn.preprocessing import StandardScaler

    from linkwise import Constraints

    X, y = load("adult")
    pairs = Constraints.sample(y, n_pairs, random_state=0)
    source = Path(folder) / "adult.npz"
    np.savez(
        source,
        X=StandardScaler().fit_transform(X),
        k=len(np.unique(y)),
        ml=pairs.must_link,
        cl=pairs.cannot_link,
    )
    return source


# Records ---------------------------------------------------------------------


class Records:
    """A CSV file that grows by a row at a time and knows what it holds."""

    def __init__(self, path: Path, columns: list[str], keys: list[str]) -> None:
        self._path, self._columns, self._keys = path, columns, keys
        self._done = set()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open(newline="") as file:
                rows = csv.DictReader(file)
                self._done = {tuple(row[key] for key in keys) for row in rows}

    def has(self, *key: str) -> bool:
        """Tell whether the row of this key is there."""
        return key in self._done

    def add(self, row: dict) -> None:
        """Append a row and print it."""
        is_new = not self._path.exists()
        shown = {
            name: f"{value:.6g}" if isinstance(value, float) else value
            for name, value in {**row, "date": date.today()}.items()
        }
        with self._path.open("a", newline="") as file:
            writer = csv.DictWriter(file, self._columns)
            if is_new:
                writer.writeheader()
            writer.writerow(shown)
        self._done.add(tuple(str(row[key]) for key in self._keys))
        print("  ".join(f"{k}={v}" for k, v in shown.items() if v != ""), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", nargs="?", help="interpreter with the peers")
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--pairs", type=int, help="500, or 5000 with --adult")
    parser.add_argument("--limit", type=float, help="seconds: 300, or 600 with --adult")
    parser.add_argument("--max-gib", type=float, default=6.0)
    parser.add_argument("--records", help="CSV file of the rows")
    args = parser.parse_args()
    if args.python is None and not args.adult:
        parser.error("name the interpreter with the peers, or give --adult")
    kind = "rivals_adult" if args.adult else "rivals"
    path = Path(args.records or f"benchmarks/records/{kind}.csv")
    with tempfile.TemporaryDirectory() as folder:
        if args.adult:
            records = Records(path, ADULT_COLUMNS, ["method"])
            source = save_adult(folder, args.pairs or 5000)
            for method in args.methods or MODULES:
                if not records.has(method):
                    limit = args.limit or 600
                    records.add(measure(method, source, limit, args.max_gib))
            return
        records = Records(path, PEER_COLUMNS, ["dataset", "method"])
        for name in args.sets:
            for method in args.methods or PEERS:
                if not records.has(name, method):
                    limit, n_pairs = args.limit or 300, args.pairs or 500
                    records.add(
                        compare(name, method, args.python, limit, n_pairs, folder)
                    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        run_peer(*sys.argv[2:])
    elif sys.argv[1:2] == ["--one"]:
        measure_one(*sys.argv[2:])
    else:
        main()
