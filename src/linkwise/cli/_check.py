"""The command ``linkwise check``."""

from pathlib import Path
from typing import Any

import numpy as np
import typer

import linkwise
from linkwise.cli._data import Table, Wishes
from linkwise.cli._errors import ExitCode
from linkwise.cli._inputs import read_data
from linkwise.cli._pairs import contradictions, read_pairs
from linkwise.cli._screen import Screen, Section, counted
from linkwise.cli._text_files import TextOptions
from linkwise.cli._words import (
    columns_values,
    data_sections,
    embeddings_values,
    encoder_values,
    pairs_line,
    pairs_values,
    views_values,
)
from linkwise.constraints import Constraints, feasibility

_N_SIZES = 10


def run_check(
    data: Path,
    pairs_path: Path,
    id_column: str | None,
    wishes: Wishes,
    written: TextOptions,
    n_clusters: int | None,
    screen: Screen,
) -> None:
    """Report on data and pairs; exit with code 4 if they cannot all hold."""
    table, features = read_data(data, id_column, written, wishes, screen)
    pairs = read_pairs(pairs_path, table)
    found = contradictions(pairs, pairs_path, table)
    sizes = np.bincount(pairs.components(table.n_rows))
    values: dict[str, Any] = {
        "command": "check",
        "version": linkwise.__version__,
        "data": str(data),
        "pairs": str(pairs_path),
        "rows": table.n_rows,
        "features": features.width,
        "text_file": None if table.text is None else table.text.described(),
        "embeddings": embeddings_values(features.embeddings),
        "columns": columns_values(features.notes),
        "views": views_values(features.preparation),
        "encoder": encoder_values(features.preparation),
        "must_links": pairs.n_must_link,
        "cannot_links": pairs.n_cannot_link,
        "components": len(sizes),
        "component_sizes": sizes[sizes > 1][:_N_SIZES].tolist(),
        "single_rows": int(np.count_nonzero(sizes == 1)),
        "conflicts": found.total,
        "first_conflicts": [
            {"line": line, "cannot_link": ends, "must_link_path": path}
            for line, ends, path in found.first
        ],
    }
    sections: list[Section] = data_sections(values)
    if found.total:
        n_dropped = _n_pairs(pairs) - _n_pairs(pairs.drop_conflicts())
        values["dropped_by_on_conflict"] = n_dropped
        values["feasible_clusters"] = None
        if n_clusters is not None:
            values |= {"clusters": n_clusters, "feasibility": "infeasible"}
        is_clean = False
        sections += [
            (
                "pairs",
                [
                    f"{_n_pairs(pairs):,} ({pairs.n_must_link:,} must-link, "
                    f"{pairs.n_cannot_link:,} cannot-link)"
                ],
            ),
            _components_section(values),
            ("conflicts", [f"{found.total:,}", *found.lines()]),
            ("remedy", [_remedy(n_dropped)]),
        ]
    else:
        values |= pairs_values(pairs, table.n_rows)
        is_clean, about_k = _feasibility(pairs, table, n_clusters, values)
        sections += [
            ("pairs", [pairs_line(values)]),
            _components_section(values),
            ("conflicts", ["none"]),
            ("clusters", about_k),
        ]
    screen.report(values, sections)
    if not is_clean:
        raise typer.Exit(ExitCode.CONTRADICTION)


def _n_pairs(pairs: Constraints) -> int:
    return pairs.n_must_link + pairs.n_cannot_link


def _remedy(n_dropped: int) -> str:
    return (
        "correct the pairs, or let `linkwise cluster --on-conflict drop` leave out "
        f"{counted(n_dropped, 'pair')}"
    )


def _components_section(values: dict[str, Any]) -> Section:
    sizes = values["component_sizes"]
    n_groups = values["components"] - values["single_rows"]
    line = f"{counted(n_groups, 'group')} of must-linked rows"
    if sizes:
        dots = ", ..." if n_groups > len(sizes) else ""
        line += f" (largest: {', '.join(map(str, sizes))}{dots})"
    return "components", [
        f"{values['components']:,}: {line}, {counted(values['single_rows'], 'single')}"
    ]


def _feasibility(
    pairs: Constraints, table: Table, n_clusters: int | None, values: dict[str, Any]
) -> tuple[bool, list[str]]:
    """Return whether all pairs can hold, and for which numbers of clusters."""
    smallest, largest, is_tight = pairs.feasible_range(table.n_rows)
    values["feasible_clusters"] = {
        "smallest": smallest,
        "largest": largest,
        "smallest_is_proven": is_tight,
    }
    numbers = f"{smallest:,}" if smallest == largest else f"{smallest:,} to {largest:,}"
    lines = [f"every pair can hold with {numbers} clusters"]
    if not is_tight:
        lines.append("perhaps also with fewer: too many cases to try all")
    if n_clusters is None:
        return True, lines
    verdict = feasibility(pairs.closure(table.n_rows), n_clusters, names=table.ids)
    values["clusters"] = n_clusters
    values["feasibility"] = verdict.status
    values["reason"] = verdict.reason
    lines.insert(0, f"{n_clusters:,}: {verdict.status}. {verdict.reason}")
    return verdict.status != "infeasible", lines
