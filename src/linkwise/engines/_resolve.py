"""From ``n_jobs`` to an engine."""

from numbers import Integral

from joblib import effective_n_jobs

from linkwise.engines._base import Engine, SerialEngine
from linkwise.engines._joblib import JoblibEngine


def engine_for(n_jobs: int | None) -> Engine:
    """Return the engine that ``n_jobs`` asks for.

    Parameters
    ----------
    n_jobs : int or None
        As in joblib: None is 1 unless a ``joblib.parallel_config`` says otherwise,
        -1 is all cores, -2 all but one.

    Returns
    -------
    Engine
        A `SerialEngine` for one job, else a `JoblibEngine`.

    Examples
    --------
    >>> from linkwise.engines import engine_for
    >>> engine_for(1), engine_for(2)
    (SerialEngine(), JoblibEngine(n_jobs=2))
    """
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(
            f"n_jobs={n_jobs!r} has no meaning: it must be None, a positive integer, "
            "or a negative one to count back from all cores (-1)."
        )
    n_threads = effective_n_jobs(n_jobs)
    return SerialEngine() if n_threads == 1 else JoblibEngine(n_threads)
