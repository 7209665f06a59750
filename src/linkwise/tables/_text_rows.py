"""Texts as rows of length 1, by an encoder: checked, in batches, kept in a cache."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.preprocessing import normalize

from linkwise._typing import FloatArray
from linkwise.tables._encoders import (
    BUNDLED,
    WORDS,
    Encoder,
    EncoderName,
    loaded,
    named,
    version_of,
)
from linkwise.tables._vector_cache import VectorCache

# Texts by whose rows an encoder is known again.
_PROBES = [
    "The parcel arrived late and the box was damaged.",
    "Une facture pour deux billets de train.",
    "42",
]
# Cosine of the rows of a probe from which on two encoders count as the same one.
_LEAST_ALIKE = 0.999
# Texts that are given to an encoder at once, and those from which on the rows of the
# bundled one are worth a file.
_BATCH = 2_048
_MANY = 10_000


class EncoderNote(NamedTuple):
    """Which encoder made the rows of texts."""

    name: str  # "wordllama", "tfidf", "package:model", or the type of a person's own
    version: str = ""  # of its package
    digest: str = ""  # of the rows that it makes of fixed texts
    is_own: bool = False  # whether a person brought it

    @property
    def is_brought(self) -> bool:
        """Whether linkwise has it without anybody naming it."""
        return not self.is_own and self.name in (BUNDLED, WORDS)

    def __str__(self) -> str:
        """Return the name, with the version if there is one."""
        return f"{self.name} {self.version}".strip()


class Watch(NamedTuple):
    """What goes on beside the encoding of texts."""

    cache: Path | None = None  # folder for rows
    progress: Callable[[int, int], None] | None = None  # gets texts done, texts in all


class TextEncoder:
    """An encoder as linkwise uses it; it is loaded when the first text comes.

    Parameters
    ----------
    given : str or object
        A name, see ``named``, or anything with ``encode(texts)``.
    """

    def __init__(self, given: Any) -> None:
        if isinstance(given, str):
            self.name = named(given)
        elif callable(getattr(given, "encode", None)):
            self.name = EncoderName("")
        else:
            raise ValueError(
                f"encoder={given!r}: allowed are a name ('auto', {BUNDLED!r}, "
                f"{WORDS!r}, 'package:model') and an object with encode(texts)."
            )
        self._given = given

    @property
    def counts_words(self) -> bool:
        """Whether it is TF-IDF, which is learnt from the texts."""
        return self.name.package == WORDS

    @property
    def is_own(self) -> bool:
        """Whether a person brought it."""
        return not self.name.package

    @property
    def text(self) -> str:
        """Its name in words."""
        return type(self._given).__name__ if self.is_own else str(self.name)

    def note(self, probe: FloatArray | None = None) -> EncoderNote:
        """Return what to remember of it; the digest is that of its probe."""
        digest = ""
        if probe is not None:
            # Rounded: other processors differ in the last digits.
            digest = hashlib.sha256((probe.round(2) + 0.0).tobytes()).hexdigest()[:16]
        return EncoderNote(self.text, version_of(self.name), digest, self.is_own)

    def rows(self, texts: list[str], watch: Watch) -> tuple[FloatArray, FloatArray]:
        """Return a row of length 1, or of zeros, for each text, and those of probes."""
        wanted = [*_PROBES, *texts]
        is_worth = self.name.package != BUNDLED or len(texts) >= _MANY
        cache = VectorCache(watch.cache if is_worth and not self.is_own else None)
        key = cache.key(f"{self.name} {version_of(self.name)}", self._stamp(), wanted)
        found = cache.read(key, len(wanted))
        if found is None:
            found = self._encoded(wanted, watch)
            cache.write(key, found)
        return found[len(_PROBES) :], found[: len(_PROBES)]

    def _stamp(self) -> str:
        """Return what changes when the files of a model in a folder do."""
        folder = Path(self.name.model) if self.name.model else None
        if folder is None or not folder.is_dir():
            return ""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return repr([(str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files])

    def _encoded(self, texts: list[str], watch: Watch) -> FloatArray:
        encoder: Encoder = self._given if self.is_own else loaded(self.name)
        parts = []
        for first in range(0, len(texts), _BATCH):
            some = texts[first : first + _BATCH]
            parts.append(_checked(encoder.encode(some), some, self.text))
            if watch.progress is not None:
                watch.progress(min(first + _BATCH, len(texts)), len(texts))
        widths = {part.shape[1] for part in parts}
        if len(widths) > 1:
            raise ValueError(f"{self.text} gave rows of different lengths: {widths}.")
        return np.concatenate(parts)


def _checked(rows: Any, texts: list[str], name: str) -> FloatArray:
    """Return the rows of an encoder, of length 1, if they can be used."""
    if hasattr(rows, "detach"):  # a tensor of torch
        rows = rows.detach().cpu()
    try:
        found = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0)
    if found.ndim != 2 or len(found) != len(texts) or found.shape[1] == 0:
        shape = getattr(rows, "shape", type(rows).__name__)
        raise ValueError(
            f"encoder {name} gave {shape} for {len(texts)} texts: it must give a row "
            "of numbers for each."
        )
    wrong = ~np.isfinite(found).all(axis=1)
    if wrong.any():
        text = texts[int(np.argmax(wrong))][:60]
        raise ValueError(f"encoder {name} gave no finite numbers for {text!r}.")
    return np.asarray(normalize(found), dtype=np.float32)


def is_same(probe: FloatArray, other: FloatArray) -> bool:
    """Tell whether two encoders make the same of the texts that are their probes."""
    if probe.shape != other.shape:
        return False
    cosines = (probe * other).sum(axis=1)
    is_empty = ~probe.any(axis=1) & ~other.any(axis=1)
    return bool(((cosines >= _LEAST_ALIKE) | is_empty).all())
