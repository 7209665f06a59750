"""Kernel scales under which scatters can be compared."""

from typing import NamedTuple


class KernelSums(NamedTuple):
    """The sums of a kernel matrix that its scale and the filter need."""

    trace: float  # sum of w_i K_ii
    total: float  # sum of w_i w_j K_ij
    least_diagonal: float
    is_finite: bool
    unit: float = 1.0  # a typical large value


def scatter(sums: KernelSums, mass: float) -> float:
    """Return the total scatter around the common centre of points of weight ``mass``.

    Examples
    --------
    >>> scatter(KernelSums(46.0, 100.0, 0.0, True), mass=4.0)
    21.0
    """
    return sums.trace - sums.total / mass


def random_share(mass: float, n_clusters: int) -> float:
    """Return the share of the scatter left by a clustering at random.

    When every one of ``mass`` points gets a uniform random label, the expected
    objective of k-means is this share of the total scatter, whatever the kernel: the
    number of points less the expected number of non-empty clusters, over points less 1.

    Examples
    --------
    >>> 21.0 * random_share(4, n_clusters=2)
    14.875
    """
    if mass < 2.0:  # weights that are shares, not counts: nothing to correct
        return 1.0
    n_used = n_clusters * (1.0 - (1.0 - 1.0 / n_clusters) ** mass)
    return (mass - n_used) / (mass - 1.0)


def is_usable(sums: KernelSums, mass: float) -> bool:
    """Tell whether a kernel is finite and tells points apart at all."""
    return sums.is_finite and scatter(sums, mass) > 1e-10 * abs(sums.trace)


def is_far_from_origin(sums: KernelSums, mass: float) -> bool:
    """Tell whether float32 would lose much of the scatter in large entries."""
    return scatter(sums, mass) < 1e-2 * abs(sums.trace)


def passes_ratio(sums: KernelSums, mass: float) -> bool:
    """Tell whether a kernel's mean is well below its mean diagonal.

    The rule keeps kernels whose constant part does not dominate. It leaves fewer
    near-duplicates in the bank, so the search has more budget for the others.
    """
    mean_diagonal = sums.trace / mass
    return (
        sums.least_diagonal >= 0.0
        and mean_diagonal > 0.0
        and sums.total / mass**2 < 0.6 * mean_diagonal
    )


def survivors(sums: list[KernelSums], mass: float, filter: str) -> list[int]:
    """Return the kernels that a bank keeps.

    With ``filter="ratio"`` those that :func:`passes_ratio` keeps, unless it keeps none.
    """
    usable = [i for i, s in enumerate(sums) if is_usable(s, mass)]
    if not usable:
        raise ValueError(
            f"None of the {len(sums)} kernels tells the rows of X apart: they are all "
            "equal under each of them, or its values are not finite. Check that X has "
            "different rows and no huge values."
        )
    if filter == "ratio":
        return [i for i in usable if passes_ratio(sums[i], mass)] or usable
    return usable
