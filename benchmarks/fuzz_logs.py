"""Mutated session logs: opened right, or refused with their line.

``python benchmarks/fuzz_logs.py --files 500 --seed 0`` writes good logs, with ids and
without, of this version and of an earlier one, and mutates one at a time: bytes, whole
lines, values of the JSON, and values that are made to take memory or time. Each is
opened in a session, read, asked, taken back, fitted, and joined to another session.
That works, or ends with ``LogError`` and leaves the file as it was. A child process
does it, and its peak memory stays below ``--memory`` above what it is before.
"""

import argparse
import base64
import json
import multiprocessing
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from linkwise import ConstrainedKernelKMeans
from linkwise.active import LogError, Session, Truth, run

# Seconds after which a log takes too long.
MAX_SECONDS = 60
N_ROWS = 24
X, Y = make_blobs(N_ROWS, centers=3, random_state=0)
MODEL = ConstrainedKernelKMeans(3, random_state=0)
IDS = {"ids": [f"r{row}" for row in range(N_ROWS)], "numbers": None}
BYTES = [
    b"",
    b"\n",
    b"\r\n",
    b"\x00",
    b"\xff",
    b"{",
    b"}",
    b"[",
    b'"',
    b",",
    b":",
    b"1",
]
BYTES += [b"NaN", b"1e999", b"\\ud800", b"null", b'{"event": "undo", "n": 1}\n']
# Some that are of another kind, some that are large.
VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    7,
    2**31,
    10**18,
    10**400,
    0.5,
    1e308,
    "",
    "x",
]
VALUES += ["same", "r3", "\ud800", [], [0], [[0, 1, True]], {}, {"event": "answer"}]
ZEROS = base64.b64encode(zlib.compress(bytes(4 * 10**8), 9)).decode()


def write_good(path: Path, kind: str) -> None:
    """Write a log with events of all kinds."""
    with Session(X, MODEL, log=path, ids=IDS[kind]) as session:
        run(session, Truth(Y, wrong=0.1), 12, fit_every=6)
        names = session.ids.tolist()
        session.describe("the same plant")
        first, second = np.unique(session.labels_)[:2].tolist()
        inside = session.ids[session.labels_ == first].tolist()
        session.rename(session.split(first, inside[:2]), "odd")
        session.move(inside[2:3], second)
        session.confirm(second, complete=True)
        session.merge(first, second)
        session.undo(2)
        session.redo()
        session.skip(session.ask())
        for i, j, word in [(0, 1, "same"), (1, 2, "same"), (0, 2, "different")]:
            told = session.tell((names[i], names[j]), word, who="Ann", note="?")
        if told.conflict is not None:
            session.resolve(told.conflict, "that")
        session.change(max(session.answers), "unsure")
        session.note(1, "look again")
        session.fit()


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    """Return a log with something wrong in it, or something odd."""
    how = rng.choice(
        ["bytes", "lines", "values", "values", "bombs"], p=[0.3, 0.2, 0.2, 0.2, 0.1]
    )
    if how == "bytes":
        return _other_bytes(data, rng)
    lines = data.splitlines(keepends=True)
    at = int(rng.integers(len(lines)))
    if how == "lines":
        other = lines[int(rng.integers(len(lines)))]
        lines[at : at + int(rng.integers(2))] = [other] * int(rng.integers(3))
        return b"".join(lines)[: None if rng.random() < 0.7 else -1]
    event = json.loads(lines[at])
    if how == "bombs":
        lines[at] = _bomb(event, rng)
    else:
        for _ in range(int(rng.integers(1, 3))):
            event = _other_value(event, rng)
        lines[at] = json.dumps(event).encode() + b"\n"
    return b"".join(lines)


def _other_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(found) + 1)), rng.integers(4)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            found[at:at] = BYTES[rng.integers(len(BYTES))]
        elif kind == 2:
            del found[at : at + int(rng.integers(1, 60))]
        elif kind == 3 and rng.random() < 0.3:
            del found[at:]
    return bytes(found)


def _other_value(value: Any, rng: np.random.Generator) -> Any:
    """Return a value in which one is replaced, dropped or put twice, at any depth."""
    if isinstance(value, dict | list) and len(value) and rng.random() < 0.9:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[int(rng.integers(len(keys)))]
        found = value.copy()
        kind = rng.integers(5)
        if kind == 0:
            del found[key]
        elif kind == 1:
            found[key] = found[keys[int(rng.integers(len(keys)))]]
        else:
            found[key] = _other_value(found[key], rng)
        return found
    if isinstance(value, int) and rng.random() < 0.5:
        return value + int(rng.integers(-3, 4))
    return VALUES[int(rng.integers(len(VALUES)))]


def _bomb(event: dict[str, Any], rng: np.random.Generator) -> bytes:
    """Return a line that is small and may become large."""
    kind = rng.integers(6)
    if kind == 0:
        return b"[" * 200_000 + b"\n"
    if kind == 1:
        event = {**event, "more": [[]] * 100_000}
    elif kind == 2:
        event = {"event": "fit", "labels": ZEROS, "clusters": 1}
    elif kind == 3:
        event = {"event": "rows", "rows": 30_000_000, "ids": "", "columns": ""}
    elif kind == 4:
        rows = {"event": "rows", "rows": 10**8, "ids": "", "columns": ""}
        fit = {"event": "fit", "labels": ZEROS, "clusters": 1}
        return b"".join(json.dumps(line).encode() + b"\n" for line in (rows, fit))
    else:
        key = list(event)[int(rng.integers(len(event)))]
        event = {**event, key: "x" * 500_000}
    return json.dumps(event).encode() + b"\n"


def use(path: Path, kind: str) -> str:
    """Open a log and do with it what can be done; return how that ended."""
    data = path.read_bytes()
    ends = []
    try:
        with Session(X, MODEL, log=path, ids=IDS[kind]) as session:
            _check(session)
            session.undo(3)
            session.redo()
            session.fit()
            _check(session)
        with Session(X, MODEL, log=path, ids=IDS[kind]) as again:
            assert again.answers == session.answers, "other answers after a restart"
            np.testing.assert_array_equal(again.labels_, session.labels_)
        ends.append("opened")
    except LogError as error:
        assert str(path) in str(error), f"no file is named: {error}"
        assert path.read_bytes() == data, "changed by a session that did not open it"
        ends.append("refused")
    path.write_bytes(data)
    with Session(X, MODEL, ids=IDS[kind]) as other:
        try:
            other.join(path)
            _check(other)
            ends.append("joined")
        except LogError:
            assert other.n_answers == 0, "answers of a log that was refused"
            ends.append("not joined")
    return ", ".join(ends)


def _check(session: Session) -> None:
    """Look at all there is to see."""
    pairs = session.constraints_
    assert pairs.n_conflicts == 0
    assert all(0 <= row < N_ROWS for row in pairs.points)
    assert session.history["event"].is_monotonic_increasing
    session.agreement()
    session.status()
    session.ask()
    for conflict in session.conflicts():
        session.weakest(conflict)
    if session.is_fitted:
        assert session.labels_.shape == (N_ROWS,) and session.labels_.min() >= -1


def megabytes(key: str) -> float:
    """Return what /proc says about the memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return float("nan")


def work(given: Any) -> None:
    """Use logs that a pipe names, and say how each ended, in a process of its own."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(1_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        for kind in IDS:  # all is loaded, and compiled
            path.unlink(missing_ok=True)
            write_good(path, kind)
            use(path, kind)
        while (name := given.recv()) is not None:
            kind = name.name.split("-")[0]
            before = megabytes("VmRSS")
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins here
            start = time.perf_counter()
            try:
                end = use(name, kind)
            except BaseException as error:
                end = f"failed: {type(error).__name__}: {str(error)[:300]}"
            seconds = time.perf_counter() - start
            given.send((end, megabytes("VmHWM") - before, seconds))


def goods(folder: Path) -> dict[str, bytes]:
    """Return good logs by their names."""
    found = {}
    for kind in IDS:
        path = folder / f"{kind}-good"
        write_good(path, kind)
        found[kind] = path.read_bytes()
        events = [json.loads(line) for line in found[kind].splitlines()]
        del events[0]["content"]
        lines = [json.dumps(event) + "\n" for event in events]
        found[f"{kind}-old"] = "".join(lines).encode()
    return found


def fuzz(n_files: int, seed: int, memory: float, keep: Path | None = None) -> list[str]:
    """Use mutated logs; print a summary and return what has failed."""
    rng = np.random.default_rng(seed)
    ends: Counter[str] = Counter()
    failures, peak, longest = [], 0.0, 0.0
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=work, args=(theirs,), daemon=True)
    worker.start()
    theirs.close()
    with tempfile.TemporaryDirectory() as name:
        good = goods(Path(name))
        for number in range(n_files):
            kind = list(good)[int(rng.integers(len(good)))]
            path = Path(name) / f"{kind}-{number}"
            path.write_bytes(mutated(good[kind], rng))
            data = path.read_bytes()
            try:
                ours.send(path)
                if not ours.poll(MAX_SECONDS):
                    worker.kill()
                end, used, seconds = ours.recv()
            except (EOFError, OSError):
                failures.append(f"{path.name}: the process was killed, or has died")
                _keep(keep, path.name, data)
                break
            peak, longest = max(peak, used), max(longest, seconds)
            ends[end.split(":")[0]] += 1
            if end.startswith("failed") or used > memory:
                failures.append(f"{path.name}: {end}; {used:.0f} MB, {seconds:.1f} s")
                _keep(keep, path.name, data)
            path.unlink()
    try:
        ours.send(None)
    except OSError:
        pass
    worker.join()
    print(f"{n_files} logs, seed {seed}: {dict(sorted(ends.items()))}")
    print(f"at most {peak:.0f} MB above the base, and {longest:.1f} s a log")
    for failure in failures:
        print(failure)
    print(f"{len(failures)} of {n_files} failed")
    return failures


def _keep(folder: Path | None, name: str, data: bytes) -> None:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def main() -> None:
    """Mutate and open."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--memory", type=float, default=300.0, help="MB above the base")
    parser.add_argument("--keep", type=Path, default=None)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    raise SystemExit(bool(fuzz(args.files, args.seed, args.memory, args.keep)))


if __name__ == "__main__":
    main()
