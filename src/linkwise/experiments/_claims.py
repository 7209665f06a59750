"""What the paper found, beside what the records say."""

from typing import NamedTuple

import pandas as pd

from linkwise.experiments._tables import (
    mean_scores,
    rank_methods,
    trial_scores,
)

PAPER_METHODS = [
    "KernelCSC",
    "MMC+LCVQE",
    "ITML+LCVQE",
    "MPCK",
    "HMRF",
    "LCVQE",
    "COP",
    "SSK",
    "k-means",
]


class _Claim(NamedTuple):
    text: str
    methods: list[str]
    worst_rank: int  # of the first of the methods
    paper: float


_CLAIMS = [
    _Claim("KernelCSC is first of the nine", PAPER_METHODS, 1, 0.377),
    _Claim("KernelCSC is among the first two of the nine", PAPER_METHODS, 2, 0.534),
    _Claim(
        "MMC+LCVQE is first of the nine",
        ["MMC+LCVQE", *(name for name in PAPER_METHODS if name != "MMC+LCVQE")],
        1,
        0.171,
    ),
    _Claim(
        "MMC+LCVQE is among the first two of the nine",
        ["MMC+LCVQE", *(name for name in PAPER_METHODS if name != "MMC+LCVQE")],
        2,
        0.219,
    ),
    _Claim(
        "KernelCSC is above MahalanobisCSC", ["KernelCSC", "MahalanobisCSC"], 1, 0.637
    ),
    _Claim(
        "KernelCSC is above the best single kernel",
        ["KernelCSC", "SingleKernelCSC"],
        1,
        0.692,
    ),
]


def check_claims(records: pd.DataFrame) -> pd.DataFrame:
    """Return the claims of the paper that the methods of these records can test.

    Parameters
    ----------
    records : DataFrame
        Records of the fixed experiment.

    Returns
    -------
    DataFrame
        Columns claim; paper and here, shares of data sets; tied, the share where the
        method shares its rank with another; datasets, their number. Against a single
        rival, a tie is not above.
    """
    there = set(records["method"])
    rows = []
    for claim in _CLAIMS:
        if not there.issuperset(claim.methods):
            continue
        means = mean_scores(trial_scores(records, methods=claim.methods))
        ranks = rank_methods(means)
        first, *others = claim.methods
        holds = ranks[first] <= claim.worst_rank
        is_tied = ranks[others].eq(ranks[first], axis=0).any(axis=1)
        if len(others) == 1:
            holds &= ~is_tied
        rows.append(
            {
                "claim": claim.text,
                "paper": claim.paper,
                "here": holds.mean(),
                "tied": is_tied.mean(),
                "datasets": len(ranks),
            }
        )
    return pd.DataFrame(rows, columns=["claim", "paper", "here", "tied", "datasets"])
