"""The one door for constraints: whatever a user passes becomes `Constraints`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linkwise.constraints._canonical import LARGEST_POSITION
from linkwise.constraints._ids import id_values
from linkwise.constraints._pairs import Constraints

_ACCEPTED = (
    "a Constraints, a pair (must_link, cannot_link), a signed sparse matrix, a table "
    "with columns i, j, kind (a DataFrame, a dict or a list of tuples), or None"
)


def check_constraints(
    constraints: Any,
    y: npt.ArrayLike | None = None,
    *,
    n_samples: int,
    sample_id: Iterable[Any] | None = None,
) -> Constraints:
    """Return checked constraints whose pairs are rows of the data.

    Parameters
    ----------
    constraints : Constraints, pair of arrays, sparse matrix, table or None
        Pairs in any of the accepted forms: a ``Constraints``, a pair
        ``(must_link, cannot_link)``, a signed sparse matrix (n_samples, n_samples),
        or a table with columns i, j, kind and, if wanted, weight.
    y : array-like of shape (n_samples,) or None, default=None
        Partial labels, -1 where unknown; their pairs are added.
    n_samples : int
        Number of rows of the data.
    sample_id : sequence of shape (n_samples,) or None, default=None
        Id of each row. Then ``constraints`` hold ids, and pairs with an id that is
        not here are dropped: they leave the fold.

    Returns
    -------
    Constraints
        Pairs of positions in [0, n_samples).

    Examples
    --------
    >>> from linkwise.constraints import check_constraints
    >>> check_constraints(([(0, 1)], [(1, 2)]), n_samples=3)
    Constraints(n_must_link=1, n_cannot_link=1)
    >>> check_constraints(([(0, 1)], [(1, 2)]), n_samples=2, sample_id=[2, 1])
    Constraints(n_must_link=0, n_cannot_link=1)
    >>> check_constraints(None, [0, -1, 1], n_samples=3)
    Constraints(n_must_link=0, n_cannot_link=1)
    """
    pairs = _as_constraints(constraints)
    if sample_id is not None:
        ids = id_values(sample_id)
        if len(ids) != n_samples:
            raise ValueError(
                f"sample_id has {len(ids)} ids, but the data have {n_samples} rows."
            )
        located = pairs.locate(ids, on_unknown="drop")
        if located.is_empty and not pairs.is_empty:
            _refuse_other_kind(pairs, ids)
        pairs = located
    elif pairs.is_named:
        raise ValueError(
            f"The constraints hold names, not positions: {_first_name(pairs)}. "
            f"Positions are whole numbers in [0, {n_samples}); for names pass "
            "sample_id, the id of each row of the data, or call "
            "constraints.locate(ids)."
        )
    elif pairs.n_samples not in (None, n_samples):
        raise ValueError(
            f"The constraints are for {pairs.n_samples} rows, but the data have "
            f"{n_samples}. Pass pairs.restrict(rows) with those rows; in a "
            "cross-validation pass sample_id, the id of each row, beside the "
            "constraints."
        )
    pairs.check_range(n_samples)
    return pairs if y is None else pairs | _from_partial_labels(y, n_samples)


def _first_name(pairs: Constraints) -> str:
    """Return the first pair that holds a name, as text."""
    for kind in ("must_link", "cannot_link"):
        for row, pair in enumerate(getattr(pairs, kind).tolist()):
            if any(not _is_position(end) for end in pair):
                return f"{kind}[{row}] = {tuple(pair)}"
    return "all of them"


def _is_position(end: Any) -> bool:
    return isinstance(end, int) and 0 <= end <= LARGEST_POSITION


def _refuse_other_kind(pairs: Constraints, ids: Sequence[Any]) -> None:
    """Raise if ids of pairs and of rows cannot match, as 7 and "7" cannot."""
    named = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()[0][0]
    is_text = [isinstance(one, str) for one in (named, ids[0])]
    if is_text[0] != is_text[1]:
        raise ValueError(
            f"The pairs name ids such as {named!r}, but sample_id holds ids such as "
            f"{ids[0]!r}: one is text, the other is not, so none can match."
        )


def _as_constraints(constraints: Any) -> Constraints:
    if constraints is None:
        return Constraints()
    if isinstance(constraints, Constraints):
        return constraints
    if sparse.issparse(constraints):
        return Constraints.from_matrix(constraints)
    if hasattr(constraints, "columns") or isinstance(constraints, Mapping):
        return Constraints.from_table(constraints)
    if isinstance(constraints, tuple | list):
        if _is_list_of_rows(constraints):
            return Constraints.from_table(constraints)
        if len(constraints) == 2:
            must_link, cannot_link = constraints
            return Constraints(
                () if must_link is None else must_link,
                () if cannot_link is None else cannot_link,
            )
    shown = (
        f"an array of shape {constraints.shape}"
        if isinstance(constraints, np.ndarray)
        else f"{type(constraints).__name__} {constraints!r:.60}"
    )
    raise TypeError(f"constraints must be {_ACCEPTED}; got {shown}.")


def _is_list_of_rows(rows: tuple[Any, ...] | list[Any]) -> bool:
    """Return whether every item is (i, j, kind) or (i, j, kind, weight).

    The third entry tells rows from lists of pairs, where it would be a pair.
    """
    return len(rows) > 0 and all(
        isinstance(row, tuple | list) and len(row) in (3, 4) and np.ndim(row[2]) == 0
        for row in rows
    )


def _from_partial_labels(y: npt.ArrayLike, n_samples: int) -> Constraints:
    if isinstance(y, Constraints):
        raise TypeError("y is a Constraints: pass it as constraints=, by its name.")
    y = np.asarray(y)
    n_labels = len(y) if y.ndim else 0
    if n_labels != n_samples:
        raise ValueError(
            f"y has {n_labels} labels, but the data have {n_samples} rows."
        )
    return Constraints.from_labels(y)
