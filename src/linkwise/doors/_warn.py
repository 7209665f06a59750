"""Warnings that point at the user's line."""

import os
import sys
import warnings
from types import FrameType

import joblib
import sklearn

# Between the user and us there may be a pipeline, a grid search, a decorator.
_NOT_THE_USER = tuple(
    os.path.join(os.path.dirname(path), "")
    for path in (os.path.dirname(__file__), sklearn.__file__, joblib.__file__)
)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's that led here, however deep that is."""
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
