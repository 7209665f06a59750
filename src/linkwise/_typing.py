"""Array aliases; shapes stand in comments beside the names."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]
# What scikit-learn takes as ``random_state``.
Seed = int | np.random.RandomState | None
