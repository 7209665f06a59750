"""How independent calls are run: in this thread, on several, or on a cluster.

An engine changes only the time that calls take. Results come in the order of the
items, errors where the serial engine would raise them, and every call finds BLAS on
one thread, so that sums agree to the last bit.
"""

from linkwise.engines._base import Engine, SerialEngine
from linkwise.engines._blas import one_blas_thread
from linkwise.engines._dask import (
    DaskEngine,
    connect,
    is_lost_work,
    is_task_wanted,
)
from linkwise.engines._dask_rows import DaskRows, is_dask_collection
from linkwise.engines._joblib import JoblibEngine
from linkwise.engines._resolve import engine_for, engine_here

__all__ = [
    "DaskEngine",
    "DaskRows",
    "Engine",
    "JoblibEngine",
    "SerialEngine",
    "connect",
    "engine_for",
    "engine_here",
    "is_dask_collection",
    "is_lost_work",
    "is_task_wanted",
    "one_blas_thread",
]
