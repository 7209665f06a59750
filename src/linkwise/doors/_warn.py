"""Warnings that point at the user's line."""

import os
import sys
import warnings

import joblib
import sklearn

# Between the user and us there may be a pipeline, a grid search, a decorator.
_NOT_THE_USER = tuple(
    os.path.join(os.path.dirname(path), "")
    for path in (os.path.dirname(__file__), sklearn.__file__, joblib.__file__)
)


def warn_caller(message, category):
    """Warn at the line of the user's that led here, however deep that is."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_USER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
