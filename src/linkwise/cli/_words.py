"""Numbers and reasons in words, shared by the reports of the commands."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from linkwise._typing import IntArray
from linkwise.cli._screen import Section, counted, listed
from linkwise.constraints import Constraints
from linkwise.tables import ColumnNote, Reading, cluster_words, words_text

_ENDS = {
    "budget": "all candidates tried",
    "score": "every pair holds",
    "patience": "no better one was found for long",
    "time": "the time limit was reached",
    "callback": "stopped by a callback",
    "interrupt": "interrupted, the best so far is kept",
    "exhausted": "nothing else to try",
    "no pairs": "no pairs to choose by",
}
_DECIMAL = re.compile(r"\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+")
_N_CHOSEN = 10
# Clusters that a summary lists.
_N_CLUSTERS = 20
# Columns that a summary lists.
_N_COLUMNS = 30
# What the parameters of estimators are called on the command line.
OPTIONS = {
    "kernels": "--kernels",
    "selection": "--selection",
    "noise": "--noise",
    "n_candidates": "--candidates",
    "max_kernels": "--max-kernels",
    "search": "--search",
    "final_step": "--final-step",
    "on_conflict": "--on-conflict",
    "approximation": "--approximation",
    "n_landmarks": "--landmarks",
    "n_clusters": "--clusters",
    "time_limit": "--time-limit",
    "n_jobs": "--n-jobs",
    "max_memory": "--max-memory",
}
# What the command calls otherwise, or has no option for.
_OTHER_WORDS = {
    "use KernelCSC with": "use --method kernel with",
    "n_landmarks or working_rows": "n_landmarks",
    "Pass constraints= (pairs) or y= (partial labels).": "No pairs yet? `linkwise ask` "
    "asks for them.",
    "id_column= or ids=": "--id-column",
    "ids=range(len(X)) if": "--id-column and a column of the numbers 0, 1, 2, ... if",
}
_QUOTES = "\"'"
_PARAMETER = re.compile(
    rf"\b(?P<name>{'|'.join(OPTIONS)})\b"
    r"""(=(?P<value>"[^"]*"|'[^']*'|-?\w+(\.\d+)?))?"""
)


def columns_values(notes: list[ColumnNote]) -> list[dict[str, Any]]:
    """Return what was done with each column."""
    return [
        {
            "name": note.name,
            "kind": note.kind,
            "missing": note.missing,
            "detail": note.detail,
            "unread": note.unread,
            "example": note.example,
            "used": note.is_used,
        }
        for note in notes
    ]


def views_values(preparation: Any) -> list[dict[str, Any]]:
    """Return the views of the rows; none are said where columns were numbers."""
    if preparation is None:
        return []
    return [{**view._asdict(), "text": str(view)} for view in preparation.views_]


def encoder_values(preparation: Any) -> dict[str, Any] | None:
    """Return what encoded the texts, None without texts."""
    note = None if preparation is None else preparation.encoder_
    return None if note is None else note._asdict()


def embeddings_values(embeddings: Any) -> dict[str, Any] | None:
    """Return where embeddings come from, None without them."""
    if embeddings is None:
        return None
    return {
        "source": embeddings.source,
        "columns": embeddings.values.shape[1],
        "matched_by": embeddings.matched_by or None,
        "text": str(embeddings),
    }


def data_sections(values: dict[str, Any]) -> list[Section]:
    """Return what was read, and what was done with columns that are no numbers."""
    lines = [
        f"{counted(values['rows'], 'row')}, {counted(values['features'], 'feature')}"
    ]
    if values.get("text_file"):
        lines.append(", ".join(values["text_file"]))
    sections: list[Section] = [("data", lines)]
    if values["embeddings"]:
        sections.append(("embeddings", [values["embeddings"]["text"]]))
    notes = [
        ColumnNote(
            c["name"],
            Reading(c["kind"]),
            **{name: c[name] for name in ("missing", "detail", "unread", "example")},
        )
        for c in values["columns"]
    ]
    if any(not _is_plain_number(note) for note in notes):
        shown = [str(note) for note in notes[:_N_COLUMNS]]
        more = len(notes) - _N_COLUMNS
        if more > 0:
            shown.append(f"and {more} more (--json lists all)")
        sections.append(("columns", shown))
    views = values["views"]
    if len(views) > 1 or any(view["encoder"] for view in views):
        sections.append(("views", [view["text"] for view in views[:_N_COLUMNS]]))
    return sections


def _is_plain_number(note: ColumnNote) -> bool:
    return note.kind == "number" and not note.missing and not note.detail


def in_options(text: str) -> str:
    """Return a message of the library with options in the place of its parameters.

    Examples
    --------
    >>> in_options("more than max_memory='2MB'. Raise max_memory, or lower n_landmarks")
    'more than --max-memory 2MB. Raise --max-memory, or lower --landmarks'
    """
    for words, ours in _OTHER_WORDS.items():
        text = text.replace(words, ours)
    return _PARAMETER.sub(_option, text)


def _option(match: re.Match[str]) -> str:
    name, value = match["name"], match["value"]
    if value is None:
        # Without a value, "search" and "noise" are words like others.
        return OPTIONS[name] if "_" in name else match[0]
    return f"{OPTIONS[name]} {value.strip(_QUOTES)}"


def chosen_parts(model: Any, preparation: Any = None) -> list[dict[str, Any]]:
    """Return the kernels or features that a fitted model uses, the heaviest first."""
    views = [] if preparation is None else preparation.views_
    if hasattr(model, "kernel_weights_"):
        names, weights = model.kernel_names_, model.kernel_weights_
    else:
        weights = model.feature_weights_
        plain = [f"x{place}" for place in range(len(weights))]
        names = getattr(model, "feature_names_in_", plain)
    order = np.argsort(-weights, kind="stable")
    return [
        {
            "name": _with_views(str(names[place]), views),
            "weight": float(weights[place]),
        }
        for place in order[: np.count_nonzero(weights)]
    ]


def _with_views(name: str, views: Sequence[Any]) -> str:
    """Return the name of a kernel with columns in the place of numbers of views."""
    for place, view in enumerate(views):
        columns = view.columns[0] if len(view.columns) == 1 else "other columns"
        name = name.replace(f"X[{place}]", columns)
    return name


def chosen_lines(parts: list[dict[str, Any]]) -> list[str]:
    """Return one line for each chosen part, with the digits that matter."""
    lines = [
        f"{part['weight']:.2f}  {_DECIMAL.sub(_three_digits, part['name'])}"
        for part in parts[:_N_CHOSEN]
    ]
    more = len(parts) - _N_CHOSEN
    return [*lines, f"and {more} more"] if more > 0 else lines


def _three_digits(match: re.Match[str]) -> str:
    return f"{float(match.group()):.3g}"


def search_line(model: Any, seconds: float) -> str:
    """Return how long the search was and why it ended."""
    reason = _ENDS.get(model.stopped_by_, model.stopped_by_)
    tried = counted(len(model.history_), "candidate")
    return f"{tried} in {seconds:.1f} s: {reason}"


def pairs_values(pairs: Constraints, n_rows: int) -> dict[str, int]:
    """Return the numbers of pairs, as given and together with what follows from them.

    Nothing follows from the lighter pair of a contradiction.
    """
    kept = pairs.drop_conflicts()
    closure = kept.closure(n_rows)
    n_lone_must = pairs.n_must_link - kept.n_must_link
    n_lone_cannot = pairs.n_cannot_link - kept.n_cannot_link
    return {
        "must_links": pairs.n_must_link,
        "cannot_links": pairs.n_cannot_link,
        "entailed_must_links": closure.n_must_link + n_lone_must,
        "entailed_cannot_links": closure.n_cannot_link + n_lone_cannot,
    }


def held_values(pairs: Constraints, labels: IntArray) -> dict[str, Any]:
    """Return the numbers of pairs, and how many do not hold, whatever their weights."""
    values = pairs_values(pairs, len(labels))
    kept = pairs.drop_conflicts()
    n_lone = _n_broken(pairs, labels) - _n_broken(kept, labels)
    n_violated = kept.closure(len(labels)).n_violated(labels) + n_lone
    n_all = values["entailed_must_links"] + values["entailed_cannot_links"]
    return {
        **values,
        "satisfaction": (n_all - n_violated) / n_all if n_all else np.nan,
        "violated": n_violated,
        "violated_given": _n_broken(pairs, labels),
    }


def _n_broken(pairs: Constraints, labels: IntArray) -> int:
    return sum(int((~part).sum()) for part in pairs.satisfied(labels))


def held_line(values: dict[str, Any]) -> str:
    """Return how many pairs hold, in words.

    Examples
    --------
    >>> held_line(held_values(Constraints([(0, 1), (1, 2)]), np.array([0, 0, 1])))
    '1 of 2 pairs hold (50.0 %); with what follows from them 1 of 3 (33.3 %)'
    """
    n_given = values["must_links"] + values["cannot_links"]
    n_all = values["entailed_must_links"] + values["entailed_cannot_links"]
    if n_given == 0:
        return "no pairs"
    n_held = n_given - values["violated_given"]
    noun, verb = ("pair", "holds") if n_given == 1 else ("pairs", "hold")
    share = per_cent(n_held / n_given)
    line = f"{n_held:,} of {n_given:,} {noun} {verb} ({share})"
    if n_all == n_given:
        return line
    share = per_cent(values["satisfaction"])
    n_held = n_all - values["violated"]
    return f"{line}; with what follows from them {n_held:,} of {n_all:,} ({share})"


def pairs_line(values: dict[str, int]) -> str:
    """Return the numbers of pairs in words."""
    n_given = values["must_links"] + values["cannot_links"]
    n_entailed = values["entailed_must_links"] + values["entailed_cannot_links"]
    line = (
        f"{n_given:,} ({values['must_links']:,} must-link, "
        f"{values['cannot_links']:,} cannot-link)"
    )
    more = n_entailed - n_given
    follow = "follows" if more == 1 else "follow"
    return f"{line}; {more:,} more {follow} from them" if more else line


def per_cent(share: float) -> str:
    """Return a share in per cent; 100 % only if nothing is missing."""
    if np.isnan(share):
        return "no pairs"
    # 99.97 % of many pairs is not all of them.
    return f"{100 if share == 1 else min(100 * share, 99.9):.1f} %"


def cluster_sizes(labels: IntArray, n_clusters: int) -> list[int]:
    """Return the number of rows of each cluster."""
    sizes: list[int] = np.bincount(labels, minlength=n_clusters).tolist()
    return sizes


def words_of_clusters(
    table: Any, notes: list[ColumnNote], labels: IntArray, n_clusters: int
) -> list[list[str]]:
    """Return the words that set the texts of each cluster apart; none without texts.

    ``notes`` say which columns hold texts; where there are none, the columns tell.
    """
    if notes and all(note.kind != "text" for note in notes):
        return []
    kinds = {note.name: note.reading for note in notes} if notes else None
    found = cluster_words(table.frame, labels, kinds=kinds)
    words = [found.get(cluster, []) for cluster in range(n_clusters)]
    return words if any(words) else []


def cluster_lines(values: dict[str, Any]) -> list[str]:
    """Return sizes and words of clusters; without words all sizes in one line."""
    sizes, words = values["cluster_sizes"], values["cluster_words"]
    if not words:
        return [f"{listed(sizes, _N_CLUSTERS)} rows"]
    width = len(f"{max(sizes):,}")
    lines = [
        f"{cluster}: {size:>{width},} row{' ' if size == 1 else 's'}  {words_text(own)}"
        for cluster, (size, own) in enumerate(zip(sizes, words, strict=True))
    ]
    more = len(lines) - _N_CLUSTERS
    lines = [line.rstrip() for line in lines[:_N_CLUSTERS]]
    return [*lines, f"and {more} more (--json lists all)"] if more > 0 else lines
