"""The connection to a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from linkwise.cli._errors import BadInputError
from linkwise.engines import connect


@contextmanager
def scheduler_client(address: str | None) -> Iterator[Any]:
    """Connect to a Dask cluster, if one is asked for."""
    if address is None:
        yield None
        return
    try:
        client = connect(address)
    except ImportError as error:
        raise BadInputError(f"--scheduler: {error}") from error
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"--scheduler {address}: no Dask scheduler answers there ({error}). Start "
            "one with `dask scheduler`, and workers with `dask worker`."
        ) from error
    with client:
        yield client
