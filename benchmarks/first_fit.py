"""How long a newcomer waits: imports, and the first fit on iris in a new process.

Run with ``python benchmarks/first_fit.py``. Every figure is the median of fresh
processes. "cold" starts with an empty cache of compiled code, "warm" with a full one.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date

IMPORTS = {
    "import sklearn.cluster": "import sklearn.cluster",
    "import linkwise": "import linkwise",
    "from linkwise import KernelCSC": "from linkwise import KernelCSC",
}
FIT = """
from sklearn.datasets import load_iris
from linkwise import Constraints, KernelCSC
X, y = load_iris(return_X_y=True)
pairs = Constraints.sample(y, 60, random_state=0)
KernelCSC(3, random_state=0, {}).fit(X, constraints=pairs)
"""
FITS = {
    "defaults": FIT.format(""),
    "the paper's setting": FIT.format("kernels='paper', selection='train'"),
    "50 landmarks": FIT.format("approximation='nystroem', n_landmarks=50"),
}
HEAVY = """
import sys, linkwise
print([m for m in ("matplotlib", "dask", "rich", "sklearn") if m in sys.modules])
"""


def seconds(code: str, cache: str) -> float:
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    tic = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - tic


def main() -> None:
    print(date.today())
    with tempfile.TemporaryDirectory() as cache:
        for name, code in IMPORTS.items():
            times = [seconds(code, cache) for _ in range(5)]
            print(f"{name:32s}{statistics.median(times):6.2f} s")
        print("imported by `import linkwise`: ", end="", flush=True)
        seconds(HEAVY, cache)
    for name, code in FITS.items():
        cold = []
        for _ in range(3):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(seconds(code, cache))
                warm = statistics.median(seconds(code, cache) for _ in range(5))
        print(
            f"process with a fit on iris, {name}: "
            f"{statistics.median(cold):.2f} s cold, {warm:.2f} s warm"
        )


if __name__ == "__main__":
    main()
