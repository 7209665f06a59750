"""Numbers in words."""

import re

import numpy as np

# A space at which no line is broken.
_STICKY = "\u00a0"
_DECIMAL = re.compile(r"\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+")


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def share_text(part: float, whole: float = 1.0) -> str:
    r"""Return a share in per cent; 0 and 100 % only if it is so.

    Examples
    --------
    >>> share_text(1, 3), share_text(999, 1000), share_text(0), share_text(1e-4)
    ('33\xa0%', '99.9\xa0%', '0\xa0%', '<\xa00.1\xa0%')
    """
    share = 100.0 * part / whole if whole else 0.0
    if 0.0 < share < 0.1:
        return f"<{_STICKY}0.1{_STICKY}%"
    if 0.0 < share < 1.0 or 99.0 < share < 100.0:
        return f"{min(share, 99.9):.1f}{_STICKY}%"
    return f"{share:.0f}{_STICKY}%"


def short_name(name: str) -> str:
    """Return the name of a kernel with the digits that matter.

    Examples
    --------
    >>> short_name("Laplacian(gamma=0.4510783337324015) on diffusion")
    'Laplacian(gamma=0.451) on diffusion'
    """
    return _DECIMAL.sub(lambda found: f"{float(found.group()):.3g}", name)


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
