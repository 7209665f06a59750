"""Records in a file: kept one by one, claimed so that no job is done twice."""

import errno
import os
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from linkwise.experiments._jobs import Key

KEY = list(Key._fields)
_PARTS = ("test", "train", "all")
_SCORES = ("ari", "fmi", "f_score", "nmi", "ami")
METRICS = [f"{score}_{part}" for part in _PARTS for score in _SCORES]
_TEXTS = ("status", "error", "versions", "finished")
_NUMBERS = (
    "n_samples",
    "n_features",
    "n_clusters",
    "seed",
    "seconds",
    "cpu_seconds",
    "peak_memory",
    "constraint_score",
    "informativeness",
    "coherence",
    *METRICS,
)
# What a method says of itself, as a JSON object; files of earlier versions lack it.
NOTES = "notes"
COLUMNS = [*KEY, *_TEXTS, *_NUMBERS, NOTES]

_INTEGERS = {"trial", "n_constraints", "n_samples", "n_features", "n_clusters", "seed"}
_WAIT = 60.0  # seconds to wait for another process that writes


class Store:
    """Records of one or more experiments in an SQLite file.

    Several processes of one machine may use the file at once. A record is written in
    one transaction with the end of its claim, so that a process may be killed at any
    time: what was finished is there, what was not can be claimed anew.

    Parameters
    ----------
    path : str or path
        The file; it is made if it is not there.

    Raises
    ------
    OSError
        From any method, with ``errno.ENOSPC``, if the disk is full. Nothing is lost
        that was in the store before.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from linkwise.experiments import Job, Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(pathlib.Path(folder) / "records.sqlite")
    ...     job = Job("iris", "COP", "COP", 0, 63, "{}")
    ...     store.claim(job.key), store.claim(job.key)
    (True, False)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        kinds = {name: _sql_type(name) for name in COLUMNS}
        columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
        key = ", ".join(KEY)
        with self._connection() as connection:
            # Readers do not wait for writers; a killed writer leaves no half record.
            connection.execute("PRAGMA journal_mode = WAL")
            with _transaction(connection):
                connection.execute(
                    f"CREATE TABLE IF NOT EXISTS records ({columns}, "
                    f"PRIMARY KEY ({key}))"
                )
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS claims "
                    f"({', '.join(f'{name} {kinds[name]}' for name in KEY)}, "
                    f"owner TEXT, PRIMARY KEY ({key}))"
                )
                there = _columns_of(connection)
                if there == COLUMNS[:-1]:
                    connection.execute(f"ALTER TABLE records ADD COLUMN {NOTES} TEXT")
                    there = COLUMNS
        if there != COLUMNS:
            raise ValueError(
                f"{self.path} holds records of another version of linkwise; use a new "
                "file."
            )

    def claim(self, key: Key, redo_failed: bool = False) -> bool:
        """Take a job for this process; return whether it is now its to do.

        It is not if there is a record, or if a process that lives has claimed it. With
        ``redo_failed`` a record of a failure does not count.
        """
        with self._connection() as connection, _transaction(connection):
            done = connection.execute(
                f"SELECT status FROM records WHERE {_SAME}", key
            ).fetchone()
            if done and not (redo_failed and done[0] != "ok"):
                return False
            claimed = connection.execute(
                f"SELECT owner FROM claims WHERE {_SAME}", key
            ).fetchone()
            if claimed and _is_alive(claimed[0]):
                return False
            connection.execute(
                f"INSERT OR REPLACE INTO claims VALUES ({_marks(len(key) + 1)})",
                (*key, _owner(os.getpid())),
            )
        return True

    def release(self, keys: Iterable[Key]) -> None:
        """Give claims up without a record."""
        with self._connection() as connection, _transaction(connection):
            connection.executemany(f"DELETE FROM claims WHERE {_SAME}", list(keys))

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record and end the claim of its job, both or neither."""
        values = [record.get(name) for name in COLUMNS]
        key = [record[name] for name in KEY]
        with self._connection() as connection, _transaction(connection):
            connection.execute(
                f"INSERT OR REPLACE INTO records VALUES ({_marks(len(COLUMNS))})",
                values,
            )
            connection.execute(f"DELETE FROM claims WHERE {_SAME}", key)

    def done(self) -> dict[Key, str]:
        """Return the status of each record by its key."""
        with self._connection() as connection:
            rows = connection.execute(f"SELECT {', '.join(KEY)}, status FROM records")
            return {Key(*row[:-1]): row[-1] for row in rows}

    def table(self) -> pd.DataFrame:
        """Return all records as a table with the columns :data:`COLUMNS`."""
        with self._connection() as connection:
            rows = connection.execute(
                f"SELECT {', '.join(COLUMNS)} FROM records ORDER BY {', '.join(KEY)}"
            ).fetchall()
        return _typed(pd.DataFrame(rows, columns=COLUMNS))

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Transactions are written out: the module's own begin too late to claim.
        is_new = not self.path.exists()
        connection = sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)
        try:
            yield connection
        except sqlite3.OperationalError as error:
            if not _is_disk_full(error):
                raise
            connection.close()
            if is_new:
                self._remove()
            raise OSError(
                errno.ENOSPC, "The disk is full", os.fspath(self.path)
            ) from error
        finally:
            connection.close()

    def _remove(self) -> None:
        """Remove a store in which there is nothing yet."""
        for ending in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + ending).unlink(missing_ok=True)


def read_records(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Return the records of a store, or of a table written as CSV (also .gz, .xz)."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file of records {path}.")
    if ".csv" in Path(path).suffixes:
        table = pd.read_csv(path, dtype={"error": str}, keep_default_na=True)
        table[NOTES] = table.get(NOTES)
        missing = [name for name in COLUMNS if name not in table]
        if missing:
            raise ValueError(f"{path} is no table of records: no column {missing[0]}.")
        return _typed(table[COLUMNS])
    return Store(path).table()


def select_records(records: pd.DataFrame, keys: Iterable[Key]) -> pd.DataFrame:
    """Return the records of these keys only."""
    wanted = pd.MultiIndex.from_tuples(list(keys), names=KEY)
    inside = pd.MultiIndex.from_frame(records[KEY]).isin(wanted)
    return records[inside].reset_index(drop=True)


_SAME = " AND ".join(f"{name} = ?" for name in KEY)


def _marks(number: int) -> str:
    return ", ".join("?" * number)


def _columns_of(connection: sqlite3.Connection) -> list[str]:
    return [row[1] for row in connection.execute("PRAGMA table_info(records)")]


def _sql_type(name: str) -> str:
    if name in _INTEGERS:
        return "INTEGER"
    return "REAL" if name in _NUMBERS else "TEXT"


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    numbers = {name: pd.to_numeric(table[name]) for name in _NUMBERS}
    texts = {
        name: table[name].astype(object).where(table[name].notna(), "")
        for name in ("error", NOTES)
    }
    return table.assign(**numbers, **texts)


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_disk_full(error: sqlite3.OperationalError) -> bool:
    # The second: there is no room for the index of what is about to be written.
    names = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")
    name = getattr(error, "sqlite_errorname", None)
    return name in names or "disk is full" in str(error)


def _owner(pid: int) -> str:
    """Return the name of a process that no later process can have."""
    return f"{pid} {_start_of(pid)}"


def _is_alive(owner: str) -> bool:
    pid, _, start = owner.partition(" ")
    return _start_of(int(pid)) == start


def _start_of(pid: int) -> str | None:
    """Return when a process began, None if there is none: ids are used again."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        if Path("/proc/self/stat").exists():
            return None
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.strip() or None
    # The name, in brackets, may hold spaces; the start is the 22nd field of all.
    state, *_, start = stat.rpartition(")")[2].split()[:20]
    # A killed process that nobody has waited for yet does no more work.
    return None if state == "Z" else f"{_boot()} {start}"


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
