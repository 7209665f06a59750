"""Kernel families, and the grid of them that the paper searches."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np

from linkwise._typing import FloatArray
from linkwise.kernels._views import BASES, Points


class Kernel(Protocol):
    """Anything that returns a matrix of similarities for two collections of points."""

    def __call__(self, X: Any, Y: Any) -> FloatArray:
        """Return the cross Gram matrix, shape (len(X), len(Y))."""


@runtime_checkable
class ElementwiseKernel(Protocol):
    """A kernel that is a function of one base matrix, entry by entry.

    The base matrix is shared by all kernels of a family, so it is computed once.
    """

    base: ClassVar[str]  # key of BASES

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the kernel values for values of the base matrix."""

    def in_unit(self, unit: float) -> tuple["ElementwiseKernel", float]:
        """Return a kernel and a factor that take base values divided by ``unit``."""


class _Elementwise:
    """The call that all elementwise kernels share."""

    base: ClassVar[str]

    def of_base(self, values: FloatArray) -> FloatArray:
        raise NotImplementedError

    def in_unit(self, unit: float) -> tuple[ElementwiseKernel, float]:
        """Return a kernel and a factor that take base values divided by ``unit``.

        Here ``gamma`` is what multiplies base values.
        """
        return replace(self, gamma=self.gamma * unit), 1.0  # type: ignore

    def __call__(self, X: Any, Y: Any) -> FloatArray:
        """Return the cross Gram matrix, shape (len(X), len(Y))."""
        return self.of_base(BASES[self.base](Points(X), Points(Y)))


def is_elementwise(kernel: Any) -> TypeGuard[ElementwiseKernel]:
    """Tell whether a kernel is elementwise: soon for those here, by its members else.

    Looking at the members takes as long as the values of some rows.
    """
    return isinstance(kernel, _Elementwise) or isinstance(kernel, ElementwiseKernel)


@dataclass(frozen=True)
class RBF(_Elementwise):
    """Gaussian kernel, ``exp(-gamma * ||x - y||^2)``.

    Examples
    --------
    >>> import numpy as np
    >>> RBF(gamma=0.5)(np.array([[0.0], [2.0]]), np.array([[0.0]])).round(3)
    array([[1.   ],
           [0.135]])
    """

    gamma: float
    base: ClassVar[str] = "squared_distances"

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the kernel values for squared distances."""
        exponents = -self.gamma * values
        return np.exp(exponents, out=exponents)


@dataclass(frozen=True)
class Laplacian(_Elementwise):
    """Laplacian kernel, ``exp(-gamma * ||x - y||_1)``."""

    gamma: float
    base: ClassVar[str] = "manhattan"

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the kernel values for L1 distances."""
        exponents = -self.gamma * values
        return np.exp(exponents, out=exponents)


@dataclass(frozen=True)
class Polynomial(_Elementwise):
    """Polynomial kernel, ``(gamma * x.y + coef0) ** degree``."""

    gamma: float
    degree: int
    coef0: float
    base: ClassVar[str] = "inner_products"

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the kernel values for inner products."""
        factor = self.gamma * values + self.coef0
        result = factor
        for _ in range(self.degree - 1):  # far faster than a general power
            result = result * factor
        return result


@dataclass(frozen=True)
class Sigmoid(_Elementwise):
    """Sigmoid kernel, ``tanh(gamma * x.y + coef0)``; indefinite in general."""

    gamma: float
    coef0: float
    base: ClassVar[str] = "inner_products"

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the kernel values for inner products."""
        return np.tanh(self.gamma * values + self.coef0)


@dataclass(frozen=True)
class Linear(_Elementwise):
    """Linear kernel, ``x.y``."""

    base: ClassVar[str] = "inner_products"

    def of_base(self, values: FloatArray) -> FloatArray:
        """Return the inner products themselves."""
        return values

    def in_unit(self, unit: float) -> tuple[ElementwiseKernel, float]:
        """Return a kernel and a factor that take base values divided by ``unit``."""
        return self, unit


@dataclass(frozen=True)
class PairKernel:
    """A kernel from a function of two objects.

    Parameters
    ----------
    function : callable
        Takes two objects, returns their similarity; symmetric.

    Examples
    --------
    >>> shared = PairKernel(lambda a, b: len(set(a) & set(b)))
    >>> shared(["abc", "xyz"], ["cab", "x"])
    array([[3., 0.],
           [0., 1.]])
    """

    function: Callable[[Any, Any], float]

    def __call__(self, X: Sequence[Any], Y: Sequence[Any]) -> FloatArray:
        """Return the cross Gram matrix, shape (len(X), len(Y))."""
        return np.array([[self.function(x, y) for y in Y] for x in X], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Precomputed:
    """A kernel given as its Gram matrix on the training rows.

    Parameters
    ----------
    gram : ndarray of shape (n_samples, n_samples)
        Symmetric.
    cross : callable, optional
        Takes new data, returns their kernel values with the training rows, shape
        (n_new, n_samples). Without it the model cannot predict.
    name : str, optional
        What it is called in reports; its place among the kernels by default.
    """

    gram: FloatArray
    cross: Callable[[Any], FloatArray] | None = None
    name: str | None = None


# A family's scale is the typical size of its base matrix on at most this many points.
_N_HEURISTIC_POINTS = 200


def base_scales(points: Points, rng: np.random.Generator) -> dict[str, float]:
    """Return the median size of each base matrix over pairs of sampled points.

    A median of 0 (binary or repeated data) gives way to the mean of the other values;
    a base that is 0 everywhere has scale 0.
    """
    n = points.n_points
    if n > _N_HEURISTIC_POINTS:
        points = points[np.sort(rng.choice(n, _N_HEURISTIC_POINTS, replace=False))]
    upper = np.triu_indices(points.n_points, k=1)
    scales = {}
    for name, base in BASES.items():
        values = np.abs(base(points, points)[upper])
        median = float(np.median(values)) if len(values) else 0.0
        if median == 0.0 and values.any():
            median = float(values[values > 0.0].mean())
        scales[name] = median
    return scales


def paper_kernels(scales: dict[str, float]) -> list[ElementwiseKernel]:
    """Return the paper's 31 kernels of one view, widths relative to its scales.

    A family whose base is 0 everywhere is left out.
    """
    kernels: list[ElementwiseKernel] = []
    width = scales["squared_distances"]
    if width > 0.0:
        kernels += [RBF(g / width) for g in (0.2, 0.5, 1.0, 1.5, 2.0)]
    width = scales["manhattan"]
    if width > 0.0:
        kernels += [Laplacian(g / width) for g in (0.2, 0.5, 1.0, 1.5, 2.0)]
    width = scales["inner_products"]
    if width > 0.0:
        kernels += [
            Polynomial(g / width, degree, coef0)
            for g in (0.1, 0.5, 1.0, 1.5)
            for degree in (2, 3)
            for coef0 in (0.1, 1.0)
        ]
        kernels += [
            Sigmoid(g / width, coef0) for g in (0.001, 0.01) for coef0 in (0.1, 1.0)
        ]
    kernels.append(Linear())
    return kernels


def rich_kernels(
    scales: dict[str, float], is_wide: bool = False
) -> list[ElementwiseKernel]:
    """Return the kernels of the rich bank on data as they are, widths as the paper's.

    Of the paper's sixteen polynomials there are two: they see what others do not, but
    on most data they find the worst clusters. Rows of many columns are about equally
    far apart, the more so the narrower a kernel is, and L1 distances between them take
    long.
    """
    kernels: list[ElementwiseKernel] = []
    width = scales["squared_distances"]
    if width > 0.0:
        widths = (0.2, 0.5) if is_wide else (0.2, 0.5, 1.0, 1.5, 2.0)
        kernels += [RBF(g / width) for g in widths]
    width = scales["manhattan"]
    if width > 0.0 and not is_wide:
        kernels += [Laplacian(g / width) for g in (0.2, 0.5, 1.0, 1.5, 2.0)]
    width = scales["inner_products"]
    if width > 0.0 and not is_wide:
        kernels += [Polynomial(1.0 / width, degree, 1.0) for degree in (2, 3)]
    kernels.append(Linear())
    return kernels


def learnt_kernels(
    scales: dict[str, float], is_wide: bool = False
) -> list[ElementwiseKernel]:
    """Return the kernels of a view that is learnt, widths relative to its scales.

    Wider ones hardly pass the filter of banks. In a view of many columns it is the
    linear one.
    """
    if is_wide:
        return [Linear()]
    kernels: list[ElementwiseKernel] = []
    width = scales["squared_distances"]
    if width > 0.0:
        kernels += [RBF(g / width) for g in (1.0, 2.0)]
    width = scales["manhattan"]
    if width > 0.0:
        kernels.append(Laplacian(1.0 / width))
    kernels.append(Linear())
    return kernels
