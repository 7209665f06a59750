import textwrap

import pytest

METHODS = """
    import os
    import signal
    import time

    import numpy as np

    IS_REAL = 40  # the warm-up has no more rows


    def steady(X, constraints, *, n_clusters, random_state, pause=0.0, log=None):
        if len(X) > IS_REAL:
            time.sleep(pause)
            if log:
                with open(log, "a") as file:
                    file.write(f"{random_state} {constraints.n_must_link}\\n")
        return np.random.default_rng(random_state).integers(n_clusters, size=len(X))


    def raises(X, constraints, *, n_clusters, random_state):
        raise RuntimeError("no\\nluck")


    def counts_threads(X, constraints, *, n_clusters, random_state):
        import numba
        from threadpoolctl import threadpool_info

        counts = [library["num_threads"] for library in threadpool_info()]
        raise RuntimeError(f"threads { {*counts, numba.get_num_threads()} }")


    def hangs(X, constraints, *, n_clusters, random_state):
        if len(X) > IS_REAL:
            time.sleep(600)


    def greedy(X, constraints, *, n_clusters, random_state):
        return np.ones(2**29)[: len(X)].astype(int)  # 4 GiB


    def dies(X, constraints, *, n_clusters, random_state):
        os.kill(os.getpid(), signal.SIGKILL)


    class Halves:
        def __init__(self, n_clusters, random_state, column=0):
            self.column = column

        def fit_predict(self, X, constraints):
            return (X[:, self.column] > np.median(X[:, self.column])).astype(int)


    def two_blobs():
        y = np.repeat(["left", "right"], 40)
        noise = np.random.default_rng(0).normal(size=(80, 2))
        return noise + 6 * (y == "right")[:, np.newaxis], y
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a module of a user's methods and data."""
    path = tmp_path_factory.mktemp("plans")
    (path / "my_methods.py").write_text(textwrap.dedent(METHODS))
    return path


@pytest.fixture
def write_plan(folder):
    def write(name, text):
        path = folder / f"{name}.toml"
        path.write_text(textwrap.dedent(text))
        return str(path)

    return write
