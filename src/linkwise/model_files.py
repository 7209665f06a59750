"""Models on disk, in files that cannot run code when they are read.

A file is a line that says what it is, a line of JSON (versions, size and checksum of
the rest), and an archive of skops: arrays, numbers and names of types. Only types that
are listed here are ever made from it, and what they hold is checked before it is used.
"""

import copy
import hashlib
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import linkwise
from linkwise._model_archive import check_archive
from linkwise._model_checks import check_model
from linkwise._unfinished import unfinished
from linkwise.estimators import (
    ConstrainedKernelKMeans,
    KernelCSC,
    MahalanobisCSC,
    SingleKernelCSC,
)
from linkwise.tables import PicturePreparation, TablePipeline, TablePreparation

_FIRST_LINE = b"linkwise model, format 4\n"
_EARLIER = tuple(b"linkwise model, format %d\n" % n for n in (1, 2, 3))
_MAX_HEADER = 2**20
_MAX_REASON = 300
_MODELS = (ConstrainedKernelKMeans, KernelCSC, MahalanobisCSC, SingleKernelCSC)
# Types that a model may hold, beside numbers, texts, arrays and containers of Python.
_OWN = {
    "estimators._constrained_kernel_kmeans": ["ConstrainedKernelKMeans"],
    "estimators._kernel_csc": ["KernelCSC"],
    "estimators._kernel_problem": ["GivenRows"],
    "estimators._mahalanobis_csc": ["MahalanobisCSC"],
    "estimators._placed_embeddings": ["PlacedEmbeddings", "ViewMixtures"],
    "estimators._placed_rows": ["NearestCentre", "PlacedRows"],
    "estimators._placing": ["Placing"],
    "estimators._ridge": ["Ridge"],
    "estimators._trees": ["Trees"],
    "estimators._single_kernel_csc": ["SingleKernelCSC"],
    "clustering._blocks": ["Centres"],
    "clustering._mixture": ["Logistic", "Mixture"],
    "clustering._unit_rows": ["UnitRows"],
    "constraints._pairs": ["Constraints"],
    "kernels._entries": ["CombinedKernel", "Entry", "Means", "Views"],
    "kernels._families": [
        "Laplacian",
        "Linear",
        "Polynomial",
        "Precomputed",
        "RBF",
        "Sigmoid",
    ],
    "kernels._learnt_views": [
        "Diffusion",
        "Discriminant",
        "ForestVotes",
        "Reduced",
        "Unit",
        "Whitened",
        "WithinWhitened",
    ],
    "kernels._views": ["Points", "Raw", "Standardized"],
    "tables._columns": ["ColumnNote", "Reading"],
    "tables._picture_preparation": ["PicturePreparation"],
    "tables._pipeline": ["TablePipeline"],
    "tables._plain_columns": ["PlainColumns"],
    "tables._preparation": ["TablePreparation", "ViewNote"],
    "tables._text_columns": ["TextColumns"],
    "tables._text_rows": ["EncoderNote"],
    "tables._text_views": ["MeaningView", "WordView"],
}
_OTHERS = {
    "builtins.tuple",
    "numpy.dtype",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.decomposition._truncated_svd.TruncatedSVD",
    "sklearn.ensemble._forest.RandomForestClassifier",
    "sklearn.feature_extraction.text.TfidfTransformer",
    "sklearn.feature_extraction.text.TfidfVectorizer",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neighbors._unsupervised.NearestNeighbors",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._encoders.OneHotEncoder",
    "sklearn.tree._classes.DecisionTreeClassifier",
    "sklearn.tree._tree.Tree",
    "skrub._apply_to_each_col.ApplyToEachCol",
    "skrub._check_input.CheckInputDataFrame",
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._duration_to_float.DurationToFloat",
    "skrub._string_encoder.StringEncoder",
    "skrub._table_vectorizer.PassThrough",
    "skrub._table_vectorizer.ShortReprDict",
    "skrub._table_vectorizer.TableVectorizer",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub._to_categorical.ToCategorical",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
    "skrub.selectors._base.All",
    "skrub.selectors._base.And",
    "skrub.selectors._base.Cols",
    "skrub.selectors._base.Filter",
    "skrub.selectors._base.Or",
    "skrub.selectors._base.Sub",
    "skrub.selectors._selectors._cardinality_below",
}
_TRUSTED = _OTHERS | {
    f"linkwise.{module}.{name}" for module, names in _OWN.items() for name in names
}


class ModelFileError(ValueError):
    """A model file that is damaged, of another version, or no model file."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file that can be read without running code.

    The file is written as a whole or not at all. Of an encoder of texts it holds the
    name, the version and a digest.

    Parameters
    ----------
    model : KernelCSC, SingleKernelCSC, MahalanobisCSC, ConstrainedKernelKMeans
        Fitted; or the pipeline of :func:`table_pipeline` with one of them.
    path : str or path
        The file to write.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> import linkwise
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = linkwise.Constraints.sample(y, 30, random_state=0)
    >>> model = linkwise.KernelCSC(3, kernels="paper", n_candidates=20, random_state=0)
    >>> model = model.fit(X, constraints=pairs)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "flowers.linkwise"
    ...     linkwise.save(model, path)
    ...     again = linkwise.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    path = Path(path)
    own = _clusterer(model)
    if own is None:
        raise TypeError(
            f"save takes a model of linkwise, or a pipeline of table_pipeline with "
            f"one, not {type(model).__name__}."
        )
    check_is_fitted(own, "labels_")
    content = _content(model, own)
    header = {
        "model": type(own).__name__,
        "linkwise": linkwise.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    part = unfinished(path)
    try:
        with part.open("wb") as file:
            file.write(_FIRST_LINE + json.dumps(header).encode() + b"\n" + content)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], *, encoder: Any = None) -> Any:
    """Return the model of a file that :func:`save` wrote.

    Parameters
    ----------
    path : str or path
        The file.
    encoder : str or object, optional
        The encoder of texts that the model was fitted with, where it is not one that
        linkwise brings: no file can name a model that is then loaded.

    Returns
    -------
    estimator or Pipeline
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file is damaged, was written by another version of linkwise or
        scikit-learn, holds types that no model has, or is no such file at all; or if
        its encoder is missing, or another one.
    """
    path = Path(path)
    header, content = _read(path)
    _check_versions(path, header)
    import skops.io

    try:
        unknown = check_archive(content, _TRUSTED)
        if unknown:
            raise ModelFileError(
                f"{path} holds what no model of linkwise holds, and is not read: "
                f"{_short(', '.join(sorted(unknown)))}."
            )
        parts = skops.io.loads(content, trusted=sorted(_TRUSTED))
        model = _checked(parts["model"], parts["frames"])
    except ModelFileError:
        raise
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {_short(error)}") from error
    except Exception as error:  # whatever an archive made by hand may cause
        kind = type(error).__name__
        raise ModelFileError(f"{path} is damaged: {kind}: {_short(error)}") from error
    _give_encoder(path, model, encoder)
    return model


def _give_encoder(path: Path, model: Any, encoder: Any) -> None:
    """Give a model its encoder of texts; raise if it is missing, or another one."""
    own = model[0] if isinstance(model, Pipeline) else None
    note = None if own is None else own.encoder_
    if encoder is not None:
        try:
            if own is None:
                raise ValueError(f"encoder={encoder!r}: the model takes no tables.")
            own.use_encoder(encoder)
        except ValueError as error:
            raise ModelFileError(f"{path}: {_short(error)}") from error
    elif note is not None and note.is_own:
        raise ModelFileError(
            f"{path} was fitted with an encoder of your own, {_short(note)}, which no "
            "file can hold: give it again, load(path, encoder=...)."
        )
    elif note is not None and not note.is_brought:
        name = _short(note.name)
        raise ModelFileError(
            f"{path} was fitted with the encoder {_short(note)}. Name it again, so "
            f"that no file decides which models are loaded: load(path, encoder="
            f"{name!r}), or --encoder {name}."
        )


def _checked(model: Any, frames: dict[str, Any]) -> Any:
    """Return a model that was read, with its tables; raise if it cannot be used."""
    own = _clusterer(model)
    # A folder of joblib's is none of a stranger's business: what is in it can run code.
    if own is None or getattr(model, "memory", None) is not None:
        raise ValueError(f"{type(model).__name__} is no model of linkwise.")
    for name, columns in frames.items():
        if hasattr(own, name):
            raise ValueError(f"{_short(name)} is no table of a model.")
        setattr(own, name, pd.DataFrame(columns))
    check_is_fitted(own, "labels_")
    if model is not own and isinstance(model[0], TablePreparation):
        model[0].encoder = "auto"
    check_model(own, None if model is own else model[0])
    return model


def _short(text: Any) -> str:
    """Return a text on one line that fits into a message."""
    return " ".join(str(text).split())[:_MAX_REASON]


def _clusterer(model: Any) -> Any:
    """Return the clusterer of a model or of a pipeline, None if there is none."""
    if type(model) in (Pipeline, TablePipeline) and len(model) == 2:
        is_table = isinstance(model[0], TablePreparation | PicturePreparation)
        return model[1] if is_table and isinstance(model[1], _MODELS) else None
    return model if isinstance(model, _MODELS) else None


def _content(model: Any, own: Any) -> bytes:
    """Return the archive of a model; its tables are kept as arrays."""
    import skops.io

    light = copy.copy(own)
    frames = {}
    for name, value in list(vars(own).items()):
        if isinstance(value, pd.DataFrame):
            frames[name] = {str(c): value[c].to_numpy() for c in value.columns}
            delattr(light, name)
    whole = light
    if model is not own:
        table = copy.copy(model[0])
        if isinstance(table, TablePreparation):
            table.encoder = "auto"  # its note says which it was
        steps = [(model.steps[0][0], table), (model.steps[1][0], light)]
        whole = type(model)(steps)
    try:
        content = skops.io.dumps({"model": whole, "frames": frames})
        unknown = check_archive(content, _TRUSTED)
    except Exception as error:  # of objects that no archive can hold
        unknown = {f"{type(error).__name__}: {error}"}
    if unknown:
        raise TypeError(
            "The model holds objects that cannot be written without code: "
            f"{', '.join(sorted(unknown))}. joblib.dump writes such models; load them "
            "only from places that you trust."
        )
    return content


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return header and archive of a model file, which are as they were written."""
    with path.open("rb") as file:
        first_line = file.read(len(_FIRST_LINE))
        if first_line in _EARLIER:
            raise ModelFileError(
                f"{path} was written by an earlier version of linkwise, which kept "
                "less of how tables are read and rows are placed: fit the model again."
            )
        if first_line != _FIRST_LINE:
            raise ModelFileError(
                f"{path} is not a model file of linkwise. Files of joblib or pickle "
                "can run code: if you trust this one, read it with joblib.load."
            )
        header = _header(path, file.readline(_MAX_HEADER))
        content = file.read()
    if len(content) != header["bytes"]:
        wanted = _short(f"{header['bytes']:,}")
        raise ModelFileError(
            f"{path} is damaged: it has {len(content):,} bytes of {wanted}."
        )
    if hashlib.sha256(content).hexdigest() != header["sha256"]:
        raise ModelFileError(f"{path} is damaged: its checksum is not as it was.")
    return header, content


def _header(path: Path, line: bytes) -> dict[str, Any]:
    """Return the header of a model file, in which all that is read has its type."""
    types = {"bytes": int, "sha256": str, "linkwise": str, "scikit-learn": str}
    try:
        header = json.loads(line)
        is_right = all(type(header[name]) is kind for name, kind in types.items())
    except (ValueError, KeyError, TypeError, RecursionError):
        is_right = False
    if not is_right:
        raise ModelFileError(f"{path} is damaged: its header cannot be read.")
    return header


def _check_versions(path: Path, header: dict[str, Any]) -> None:
    here = {"linkwise": linkwise.__version__, "scikit-learn": sklearn.__version__}
    for name, version in here.items():
        written = header[name]
        if written.split(".")[:2] != version.split(".")[:2]:
            raise ModelFileError(
                f"{path} was written with {name} {_short(written)}, and here is "
                f"{version}: fit the model again, or install that version."
            )
