"""The archive inside a model file, looked at before anything is made of it.

Nothing in a file from a stranger is believed: how large its arrays are, how often a
part is used, which types it names.
"""

import io
import json
import math
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np

# Only sparse matrices are compressed. All of an archive together may take this many
# times the size of the file, and so many bytes more.
_MAX_RATIO = 16
_SPARE_BYTES = 2**25
_SCALARS = [
    *("bool", "str_", "float16", "float32", "float64"),
    *(f"{kind}{size}" for kind in ("int", "uint") for size in (8, 16, 32, 64)),
]
# What skops makes arrays, containers and types of keys from.
_PLAIN = {
    "DictNode": {"builtins.dict"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {f"numpy.{name}" for name in ("ndarray", *_SCALARS)},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "TypeNode": {f"builtins.{name}" for name in ("bool", "float", "int", "str")}
    | {f"numpy.{name}" for name in _SCALARS},
}
# What it makes objects of other types from: these are listed in model_files.
_LISTED = {
    "DTypeNode",
    "FunctionNode",
    "ObjectNode",
    "SparseMatrixNode",
    "TreeNode",
    "TupleNode",
}


def check_archive(content: bytes, listed: set[str]) -> set[str]:
    """Return the types in an archive that a model has none of.

    Raises
    ------
    ValueError
        If it would become larger than the file allows, or is not as skops writes it.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        _check_sizes(archive, len(content))
        schema = json.loads(archive.read("schema.json"))
    found: set[tuple[str, str]] = set()
    _count_nodes(schema, {}, found)
    return {
        name
        for loader, name in found
        if name not in (listed if loader in _LISTED else _PLAIN.get(loader, ()))
        and loader != "JsonNode"  # a number or a text, whatever it is called
    }


def _check_sizes(archive: ZipFile, n_bytes: int) -> None:
    """Raise if the entries of an archive are larger than a file of this size allows."""
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) < len(entries):
        raise ValueError("two of its arrays have the same name.")
    if any(entry.compress_type != ZIP_STORED for entry in entries):
        raise ValueError("it is compressed, as no model is.")
    total, limit = sum(e.file_size for e in entries), _MAX_RATIO * n_bytes
    for entry in entries:
        if entry.filename.endswith(".npz"):
            with ZipFile(io.BytesIO(archive.read(entry))) as matrix:
                total += sum(part.file_size for part in matrix.infolist())
                _check_arrays(matrix, n_bytes)
    _check_arrays(archive, n_bytes)
    if total > limit + _SPARE_BYTES:
        raise ValueError(
            f"its arrays would take {total:,} bytes, but the file has {n_bytes:,}."
        )


def _check_arrays(archive: ZipFile, n_bytes: int) -> None:
    """Raise if an array does not have the size that it claims."""
    for entry in archive.infolist():
        if not entry.filename.endswith(".npy"):
            continue
        if entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{entry.filename} is compressed in an unknown way.")
        with archive.open(entry) as file:
            if np.lib.format.read_magic(file) != (1, 0):
                raise ValueError(f"{entry.filename} is an array of another version.")
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            begin = file.tell()
        size = dtype.itemsize
        is_whole = min(shape, default=0) >= 0 and size > 0
        is_whole = is_whole and begin + size * math.prod(shape) == entry.file_size
        # An array without values may claim a billion rows of no columns.
        n_claimed = size * math.prod(max(length, 1) for length in shape)
        if not is_whole or n_claimed > _MAX_RATIO * n_bytes + _SPARE_BYTES:
            raise ValueError(
                f"{entry.filename} claims the shape {shape}, which its "
                f"{entry.file_size:,} bytes cannot hold."
            )


def _count_nodes(part: Any, sizes: dict[int, int], found: set[tuple[str, str]]) -> int:
    """Return how many nodes a part of the schema has; collect loaders and types.

    skops writes a part that is used twice twice, with one id, and reads the first. If
    all with one id are equally large, reading takes no longer than the schema is long,
    and no part is inside itself.
    """
    if type(part) is list:
        inside = part
    elif part.get("__loader__") == "DictNode" and type(part.get("content")) is dict:
        inside = [part.get("key_types"), *part["content"].values()]  # keys may be any
    else:
        inside = part.values()
    n_nodes = sum(
        _count_nodes(entry, sizes, found)
        for entry in inside
        if type(entry) is dict or type(entry) is list
    )
    if type(part) is list:
        return n_nodes
    # Of a part with an id that is known, skops reads nothing else.
    if "__loader__" not in part and "__id__" not in part:
        return n_nodes
    own = part.get("__id__")
    if type(own) is not int or own < 1:
        raise ValueError(f"a part of it has the id {str(own)[:40]}.")
    # Else one array could be read a thousand times.
    if part.get("file", f"{own}.npy") not in (f"{own}.npy", f"{own}.npz"):
        raise ValueError(f"the part {own} is not in a file of that name.")
    if sizes.setdefault(own, n_nodes + 1) != n_nodes + 1:
        raise ValueError(f"two different parts have the id {own}.")
    name = f"{part.get('__module__')}.{part.get('__class__')}"
    found.add((str(part.get("__loader__")), name))
    return n_nodes + 1
