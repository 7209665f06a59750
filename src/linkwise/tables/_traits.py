"""What sets a cluster apart, in the columns of a table."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from linkwise._typing import FloatArray, IntArray
from linkwise.tables._columns import Reading, reading_of
from linkwise.tables._words import TextTerms

COLUMNS = [
    "cluster",
    "column",
    "kind",
    "value",
    "here",
    "elsewhere",
    "difference",
    "error",
]
# Values of a category that are looked at, the most frequent, and words of a cluster.
_N_VALUES = 40
_N_WORDS = 8


class _Trait(NamedTuple):
    """What a column, or one value of it, is like in all clusters."""

    column: str
    kind: str
    value: str
    here: FloatArray  # (k,)
    elsewhere: FloatArray  # (k,)
    difference: FloatArray  # (k,)
    error: FloatArray  # (k,)


def cluster_traits(
    table: Any,
    labels: Any,
    *,
    kinds: Mapping[str, "str | Reading"] | None = None,
    n_largest: int = 10,
) -> pd.DataFrame:
    """Return what sets each cluster apart from the other rows.

    One statistic serves all columns: the mean inside minus the mean outside, in
    standard deviations of the column. For a value of a category, a word of a text and
    a gap, the column says whether a row has it, so that means are shares of rows.

    Parameters
    ----------
    table : DataFrame, array or sparse matrix of shape (n_rows, n_columns)
        The rows as a person knows them. Of sparse rows, only whether a value is zero
        counts.
    labels : array-like of shape (n_rows,)
        Clusters; -1 for rows in none, which are outside of all.
    kinds : dict of {str: str or Reading}, optional
        What columns hold, where it is known: "number", "category", "text", "date", or
        the readings of ``TablePreparation.columns_``; others are left out. Found out
        by default.
    n_largest : int, default=10
        Number of traits of each cluster, the largest by size.

    Returns
    -------
    DataFrame
        Columns cluster, column, kind ("number", "date", "category", "word" or "gap"),
        value (the category or word), here and elsewhere (means, of dates in days since
        1970, or shares), difference, and error (its standard error if rows had been
        put into clusters by chance). By cluster, the largest difference first.

    Notes
    -----
    Clusters are made so that they differ; a difference of some errors is a description
    and no proof that clusters exist.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkwise.tables import cluster_traits
    >>> table = pd.DataFrame({"plan": ["a", "a", "b", "b"], "age": [20, 30, 40, 50]})
    >>> found = cluster_traits(table, [0, 0, 1, 1], n_largest=1)
    >>> found[["cluster", "column", "value", "here", "elsewhere"]]
       cluster column value  here  elsewhere
    0        0   plan     a   1.0        0.0
    1        1   plan     b   1.0        0.0
    """
    labels = np.asarray(labels)
    n_rows = table.shape[0]
    if labels.shape != (n_rows,):
        raise ValueError(
            f"labels has shape {labels.shape}: it must hold one for each of the "
            f"{n_rows} rows of the table."
        )
    k = int(labels.max(initial=-1)) + 1
    if issparse(table):
        found = list(_of_sparse(csr_array(table), labels, k))
    else:
        frame = table if isinstance(table, pd.DataFrame) else _named(table)
        found = [
            trait
            for place, name in enumerate(frame.columns)
            for trait in _of_column(str(name), frame.iloc[:, place], labels, k, kinds)
        ]
    return _largest(found, k, n_largest)


def _named(table: Any) -> pd.DataFrame:
    array = np.asarray(table)
    return pd.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])


def _largest(found: list[_Trait], k: int, n_largest: int) -> pd.DataFrame:
    """Return of each cluster the traits with the largest differences, as a table."""
    if not found or k == 0:
        return pd.DataFrame(columns=COLUMNS)
    difference = np.array([trait.difference for trait in found])
    difference = np.where(np.isfinite(difference), difference, 0.0)
    rows = []
    for cluster in range(k):
        order = np.argsort(-np.abs(difference[:, cluster]), kind="stable")
        for place in order[:n_largest]:
            trait = found[place]
            if difference[place, cluster] != 0.0:
                rows.append(
                    [
                        cluster,
                        trait.column,
                        trait.kind,
                        trait.value,
                        *(float(values[cluster]) for values in trait[3:]),
                    ]
                )
    return pd.DataFrame(rows, columns=COLUMNS)


def _of_column(
    name: str,
    column: "pd.Series[Any]",
    labels: IntArray,
    k: int,
    kinds: Mapping[str, str | Reading] | None,
) -> Iterator[_Trait]:
    """Yield what can be said of the clusters by a column."""
    column = column.reset_index(drop=True)
    reading = reading_of(name, column, kinds)
    kind, found = reading.kind, reading.read(column).found
    if kind == "number":
        yield _of_numbers(name, kind, found.to_numpy(), labels, k)
    elif kind == "date":
        days = (found - pd.Timestamp(0)) / pd.Timedelta(days=1)
        yield _of_numbers(name, kind, days.to_numpy(dtype=np.float64), labels, k)
    elif kind == "category":
        values = found.value_counts().index[:_N_VALUES]
        for value in values:
            has_it = (found == value).to_numpy()
            trait = _of_shares(name, kind, str(value), has_it, labels, k)
            if len(values) == 2:  # that one is rare tells nothing beside the other
                often = np.where(trait.difference > 0.0, trait.difference, np.nan)
                trait = trait._replace(difference=often)
            yield trait
    elif kind == "text":
        yield from _of_words(name, found, labels, k)
    if kind in ("number", "date", "category", "text") and found.isna().any():
        yield _of_shares(name, "gap", "", found.isna().to_numpy(), labels, k)


def _of_numbers(
    name: str, kind: str, values: FloatArray, labels: IntArray, k: int
) -> _Trait:
    values = np.where(np.isfinite(values), values, np.nan)
    known = ~np.isnan(values)
    # Near 0, so that sums of squares lose nothing.
    centre = float(values[known].mean()) if known.any() else 0.0
    inside, shifted = labels[known], values[known] - centre
    counts, sums = _by_cluster(inside, shifted, k)
    deviation = float(shifted.std()) if len(shifted) else 0.0
    total = (len(shifted), float(shifted.sum()))
    here, elsewhere, *rest = _compared(counts, sums, total, np.array(deviation))
    return _Trait(name, kind, "", here + centre, elsewhere + centre, *rest)


def _of_shares(
    name: str, kind: str, value: str, has_it: Any, labels: IntArray, k: int
) -> _Trait:
    counts, sums = _by_cluster(labels, has_it.astype(np.float64), k)
    share = float(has_it.mean())
    deviation = np.array(np.sqrt(share * (1.0 - share)))
    total = (len(labels), float(has_it.sum()))
    return _Trait(name, kind, value, *_compared(counts, sums, total, deviation))


def _of_words(
    name: str, texts: "pd.Series[Any]", labels: IntArray, k: int
) -> Iterator[_Trait]:
    """Yield the terms of :func:`cluster_words`, each for the clusters that it names."""
    terms = TextTerms(texts)
    words = terms.words(labels, _N_WORDS)
    places = {term: place for place, term in enumerate(terms.names)}
    chosen = sorted({term for own in words.values() for term in own})
    if not chosen:
        return
    has_term = terms.has[:, [places[term] for term in chosen]]
    for trait in _of_indicators(name, chosen, has_term, labels[terms.rows], k):
        is_own = [trait.value in words.get(cluster, ()) for cluster in range(k)]
        yield trait._replace(difference=np.where(is_own, trait.difference, np.nan))


def _of_sparse(rows: csr_array, labels: IntArray, k: int) -> Iterator[_Trait]:
    has_it = rows.astype(bool).astype(np.float64)
    names = [f"x{i}" for i in range(rows.shape[1])]
    yield from _of_indicators("", names, has_it, labels, k)


def _of_indicators(
    name: str, words: list[str], has_word: csr_array, labels: IntArray, k: int
) -> Iterator[_Trait]:
    """Yield traits of words from a sparse matrix that says which row has which."""
    n_rows = len(labels)
    inside = np.flatnonzero(labels >= 0)
    member = csr_array(
        (np.ones(len(inside)), (labels[inside], inside)), shape=(k, n_rows)
    )
    counts = np.bincount(labels[inside], minlength=k).astype(np.float64)
    sums = np.asarray((member @ has_word).todense())
    total = np.asarray(has_word.sum(axis=0)).ravel()
    share = total / n_rows
    deviation = np.sqrt(share * (1.0 - share))
    for at, word in enumerate(words):
        numbers = _compared(
            counts, sums[:, at], (n_rows, float(total[at])), deviation[at]
        )
        yield _Trait(name, "word", str(word), *numbers)


def _by_cluster(
    labels: IntArray, values: FloatArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """Return numbers of rows and sums of values in each cluster."""
    inside = labels >= 0
    counts = np.bincount(labels[inside], minlength=k).astype(np.float64)
    sums = np.bincount(labels[inside], weights=values[inside], minlength=k)
    return counts, sums.astype(np.float64)


def _compared(
    counts: FloatArray,
    sums: FloatArray,
    total: tuple[int, float],
    deviation: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return means inside and outside, the difference and its error; NaN if none."""
    n_outside = total[0] - counts
    with np.errstate(divide="ignore", invalid="ignore"):
        here, elsewhere = sums / counts, (total[1] - sums) / n_outside
        difference = (here - elsewhere) / deviation
        error = np.sqrt(1.0 / counts + 1.0 / n_outside)
    return here, elsewhere, difference, error
