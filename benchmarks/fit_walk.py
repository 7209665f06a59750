"""How far a reader walks through the code of one default fit.

``python benchmarks/fit_walk.py`` fits ``KernelCSC`` on wine with 60 pairs and traces:
functions of linkwise that are called, files that they stand in, and the depth of calls.
Compiled loops and comprehensions do not count.
"""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

from sklearn.datasets import load_wine

import linkwise
from linkwise import Constraints, KernelCSC

ROOT = Path(linkwise.__file__).parent


def main() -> None:
    """Trace a fit and print what was walked through."""
    X, y = load_wine(return_X_y=True)
    pairs = Constraints.sample(y, 60, random_state=0)
    model = KernelCSC(3, n_candidates=100, random_state=0)
    functions: set[tuple[str, str]] = set()
    deepest = 0

    def trace(frame: FrameType, event: str, value: Any) -> None:
        nonlocal deepest
        path = Path(frame.f_code.co_filename)
        name = frame.f_code.co_qualname
        if event != "call" or ROOT not in path.parents or name.endswith(">"):
            return
        functions.add((str(path.relative_to(ROOT)), name))
        depth, above = 0, frame.f_back
        while above is not None:
            depth += ROOT in Path(above.f_code.co_filename).parents
            above = above.f_back
        deepest = max(deepest, depth)

    sys.setprofile(trace)
    try:
        model.fit(X, constraints=pairs)
    finally:
        sys.setprofile(None)
    files = {path for path, _ in functions}
    print(f"{len(functions)} functions in {len(files)} files, depth {deepest}")
    for path in sorted(files):
        print(path, sum(where == path for where, _ in functions))


if __name__ == "__main__":
    main()
