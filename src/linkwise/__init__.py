"""Clustering with must-link and cannot-link pairs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkwise._cache import find_room_for_cache

__version__ = "0.2.0"

find_room_for_cache()

# Names are imported when they are first used: `import linkwise` stays instant, and
# the command can answer `--help` without loading scikit-learn.
_HOMES = {
    "Constraints": "constraints",
    "constraint_folds": "constraints",
    "ConstrainedKernelKMeans": "estimators",
    "KernelCSC": "estimators",
    "MahalanobisCSC": "estimators",
    "SingleKernelCSC": "estimators",
    "KernelBank": "kernels",
    "map_parquet": "doors",
    "cluster_words": "tables",
    "table_pipeline": "tables",
    "ModelFileError": "model_files",
    "load": "model_files",
    "save": "model_files",
    "ConstraintWarning": "exceptions",
    "InconsistentConstraintsError": "exceptions",
    "InfeasibleConstraintsError": "exceptions",
    "TableWarning": "exceptions",
}

__all__ = sorted(_HOMES)

if TYPE_CHECKING:
    from linkwise.constraints import Constraints, constraint_folds
    from linkwise.doors import map_parquet
    from linkwise.estimators import (
        ConstrainedKernelKMeans,
        KernelCSC,
        MahalanobisCSC,
        SingleKernelCSC,
    )
    from linkwise.exceptions import (
        ConstraintWarning,
        InconsistentConstraintsError,
        InfeasibleConstraintsError,
        TableWarning,
    )
    from linkwise.kernels import KernelBank
    from linkwise.model_files import ModelFileError, load, save
    from linkwise.tables import cluster_words, table_pipeline


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'linkwise' has no attribute {name!r}")
    return getattr(import_module(f"linkwise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
