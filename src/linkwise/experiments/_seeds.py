"""Seeds from names."""

from hashlib import blake2b


def derive_seed(*names: object) -> int:
    """Return a seed that depends on these names and on nothing else.

    So a method or a data set that joins an experiment moves no other result, and any
    process on any machine derives the same seed.

    Parameters
    ----------
    *names : object
        Names and numbers; their text counts, and their order.

    Returns
    -------
    int
        In [0, 2**32), as scikit-learn wants it.

    Examples
    --------
    >>> derive_seed("iris", 0, "KernelCSC")
    1612136456
    """
    # A separator that no name holds: ("ab", "c") must not be ("a", "bc").
    text = "\x1f".join(map(str, names))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "little")
