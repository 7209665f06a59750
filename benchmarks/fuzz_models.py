"""Mutated model files: the right labels or a clear refusal, and never a crash.

``python benchmarks/fuzz_models.py --files 500 --seed 0`` fits models of every kind and
changes their files: bytes, with and without a right checksum, headers, the arrays, the
sparse matrices and the schema inside, and archives that would become very large. A
process of its own loads each file and predicts. It must end with labels, with
``ModelFileError`` from ``load``, or with ``ValueError`` from ``predict``, within ten
seconds and 300 MB above what the process had before. What fails is kept in ``--keep``.
"""

import argparse
import copy
import gc
import hashlib
import io
import json
import select
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from linkwise import (
    Constraints,
    KernelCSC,
    MahalanobisCSC,
    ModelFileError,
    SingleKernelCSC,
    load,
    save,
    table_pipeline,
)

SECONDS = 10.0
MEGABYTES = 300.0
# No mutant may take the machine down before it is found out.
MEMORY_LIMIT = 4 * 2**30
N_ROWS, N_CLUSTERS = 60, 3
Y = np.arange(N_ROWS) % N_CLUSTERS
ODD_NUMBERS = [-1, -2, 0, 1, 3, 60, 2**31 - 1, 2_000_000_000, -(2**63), 2**40, 2**62]
ODD_JSON = ["null", "true", "-1", "0", "3", "2000000000", "1e400", "NaN", '"x"', "{"]
ODD_JSON += ["[]", "{}", "[[0]]", '["a", 1]', "9" * 5000, "[" * 5000, f'"{"x" * 5000}"']
ODD_TYPES = ["builtins.list", "builtins.map", "numpy.ndarray", "numpy.void", "x", "."]
ODD_TYPES += ["sklearn.svm._classes.SVC", "sklearn.neighbors._kd_tree.KDTree"]
ODD_TYPES += ["os.system"]


def rows() -> dict[str, object]:
    """Return the rows that each model is fitted on."""
    rng = np.random.default_rng(0)
    X = 3.0 * np.eye(3)[Y] + rng.normal(size=(N_ROWS, 3))
    wide = np.concatenate([X, rng.normal(size=(N_ROWS, 50))], axis=1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["plan"] = np.array(["x", "y", None, "z"], dtype=object)[np.arange(60) % 4]
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * Y, unit="D")
    table["note"] = [f"row {i} of the class {c}" for i, c in enumerate(Y)]
    sparse = csr_array(np.where(wide > 0.5, wide, 0.0))
    names = ["default", "forest", "diffusion", "landmarks", "far", "single"]
    found = dict.fromkeys([*names, "mahalanobis"], X)
    return {**found, "sparse": sparse, "table": table, "meaning": table}


def models(names: list[str]) -> dict[str, tuple[bytes, np.ndarray]]:
    """Return the file of each model, and its labels of the rows it was fitted on."""
    few = {"n_candidates": 10, "random_state": 0}
    clusterers = {
        "default": KernelCSC(3, **few),
        "forest": KernelCSC(3, kernels=["forest"], **few),
        "diffusion": KernelCSC(3, kernels=["diffusion"], **few),
        "landmarks": KernelCSC(3, approximation="landmarks", n_landmarks=20, **few),
        "far": KernelCSC(3, far=0.1, **few),
        "sparse": KernelCSC(3, **few),
        "single": SingleKernelCSC(3, random_state=0),
        "mahalanobis": MahalanobisCSC(3, **few),
        "table": table_pipeline(KernelCSC(3, **few), encoder="tfidf"),
        "meaning": table_pipeline(KernelCSC(3, **few), encoder="wordllama"),
    }
    pairs, found = Constraints.sample(Y, 60, random_state=0), {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names or clusterers:
            model, X = clusterers[name], rows()[name]
            model.fit(X, constraints=pairs)
            save(model, Path(folder) / name)
            found[name] = (Path(folder) / name).read_bytes(), model.predict(X)
    return found


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the entries of the archive of a model file."""
    with ZipFile(io.BytesIO(data.split(b"\n", 2)[2])) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(data: bytes, entries: dict[str, bytes], compression=ZIP_STORED) -> bytes:
    """Return a model file with other entries, and the checksum of these."""
    content = io.BytesIO()
    with ZipFile(content, "w", compression) as archive:
        for name, entry in entries.items():
            archive.writestr(name, entry)
    return repaired(data, content.getvalue())


def repaired(data: bytes, content: bytes) -> bytes:
    """Return a model file with another archive, and the checksum of that."""
    first, header, _ = data.split(b"\n", 2)
    checksum = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    header = json.dumps(json.loads(header) | checksum).encode()
    return b"\n".join([first, header, content])


def as_array(entry: bytes) -> np.ndarray:
    """Return an array that can be changed."""
    return np.load(io.BytesIO(entry)).copy()


def as_bytes(array: np.ndarray) -> bytes:
    """Return the bytes of an array as skops writes them."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def chosen(values, rng):
    """Return one of some values."""
    values = list(values)
    return values[int(rng.integers(len(values)))]


def other_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Return bytes with a few changes."""
    found = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at, kind = int(rng.integers(len(found) + 1)), rng.integers(4)
        if kind == 0 and at < len(found):
            found[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            found[at:at] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 2:
            del found[at : at + int(rng.integers(1, 40))]
        else:
            del found[at:]
    return bytes(found)


def damaged(data: bytes, rng: np.random.Generator) -> bytes:
    """Change some bytes; the checksum is that of the others."""
    return other_bytes(data, rng)


def forged(data: bytes, rng: np.random.Generator) -> bytes:
    """Change some bytes of the archive, and the checksum."""
    return repaired(data, other_bytes(data.split(b"\n", 2)[2], rng))


def other_header(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a value of the header, or all of it."""
    first, line, content = data.split(b"\n", 2)
    header = json.loads(line)
    odd = chosen(ODD_JSON, rng).encode()
    if rng.random() < 0.2:
        return b"\n".join([first, odd, content])
    name = chosen(header, rng)
    header[name] = "@"
    line = json.dumps(header).encode().replace(b'"@"', odd)
    return b"\n".join([first, line, content])


def other_array(data: bytes, rng: np.random.Generator) -> bytes:
    """Change values, shape or type of an array."""
    entries = unpacked(data)
    # Arrays with fields are those of trees: as often as all others together.
    arrays = [name for name in entries if name.endswith(".npy")]
    trees = [name for name in arrays if b"'idx_start'" in entries[name]]
    trees += [name for name in arrays if b"left_child" in entries[name]]
    is_tree = trees and rng.random() < 0.5
    name = chosen(trees if is_tree else arrays, rng)
    entries[name] = as_bytes(changed(as_array(entries[name]), rng))
    return packed(data, entries)


def changed(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array with odd values, another shape or another type."""
    kind = rng.integers(7)
    if kind == 0:
        return array.ravel()
    if kind == 1:
        return array[: len(array) // 2] if array.ndim else array.reshape(1)
    if kind == 2:
        return np.concatenate([array, array]) if array.ndim else array.reshape(1, 1)
    if kind == 3 and array.dtype.names is None:
        return array.astype(chosen(["f4", "i8", "i4", "U3", "f8", "?", "c16"], rng))
    values = array[chosen(array.dtype.names, rng)] if array.dtype.names else array
    flat = values.reshape(-1) if values.ndim else array.reshape(1)
    if flat.size and flat.dtype.kind in "iuf":
        at = rng.integers(flat.size, size=int(rng.integers(1, 4)))
        with np.errstate(over="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            odd = chosen([*ODD_NUMBERS, np.nan, np.inf], rng)
            flat[at] = np.array(odd).astype(flat.dtype)
        if array.dtype.names is None:
            return flat.reshape(array.shape)
    return array


def other_sparse(data: bytes, rng: np.random.Generator) -> bytes:
    """Change one of the arrays of a sparse matrix."""
    entries = unpacked(data)
    matrices = [name for name in entries if name.endswith(".npz")]
    if not matrices:
        return other_array(data, rng)
    name = chosen(matrices, rng)
    with np.load(io.BytesIO(entries[name])) as matrix:
        parts = dict(matrix.items())
    part = chosen(["indices", "indptr", "data", "shape"], rng)
    parts[part] = changed(parts[part].copy(), rng)
    file = io.BytesIO()
    np.savez_compressed(file, **parts)
    entries[name] = file.getvalue()
    return packed(data, entries)


def nodes_of(part, found: list[dict]) -> list[dict]:
    """Return all nodes of a schema."""
    inside = part.values() if isinstance(part, dict) else part
    if isinstance(part, dict) and "__loader__" in part:
        found.append(part)
    if isinstance(part, dict | list):
        for entry in inside:
            nodes_of(entry, found)
    return found


def other_schema(data: bytes, rng: np.random.Generator) -> bytes:
    """Change a node of the schema, or two."""
    entries = unpacked(data)
    schema = json.loads(entries["schema.json"])
    nodes = nodes_of(schema, [])
    node, other = chosen(nodes, rng), chosen(nodes, rng)
    kind = rng.integers(8)
    content = node.get("content")
    if kind <= 2:
        number = chosen([n for n in nodes if n["__loader__"] == "JsonNode"], rng)
        number["content"] = chosen(ODD_JSON, rng)
    elif kind == 3 and isinstance(content, dict | list) and content:
        del content[chosen(content, rng) if isinstance(content, dict) else 0]
    elif kind == 4:
        module, _, name = chosen(ODD_TYPES, rng).rpartition(".")
        node["__module__"], node["__class__"] = module, name
    elif kind == 5:
        node["__id__"] = chosen([other.get("__id__"), None, -1, "x", 0], rng)
    elif kind == 6:
        node["__loader__"] = other["__loader__"]
    else:
        before = dict(node)
        node.clear()
        node.update(copy.deepcopy(other) if rng.random() < 0.8 else before)
    text = json.dumps(schema) if node is not schema else "{}"
    entries["schema.json"] = text.encode()
    return packed(data, entries)


def bomb(data: bytes, rng: np.random.Generator) -> bytes:
    """Make an archive that would become very large, or be read for ever."""
    entries = unpacked(data)
    schema = json.loads(entries["schema.json"])
    arrays = [name for name in entries if name.endswith(".npy")]
    name, kind = chosen(arrays, rng), rng.integers(5)
    if kind == 0:  # half a gigabyte of zeros in a sparse matrix
        file = io.BytesIO()
        np.savez_compressed(file, data=np.zeros(2**26), format="csr")
        matrices = [n for n in entries if n.endswith(".npz")]
        entries[chosen(matrices, rng) if matrices else "1.npz"] = file.getvalue()
    elif kind == 1:  # the same in an array
        entries[name] = as_bytes(np.zeros(2**25))
        return packed(data, entries, ZIP_DEFLATED)
    elif kind == 2:  # a billion rows without columns, or more than there are
        shape = chosen(["(1000000000, 0)", "(1000000000, 9)", "(-3, -4)"], rng)
        line = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}"
        line = line.ljust(117) + "\n"
        entries[name] = b"\x93NUMPY\x01\x00v\x00" + line.encode()
    elif kind == 3:  # one array a thousand times
        entries[name] = as_bytes(np.zeros(2**18))
        used = next(n for n in nodes_of(schema, []) if n.get("file") == name)
        copies = [{**used, "__id__": 10**6 + i} for i in range(1000)]
        schema["content"]["frames"] = {**schema, "content": copies, "__id__": 5}
        schema["content"]["frames"]["__loader__"] = "ListNode"
    else:  # lists of two lists, forty deep
        plain = {"__module__": "builtins", "__class__": "list"}
        deep = {**plain, "__loader__": "JsonNode", "content": "0", "__id__": 1}
        for i in range(2, 42):
            both = [deep, {"__id__": deep["__id__"]}]
            deep = {**plain, "__loader__": "ListNode", "content": both, "__id__": i}
        schema["content"]["frames"] = deep
    entries["schema.json"] = json.dumps(schema).encode()
    return packed(data, entries)


MUTATIONS = [damaged, forged, other_header, other_array, other_array, other_sparse]
MUTATIONS += [other_schema, other_schema, bomb]


def work() -> None:
    """Load files and predict, as they are named on standard input."""
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, MEMORY_LIMIT))
    known = rows()
    print(json.dumps("ready"), flush=True)
    next(sys.stdin)
    for line in sys.stdin:
        path, name = json.loads(line)
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5")
        before = memory("VmRSS")
        found = outcome(path, known[name])
        found["megabytes"] = memory("VmHWM") - before
        print(json.dumps(found), flush=True)


def outcome(path: str, X) -> dict[str, object]:
    """Return how loading and predicting have ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except ModelFileError as error:
            return {"end": "refused", "text": str(error).replace(path, "FILE")}
        except BaseException as error:
            return {"end": "failed", "text": f"load: {error!r}"[:300]}
        try:
            labels = np.asarray(model.predict(X))
        except ValueError as error:
            return {"end": "refused by predict", "text": str(error)[:300]}
        except BaseException as error:
            return {"end": "failed", "text": f"predict: {error!r}"[:300]}
    if labels.shape != (N_ROWS,) or not np.isin(labels, range(-1, N_CLUSTERS)).all():
        return {"end": "failed", "text": f"labels of shape {labels.shape}"}
    return {"end": "labels", "labels": labels.tolist()}


def memory(name: str) -> float:
    """Return an entry of the state of this process, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(name))
    return int(line.split()[1]) / 1000.0


class Worker:
    """A process that loads and predicts, and is replaced if it ends or hangs."""

    def __init__(self) -> None:
        self.process = None

    def __enter__(self) -> "Worker":  # noqa: D105
        return self

    def __exit__(self, *_) -> None:  # noqa: D105
        if self.process is not None:
            self.end()

    def run(self, path: Path, name: str) -> dict[str, object]:
        """Return how a file has ended there."""
        if self.process is None:
            self.start()
        line = self.answer([str(path), name], SECONDS)
        if line:
            return json.loads(line)
        how = "hangs" if self.process.poll() is None else "ends"
        text = f"the process {how}, {self.end()}"
        return {"end": "failed", "text": text, "megabytes": 0.0}

    def start(self) -> None:
        """Start the process; wait until it has imported what it needs."""
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.answer(None, 300.0), "the process does not start"

    def answer(self, question, seconds: float) -> str:
        """Return what the process says to a question in time, or nothing."""
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        is_there, _, _ = select.select([self.process.stdout], [], [], seconds)
        return self.process.stdout.readline() if is_there else ""

    def end(self) -> int:
        """End the process; return its code."""
        with self.process:
            self.process.kill()
        code, self.process = self.process.returncode, None
        return code


def run(n_files: int, seed: int, names: list[str], keep: Path | None = None) -> int:
    """Mutate files and try them; return how many failed."""
    rng = np.random.default_rng(seed)
    good, ends, texts = models(names), Counter(), Counter()
    failures, largest, slowest = [], 0.0, 0.0
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        path = Path(folder) / "model"
        for number in range(-len(good), n_files):
            name = chosen(good, rng) if number >= 0 else list(good)[number]
            data, expected = good[name]
            mutate = chosen(MUTATIONS, rng) if number >= 0 else None
            path.write_bytes(data if mutate is None else mutate(data, rng))
            begin = time.monotonic()
            found = worker.run(path, name)
            end, megabytes = found["end"], found["megabytes"]
            how = "untouched" if mutate is None else mutate.__name__
            if mutate in (None, damaged, other_header):
                # What the checksum covers is as it was.
                if end == "labels" and found["labels"] != expected.tolist():
                    end, found["text"] = "failed", "other labels"
            if mutate is None and end != "labels":
                end = "failed"
            if megabytes > MEGABYTES:
                end, found["text"] = "failed", f"{megabytes:.0f} MB"
            ends[how, end] += 1
            if number >= 0:
                largest = max(largest, megabytes)
                slowest = max(slowest, time.monotonic() - begin)
            if end == "refused by predict":
                texts[found["text"]] += 1
            if end == "failed":
                failures.append((number, name, how, found.get("text")))
                if keep is not None:
                    keep.mkdir(exist_ok=True)
                    (keep / f"{number}-{name}-{how}").write_bytes(path.read_bytes())
    for (how, end), count in sorted(ends.items()):
        print(f"{how:14} {end:20} {count:5}")
    for text, count in texts.most_common():
        print(f"predict says ({count}): {text[:120]}")
    for failure in failures:
        print(*failure, sep=" | ")
    print(f"at most {largest:.0f} MB above the base and {slowest:.1f} s")
    print(f"{len(failures)} of {n_files} failed")
    return len(failures)


def main() -> None:
    """Mutate and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work()
        return
    warnings.simplefilter("ignore")
    raise SystemExit(bool(run(args.files, args.seed, args.models, args.keep)))


if __name__ == "__main__":
    main()
