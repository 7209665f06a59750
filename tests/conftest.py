from contextlib import suppress
from pathlib import Path

import linkwise


def pytest_configure(config):
    """Forget all compiled loops if one of them is older than the source of any.

    Numba looks at the file of a function alone, and not at those of the functions that
    it calls.
    """
    if hasattr(config, "workerinput"):  # only once, before the workers start
        return
    package = Path(linkwise.__file__).parent
    changed = max(source.stat().st_mtime for source in package.rglob("_jit*.py"))
    compiled = list(package.rglob("__pycache__/_jit*.nb[ic]"))
    with suppress(FileNotFoundError):  # another run of the tests was faster
        if any(file.stat().st_mtime < changed for file in compiled):
            for file in compiled:
                file.unlink(missing_ok=True)
