"""Whether fits are bit for bit what they were: digests of labels, doubts and history.

``python benchmarks/golden.py write`` keeps digests of 40 data sets of PMLB under six
settings in ``benchmarks/records/golden.json``; ``python benchmarks/golden.py check``
makes them again and names what differs. LINKWISE_PMLB names the data folder. Digests
hold for one machine and one set of packages: write them with the code before a change,
check them with the code after it. Some four minutes on one core.
"""

import argparse
import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from _pmlb import load, paper_trial

from linkwise import Constraints, KernelCSC, MahalanobisCSC, SingleKernelCSC
from linkwise.experiments import dataset_size, paper_datasets

RECORD = Path(__file__).parent / "records" / "golden.json"
N_SETS = 40
MAX_ROWS = 700
FEW = {"n_candidates": 40, "random_state": 0}


def models(k: int) -> dict[str, Any]:
    """Return the settings."""
    return {
        "default": KernelCSC(k, final_step=None, **FEW),
        "paper": KernelCSC(
            k, kernels="paper", selection="train", search="forest", **FEW
        ),
        "working set": KernelCSC(
            k,
            approximation="working_set",
            n_landmarks=40,
            working_rows=60,
            final_step=None,
            **FEW,
        ),
        "wrong pairs": KernelCSC(k, final_step="soft", far=0.05, **FEW),
        "single": SingleKernelCSC(k, random_state=0, on_conflict="drop"),
        "mahalanobis": MahalanobisCSC(k, on_conflict="drop", **FEW),
    }


def with_wrong(pairs: Constraints, seed: int) -> Constraints:
    """Return pairs of which a tenth are of the other kind."""
    rng = np.random.default_rng(seed)
    is_wrong = [rng.random(len(p)) < 0.1 for p in (pairs.must_link, pairs.cannot_link)]
    return Constraints(
        np.concatenate([pairs.must_link[~is_wrong[0]], pairs.cannot_link[is_wrong[1]]]),
        np.concatenate([pairs.cannot_link[~is_wrong[1]], pairs.must_link[is_wrong[0]]]),
    )


def digest(model: Any, X: np.ndarray) -> str:
    """Return a digest of what a fit has found, and of what it predicts."""
    history = model.history_.drop(columns="seconds").to_numpy()
    parts = [model.labels_, history, model.predict(X)]
    if getattr(model, "doubt_", None) is not None:
        parts.append(model.doubt_)
    text = hashlib.sha256()
    for part in parts:
        text.update(np.ascontiguousarray(part).tobytes())
    return text.hexdigest()[:16]


def digests() -> dict[str, str]:
    """Return the digest of each set and setting."""
    names = [n for n in paper_datasets() if dataset_size(n).n_samples <= MAX_ROWS]
    found = {}
    for name in names[:: max(1, len(names) // N_SETS)][:N_SETS]:
        X, y = load(name)
        pairs, _ = paper_trial(y, 0, max_pairs=300)
        for setting, model in models(len(np.unique(y))).items():
            given = with_wrong(pairs, 0) if setting == "wrong pairs" else pairs
            found[f"{name} | {setting}"] = digest(model.fit(X, constraints=given), X)
        print(name, flush=True)
    return found


def main() -> None:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["write", "check"])
    what = parser.parse_args().what
    warnings.simplefilter("ignore")
    found = digests()
    if what == "write":
        RECORD.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n")
        return
    kept = json.loads(RECORD.read_text())
    differ = sorted(key for key in kept | found if kept.get(key) != found.get(key))
    print(*differ, sep="\n")
    print(f"{len(differ)} of {len(kept)} differ")
    raise SystemExit(bool(differ))


if __name__ == "__main__":
    main()
