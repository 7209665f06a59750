"""Encoders: what turns texts into rows of numbers.

The bundled one needs the extra ``linkwise[text]`` and no download. Models of other
packages are loaded only if a person names them.
"""

import contextlib
import importlib.util
import logging
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.sparse import csr_array

from linkwise._typing import FloatArray

BUNDLED, WORDS = "wordllama", "tfidf"
# Packages whose models may be named, as pip and as Python call them.
PACKAGES = {
    "sentence-transformers": "sentence_transformers",
    "model2vec": "model2vec",
    "fastembed": "fastembed",
}
# Letters of a text that are read at once, and of a batch.
_PIECE, _BATCH = 4_000, 250_000


class Encoder(Protocol):
    """Anything that turns texts into rows."""

    def encode(self, texts: list[str]) -> Any:
        """Return one row of numbers for each text."""


class EncoderName(NamedTuple):
    """Which encoder is meant."""

    package: str  # BUNDLED, WORDS, a key of PACKAGES, or "" for a person's own
    model: str = ""

    def __str__(self) -> str:
        """Return the name as a person writes it."""
        return f"{self.package}:{self.model}" if self.model else self.package


def is_bundled_there() -> bool:
    """Tell whether the extra ``linkwise[text]`` is installed."""
    return importlib.util.find_spec("wordllama") is not None


def named(text: str) -> EncoderName:
    """Return the encoder that a name means; nothing is loaded.

    "auto" is the bundled encoder if it is installed, and TF-IDF if not. A model of
    another package is ``package:model``; without a package a folder tells by its files,
    and a name goes to the first of the packages that is installed.
    """
    if text == "auto":
        return EncoderName(BUNDLED if is_bundled_there() else WORDS)
    if text in (BUNDLED, WORDS):
        if text == BUNDLED and not is_bundled_there():
            raise ValueError(
                f"encoder={text!r} needs wordllama: pip install 'linkwise[text]'."
            )
        return EncoderName(text)
    package, has_mark, model = text.partition(":")
    if not has_mark or package not in PACKAGES:
        package, model = _package_of(text), text
    if not model:
        raise ValueError(f"encoder={text!r} names no model after the colon.")
    if importlib.util.find_spec(PACKAGES[package]) is None:
        raise ValueError(
            f"encoder={text!r} needs the package {package}: pip install {package}."
        )
    return EncoderName(package, model)


def _package_of(model: str) -> str:
    folder = Path(model)
    if folder.is_dir():
        return "model2vec" if _is_static(folder) else "sentence-transformers"
    if model.startswith("minishlab/"):
        return "model2vec"
    for package, module in PACKAGES.items():
        if importlib.util.find_spec(module) is not None:
            return package
    raise ValueError(
        f"encoder={model!r} is none that linkwise brings (auto, {BUNDLED}, {WORDS}). "
        f"Models of {', '.join(PACKAGES)} can be named once one of these packages is "
        "installed, such as pip install model2vec."
    )


def _is_static(folder: Path) -> bool:
    """Tell whether a folder holds a model of model2vec."""
    found = ""
    for name in ("config.json", "modules.json"):
        with contextlib.suppress(OSError, ValueError):
            found += (folder / name).read_text("utf-8")
    return '"model2vec"' in found or "StaticEmbedding" in found


def version_of(name: EncoderName) -> str:
    """Return the version of the package of an encoder, "" if it has none."""
    return version(name.package) if name.package not in ("", WORDS) else ""


@cache
def loaded(name: EncoderName) -> Encoder:
    """Return an encoder that was named, ready to use."""
    if name.package == BUNDLED:
        return Bundled()
    try:
        if name.package == "model2vec":
            from model2vec import StaticModel

            return StaticModel.from_pretrained(name.model)
        if name.package == "fastembed":
            return _OfFastembed(name.model)
        from sentence_transformers import SentenceTransformer

        return SentenceTransformer(name.model)
    except Exception as error:  # packages have kinds of their own
        reason = " ".join(str(error).split())[:300]
        raise ValueError(f"encoder='{name}' cannot be loaded: {reason}") from error


class _OfFastembed:
    def __init__(self, model: str) -> None:
        from fastembed import TextEmbedding

        self._model = TextEmbedding(model)

    def encode(self, texts: list[str]) -> FloatArray:
        return np.stack(list(self._model.embed(texts)))


class Bundled:
    """WordLlama's vectors of parts of words; a text is their mean."""

    def __init__(self) -> None:
        root = logging.getLogger()
        handlers, level = list(root.handlers), root.level
        import wordllama

        # Its import sends the messages of all packages to the screen.
        root.handlers[:], root.level = handlers, level
        folder = Path(wordllama.__file__).parent
        # Its default looks elsewhere and then asks the network.
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        self._vectors = np.asarray(model.embedding, dtype=np.float32)
        self._tokenizer = model.tokenizer
        self._tokenizer.no_padding()

    def encode(self, texts: list[str]) -> FloatArray:
        """Return the mean vector of each text; zeros if nothing in it is known."""
        found = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        for first, last in _batches(texts):
            found[first:last] = self._means(texts[first:last])
        return found

    def _means(self, texts: Sequence[str]) -> FloatArray:
        pieces = [_pieces(text) for text in texts]
        owners = np.repeat(np.arange(len(texts)), [len(own) for own in pieces])
        read = self._tokenizer.encode_batch_fast(
            [piece for own in pieces for piece in own], add_special_tokens=False
        )
        sizes = [len(piece.ids) for piece in read]
        ids = np.array([id_ for piece in read for id_ in piece.ids], dtype=np.int32)
        rows = np.repeat(owners, sizes)
        counts = csr_array(
            (np.ones(len(ids), dtype=np.float32), (rows, ids)),
            shape=(len(texts), len(self._vectors)),
        )
        totals = np.maximum(np.bincount(rows, minlength=len(texts)), 1)
        means = np.asarray(counts @ self._vectors) / totals[:, None]
        return means.astype(np.float32)


def _pieces(text: str) -> list[str]:
    """Return a text in pieces: the time for one grows faster than its length."""
    if len(text) <= _PIECE:
        return [text]
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def _batches(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Return first and last places of texts that are read together."""
    ends = np.cumsum([len(text) + 1 for text in texts])
    if len(ends) == 0:
        return []
    cuts = np.flatnonzero(np.diff(ends // _BATCH)) + 1
    edges = [0, *cuts.tolist(), len(texts)]
    return list(zip(edges[:-1], edges[1:], strict=True))
