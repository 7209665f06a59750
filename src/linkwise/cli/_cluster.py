"""The command ``linkwise cluster``."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer
from scipy.sparse import issparse

import linkwise
from linkwise.cli._data import Table, Wishes, row_blocks, views_of
from linkwise.cli._embeddings import embeddings_file
from linkwise.cli._errors import BadInputError, ContradictionError
from linkwise.cli._inputs import read_data
from linkwise.cli._outputs import (
    bytes_writer,
    check_labels_path,
    check_outputs,
    check_report_path,
    labels_writer,
    model_writer,
    write_all,
)
from linkwise.cli._pairs import contradictions, read_pairs
from linkwise.cli._report import report_of
from linkwise.cli._scheduler import scheduler_client
from linkwise.cli._screen import Screen, Section, counted
from linkwise.cli._text_files import TextOptions
from linkwise.cli._words import (
    OPTIONS,
    chosen_lines,
    chosen_parts,
    cluster_lines,
    cluster_sizes,
    columns_values,
    data_sections,
    embeddings_values,
    encoder_values,
    held_line,
    held_values,
    in_options,
    pairs_line,
    search_line,
    views_values,
    words_of_clusters,
)
from linkwise.constraints import Constraints, feasibility
from linkwise.exceptions import (
    InconsistentConstraintsError,
    InfeasibleConstraintsError,
)

_ESTIMATORS = {
    "kernel": "KernelCSC",
    "single": "SingleKernelCSC",
    "mahalanobis": "MahalanobisCSC",
}
# Pairs to look at again that the summary lists.
_N_SHOWN = 5


@dataclass(frozen=True)
class ClusterJob:
    """What the user asked for."""

    data: Path
    pairs: Path
    n_clusters: int | str  # or "auto"
    out: Path
    model: Path | None = None
    report: Path | None = None
    id_column: str | None = None
    wishes: Wishes = field(default_factory=Wishes)
    written: TextOptions = field(default_factory=TextOptions)
    method: str = "kernel"
    on_conflict: str | None = None
    n_jobs: int = 1
    scheduler: str | None = None
    seed: int = 0
    # Parameters that only some methods have, as far as they were given.
    options: dict[str, Any] = field(default_factory=dict)


def run_cluster(job: ClusterJob, screen: Screen) -> None:
    """Cluster the rows of a file, write the labels, report."""
    start = time.perf_counter()
    model = make_model(job)
    check_labels_path(job.out)
    check_report_path(job.report, "--report")
    outputs = [job.out, job.model, job.report]
    inputs = [job.data, job.pairs, *embeddings_file(job.wishes.embeddings)]
    check_outputs([p for p in outputs if p is not None], inputs)

    # Weights of columns know nothing of views.
    wishes = job.wishes._replace(views=job.method != "mahalanobis")
    table, data = read_data(job.data, job.id_column, job.written, wishes, screen)
    features = data.values
    if isinstance(job.n_clusters, int) and job.n_clusters > table.n_rows:
        raise BadInputError(
            f"{job.data} has {counted(table.n_rows, 'row')}, too few for "
            f"--clusters {job.n_clusters}."
        )
    _refuse_one_point(table, features)
    pairs = read_pairs(job.pairs, table)
    n_dropped = _n_dropped(pairs, job, table, screen)

    screen.watch(model)
    fit_start = time.perf_counter()
    with screen.notes_of_warnings(), scheduler_client(job.scheduler) as workers:
        if workers is not None:
            model.set_params(n_jobs=workers)
        _fit(model, features, pairs, job, table)
    fit_seconds = time.perf_counter() - fit_start
    # Who watched the fit and who did it is no part of the result.
    model.set_callbacks()
    model.set_params(n_jobs=job.n_jobs)

    writers = [(job.out, labels_writer(job.out, table, model.labels_))]
    if job.model is not None:
        writers.append(
            (job.model, model_writer(with_preparation(data.preparation, model)))
        )
    failure: Exception | None = None
    if job.report is not None:
        try:
            page = report_of(
                model, features, pairs, job.pairs, table, data.notes or None, screen
            )
            writers.append((job.report, bytes_writer(page)))
        except Exception as error:  # what took long is kept
            failure = error

    found: Any = getattr(model, "n_clusters_", job.n_clusters)
    n_clusters = int(found)
    values: dict[str, Any] = {
        "command": "cluster",
        "version": linkwise.__version__,
        "data": str(job.data),
        "rows": table.n_rows,
        "features": data.width,
        "text_file": None if table.text is None else table.text.described(),
        "embeddings": embeddings_values(data.embeddings),
        "columns": columns_values(data.notes),
        "views": views_values(data.preparation),
        "encoder": encoder_values(data.preparation),
        **held_values(pairs, model.labels_),
        "pairs_dropped": n_dropped,
        "disbelieved": _look_again(model, table),
        "clusters": n_clusters,
        "cluster_sizes": cluster_sizes(model.labels_, n_clusters),
        "cluster_words": words_of_clusters(
            table, data.notes, model.labels_, n_clusters
        ),
        "by_chance": getattr(model, "by_chance_", None),
        "p_value": getattr(model, "p_value_", None),
        "method": job.method,
        "approximation": model.approximation_,
        "chosen": chosen_parts(model, data.preparation),
        "candidates": len(model.history_),
        "stopped_by": model.stopped_by_,
        "seconds_fit": fit_seconds,
        "seconds": time.perf_counter() - start,
        "labels": str(job.out),
        "model": None if job.model is None else str(job.model),
        "report": None if job.report is None or failure else str(job.report),
    }
    sections = _sections(values, search_line(model, fit_seconds))
    write_all(writers, lambda: screen.report(values, sections))
    if failure is not None:
        raise failure


def with_preparation(preparation: Any, model: Any) -> Any:
    """Return a model that takes tables as they are, if they had to be prepared."""
    if preparation is None:
        return model
    from linkwise.tables import TablePipeline

    return TablePipeline([("table", preparation), ("cluster", model)])


def parse_n_clusters(text: str, method: str) -> int | str:
    """Return the number of clusters asked for, or "auto"."""
    if text == "auto" and method == "kernel":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise typer.BadParameter(
            f"--clusters {text}: must be a whole number from 1 on"
            + (', or "auto".' if method == "kernel" else ".")
        )
    return int(text)


def make_model(job: ClusterJob) -> Any:
    """Return the estimator with the parameters asked for."""
    if job.on_conflict == "warn" and job.method != "kernel":
        raise typer.BadParameter(f"--method {job.method} has no --on-conflict warn.")
    model = getattr(linkwise, _ESTIMATORS[job.method])(
        n_clusters=job.n_clusters,
        on_conflict=_on_conflict(job),
        n_jobs=job.n_jobs,
        random_state=job.seed,
    )
    unknown = sorted(set(job.options) - set(model.get_params()))
    if unknown:
        named = ", ".join(OPTIONS[name] for name in unknown)
        raise typer.BadParameter(f"--method {job.method} has no {named}.")
    return model.set_params(**job.options)


def _on_conflict(job: ClusterJob) -> str:
    if job.on_conflict is not None:
        return job.on_conflict
    return "warn" if job.method == "kernel" else "raise"


def _refuse_one_point(table: Table, values: Any) -> None:
    if table.n_rows < 2:
        raise BadInputError(f"{table.path} has one row; two are the least to cluster.")
    if all(map(_is_one_point, views_of(values))):
        raise BadInputError(f"{table.path}: all rows are equal, nothing to cluster.")


def _is_one_point(view: Any) -> bool:
    if issparse(view):
        return (view.max(axis=0) != view.min(axis=0)).nnz == 0
    values = np.asarray(view)
    return all((block == values[0]).all() for block in row_blocks(values))


def _n_dropped(
    pairs: Constraints, job: ClusterJob, table: Table, screen: Screen
) -> int:
    """Return how many pairs are left out; contradictions are said, or an error."""
    found = contradictions(pairs, job.pairs, table)
    if not found.total:
        return 0
    how = _on_conflict(job)
    if how == "raise":
        shown = "\n".join(f"  {line}" for line in found.lines())
        raise ContradictionError(
            f"{job.pairs}: {counted(found.total, 'contradiction')}:\n{shown}\n"
            "Correct them, or pass --on-conflict drop to leave out the lighter pair of "
            "each contradiction."
        )
    if how == "warn":
        screen.note(
            f"{job.pairs}: {counted(found.total, 'contradiction')}, so some pairs are "
            f"wrong: {'; '.join(found.lines())}. The clusters follow those that are "
            "believed; --on-conflict raise stops here."
        )
        return 0
    return _n_pairs(pairs) - _n_pairs(pairs.drop_conflicts())


def _look_again(model: Any, table: Table) -> list[dict[str, Any]]:
    """Return the pairs that are not believed, with the names of their rows."""
    found = getattr(model, "disbelieved_", None)
    if found is None:
        return []
    return [
        {
            "i": table.name_of(row.i),
            "j": table.name_of(row.j),
            "kind": row.kind,
            "belief": row.belief,
        }
        for row in found.itertuples()
    ]


def _fit(
    model: Any, features: Any, pairs: Constraints, job: ClusterJob, table: Table
) -> None:
    """Fit the model; what it cannot do is said in terms of the files."""
    try:
        model.fit(features, constraints=pairs)
    except (InconsistentConstraintsError, InfeasibleConstraintsError) as error:
        reason = str(error)
        if isinstance(error, InfeasibleConstraintsError) and table.ids is not None:
            closure = pairs.closure(table.n_rows, on_conflict="drop")
            verdict = feasibility(closure, model.n_clusters, names=table.ids)
            reason = verdict.reason or reason
        raise ContradictionError(
            f"{job.pairs}: {job.n_clusters} clusters cannot satisfy every pair. "
            f"{reason} Change --clusters or the pairs, or use --final-step soft."
        ) from error
    except MemoryError as error:
        text = in_options(" ".join(str(error).split()))
        # Without the name of the limit, it is the machine that has no more.
        limit = "allowed" if "--max-memory" in text else "there is"
        raise BadInputError(
            f"{job.data} is too large for the memory {limit}. {text}".strip()
        ) from error
    except ValueError as error:
        # Estimators raise it for data that they cannot use.
        text = in_options(" ".join(str(error).split()))
        raise BadInputError(f"{job.data} cannot be clustered: {text}") from error


def _n_pairs(pairs: Constraints) -> int:
    return pairs.n_must_link + pairs.n_cannot_link


def _approximation(values: dict[str, Any]) -> Section:
    how = values["approximation"].replace("_", " ")
    return "rows", [f"{how}; linkwise cluster --approximation exact uses all at once"]


def _after(sections: list[Section], title: str) -> int:
    return [name for name, _ in sections].index(title) + 1


def _sections(values: dict[str, Any], search: str) -> list[Section]:
    """Return the summary to read."""
    dropped = values["pairs_dropped"]
    what = "features" if values["method"] == "mahalanobis" else "kernels"
    sections: list[Section] = [
        *data_sections(values),
        ("pairs", [pairs_line(values)]),
        ("satisfied", [held_line(values)]),
        ("clusters", cluster_lines(values)),
        (what, chosen_lines(values["chosen"])),
        *([] if values["approximation"] == "exact" else [_approximation(values)]),
        ("search", [search]),
        ("labels", [values["labels"]]),
    ]
    doubtful = values["disbelieved"]
    if doubtful:
        lines = [f"{p['kind']} {p['i']}, {p['j']}" for p in doubtful[:_N_SHOWN]]
        if len(doubtful) > _N_SHOWN:
            lines.append(f"and {len(doubtful) - _N_SHOWN:,} more (--json lists all)")
        sections.insert(_after(sections, "satisfied"), ("look again", lines))
    elif dropped:
        left_out = f"{counted(dropped, 'pair')} left out (the lighter)"
        sections.insert(_after(sections, "pairs"), ("conflicts", [left_out]))
    if values["by_chance"]:
        chance = f"no better than shuffled pairs (p = {values['p_value']:.2g})"
        sections.insert(_after(sections, "satisfied"), ("by chance", [chance]))
    if values["model"]:
        sections.append(("model", [values["model"]]))
    if values["report"]:
        sections.append(("report", [values["report"]]))
    return sections
