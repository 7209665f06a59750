"""Several views side by side, so that each counts alike."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from linkwise._typing import FloatArray
from linkwise.kernels._learnt_views import (
    Reduced,
    Unit,
    fitted_view,
    is_wide,
    learnt_views,
    reduction_of,
)
from linkwise.kernels._views import Known, Points, Raw, Standardized, View

# The data set that stands for all of them.
ALL = -1


@dataclass(frozen=True, eq=False)
class Joint:
    """Columns of several data sets beside each other.

    Rows that are sparse or of one length are brought to length 1, columns of others to
    standard deviation 1; then each data set to total variance 1.
    """

    views: tuple[View, ...]  # fitted, one for each data set
    scales: FloatArray  # (n_sets,)

    @classmethod
    def fit(cls, X: Sequence[Any], sample_weight: FloatArray | None) -> "Joint":
        """Return the map of data sets with the same rows."""
        views = tuple(_form(own, sample_weight) for own in X)
        weight = np.ones(X[0].shape[0]) if sample_weight is None else sample_weight
        share = weight / weight.sum()
        scales = []
        for view, own in zip(views, X, strict=True):
            rows = _dense(view, own)
            variance = float(share @ np.square(rows - share @ rows).sum(axis=1))
            scales.append(variance**-0.5 if variance > 0.0 else 0.0)
        return cls(views, np.array(scales))

    def __call__(self, X: Sequence[Any]) -> FloatArray:
        """Return the columns of all data sets."""
        each = zip(self.views, self.scales, X, strict=True)
        return np.hstack([scale * _dense(view, own) for view, scale, own in each])


def _form(X: Any, sample_weight: FloatArray | None) -> View:
    """Return the form in which the rows of one data set are compared."""
    if issparse(X):
        reduced = Reduced(Unit(), reduction_of(X))
        return fitted_view(reduced, X, sample_weight, None)[0]
    if is_wide(X):
        unit = Unit().fit(X, sample_weight)
        if unit.had_one_length:
            return unit
    return Standardized().fit(X, sample_weight)


def _dense(view: View, X: Any) -> FloatArray:
    return np.asarray(view.transform(X).plain())


def together(
    X: Sequence[Any], sample_weight: FloatArray | None, known: Known | None
) -> list["Together"]:
    """Return the views of several data sets beside each other.

    As they are, and those of the rich bank that groups are enough for.
    """
    joint = Joint.fit(X, sample_weight)
    rows = joint(X)
    inner: list[View] = [Raw()]
    inner += [v for v in learnt_views("rich", rows, known) if not isinstance(v, Unit)]
    return [Together(view, joint) for view in inner]


@dataclass(frozen=True)
class Together:
    """Another view of several data sets, which are first put beside each other."""

    view: View
    _joint: Joint | None = field(default=None, repr=False, compare=False)

    @property
    def least_groups(self) -> int:
        """Number of groups that the view needs."""
        return getattr(self.view, "least_groups", 0)

    @property
    def is_honest(self) -> bool:
        """Whether rows of groups are placed as others are."""
        return getattr(self.view, "is_honest", False)

    def fit_transform(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> tuple["Together", Points]:
        """Return this view, fitted to data sets, and the points of their rows."""
        joint = Joint.fit(X, sample_weight) if self._joint is None else self._joint
        found, points = fitted_view(self.view, joint(X), sample_weight, known)
        return replace(self, view=found, _joint=joint), points

    def fit(
        self,
        X: Any,
        sample_weight: FloatArray | None = None,
        known: Known | None = None,
    ) -> "Together":
        """Return this view, fitted to data sets."""
        return self.fit_transform(X, sample_weight, known)[0]

    def transform(self, X: Any) -> Points:
        """Return the points of rows in this view."""
        assert self._joint is not None, "fit comes first"
        return self.view.transform(self._joint(X))
