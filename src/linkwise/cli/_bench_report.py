"""The command ``linkwise bench report``."""

import gzip
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

import linkwise
from linkwise.cli._bench import in_words, jobs_of, records_of
from linkwise.cli._errors import BadInputError, DiskFullError, is_disk_full
from linkwise.cli._outputs import bytes_writer, write_all
from linkwise.cli._screen import Screen, counted
from linkwise.experiments import (
    Plan,
    against,
    check_claims,
    failures,
    first_shares,
    mean_scores,
    rank_methods,
    rivals_ahead,
    select_records,
    split_by,
    summary,
    trial_scores,
    wall_times,
)
from linkwise.plots import (
    Part,
    evolution_curves,
    halves_figure,
    html_page,
    rank_bars,
    scatter_against,
)

_METRICS = {"ARI": "ari_test", "F score": "f_score_test", "NMI": "nmi_test"}


def run_report(plan: Plan, store: Path, folder: Path, screen: Screen) -> None:
    """Write figures, tables, records and one page about a plan into a folder."""
    jobs = jobs_of(plan)
    records = select_records(records_of(store), [job.key for job in jobs])
    if records.empty:
        raise BadInputError(
            f"{store} has no record of this plan; `linkwise bench run {plan.name}` "
            "makes them, with the same --trials, --candidates and so on."
        )
    parts = [
        *_fixed_parts(plan, records),
        *_evolution_parts(plan, records),
        *_time_parts(records),
    ]
    n_failed = int((records["status"] != "ok").sum())
    lines = [
        plan.description,
        f"{len(records):,} of {counted(len(jobs), 'job')} done, {n_failed:,} of them "
        f"failed; {records['dataset'].nunique():,} data sets, {plan.trials} trials, "
        f"{plan.candidates} candidates; {in_words(records['seconds'].sum())} of work "
        "in all.",
        "Scores are means over trials on rows that no pair names, and a failed trial "
        "scores 0. Rivals were given standardised data.",
        f"Versions: {'; '.join(sorted(records['versions'].unique()))}",
    ]
    written = _write(folder, plan, lines, parts, records)
    values: dict[str, Any] = {
        "command": "bench report",
        "version": linkwise.__version__,
        "plan": plan.name,
        "jobs": len(jobs),
        "done": len(records),
        "failed": n_failed,
        "folder": str(folder),
        "files": written,
    }
    screen.report(
        values,
        [
            ("plan", [f"{plan.name}: {plan.description}"]),
            ("jobs", [lines[1]]),
            ("page", [str(folder / "report.html")]),
            ("files", [f"{len(written)} in {folder}"]),
        ],
    )


# Names of parts are those of their files.
_Parts = list[tuple[str, Part]]


def _fixed_parts(plan: Plan, records: pd.DataFrame) -> _Parts:
    """Return what can be said with one number of pairs for each data set."""
    if "paper" in plan.constraints:
        plan = replace(plan, constraints=["paper"])
    elif len(plan.constraints) > 1:
        return []
    records = select_records(records, [job.key for job in plan.jobs()])
    there = set(records["method"])
    main = [label for label in plan.methods if label in there - _variants(plan)]
    parts: _Parts = []
    claims = check_claims(records)
    if len(claims):
        text = "Shares of data sets; against one rival, a tie is not above."
        parts.append(("claims", Part("The paper's claims", text, table=claims)))
    for name, labels in (plan.rankings or {"all": main}).items():
        ranked = [label for label in labels if label in there]
        if ranked[:1] != labels[:1] or len(ranked) < 2:
            continue
        scores = trial_scores(records, methods=ranked)
        if len(scores):
            parts += _ranking_parts(name, scores, records)
    parts += _rival_parts("rivals", plan, records, main)
    variants = sorted(
        _variants(plan) & there,
        key=lambda label: plan.methods[label].parameters["approximation"] != "exact",
    )
    parts += _rival_parts("nystrom", plan, records, variants)
    return parts


def _variants(plan: Plan) -> set[str]:
    """Return the methods that differ in how kernels are approximated."""
    return {
        label
        for label, entry in plan.methods.items()
        if "approximation" in entry.parameters
    }


def _ranking_parts(name: str, scores: pd.DataFrame, records: pd.DataFrame) -> _Parts:
    title = f"Ranks: {name}"
    methods = list(scores.columns)
    parts: _Parts = [
        (
            f"ranks-{name}",
            Part(title, "Ranks by mean test ARI.", rank_bars(scores, title)),
        ),
        (f"summary-{name}", Part(f"{title}, table", table=_flat(summary(scores)))),
        (f"means-{name}", Part("", table=_flat(mean_scores(scores)))),
        (
            f"ranks-by-set-{name}",
            Part("", table=_flat(rank_methods(mean_scores(scores)))),
        ),
    ]
    for of_pairs in ("informativeness", "coherence"):
        halves = split_by(records, of_pairs, methods=methods)
        if all(len(half) for half in halves.values()):
            text = (
                f"The trials of each data set, sorted by the {of_pairs} of their pairs "
                "and cut in halves."
            )
            figure = halves_figure(halves, of_pairs)
            table = pd.concat({half: summary(s) for half, s in halves.items()})
            parts.append(
                (
                    f"{of_pairs}-{name}",
                    Part(
                        f"{of_pairs.capitalize()}: {name}",
                        text,
                        figure,
                        _flat(table.rename_axis(["half", "method"])),
                    ),
                )
            )
    return parts


def _rival_parts(
    name: str, plan: Plan, records: pd.DataFrame, methods: list[str]
) -> _Parts:
    """Return the first of the methods against each of the others.

    The list of data sets where it is behind leaves out other settings of itself.
    """
    scores = trial_scores(records, methods=methods)
    if len(methods) < 2 or scores.empty:
        return []
    reference = methods[0]
    sizes = records.groupby("dataset")[["n_samples", "n_clusters"]].max()
    figure = scatter_against(mean_scores(scores), sizes, reference)
    text = (
        "One point for each data set; above the line "
        f"{reference} is better. The p-value is that of the paired Wilcoxon test."
    )
    parts: _Parts = [
        (
            f"scatter-{name}",
            Part(
                f"{reference} against each of the others",
                text,
                figure,
                against(scores, reference),
            ),
        )
    ]
    function = plan.methods[reference].function
    rivals = [m for m in methods if plan.methods[m].function != function]
    if rivals:
        title = f"Where another method is ahead of {reference} by more than 0.1"
        ahead = rivals_ahead(scores[[reference, *rivals]], reference)
        parts.append((f"ahead-{name}", Part(title, table=ahead)))
    return parts


def _evolution_parts(plan: Plan, records: pd.DataFrame) -> _Parts:
    numbers = sorted(number for number in plan.constraints if number != "paper")
    if len(numbers) < 2:
        return []
    inside = records[records["n_constraints"].isin(numbers)]
    labels = next(iter(plan.rankings.values()), list(plan.methods))
    methods = [label for label in labels if label in set(inside["method"])]
    shares = {
        metric: first_shares(inside, column, methods)
        for metric, column in _METRICS.items()
    }
    if any(table.empty for table in shares.values()):
        return []
    text = (
        "A data set takes part where it has enough training pairs. Ties count for all "
        "who tie."
    )
    table = _flat(pd.concat(shares).rename_axis(["metric", "n_constraints"]))
    figure = evolution_curves(shares)
    return [("evolution", Part("First ranks by number of pairs", text, figure, table))]


def _time_parts(records: pd.DataFrame) -> _Parts:
    text = (
        "Seconds of wall time with one thread, compilation not counted; peak_memory is "
        "the largest resident memory of the process in bytes."
    )
    parts: _Parts = [
        ("times", Part("Wall time by method", text, table=wall_times(records)))
    ]
    failed = failures(records)
    if len(failed):
        parts.append(("failures", Part("Failed jobs", table=failed)))
    return parts


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    return table.reset_index().rename_axis(columns=None)


def _write(
    folder: Path, plan: Plan, lines: list[str], parts: _Parts, records: pd.DataFrame
) -> list[str]:
    """Write all files, or none, and return their names."""
    files: dict[str, bytes] = {}
    for name, part in parts:
        files |= {f"{name}.{kind}": image for kind, image in part.images.items()}
        if part.table is not None:
            files[f"{name}.csv"] = _csv(part.table)
    # Without the time in its head, the same records give the same bytes.
    files["records.csv.gz"] = gzip.compress(_csv(records), mtime=0)
    shown = [part for _, part in parts if part.title]
    page = html_page(f"linkwise bench: {plan.name}", lines, shown)
    files["report.html"] = page.encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if is_disk_full(error):
            raise DiskFullError(folder) from None
        raise BadInputError(f"{folder} cannot be written to: {error}.") from None
    write_all([(folder / name, bytes_writer(data)) for name, data in files.items()])
    return list(files)


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()
