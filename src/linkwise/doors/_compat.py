"""What differs between versions of scikit-learn, and its private names."""

import sklearn
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """The same methods, with nobody to tell."""

        def set_callbacks(self, *callbacks):
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

        def _init_callback_context(self, **kwargs):
            return _NobodyToTell()


class _NobodyToTell:
    """A callback context without callbacks."""

    def subcontext(self, **kwargs):
        return self

    def call_on_fit_task_begin(self, **kwargs):
        return None

    def call_on_fit_task_end(self, **kwargs):
        return False


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_sample_weight",
    "fit_context",
]
