"""Mutated files, and tables in many writings: a right result or a clear error.

``python benchmarks/fuzz.py --files 2000 --seed 0`` writes good files, mutates one of
them at a time and runs ``linkwise cluster``, ``check`` or ``predict``. Each run has to
end with exit code 0, 2, 3 or 4, without a traceback, with all of its results or none.
With code 0 there must be a cluster for each row. What fails is kept in ``--keep``.

``python benchmarks/fuzz.py --tables 2000 --seed 0`` makes tables with dates, decimals,
codes, words for gaps and encodings, fits a model on each and predicts parts of it, such
as the rows whose day could be a month. Each row has to get the cluster that it gets
beside all others, and each number and date has to mean what was written.
"""

import argparse
import shutil
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from _made_tables import MadeTable, adversarial_rows, made_table
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

from linkwise import Constraints, load
from linkwise.cli import app
from linkwise.cli._predict import read_as_fitted
from linkwise.cli._screen import Screen
from linkwise.cli._text_files import TextOptions

N_ROWS = 24
PIECES = [b"", b",", b";", b"\n", b'"', b"\xff", b"\x00", b"NaN", b"1e999", b"-", b"\t"]
PIECES += [b"inf", "é".encode(), b"\r", b"0x1", b"1_000", b" ", b"%", b"2020-02-30"]


def write_files(folder: Path) -> None:
    """Write a table, pairs and a model."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 2
    table = pd.DataFrame(
        {
            "id": [f"r{i}" for i in range(N_ROWS)],
            "x": (5 * y + rng.normal(size=N_ROWS)).round(3),
            "y": (5 * y + rng.normal(size=N_ROWS)).round(3),
            "plan": np.array(["a", "b"])[y],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(40 * y, unit="D"),
        }
    )
    table.loc[3, "x"] = np.nan
    table.to_csv(folder / "table.csv", index=False)
    table[["x", "y"]].fillna(0.0).to_csv(folder / "numbers.csv", index=False)
    Constraints.sample(y, 12, random_state=0).to_csv(folder / "pairs.csv")
    result = run("cluster", "numbers.csv", folder, "--model", str(folder / "model"))
    assert result.exit_code == 0, result.output


def run(command: str, data: str, folder: Path, *more: str):
    """Run a command on the files of a folder."""
    arguments = [command, str(folder / data), "-c", str(folder / "pairs.csv")]
    arguments += ["-k", "2", "-o", str(folder / "out.csv"), "--candidates", "3"]
    if command == "check":
        arguments = [command, str(folder / data), str(folder / "pairs.csv")]
    if command == "predict":
        arguments = [command, str(folder / "model"), str(folder / data)]
        arguments += ["-o", str(folder / "out.csv")]
    return CliRunner().invoke(app, [*arguments, *more])


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few changes."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(found) + 1))
        kind = rng.integers(6)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            found[at:at] = PIECES[rng.integers(len(PIECES))]
        elif kind == 2:
            del found[at : at + int(rng.integers(1, 40))]
        elif kind == 3:
            found[at:at] = found[at : at + int(rng.integers(1, 60))]
        elif kind == 4:
            del found[at:]
        else:
            lines = bytes(found).split(b"\n")
            place = int(rng.integers(len(lines)))
            lines[place] = PIECES[rng.integers(len(PIECES))]
            found = bytearray(b"\n".join(lines))
    return bytes(found)


def complaint(result, folder: Path, had_output: bool) -> str | None:
    """Return what is wrong with how a run ended."""
    if result.exit_code not in (0, 2, 3, 4):
        return f"exit code {result.exit_code}"
    if "Traceback" in result.output:
        return "a traceback"
    names = {path.name for path in folder.iterdir()}
    if names - {"table.csv", "numbers.csv", "pairs.csv", "model", "out.csv"}:
        return f"files left: {sorted(names)}"
    if result.exit_code != 0 and (folder / "out.csv").exists():
        return "a result in spite of an error"
    if result.exit_code == 0 and had_output:
        labels = pd.read_csv(folder / "out.csv")
        if labels["cluster"].isna().any() or not len(labels):
            return "a row without a cluster"
    if result.exit_code != 0 and not result.output.strip():
        return "no message"
    return None


def wrong_table(table: MadeTable, folder: Path, rng: np.random.Generator) -> str:
    """Return what is wrong with how a table is read; "refused" if it is not fitted."""
    table.write(folder / "made.csv")
    options = ["--model", str(folder / "model"), "--separator", table.separator]
    result = run("cluster", "made.csv", folder, *options)
    if result.exit_code != 0:
        is_error = result.exit_code in (3, 4) and "Traceback" not in result.output
        return "refused" if is_error else f"cluster: {result.output[-300:]}"
    wrong = wrong_values(table, folder)
    if wrong:
        return wrong
    together = predicted(table, folder, None)
    for rows in adversarial_rows(table, rng, N_ROWS):
        alone = predicted(table, folder, rows)
        if isinstance(alone, str) or isinstance(together, str):
            # A row of which nothing can be read is refused by itself.
            if "values" not in str(alone):
                return f"rows {rows.tolist()}: {alone}"
        elif (alone != together[rows]).any():
            return f"rows {rows.tolist()} change: {alone} and {together[rows]}"
    return ""


def predicted(table: MadeTable, folder: Path, rows) -> "np.ndarray | str":
    """Return the clusters of some rows in a file of their own, or the complaint."""
    table.write(folder / "part.csv", rows)
    result = run("predict", "part.csv", folder, "--separator", table.separator)
    if result.exit_code != 0:
        return result.output[-300:]
    return pd.read_csv(folder / "out.csv")["cluster"].to_numpy()


def wrong_values(table: MadeTable, folder: Path) -> str:
    """Return which column of the fitted file is not read as it was meant."""
    model = load(folder / "model")
    if not isinstance(model, Pipeline):
        return ""  # nothing but plain numbers
    preparation = model["table"]
    written = TextOptions(separator=table.separator)
    path = folder / "made.csv"
    frame = read_as_fitted(preparation, path, None, written, Screen(quiet=True)).frame
    for note in preparation.columns_:
        column = table.columns[note.name]
        is_open = " is " in note.detail or " first in " in note.detail
        if note.kind in ("constant", "id") or is_open or column.is_open:
            continue
        if note.kind != column.kind:
            return f"{note}: {column.kind} {column.texts[:8]}"
        if note.unread != column.n_unread:
            return f"{note}: {column.n_unread} cannot be read"
        found = note.reading.read(frame[note.name]).found
        meant = pd.Series(column.meaning)
        if note.kind == "number":
            same = np.isclose(found, meant.astype(float), equal_nan=True)
        elif note.kind == "date":
            meant = pd.to_datetime(meant)
            same = (found == meant).to_numpy() | (
                found.isna() & meant.isna()
            ).to_numpy()
        else:
            same = (found == meant).to_numpy()
        if not same.all():
            row = int(np.argmin(same))
            return f"{note}: {column.texts[row]!r} is read as {found.iloc[row]}"
    return ""


def fuzz_tables(n_tables: int, seed: int) -> int:
    """Fit and predict made tables; return how many went wrong."""
    rng = np.random.default_rng(seed)
    y = np.arange(N_ROWS) % 2
    ends: Counter[str] = Counter()
    for number in range(n_tables):
        table = made_table(rng, y)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            Constraints.sample(y, 12, random_state=0).to_csv(folder / "pairs.csv")
            wrong = wrong_table(table, folder, rng)
        ends["refused" if wrong == "refused" else "wrong" if wrong else "right"] += 1
        if wrong and wrong != "refused":
            print(number, repr(table.separator), table.encoding, wrong, sep=" | ")
    print(dict(ends), f"of {n_tables} tables")
    return ends["wrong"]


def main() -> None:
    """Mutate and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--tables", type=int, default=0, help="instead of files")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=None)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.tables:
        raise SystemExit(bool(fuzz_tables(args.tables, args.seed)))
    rng = np.random.default_rng(args.seed)
    ends: Counter[str] = Counter()
    failures = []
    with tempfile.TemporaryDirectory() as name:
        good, folder = Path(name) / "good", Path(name) / "work"
        good.mkdir()
        write_files(good)
        (good / "out.csv").unlink()
        for number in range(args.files):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(good, folder)
            what = ["table.csv", "numbers.csv", "pairs.csv", "model"][rng.integers(4)]
            (folder / what).write_bytes(mutated((folder / what).read_bytes(), rng))
            data = (
                "numbers.csv"
                if what == "model"
                else str(
                    rng.choice(["table.csv", "numbers.csv"])
                    if what == "pairs.csv"
                    else what
                )
            )
            commands = ["cluster", "check"] if what != "model" else ["predict"]
            if what == "numbers.csv":
                commands.append("predict")
            command = str(rng.choice(commands))
            result = run(command, data, folder)
            ends[f"{command} {result.exit_code}"] += 1
            wrong = complaint(result, folder, command != "check")
            if wrong is not None:
                failures.append((number, command, what, wrong, result.output[-300:]))
                if args.keep is not None:
                    shutil.copytree(folder, args.keep / str(number))
    print(dict(sorted(ends.items())))
    for failure in failures:
        print(*failure, sep=" | ")
    print(f"{len(failures)} of {args.files} failed")
    raise SystemExit(bool(failures))


if __name__ == "__main__":
    main()
