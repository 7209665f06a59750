"""What every scikit-learn door shares: input checks, scores, warnings, blocks of rows.

The estimators and the baselines are siblings that do not know each other; what both
need of scikit-learn stands here. The private names of scikit-learn come through
``linkwise.doors._compat`` alone.
"""

from linkwise.doors._base import (
    ConstrainedClusterer,
    FitInput,
    as_generator,
    attributes_of,
)
from linkwise.doors._compat import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
    fit_context,
)
from linkwise.doors._data import (
    check_squares,
    is_several,
    n_rows,
    row_shares,
    rows_of,
)
from linkwise.doors._memory import check_matrices, parse_bytes
from linkwise.doors._parquet import map_parquet
from linkwise.doors._warn import warn_caller

__all__ = [
    "ConstrainedClusterer",
    "FitInput",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "as_generator",
    "attributes_of",
    "check_matrices",
    "check_squares",
    "fit_context",
    "is_several",
    "map_parquet",
    "n_rows",
    "parse_bytes",
    "row_shares",
    "rows_of",
    "warn_caller",
]
