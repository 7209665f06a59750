"""Arrays as texts, and back again in parts: a short text may stand for many numbers."""

import base64
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from linkwise._typing import IntArray

_BYTES_AT_ONCE = 1 << 20


def pack(labels: IntArray) -> str:
    """Return labels as a short text."""
    return base64.b64encode(zlib.compress(labels.astype("<i4").tobytes())).decode()


def parts_of(text: str) -> Iterator[npt.NDArray[np.int32]]:
    """Yield the labels that a text stands for, some at a time.

    Raises
    ------
    ValueError
        If it does not come from ``pack``.
    """
    data, stream = base64.b64decode(text, validate=True), zlib.decompressobj()
    try:
        while not stream.eof:
            part = stream.decompress(data, _BYTES_AT_ONCE)
            data = stream.unconsumed_tail
            if part:
                yield np.frombuffer(part, "<i4")
            elif not stream.eof:
                raise ValueError("it ends too early")
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if stream.unused_data:
        raise ValueError("something follows it")


def unpack(text: str, n_most: int) -> tuple[IntArray, int]:
    """Return the first labels that a text stands for, and the highest of all."""
    first: list[npt.NDArray[np.int32]] = []
    n_left, highest = n_most, -1
    for part in parts_of(text):
        highest = max(highest, int(part.max(initial=-1)))
        if n_left > 0:
            first.append(part[:n_left])
            n_left -= len(first[-1])
    return np.concatenate([*first, np.empty(0, int)]).astype(int), highest


def pack_digests(digests: npt.NDArray[np.uint64]) -> str:
    """Return digests of rows as a text."""
    return base64.b64encode(digests.astype("<u8").tobytes()).decode()


def unpack_digests(text: str) -> npt.NDArray[np.uint64]:
    """Return the digests that a text stands for; ValueError if it does for none."""
    data = base64.b64decode(text, validate=True)
    return np.frombuffer(data, "<u8").astype(np.uint64)
