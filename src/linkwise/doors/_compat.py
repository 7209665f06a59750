"""What differs between versions of scikit-learn, and its private names."""

from collections.abc import Callable
from typing import Any, Self, TypeVar

import sklearn
from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """The same methods, with nobody to tell."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Refuse callbacks.

            Parameters
            ----------
            *callbacks
                None can be set.

            Returns
            -------
            self
            """
            if callbacks:
                raise NotImplementedError(
                    "set_callbacks needs scikit-learn 1.9 or newer; this is "
                    f"{sklearn.__version__}."
                )
            return self

        def _init_callback_context(self, **kwargs: Any) -> "_NobodyToTell":
            return _NobodyToTell()


Method = TypeVar("Method", bound=Callable[..., Any])
# With types, so that the methods which they decorate keep theirs.
fit_context: Callable[..., Callable[[Method], Method]] = _fit_context
available_if: Callable[..., Callable[[Method], Method]] = _available_if


class _NobodyToTell:
    """A callback context without callbacks."""

    def subcontext(self, **kwargs: Any) -> Self:
        return self

    def call_on_fit_task_begin(self, **kwargs: Any) -> None:
        return None

    def call_on_fit_task_end(self, **kwargs: Any) -> bool:
        return False


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "available_if",
    "check_sample_weight",
    "fit_context",
]
