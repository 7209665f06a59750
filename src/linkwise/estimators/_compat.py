"""The private names of scikit-learn that the estimators need, in one place."""

from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)

__all__ = ["HasMethods", "Interval", "Options", "StrOptions", "fit_context"]
