"""The commands and their options. What is slow to import is imported when needed."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from linkwise import __version__
from linkwise.cli._bench_app import bench
from linkwise.cli._errors import errors_reported, leave_interrupted, leave_misused
from linkwise.cli._json_lines import is_json_wanted, json_on_stderr
from linkwise.cli._options import (
    SEARCH,
    AnswersFile,
    Approximation,
    AsJson,
    AsKind,
    Candidates,
    ClustersToFind,
    Columns,
    DataFile,
    Dataset,
    Decimal,
    DropColumn,
    EmbeddingsOf,
    EncoderOf,
    Encoding,
    FinalStep,
    Header,
    IdColumn,
    Kernels,
    LabelsFile,
    MaxMemory,
    Method,
    Missing,
    NJobs,
    NoCache,
    NoProgress,
    OnConflict,
    PairsBefore,
    Quiet,
    Search,
    Seed,
    Selection,
    Separator,
    Sheet,
    Show,
    Strict,
    StrictRows,
    TimeLimit,
    Who,
    kinds_of_columns,
    text_options,
)
from linkwise.cli._screen import Screen
from linkwise.cli._stdin import file_or_stdin, refuse_both

# Blank lines keep the lines apart in the help.
_EXIT_CODES = "\n\n".join(
    [
        "Exit codes: 0 success (also a search ended by Ctrl-C: the best so far is "
        "kept), 1 unexpected error, 2 wrong usage, 3 bad input file, 4 contradictory "
        "or infeasible pairs, 130 interrupted without a result, 141 output not read to "
        "its end.",
        "Example: linkwise demo",
    ]
)
_PAIRS_HELP = (
    "File (.csv, .tsv, .xlsx) with the columns i, j, kind and perhaps weight. i and j "
    "are row numbers from 0, or ids with --id-column; kind is must-link or cannot-link "
    "(also same or different, yes or no, 1 or 0). - is standard input."
)


# What is wrong with a command line; typer shows one kind of it.
_UsageError: Any = typer.BadParameter.__base__


class _Commands(TyperGroup):
    """The commands; they end alike while their options are still read."""

    def main(
        self, args: Sequence[str] | None = None, *others: Any, **kwargs: Any
    ) -> Any:
        """Read a command line and run it."""
        as_json = "--json" in (sys.argv[1:] if args is None else args)
        with json_on_stderr() if as_json else nullcontext():
            return super().main(args, *others, **kwargs)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read what stands before the command."""
        with _ended_alike():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with _ended_alike():
            return super().invoke(ctx)


@contextmanager
def _ended_alike() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        leave_interrupted()
    except _UsageError as error:
        if not is_json_wanted():
            raise
        leave_misused(error)


app = typer.Typer(
    name="linkwise",
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(bench)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkwise {__version__}")
        raise typer.Exit


@app.callback(epilog=_EXIT_CODES)
def _linkwise(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", envvar="LINKWISE_DEBUG", help="Show the traceback of an error."
        ),
    ] = False,
) -> None:
    """Cluster data with must-link and cannot-link pairs."""
    context.obj = debug


@app.command(
    epilog="Example: linkwise demo --dataset wine --seed 1\n\n"
    "Exit codes: see linkwise --help."
)
def demo(
    context: typer.Context,
    dataset: Annotated[
        Dataset, typer.Option(help="A data set of scikit-learn.")
    ] = Dataset.BREAST_CANCER,
    pairs: Annotated[int, typer.Option(min=1, help="Number of random pairs.")] = 100,
    candidates: Annotated[
        int, typer.Option(min=1, help="Number of kernel combinations to try.")
    ] = 1000,
    seed: Seed = 0,
    label_: Annotated[
        bool,
        typer.Option(
            "--label",
            help="Open the page of linkwise label on 300 pictures of digits instead.",
        ),
    ] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="With --label: only print the address.")
    ] = False,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
) -> None:
    """Cluster a known data set with and without pairs, and compare."""
    with errors_reported(context.obj):
        screen = Screen(as_json, progress=not no_progress)
        if label_:
            from linkwise.cli._label_demo import run_label_demo

            run_label_demo(seed, candidates, not no_browser, screen)
            return
        from linkwise.cli._demo import run_demo

        run_demo(dataset.value, pairs, seed, candidates, screen)


@app.command(
    epilog="Example: linkwise cluster flowers.csv --constraints pairs.csv "
    "--clusters 3 --out labels.csv --id-column name\n\n"
    "Ctrl-C ends the search; the best clustering so far is written.\n\n"
    "Exit codes: see linkwise --help."
)
def cluster(
    context: typer.Context,
    data: DataFile,
    *,
    # Required, but without pairs there is more to say than that they are missing.
    constraints: Annotated[
        Path | None,
        typer.Option(
            "--constraints",
            "-c",
            metavar="PAIRS",
            callback=file_or_stdin,
            help=f"{_PAIRS_HELP} Required.",
        ),
    ] = None,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters",
            "-k",
            metavar="K",
            help="Number of clusters; auto: the number that the pairs speak for, up to "
            "ten (with --method kernel).",
        ),
    ],
    out: LabelsFile,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File for the fitted model, for linkwise predict and report.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File, .html, for a report to read: clusters, pairs, what to do next.",
            show_default=False,
        ),
    ] = None,
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    no_cache: NoCache = False,
    columns: Columns = None,
    drop_column: DropColumn = None,
    as_kind: AsKind = None,
    strict: Strict = False,
    missing: Missing = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    method: Annotated[
        Method,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="kernel: sums of kernels; single: one kernel; mahalanobis: weights of "
            "features.",
        ),
    ] = Method.KERNEL,
    kernels: Annotated[
        Kernels | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="paper: 62 kernels on the columns; rich: also kernels on views that "
            "are learnt from the rows and the pairs.",
            show_default="rich; paper for single",
        ),
    ] = None,
    selection: Annotated[
        Selection | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="Choose the clusters that all candidates together expect "
            "(committee), or those of the best one, as in the paper (train).",
            show_default="committee",
        ),
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=0.49,
            metavar="SHARE",
            rich_help_panel=SEARCH,
            help="Share of the pairs that are wrong; 0: all are facts.",
            show_default="estimated where pairs contradict each other",
        ),
    ] = None,
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
            help="Number of candidates to try.",
            show_default="1000",
        ),
    ] = None,
    max_kernels: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
            help="Most kernels in a sum.",
            show_default="5",
        ),
    ] = None,
    search: Annotated[
        Search | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="How candidates are chosen: auto, random, forest, bagged_linear, gp.",
            show_default="auto",
        ),
    ] = None,
    final_step: Annotated[
        FinalStep | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="What follows the search: auto (rows go where the best candidates and "
            "a forest that has learnt from the pairs expect them), none, soft (broken "
            "pairs have a price) or hard (no pair may be broken).",
            show_default="auto",
        ),
    ] = None,
    on_conflict: Annotated[
        OnConflict | None,
        typer.Option(
            metavar="NAME",
            help="Contradictory pairs: warn, go on with those that are believed, and "
            "list the others; raise an error; or drop the lighter pair of each "
            "contradiction.",
            show_default="warn; raise for other methods than kernel",
        ),
    ] = None,
    approximation: Annotated[
        Approximation | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=SEARCH,
            help="For many rows: exact, landmarks, working_set, nystroem, or auto.",
            show_default="auto",
        ),
    ] = None,
    landmarks: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            rich_help_panel=SEARCH,
            help="Number of landmarks of an approximation.",
            show_default="150",
        ),
    ] = None,
    time_limit: TimeLimit = None,
    n_jobs: NJobs = 1,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=SEARCH,
            help="Try candidates on a running Dask cluster, such as "
            "tcp://10.0.0.1:8786; in place of --n-jobs.",
            show_default=False,
        ),
    ] = None,
    max_memory: MaxMemory = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
    quiet: Quiet = False,
) -> None:
    """Cluster the rows of DATA so that the pairs hold as far as possible.

    Many kernels are tried, and judged by how many pairs their clusters satisfy.
    """
    with errors_reported(context.obj):
        from linkwise.cli._cluster import (
            ClusterJob,
            parse_n_clusters,
            run_cluster,
        )
        from linkwise.cli._data import Wishes

        if constraints is None:
            raise typer.BadParameter(
                f"--constraints is missing. No pairs yet? `linkwise label {data}` asks "
                f"for them on a page, `linkwise ask {data}` here."
            )
        refuse_both(data, constraints, "--constraints")
        given: dict[str, Any] = {
            "kernels": None if kernels is None else kernels.value,
            "selection": None if selection is None else selection.value,
            "noise": noise,
            "n_candidates": candidates,
            "max_kernels": max_kernels,
            "search": None if search is None else search.value,
            "final_step": None if final_step is None else final_step.value,
            "approximation": None if approximation is None else approximation.value,
            "n_landmarks": landmarks,
            "time_limit": time_limit,
            "max_memory": max_memory,
        }
        options = {
            name: None if value == "none" else value
            for name, value in given.items()
            if value is not None
        }
        job = ClusterJob(
            data=data,
            pairs=constraints,
            n_clusters=parse_n_clusters(clusters, method.value),
            out=out,
            model=model,
            report=report,
            id_column=id_column,
            wishes=Wishes(
                columns or [],
                drop_column or [],
                kinds_of_columns(as_kind),
                strict,
                missing or [],
                embeddings,
                encoder,
                not no_cache,
            ),
            written=text_options(separator, decimal, encoding, header, sheet),
            method=method.value,
            on_conflict=None if on_conflict is None else on_conflict.value,
            n_jobs=n_jobs,
            scheduler=scheduler,
            seed=seed,
            options=options,
        )
        run_cluster(job, Screen(as_json, quiet, progress=not no_progress))


@app.command(
    epilog="Example: linkwise predict model.linkwise new.csv --out new-labels.csv\n\n"
    "Exit codes: see linkwise --help."
)
def predict(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="File written by linkwise cluster --model.",
            show_default=False,
        ),
    ],
    data: DataFile,
    out: LabelsFile,
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    drop_column: DropColumn = None,
    strict: StrictRows = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Give new rows the clusters of a model.

    The columns that the model was fitted on are found by their names; others are
    ignored. Values are read as they were when it was fitted; those that cannot be, and
    categories that were not there, are counted and said.
    """
    with errors_reported(context.obj):
        from linkwise.cli._predict import run_predict

        screen = Screen(as_json, quiet)
        written = text_options(separator, decimal, encoding, header, sheet)
        run_predict(
            model,
            data,
            out,
            id_column,
            drop_column or [],
            written,
            screen,
            strict,
            embeddings,
            encoder,
        )


@app.command(
    epilog="Example: linkwise report model.linkwise flowers.csv -c pairs.csv "
    "--out report.html\n\n"
    "Exit codes: see linkwise --help."
)
def report(
    context: typer.Context,
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="File written by linkwise cluster --model.",
            show_default=False,
        ),
    ],
    data: DataFile,
    constraints: Annotated[
        Path | None,
        typer.Option(
            "--constraints",
            "-c",
            metavar="PAIRS",
            callback=lambda path: None if path is None else file_or_stdin(path),
            help=_PAIRS_HELP,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="File for the page, .html."),
    ] = Path("report.html"),
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    drop_column: DropColumn = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a page on the clusters of DATA: what sets them apart, how sure, what next.

    One file of HTML with everything in it. Rows of the fit have the clusters that it
    gave them; others get those that the model predicts.
    """
    with errors_reported(context.obj):
        from linkwise.cli._report import ReportJob, run_report

        if constraints is not None:
            refuse_both(data, constraints, "--constraints")
        job = ReportJob(
            model=model,
            data=data,
            pairs=constraints,
            out=out,
            embeddings=embeddings,
            encoder=encoder,
            id_column=id_column,
            dropped=tuple(drop_column or ()),
            written=text_options(separator, decimal, encoding, header, sheet),
        )
        run_report(job, Screen(as_json, quiet))


@app.command(
    epilog="Example: linkwise ask tickets.csv --clusters auto --show subject "
    "--out labels.csv\n\n"
    "Answers are kept in DATA.linkwise.jsonl at once; started again, it goes on. "
    "Through a pipe: one answer a line.\n\n"
    "Exit codes: see linkwise --help."
)
def ask(
    context: typer.Context,
    data: DataFile,
    clusters: ClustersToFind = "auto",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File for the labels."),
    ] = None,
    pairs_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file for the pairs.",
            show_default="DATA.pairs.csv",
        ),
    ] = None,
    constraints: PairsBefore = None,
    show: Show = None,
    log: AnswersFile = None,
    who: Who = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most questions to ask.")
    ] = None,
    questions: Annotated[
        str,
        typer.Option(
            metavar="KINDS",
            help="Kinds of question: auto, pair, or which with grid, merge.",
        ),
    ] = "auto",
    candidates: Candidates = 300,
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    no_cache: NoCache = False,
    columns: Columns = None,
    drop_column: DropColumn = None,
    as_kind: AsKind = None,
    strict: Strict = False,
    missing: Missing = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Ask which rows of DATA belong together, and cluster with the answers.

    Where does this row belong: 1 to 9, 0 none, m more groups. Which rows of a group do
    not: their keys, then Enter. Two rows or groups: y same, n different. Always: u
    unsure, z undo, q quit.
    """
    with errors_reported(context.obj):
        from linkwise.cli._ask import AskJob, parse_questions, run_ask
        from linkwise.cli._cluster import parse_n_clusters
        from linkwise.cli._data import Wishes

        job = AskJob(
            data=data,
            n_clusters=parse_n_clusters(clusters, "kernel"),
            log=log,
            pairs_out=pairs_out,
            out=out,
            pairs=constraints,
            show=tuple(show or ()),
            id_column=id_column,
            who=who,
            limit=limit,
            wishes=Wishes(
                columns or [],
                drop_column or [],
                kinds_of_columns(as_kind),
                strict,
                missing or [],
                embeddings,
                encoder,
                not no_cache,
            ),
            written=text_options(separator, decimal, encoding, header, sheet),
            n_candidates=candidates,
            seed=seed,
            questions=parse_questions(questions),
        )
        run_ask(job, Screen(as_json, quiet))


@app.command(
    epilog="Example: linkwise label tickets.csv --show subject,channel --who Ann\n\n"
    "Answers are kept in DATA.linkwise.jsonl at once; started again, it goes on. The "
    "results: linkwise label tickets.csv --export results\n\n"
    "Exit codes: see linkwise --help."
)
def label(
    context: typer.Context,
    data: DataFile,
    clusters: ClustersToFind = "auto",
    show: Show = None,
    images: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of pictures; a cell names the file, or its name is the id.",
        ),
    ] = None,
    constraints: PairsBefore = None,
    who: Who = None,
    criterion: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What makes two rows belong together."),
    ] = None,
    log: AnswersFile = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Open no page: write pairs, labels, model and report into a folder.",
        ),
    ] = None,
    excel_safe: Annotated[
        bool,
        typer.Option(
            "--excel-safe",
            help="Put a single quote before ids, names and texts in CSV that Excel "
            "would take for formulas.",
        ),
    ] = False,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="LOG",
            help="Open no page: take the answers of another person's log; may be "
            "repeated.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to listen at.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="0: any free one.")
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
    candidates: Candidates = 300,
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    no_cache: NoCache = False,
    columns: Columns = None,
    drop_column: DropColumn = None,
    as_kind: AsKind = None,
    strict: Strict = False,
    missing: Missing = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Open a page in the browser that asks which rows of DATA belong together.

    Single keys answer; clusters form beside it and can be corrected.
    """
    with errors_reported(context.obj):
        from linkwise.cli._cluster import parse_n_clusters
        from linkwise.cli._data import Wishes
        from linkwise.cli._label import LabelJob, run_label

        job = LabelJob(
            data=data,
            n_clusters=parse_n_clusters(clusters, "kernel"),
            log=log,
            pairs=constraints,
            show=tuple(show or ()),
            id_column=id_column,
            who=who,
            wishes=Wishes(
                columns or [],
                drop_column or [],
                kinds_of_columns(as_kind),
                strict,
                missing or [],
                embeddings,
                encoder,
                not no_cache,
            ),
            written=text_options(separator, decimal, encoding, header, sheet),
            n_candidates=candidates,
            seed=seed,
            images=images,
            criterion=criterion,
            host=host,
            port=port,
            browser=not no_browser,
            export=export,
            merge=tuple(merge or ()),
            excel_safe=excel_safe,
        )
        run_label(job, Screen(as_json, quiet))


@app.command(
    epilog="Example: linkwise check flowers.csv pairs.csv --clusters 3\n\n"
    "Exit code 4 if pairs contradict each other or cannot all hold with K clusters; "
    "for the others see linkwise --help."
)
def check(
    context: typer.Context,
    data: DataFile,
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            callback=file_or_stdin,
            help=_PAIRS_HELP,
            show_default=False,
        ),
    ],
    id_column: IdColumn = None,
    embeddings: EmbeddingsOf = None,
    encoder: EncoderOf = "auto",
    no_cache: NoCache = False,
    columns: Columns = None,
    drop_column: DropColumn = None,
    as_kind: AsKind = None,
    strict: Strict = False,
    missing: Missing = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    header: Header = None,
    sheet: Sheet = None,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters",
            "-k",
            min=1,
            metavar="K",
            help="Can K clusters satisfy every pair?",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Examine data and pairs without clustering: contradictions, feasibility."""
    with errors_reported(context.obj):
        from linkwise.cli._check import run_check
        from linkwise.cli._data import Wishes

        refuse_both(data, pairs, "PAIRS")
        run_check(
            data,
            pairs,
            id_column,
            Wishes(
                columns or [],
                drop_column or [],
                kinds_of_columns(as_kind),
                strict,
                missing or [],
                embeddings,
                encoder,
                not no_cache,
            ),
            text_options(separator, decimal, encoding, header, sheet),
            clusters,
            Screen(as_json),
        )
