"""What a rule says of rows."""

from typing import Any, NamedTuple

from linkwise._typing import FloatArray


class Decision(NamedTuple):
    """The cluster of each row, and how doubtful it is."""

    labels: Any  # (n_rows,), a Dask array if the rows are one
    doubt: FloatArray | None = None  # (n_rows,)
