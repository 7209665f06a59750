"""Clusters in words and numbers: what sets them apart, what is doubtful."""

from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.tables import cluster_traits, words_text

# Members that are shown: so many nearest to the middle, and so many farthest.
_N_MEMBERS = 5
# What sets clusters apart: so many traits, at least so many standard deviations.
_N_APART = 3
_N_LOOKED_AT = 20
_CLEAR = 0.3
# Colours that people with any kind of colour vision tell apart (Okabe and Ito), darker
# or lighter where they would vanish on the ground; and six shapes besides.
_COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#3ba3d9", "#7a7a7a")
_N_SHAPES = 6


def look_of(cluster: int) -> dict[str, Any]:
    """Return colour and shape of a cluster, by its id: they stay as it does."""
    return {"color": _COLORS[cluster % len(_COLORS)], "shape": cluster % _N_SHAPES}


def name_of(session: Any, cluster: int, words: dict[int, list[str]]) -> str:
    """Return the name a cluster was given, its words, or one made of its id."""
    given = session.names.get(cluster) or words_text(words.get(cluster, []))
    return given or f"cluster {cluster}"


def list_clusters(
    session: Any, traits: dict[int, list[str]], words: dict[int, list[str]]
) -> list[dict[str, Any]]:
    """Return all clusters, the one with most doubt first."""
    if not session.is_fitted:
        return []
    labels = session.labels_
    found = np.unique(labels[labels >= 0]).tolist()
    features = session.features
    middles = {c: features[labels == c].mean(axis=0) for c in found}
    answered = np.zeros(len(labels), dtype=bool)
    pairs = session.constraints_
    answered[pairs.points] = True
    doubt = session.doubt()
    listed = []
    for cluster in found:
        rows = labels == cluster
        listed.append(
            {
                "id": cluster,
                "name": name_of(session, cluster, words),
                "size": int(rows.sum()),
                "answered": round(float(answered[rows].mean()), 4),
                "doubt": _mean(doubt[rows]),
                "apart": traits.get(cluster, []),
                "near": _nearest(cluster, middles),
                **look_of(cluster),
            }
        )
    return sorted(listed, key=lambda c: (-(c["doubt"] or 0.0), -c["size"]))


def members(session: Any, cluster: int) -> dict[str, list[int]]:
    """Return rows of a cluster: some from its middle, some from its rim."""
    rows = np.array([], dtype=int)
    if session.is_fitted:
        rows = np.flatnonzero(session.labels_ == cluster)
    if len(rows) == 0:
        raise ValueError(f"There is no cluster {cluster!r}.")
    points = session.features[rows]
    far = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
    order = rows[np.argsort(far, kind="stable")].tolist()
    rim = order[_N_MEMBERS:]
    return {"middle": order[:_N_MEMBERS], "rim": rim[-_N_MEMBERS:][::-1]}


def broken(session: Any) -> tuple[IntArray, IntArray]:
    """Return the ends of all pairs, and of each what it is.

    Bit 0: cannot-link; bit 1: the clusters break it.
    """
    pairs = session.constraints_
    ends = np.vstack([pairs.must_link, pairs.cannot_link]).astype(np.intp)
    is_cannot = np.arange(len(ends)) >= len(pairs.must_link)
    kinds = is_cannot.astype(np.uint8)
    if session.is_fitted and len(ends):
        labels = session.labels_
        together = labels[ends[:, 0]] == labels[ends[:, 1]]
        kinds |= np.where(together == is_cannot, 2, 0).astype(np.uint8)
    return ends, kinds


def _mean(values: Any) -> float | None:
    known = values[~np.isnan(values)]
    return round(float(known.mean()), 4) if len(known) else None


def _nearest(cluster: int, middles: dict[int, Any]) -> int | None:
    others = [c for c in middles if c != cluster]
    far = [float(((middles[c] - middles[cluster]) ** 2).sum()) for c in others]
    return others[int(np.argmin(far))] if others else None


def traits_of(frame: Any, labels: Any) -> dict[int, list[str]]:
    """Return what sets each cluster apart beside the words of texts."""
    found = cluster_traits(frame, labels, n_largest=_N_LOOKED_AT)
    found = found[found["kind"] != "word"].groupby("cluster").head(_N_APART)
    traits: dict[int, list[str]] = {}
    rows: Any = found[found["difference"].abs() >= _CLEAR].itertuples()
    for row in rows:
        is_more = row.difference > 0
        if row.kind in ("number", "date"):
            text = f"{row.column} {'higher' if is_more else 'lower'}"
        elif row.kind == "gap":
            text = f"{row.column} {'often' if is_more else 'seldom'} empty"
        else:
            text = f"{'more' if is_more else 'less'} {row.value} ({row.column})"
        traits.setdefault(int(row.cluster), []).append(text[:80])
    return traits
