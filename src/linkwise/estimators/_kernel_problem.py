"""What a fit with kernels works on: rows, pairs, kernels, and memory for them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linkwise.constraints import Closure
from linkwise.doors import FitInput, parse_bytes, warn_caller
from linkwise.engines import one_blas_thread
from linkwise.estimators._approximation import choose_approximation, depends_on_groups
from linkwise.estimators._working_set import UNREST, WorkingSet, working_set
from linkwise.exceptions import ConstraintWarning
from linkwise.kernels import (
    KernelBank,
    Known,
    LandmarkBank,
    Linear,
    Precomputed,
    SeveralSets,
    Standardized,
    in_double,
)

# Part of the memory that folds of the pairs may use, where views are learnt anew.
_MEMORY_FOR_FOLDS = 0.25


@dataclass(frozen=True)
class GivenRows:
    """The kernel values of new rows when they are given in place of data."""

    position: int

    def __call__(self, X: Any) -> Any:
        """Return the matrix of this kernel among those given."""
        return X[self.position] if isinstance(X, SeveralSets) else X


@dataclass(frozen=True)
class KernelProblem:
    """Rows and pairs to search kernels for, and what the kernels are."""

    given: FitInput  # all rows
    local: FitInput  # the rows that the search looks at, with the pairs believed
    work: WorkingSet | None  # what the local rows stand for; None: they are all
    how: str  # the approximation
    kernels: Any
    filter: str
    n_landmarks: int
    max_memory: float | str | None  # the parameter
    fold_memory: float  # bytes of it for banks of folds of the pairs
    view_seed: int

    @property
    def unrest(self) -> float:
        """Share of the local rows that may still move when a candidate is judged."""
        return UNREST if self.how == "working_set" else 0.0

    def believing(self, closure: Closure) -> "KernelProblem":
        """Return the problem with other groups of rows."""
        return replace(self, local=self.local._replace(closure=closure))

    def bank(self) -> KernelBank | LandmarkBank:
        """Return the kernels on the local rows."""
        local = self.local
        groups = local.closure.groups(local.n_clusters)
        known = Known(groups, local.n_clusters, self.view_seed)
        with one_blas_thread():
            if self.how == "exact":
                bank, left = exact_bank(
                    local,
                    self.kernels,
                    self.filter,
                    self.max_memory,
                    known,
                    self.fold_memory,
                )
                # It knows the sums over must-link groups if there is room for them.
                return bank.with_groups(
                    local.closure.linked, local.closure.n_linked, left
                )
            n_samples = local.closure.n_samples
            needed = 4.0 * n_samples * min(self.n_landmarks, n_samples)
            memory = memory_for_bank(self.max_memory, self.fold_memory)
            return LandmarkBank.build(
                local.data,
                self.kernels,
                n_landmarks=self.n_landmarks,
                separate=self.how == "nystroem",
                filter=self.filter,
                sample_weight=local.sample_weight,
                max_total=memory - needed,
                rng=local.rng,
                known=known,
            )


def pose(model: Any, given: FitInput, *, has_folds: bool = False) -> KernelProblem:
    """Return the problem of an estimator: which rows, which kernels, how much memory.

    Parameters
    ----------
    model : estimator
        Says kernels, filter, approximation and memory.
    given : FitInput
        What was passed to ``fit``; its ``rng`` draws a working set.
    has_folds : bool, default=False
        Whether memory is kept for kernels that are learnt from folds of the pairs.
    """
    kernels, filter = model.kernels, model.filter
    if given.pairs.is_empty:
        kernels, filter = _without_pairs(model), "none"
    fold_memory = 0.0
    if has_folds and depends_on_groups(model.kernels):
        fold_memory = _MEMORY_FOR_FOLDS * parse_bytes(model.max_memory)
    memory = memory_for_bank(model.max_memory, fold_memory)
    how = choose_approximation(model, given, kernels, memory)
    work, local = None, given
    if how != "exact":
        work = working_set(given, model.working_rows if how == "working_set" else None)
        local = work.problem(given)
    if not is_named(kernels, "precomputed"):
        local = local._replace(data=in_double(local.data))
    return KernelProblem(
        given,
        local,
        work,
        how,
        kernels,
        filter,
        model.n_landmarks,
        model.max_memory,
        fold_memory,
        # Spawned, so that kernels which do not need it draw as without it.
        view_seed=int(given.rng.spawn(1)[0].integers(2**31)),
    )


def memory_for_bank(max_memory: float | str | None, fold_memory: float) -> float:
    """Return the bytes that a bank may use, where folds of the pairs need some."""
    memory = parse_bytes(max_memory)
    return memory - fold_memory if np.isfinite(memory) else memory


def exact_bank(
    given: FitInput,
    kernels: Any,
    filter: str,
    max_memory: float | str | None,
    known: Known | None = None,
    fold_memory: float = 0.0,
) -> tuple[KernelBank, float]:
    """Return the exact bank of some kernels, and what memory is left.

    ``max_memory`` is the parameter of an estimator, of which ``fold_memory`` bytes are
    kept for something else.
    """
    n_samples = given.closure.n_samples
    # The matrices of further jobs are not counted: what is stored, and with it the
    # last digits of a kernel, must not depend on their number.
    needed = 4.0 * n_samples**2
    left = memory_for_bank(max_memory, fold_memory) - needed
    if isinstance(kernels, KernelBank):
        _check_bank(kernels, given)
        return kernels, left
    if left < 0:
        raise MemoryError(
            f"A kernel matrix of {n_samples} rows needs {needed / 2**20:.1f} MiB, "
            f"more than max_memory={max_memory!r}. Raise max_memory, or "
            'use KernelCSC with approximation="landmarks".'
        )
    if is_named(kernels, "precomputed"):
        kernels = _given_grams(given.data)
    bank = KernelBank.build(
        given.data,
        kernels,
        filter=filter,
        sample_weight=given.sample_weight,
        max_total=left,
        rng=given.rng,
        known=known,
    )
    return bank, left - bank.nbytes


def is_named(kernels: Any, name: str) -> bool:
    """Tell whether the kernels asked for are those of a name."""
    return isinstance(kernels, str) and kernels == name


def _without_pairs(model: Any) -> Any:
    """Return the kernels to use when there is nothing to choose by, and warn."""
    is_ours = is_named(model.kernels, "paper") or is_named(model.kernels, "rich")
    used = "the standardised linear kernel" if is_ours else "all kernels alike"
    warn_caller(
        f"{type(model).__name__} has no constraints to choose kernels by: it "
        f"clusters with {used}. Pass constraints= (pairs) or y= (partial labels).",
        ConstraintWarning,
    )
    return [(Standardized(), Linear())] if is_ours else model.kernels


def _check_bank(bank: KernelBank, given: FitInput) -> None:
    """Raise unless a ready bank can belong to the data."""
    n_samples = given.closure.n_samples
    if bank.n_samples != n_samples:
        raise ValueError(
            f"kernels is a KernelBank of {bank.n_samples} rows, but X has {n_samples}."
        )
    weight = given.sample_weight
    if weight is not None and not np.array_equal(weight, bank.sample_weight):
        raise ValueError(
            "sample_weight differs from the weights that kernels, a ready KernelBank, "
            "was built with: pass the same to KernelBank.build."
        )


def _given_grams(data: Any) -> list[Precomputed]:
    """Return the Gram matrices given as data, as kernels."""
    grams = data if isinstance(data, SeveralSets) else [data]
    for gram in grams:
        if gram.shape[0] != gram.shape[1]:
            raise ValueError(
                f'X has shape {gram.shape}: "precomputed" takes square matrices, the '
                "kernel values of the rows with each other."
            )
    return [Precomputed(gram, cross=GivenRows(i)) for i, gram in enumerate(grams)]
