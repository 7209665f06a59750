"""From ``n_jobs`` to an engine."""

import inspect
from numbers import Integral
from typing import TYPE_CHECKING, TypeGuard, cast

from joblib import effective_n_jobs

from linkwise.engines._base import Engine, SerialEngine
from linkwise.engines._dask import DaskEngine, is_dask_client
from linkwise.engines._joblib import JoblibEngine

if TYPE_CHECKING:
    from linkwise.engines._dask import Client


def engine_for(n_jobs: "int | Client | Engine | None") -> Engine:
    """Return the engine that ``n_jobs`` asks for.

    Parameters
    ----------
    n_jobs : int, distributed.Client, Engine or None
        As in joblib: None is 1 unless a ``joblib.parallel_config`` says otherwise,
        -1 is all cores, -2 all but one. A client stands for its Dask cluster.

    Returns
    -------
    Engine
        A `SerialEngine` for one job, a `JoblibEngine` for more, a `DaskEngine` for a
        client; an engine is returned as it is.

    Examples
    --------
    >>> from linkwise.engines import engine_for
    >>> engine_for(1), engine_for(2)
    (SerialEngine(), JoblibEngine(n_jobs=2))
    """
    if n_jobs is None or isinstance(n_jobs, Integral):
        return _engine_of_threads(cast(int | None, n_jobs))
    if is_dask_client(n_jobs):
        return DaskEngine(n_jobs)
    if _is_engine(n_jobs):
        return n_jobs
    raise TypeError(
        f"n_jobs={n_jobs!r} has no meaning: it must be None, an integer, a "
        "distributed.Client or an engine of linkwise.engines."
    )


def engine_here(n_jobs: "int | Client | Engine | None") -> Engine:
    """Return the engine for rows that are in this process, which stay here.

    Parameters
    ----------
    n_jobs : int, distributed.Client, Engine or None
        As for `engine_for`; for a cluster or an engine, it is the serial one.

    Examples
    --------
    >>> from linkwise.engines import JoblibEngine, engine_here
    >>> engine_here(2), engine_here(JoblibEngine(2))
    (JoblibEngine(n_jobs=2), SerialEngine())
    """
    return engine_for(n_jobs if n_jobs is None or isinstance(n_jobs, int) else 1)


def _engine_of_threads(n_jobs: int | None) -> Engine:
    """Return the engine for a number of threads of this process."""
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 has no meaning: it must be None, a positive integer, "
            "or a negative one to count back from all cores (-1)."
        )
    n_threads = effective_n_jobs(n_jobs)
    return SerialEngine() if n_threads == 1 else JoblibEngine(n_threads)


def _is_engine(value: object) -> TypeGuard[Engine]:
    """Return whether a value has the method of an engine.

    Pools, executors and data frames have a method ``map`` as well, but with other
    arguments.
    """
    method = getattr(value, "map", None)
    if isinstance(value, type) or not callable(method):
        return False
    try:
        parameters = list(inspect.signature(method).parameters)
    except (TypeError, ValueError):
        return False
    return parameters[:2] == ["function", "items"]
