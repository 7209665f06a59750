"""Numbers in words."""

import numpy as np


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def share_text(part: float, whole: float = 1.0) -> str:
    """Return a share in per cent; 0 and 100 % only if it is so.

    Examples
    --------
    >>> share_text(1, 3), share_text(999, 1000), share_text(0, 5), share_text(0.0001)
    ('33 %', '99.9 %', '0 %', '0.01 %')
    """
    share = 100.0 * part / whole if whole else 0.0
    if 0.0 < share < 1.0 or 99.0 < share < 100.0:
        return f"{min(max(share, 0.01), 99.99):.2g} %" if share < 1 else _near(share)
    return f"{share:.0f} %"


def _near(share: float) -> str:
    return f"{min(share, 99.9):.1f} %"


def number_text(value: float) -> str:
    """Return a number with the digits that matter.

    Examples
    --------
    >>> number_text(1234567.0), number_text(0.000123456), number_text(12.5)
    ('1,234,567', '0.0001235', '12.5')
    """
    if not np.isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"


def joined(parts: list[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
