"""Make the values of metric-learn that the tests compare with.

Run with ``python benchmarks/metric_learn_golden.py PYTHON OUT.json``, where PYTHON is
the interpreter of an environment with metric-learn 0.7.0 and scikit-learn < 1.8 (the
newest that metric-learn runs with). Problems are drawn from seeds; inputs and outputs
are written together, so that the tests need neither.

The must-links of a problem are all pairs inside its groups and the cannot-links all
pairs between them: their own closure, each pair once, in the order in which linkwise
takes them.

- ITML stops by its own rule; one run more per problem stops after three sweeps, so that
  the sequence of projections is compared and not only its end.
- MMC, full: metric-learn adds 1e-6 to every distance. The metric does not depend on
  the unit of the data, so the data it gets are a thousand times as large, where that
  is little. The run is compared after a few rounds and at its end.
- MMC, diagonal: metric-learn searches along its Newton direction with the sign of one
  term of the objective turned, and ends far from the optimum or with an error. So it is
  run as it is, for its objective, and with that sign mended, for its weights. Its
  Newton step knows no bounds, so only where no weight is zero at the optimum are the
  weights those of the optimum; the projected slope stored beside them tells. The second
  run starts at the inverse sums over must-links, for from the identity Newton's method
  often goes nowhere, and in the larger unit, as above.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROBLEMS = {  # seed, rows, columns, sizes of groups
    "few rows": (0, 14, 2, (4, 4)),
    "plane": (0, 30, 2, (12, 13)),
    "three groups": (1, 30, 3, (7, 9, 8)),
    "more columns": (2, 30, 6, (6, 6, 6, 5)),
}
UNIT = 1e3


def make_problem(seed, n_samples, n_features, sizes):
    """Return data and the closed pairs of a few of its rows."""
    rng = np.random.default_rng(seed)
    group = np.full(n_samples, -1)
    rows = rng.permutation(n_samples)[: sum(sizes)]
    group[rows] = np.repeat(np.arange(len(sizes)), sizes)
    centres = rng.normal(size=(len(sizes), n_features))
    X = rng.normal(size=(n_samples, n_features)) * rng.uniform(0.3, 2.0, n_features)
    X[rows] += centres[group[rows]]
    pairs = list(itertools.combinations(np.sort(rows).tolist(), 2))
    return {
        "X": X.tolist(),
        "must_link": [(i, j) for i, j in pairs if group[i] == group[j]],
        "cannot_link": [(i, j) for i, j in pairs if group[i] != group[j]],
    }


def diagonal_state(X, pairs, kinds, w):
    """Return the objective of diagonal MMC and its largest projected slope."""
    squares = (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2
    must = squares[kinds == 1].sum(axis=0)
    distances = np.sqrt(squares[kinds == -1] @ w)
    slope = must - (0.5 / distances) @ squares[kinds == -1] / distances.sum()
    projected = w - np.maximum(w - slope, 0.0)
    return {
        "objective": float(must @ w - np.log(distances.sum())),
        "slope": float(np.abs(projected).max()),
    }


def mended(MMC):
    """Return metric-learn's MMC with the right sign in its line search."""

    class Mended(MMC):
        def _D_objective(self, *args):
            return -super()._D_objective(*args)

        def _D_constraint(self, *args):
            value, slope, curvature = super()._D_constraint(*args)
            return -value, slope, curvature

    return Mended


def answer(problem):
    """Return what metric-learn makes of a problem; runs in its environment."""
    from metric_learn import ITML, MMC

    X = np.array(problem["X"])
    pairs = np.array(problem["must_link"] + problem["cannot_link"])
    kinds = np.repeat([1, -1], [len(problem["must_link"]), len(problem["cannot_link"])])

    def fitted(model, unit=1.0):
        model.set_params(preprocessor=unit * X)
        model.fit(pairs, kinds)
        return model

    def result(model):
        return {
            "metric": model.get_mahalanobis_matrix().tolist(),
            "n_iter": int(getattr(model, "n_iter_", -1)) + 1,
        }

    out = {}
    for gamma in (1.0, 0.3, 5.0):
        for max_iter in (3, 1000):
            model = fitted(ITML(gamma=gamma, max_iter=max_iter))
            out[f"itml gamma={gamma} max_iter={max_iter}"] = {
                "gamma": gamma,
                "max_iter": max_iter,
                "bounds": model.bounds_.tolist(),
                **result(model),
            }
    for max_iter in (1, 5, 100):
        model = fitted(MMC(max_iter=max_iter), UNIT)
        out[f"mmc max_iter={max_iter}"] = {
            "max_iter": max_iter,
            "converged": bool(model.converged_),
            **result(model),
        }
    must = pairs[kinds == 1]
    start = 1.0 / ((X[must[:, 0]] - X[must[:, 1]]) ** 2).sum(axis=0)
    options = {"diagonal": True, "tol": 1e-15, "max_iter": 1000}
    for name, model, unit in (
        ("as released", MMC(diagonal=True), 1.0),
        ("sign mended", mended(MMC)(init=np.diag(start / UNIT**2), **options), UNIT),
    ):
        try:
            metric = unit**2 * fitted(model, unit).get_mahalanobis_matrix()
        except ValueError as error:
            out[f"mmc diagonal, {name}"] = {"error": str(error).strip()}
        else:
            w = np.diag(metric)
            state = diagonal_state(X, pairs, kinds, w)
            out[f"mmc diagonal, {name}"] = {"w": w.tolist(), **state}
    return out


def run_peer(source, target):
    """Answer all problems of a file; runs in the environment of metric-learn."""
    import metric_learn
    import sklearn

    problems = json.loads(Path(source).read_text())
    answers = {name: answer(problem) for name, problem in problems.items()}
    versions = {"metric-learn": metric_learn.__version__, "numpy": np.__version__}
    versions["scikit-learn"] = sklearn.__version__
    Path(target).write_text(json.dumps({"versions": versions, "answers": answers}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="interpreter with metric-learn")
    parser.add_argument("out", help="file of golden values")
    args = parser.parse_args()
    problems = {name: make_problem(*recipe) for name, recipe in PROBLEMS.items()}
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "problems.json", Path(folder) / "answers.json"
        source.write_text(json.dumps(problems))
        peer = [args.python, "-W", "ignore::FutureWarning", __file__, "--peer"]
        subprocess.run([*peer, str(source), str(target)], check=True)
        answered = json.loads(target.read_text())
    rows = {
        name: {**problem, "answers": answered["answers"][name]}
        for name, problem in problems.items()
    }
    golden = {"versions": answered["versions"], "problems": rows}
    Path(args.out).write_text(json.dumps(golden, indent=1) + "\n")
    for name, row in rows.items():
        print(f"{name}: {len(row['must_link'])} + {len(row['cannot_link'])} pairs")
        for key, value in row["answers"].items():
            shown = {k: v for k, v in value.items() if k not in ("metric", "w")}
            print(f"  {key}: {shown}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        run_peer(*sys.argv[2:])
    else:
        main()
