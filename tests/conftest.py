from pathlib import Path

import linkwise


def pytest_configure(config):
    """Forget compiled loops that are older than the source of any.

    Numba looks at the file of a function alone, and not at those of the functions that
    it calls.
    """
    if hasattr(config, "workerinput"):  # only once, before the workers start
        return
    package = Path(linkwise.__file__).parent
    changed = max(source.stat().st_mtime for source in package.rglob("_jit*.py"))
    for compiled in package.rglob("__pycache__/_jit*.nb[ic]"):
        if compiled.stat().st_mtime < changed:
            compiled.unlink()
