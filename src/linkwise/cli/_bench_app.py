"""The commands of ``linkwise bench`` and their options."""

from pathlib import Path
from typing import Annotated

import typer

from linkwise.cli._errors import errors_reported
from linkwise.cli._options import OUTPUT, AsJson, Quiet
from linkwise.cli._screen import Screen

_PLAN = "Plan"

bench = typer.Typer(
    name="bench",
    no_args_is_help=True,
    help="Run the paper's experiments, or yours, and report on them.",
)


def _seconds(text: str | None) -> str | None:
    from linkwise.experiments import parse_duration

    if text is not None:
        try:
            parse_duration(text)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    return text


def _workers(number: int | None) -> int | None:
    if number is not None and (number == 0 or number < -1):
        raise typer.BadParameter(f"{number} jobs; give 1 or more, or -1 for all cores.")
    return number


PlanName = Annotated[
    str,
    typer.Argument(
        metavar="PLAN",
        help="A ready plan (see linkwise bench plans), or a .toml file.",
        show_default=False,
    ),
]
StoreFile = Annotated[
    Path,
    typer.Option(
        "--store",
        metavar="FILE",
        help="SQLite file of the records; plans and runs can share one.",
    ),
]
Trials = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=_PLAN,
        help="Number of trials, in place of the plan's.",
        show_default=False,
    ),
]
Candidates = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        rich_help_panel=_PLAN,
        help="Candidates of each search, in place of the plan's.",
        show_default=False,
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        metavar="NAME",
        rich_help_panel=_PLAN,
        help="Only these data sets; repeat the option, or put commas between them.",
        show_default=False,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        rich_help_panel=_PLAN,
        help="Only these methods of the plan; repeat the option, or put commas.",
        show_default=False,
    ),
]
Constraints = Annotated[
    list[str] | None,
    typer.Option(
        "--constraints",
        metavar="N",
        rich_help_panel=_PLAN,
        help="Numbers of pairs, in place of the plan's, with commas; paper is a tenth "
        "of the training pairs, at most 5,000.",
        show_default=False,
    ),
]

_STORE = Path("linkwise-bench.sqlite")


@bench.command(
    epilog="Example: linkwise bench run fixed --trials 3 --candidates 300 --jobs 2 "
    "--time-limit 2h\n\n"
    "A run that was stopped, in whatever way, goes on where it was when the same "
    "command is given again. Several runs may share a store.\n\n"
    "Exit codes: see linkwise --help."
)
def run(
    context: typer.Context,
    plan: PlanName,
    jobs: Annotated[
        int | None,
        typer.Option(
            callback=_workers,
            metavar="N",
            help="Jobs at once, in processes with one thread each; -1: one per core.",
            show_default="1, or all threads of a Dask cluster",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Do the jobs on a running Dask cluster, such as tcp://10.0.0.1:8786. "
            "Its workers must find data, and modules of yours, as this machine does; "
            "PMLB sets need LINKWISE_PMLB or the package pmlb there.",
            show_default=False,
        ),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            callback=_seconds,
            metavar="TIME",
            help="Start no more jobs after this time, such as 90s, 30m, 2h; those "
            "under way are finished.",
            show_default=False,
        ),
    ] = None,
    store: StoreFile = _STORE,
    redo_failed: Annotated[
        bool, typer.Option("--redo-failed", help="Do failed jobs again.")
    ] = False,
    trials: Trials = None,
    candidates: Candidates = None,
    constraints: Constraints = None,
    dataset: Datasets = None,
    method: Methods = None,
    as_json: AsJson = False,
    no_progress: Annotated[
        bool,
        typer.Option("--no-progress", rich_help_panel=OUTPUT, help="Show no progress."),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Carry out a plan; each job leaves one record in the store."""
    with errors_reported(context.obj):
        from linkwise.cli._bench import chosen_plan, run_bench

        chosen = chosen_plan(plan, trials, candidates, constraints, dataset, method)
        screen = Screen(as_json, quiet, progress=not no_progress)
        run_bench(chosen, store, jobs, scheduler, time_limit, redo_failed, screen)


@bench.command(
    epilog="Example: linkwise bench report fixed --trials 3 --candidates 300 "
    "--out report\n\nExit codes: see linkwise --help."
)
def report(
    context: typer.Context,
    plan: PlanName,
    store: Annotated[
        Path,
        typer.Option(
            "--store",
            metavar="FILE",
            help="The records: the store of linkwise bench run, or a table of records "
            "(.csv, .csv.gz) that a report has written.",
        ),
    ] = _STORE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Folder for the page, figures and tables.",
            show_default="PLAN-report",
        ),
    ] = None,
    trials: Trials = None,
    candidates: Candidates = None,
    constraints: Constraints = None,
    dataset: Datasets = None,
    method: Methods = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Draw the figures and tables of a plan from its records.

    The folder gets report.html, which holds everything and needs no other file, the
    figures as PNG and SVG, the tables as CSV, and the records themselves.
    """
    with errors_reported(context.obj):
        from linkwise.cli._bench import chosen_plan
        from linkwise.cli._bench_report import run_report

        chosen = chosen_plan(plan, trials, candidates, constraints, dataset, method)
        folder = out or Path(f"{chosen.name}-report")
        run_report(chosen, store, folder, Screen(as_json, quiet))


@bench.command(
    epilog="Example: linkwise bench compare before.sqlite after.sqlite\n\n"
    "Exit codes: see linkwise --help."
)
def compare(
    context: typer.Context,
    first: Annotated[
        Path, typer.Argument(metavar="A", help="Records.", show_default=False)
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B", help="Other records.", show_default=False)
    ],
    metric: Annotated[
        str, typer.Option(metavar="NAME", help="Score to compare, a column of records.")
    ] = "ari_test",
    as_json: AsJson = False,
) -> None:
    """Compare the jobs that two files of records share, method by method."""
    with errors_reported(context.obj):
        from linkwise.cli._bench import run_compare

        run_compare(first, second, metric, Screen(as_json))


@bench.command(epilog="Example: linkwise bench plans")
def plans(context: typer.Context, as_json: AsJson = False) -> None:
    """List the ready plans."""
    with errors_reported(context.obj):
        from linkwise.cli._bench import list_plans

        list_plans(Screen(as_json))
