"""Data sets by name: PMLB, scikit-learn's, CSV files, functions of the user."""

import os
from functools import cache, lru_cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from linkwise._typing import FloatArray, IntArray
from linkwise.experiments._seeds import derive_seed

_BUNDLED = ("breast_cancer", "digits", "iris", "wine")
_TARGET = "target"
# Texts of a set that are taken, the same at all times.
_N_TEXTS = 1_000


class Dataset(NamedTuple):
    """Features and true classes."""

    X: FloatArray  # (n_samples, n_features)
    y: IntArray  # (n_samples,), classes 0, 1, ...

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.y.max()) + 1


class DatasetSize(NamedTuple):
    """What a plan must know of a data set before it is read."""

    n_samples: int
    n_features: int
    n_classes: int
    n_train: int  # training rows of the protocol


def paper_datasets() -> list[str]:
    """Return the names of the 146 PMLB sets of the paper, the smallest first."""
    return list(_paper_sizes())


def load_dataset(name: str) -> Dataset:
    """Return the data set of a name.

    Parameters
    ----------
    name : str
        A PMLB name such as "iris", read from the folder ``LINKWISE_PMLB`` if that is
        set, else fetched by the package ``pmlb`` and kept in a cache;
        "sklearn:wine", a set that comes with scikit-learn; "csv:flowers.csv", a file
        of numbers whose column ``target``, or else the last one, is the class;
        "text:agnews", embeddings and classes of 1,000 short texts, from the folder
        ``LINKWISE_TEXT``; "module:function", a function of yours that returns features
        and classes.

    Returns
    -------
    Dataset
        Features as float64, classes as integers from 0.

    Examples
    --------
    >>> load_dataset("sklearn:iris").X.shape
    (150, 4)
    """
    kind, _, rest = name.rpartition(":")
    if kind == "sklearn":
        X, y = _bundled(rest)
    elif kind == "csv":
        X, y = _table_parts(pd.read_csv(rest), name)
    elif kind == "text":
        X, y = _texts(rest)
    elif kind:
        X, y = getattr(import_module(kind), rest)()
    else:
        X, y = _table_parts(_pmlb_table(name), name)
    features = np.asarray(X, dtype=np.float64)
    if features.ndim != 2 or not np.isfinite(features).all():
        raise ValueError(
            f"Data set {name!r}: features must be a table of finite numbers."
        )
    return Dataset(features, np.unique(y, return_inverse=True)[1])


@lru_cache(maxsize=1)
def read_only_dataset(name: str) -> Dataset:
    """Return a data set that jobs which follow each other share."""
    data = load_dataset(name)
    data.X.flags.writeable = False
    data.y.flags.writeable = False
    return data


def dataset_size(name: str) -> DatasetSize:
    """Return the size of a data set; those of the paper are known without reading."""
    known = _paper_sizes().get(name)
    if known is not None:
        return known
    X, y = load_dataset(name)
    counts = np.bincount(y)
    n_samples, n_features = X.shape
    return DatasetSize(n_samples, n_features, len(counts), int((counts // 4).sum()))


def expand_names(names: list[str]) -> list[str]:
    """Return names of single data sets: groups and folders are taken apart.

    "paper" stands for the 146 sets of the paper, "paper<=1000" for those of at most so
    many rows, "csv:folder" for every CSV file of a folder.
    """
    found: list[str] = []
    for name in names:
        if name == "paper" or name.startswith("paper<="):
            limit = float(name.partition("<=")[2] or "inf")
            sizes = _paper_sizes()
            found += [each for each in sizes if sizes[each].n_samples <= limit]
        elif name.startswith("csv:") and Path(name[4:]).is_dir():
            found += [f"csv:{path}" for path in sorted(Path(name[4:]).glob("*.csv"))]
        else:
            found.append(name)
    return list(dict.fromkeys(found))


@cache
def _paper_sizes() -> dict[str, DatasetSize]:
    with files("linkwise.experiments").joinpath("paper_sets.csv").open() as file:
        table = pd.read_csv(file)
    return {
        str(name): DatasetSize(*map(int, sizes))
        for name, *sizes in table.itertuples(index=False)
    }


def _bundled(name: str) -> Any:
    from sklearn import datasets

    if name not in _BUNDLED:
        raise ValueError(
            f"scikit-learn has no data set {name!r}: it must be one of "
            f"{', '.join(_BUNDLED)}."
        )
    return getattr(datasets, f"load_{name}")(return_X_y=True)


def _texts(name: str) -> tuple[Any, Any]:
    """Return sentence embeddings and classes of some texts of a set."""
    folder = os.environ.get("LINKWISE_TEXT")
    if not folder or not (Path(folder) / f"{name}.minilm.npy").is_file():
        raise FileNotFoundError(
            f"Data set 'text:{name}': set LINKWISE_TEXT to a folder that holds "
            f"{name}.csv.gz (columns text, label) and {name}.minilm.npy."
        )
    y = pd.read_csv(Path(folder) / f"{name}.csv.gz")["label"].to_numpy()
    rng = np.random.default_rng(derive_seed(name, "rows"))
    rows = np.sort(rng.permutation(len(y))[:_N_TEXTS])
    return np.load(Path(folder) / f"{name}.minilm.npy")[rows], y[rows]


def _pmlb_table(name: str) -> pd.DataFrame:
    folder = os.environ.get("LINKWISE_PMLB")
    if folder:
        path = Path(folder) / name / f"{name}.tsv.gz"
        if not path.is_file():
            raise FileNotFoundError(
                f"Data set {name!r} is not in the folder LINKWISE_PMLB: no {path}."
            )
        return pd.read_csv(path, sep="\t")
    try:
        from pmlb import fetch_data
    except ImportError:
        raise ModuleNotFoundError(
            f"Data set {name!r} is of PMLB: set LINKWISE_PMLB to a folder that holds "
            "NAME/NAME.tsv.gz, or install the package: pip install 'linkwise[pmlb]'."
        ) from None
    cache_folder = Path.home() / ".cache" / "linkwise" / "pmlb"
    cache_folder.mkdir(parents=True, exist_ok=True)
    return fetch_data(name, local_cache_dir=str(cache_folder))


def _table_parts(table: pd.DataFrame, name: str) -> tuple[Any, Any]:
    target = _TARGET if _TARGET in table else table.columns[-1]
    features = table.drop(columns=target)
    texts = [
        str(column)
        for column in features
        if not pd.api.types.is_numeric_dtype(features[column])
    ]
    if texts:
        raise ValueError(
            f"Data set {name!r}: the column {texts[0]!r} does not hold numbers."
        )
    return features.to_numpy(dtype=np.float64), table[target].to_numpy()
