"""Words that tell what the texts of a cluster are about."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from linkwise._typing import FloatArray, IntArray
from linkwise.tables._columns import Reading, reading_of, texts_of

# Rows whose words are counted, at the most, and letters of each.
_MAX_ROWS = 20_000
_MAX_LETTERS = 5_000
# Words of a term that say something, all of its words, and terms that are looked at.
_MAX_LENGTH = 3
_MAX_SPAN = 5
_MAX_TERMS = 100_000
# Share of the rows from which on a word says nothing, in any language; unless it is so
# many times as frequent in one cluster as in the others.
_TOO_OFTEN = 1 / 3
_OWN = 3.0
# How many times as frequent as in all rows a term of a cluster is, at the least, and
# the share of a word's rows that a longer term with it has to have, to take its place.
_LEAST_LIFT = 1.2
_SAYS_MORE = 0.6
# A letter, and more; of scripts without spaces, every two letters.
_WORD = re.compile(
    r"(?P<pair>[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]+)"
    r"|[^\W\d_](?:[\w'’-]*[^\W_])?"
)
_END = re.compile(r"[\n.!?;:,()\"]+")
_ELISION = re.compile(r"['’]\w{1,2}$")
_STOP = ENGLISH_STOP_WORDS | set(
    "can't did didn't does doesn't doing don't got i'm i've isn't it's just like says "
    "want wasn't won't".split()
)


def cluster_words(
    texts: Any,
    labels: Any,
    *,
    n_words: int = 3,
    kinds: Mapping[str, "str | Reading"] | None = None,
) -> dict[int, list[str]]:
    """Return the words that set the texts of each cluster apart.

    Class-based TF-IDF: a term counts by the share of the rows of a cluster that have
    it, and by how rare it is elsewhere. Stop words (scikit-learn's English list, and
    words that are in more than a third of the rows) are left out. A term of two or
    three words takes the place of one of them where most rows with the word have it.

    Parameters
    ----------
    texts : sequence of str or DataFrame
        One text for each row, None for a gap; of a table, its columns of texts.
    labels : array-like of shape (n_rows,)
        Clusters from 0 on, -1 for none.
    n_words : int, default=3
        Most terms of a cluster.
    kinds : dict of {str: str or Reading}, optional
        What the columns of a table hold; found out by default.

    Returns
    -------
    dict of {int: list of str}
        For each cluster its terms, the most telling first; fewer, or none, where no
        word is more frequent than elsewhere.

    Examples
    --------
    >>> from linkwise import cluster_words
    >>> texts = ["my parcel is late", "a late parcel", "wrong invoice", "the invoice"]
    >>> cluster_words(texts, [0, 0, 1, 1], n_words=2)
    {0: ['late', 'parcel'], 1: ['invoice']}
    """
    return TextTerms(texts, kinds).words(labels, n_words)


def words_text(words: Sequence[str]) -> str:
    """Return the words of a cluster in one line.

    Examples
    --------
    >>> words_text(["night", "game", "championship"])
    'night · game · championship'
    """
    return " · ".join(words)


class TextTerms:
    """Which rows of some texts have which terms; clusters may change.

    Parameters
    ----------
    texts : sequence of str or DataFrame
        As :func:`cluster_words` takes them.
    kinds : dict of {str: str or Reading}, optional
        What the columns of a table hold.
    """

    def __init__(
        self, texts: Any, kinds: Mapping[str, "str | Reading"] | None = None
    ) -> None:
        joined = _joined(texts, kinds)
        self.n_rows = len(joined)
        self.rows = np.arange(self.n_rows)
        if self.n_rows > _MAX_ROWS:
            rng = np.random.default_rng(0)
            self.rows = np.sort(rng.choice(self.n_rows, _MAX_ROWS, replace=False))
        counter = CountVectorizer(
            analyzer=_analyzed, binary=True, min_df=2, max_features=_MAX_TERMS
        )
        self.names: list[str] = []
        try:
            has = counter.fit_transform([joined[row] for row in self.rows])
        except ValueError:  # no term is in two rows
            return
        self.has = csr_array(has, dtype=np.float64)
        self.names = counter.get_feature_names_out().tolist()
        places = {name: place for place, name in enumerate(self.names)}
        ends = [(name.split()[0], name.split()[-1]) for name in self.names]
        # Places of the first and the last word of each term; its own if there is none.
        self._ends = np.array(
            [[places.get(word, own) for word in ends[own]] for own in range(len(ends))]
        )

    def words(self, labels: Any, n_words: int = 3) -> dict[int, list[str]]:
        """Return the most telling terms of each cluster, the best first."""
        labels = np.asarray(labels)
        if labels.shape != (self.n_rows,):
            raise ValueError(
                f"labels has shape {labels.shape}: it must hold one for each of the "
                f"{self.n_rows} texts."
            )
        clusters = np.unique(labels[labels >= 0])
        if not self.names or len(clusters) == 0:
            return {int(cluster): [] for cluster in clusters}
        some = labels[self.rows]
        rows = np.flatnonzero(some >= 0)
        at = np.searchsorted(clusters, some[rows])
        shape = (len(clusters), len(some))
        member = csr_array((np.ones(len(rows)), (at, rows)), shape=shape)
        sizes = np.bincount(at, minlength=len(clusters)).astype(np.float64)
        inside = np.asarray((member @ self.has).todense())
        scores = _scores(inside, sizes, self._ends)
        return {
            int(cluster): self._chosen(own, score, n_words)
            for cluster, own, score in zip(clusters, inside, scores, strict=True)
        }

    def _chosen(self, inside: FloatArray, scores: FloatArray, n: int) -> list[str]:
        """Return the terms with the best scores, no word in two of them.

        A longer term takes the place of one that it holds if most rows of the cluster
        with that have it. If it cannot, for one of its words is taken, the term is a
        torn piece and comes after all others.
        """
        best = np.argsort(-scores, kind="stable")[: int((scores > 0.0).sum())]
        longer = self._longer(best)
        taken: set[str] = set()
        chosen: list[str] = []
        torn: list[int] = []
        for term in best.tolist():
            if len(chosen) == n:
                return chosen
            if taken & _stems(self.names[term]):
                continue
            most = _SAYS_MORE * inside[term]
            more = [o for o in longer.get(self.names[term], ()) if inside[o] >= most]
            if any(taken & _stems(self.names[other]) for other in more):
                torn.append(term)
                continue
            chosen.append(self.names[more[-1] if more else term])
            taken |= _stems(chosen[-1])
        for term in torn:
            if len(chosen) < n and not taken & _stems(self.names[term]):
                chosen.append(self.names[term])
                taken |= _stems(chosen[-1])
        return chosen

    def _longer(self, places: Any) -> dict[str, list[int]]:
        """Return for each term the longer ones that hold it, the shortest first."""
        found: dict[str, list[int]] = {}
        for place in places:
            words = self.names[place].split()
            for part in set(_parts(words)):
                found.setdefault(part, []).append(int(place))
        for own in found.values():
            own.sort(key=lambda place: len(self.names[place].split()))
        return found


def _parts(words: list[str]) -> Iterator[str]:
    """Yield all shorter runs of some words."""
    for first in range(len(words)):
        for last in range(first + 1, len(words) + 1):
            if last - first < len(words):
                yield " ".join(words[first:last])


def _stems(term: str) -> set[str]:
    """Return the words of a term, by which terms are told to be alike."""
    return {w[:-1] if len(w) > 3 and w[-1] == "s" else w for w in term.split()}


def _joined(texts: Any, kinds: Mapping[str, "str | Reading"] | None) -> list[str]:
    if not isinstance(texts, pd.DataFrame):
        column = pd.Series(list(texts), dtype=object)
        return texts_of(column).fillna("").tolist()
    frame = texts.reset_index(drop=True)
    found = pd.Series([""] * len(frame), dtype=object)
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if reading_of(str(name), column, kinds).kind == "text":
            found = found + "\n" + texts_of(column).fillna("")
    return found.tolist()


def _scores(inside: FloatArray, sizes: FloatArray, ends: IntArray) -> FloatArray:
    """Return what terms are worth for clusters, 0 where they do not set them apart.

    ``inside`` has the rows of each cluster with each term, ``ends`` the places of the
    first and the last word of a term.
    """
    total, n_rows = inside.sum(axis=0), sizes.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        here = np.nan_to_num(inside / sizes[:, None])
        elsewhere = np.nan_to_num((total - inside) / (n_rows - sizes)[:, None])
    # Class-based TF-IDF: frequency in the class, times the log of how rare it is among
    # classes of the mean size.
    rarity = np.log1p(n_rows / len(sizes) / np.maximum(total, 1.0))
    overall = total / n_rows
    is_apart = here >= _LEAST_LIFT * overall
    is_seldom = inside < np.minimum(2.0, sizes)[:, None]
    says_nothing = (overall > _TOO_OFTEN) & (here < _OWN * elsewhere)
    says_nothing = says_nothing[:, ends].any(axis=2)
    return np.where(is_apart & ~is_seldom & ~says_nothing, here * rarity, 0.0)


def _analyzed(text: str) -> Iterator[str]:
    """Yield the terms of a text: words, and runs of words within a sentence.

    A run has up to three words that say something, and between two of them at most one
    that does not.
    """
    for line in _END.split(text[:_MAX_LETTERS].lower()):
        words = list(_words(line))
        is_stop = [_is_stop(word) for word in words]
        for first in range(len(words)):
            n_told = 0
            for last in range(first, min(first + _MAX_SPAN, len(words))):
                if is_stop[last] and is_stop[last - 1 if last > first else last]:
                    break
                if not is_stop[last]:
                    yield " ".join(words[first : last + 1])
                    n_told += 1
                if n_told == _MAX_LENGTH:
                    break


def _words(line: str) -> Iterator[str]:
    for match in _WORD.finditer(line):
        if match["pair"]:
            run = match["pair"]
            yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))
        else:
            yield match[0]


def _is_stop(word: str) -> bool:
    is_short = len(word) == 1 and word.isascii()
    return is_short or word in _STOP or _ELISION.sub("", word) in _STOP
