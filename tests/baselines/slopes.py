"""Slopes by finite differences, to check those written by hand."""

import numpy as np


def numeric_slope(function, x, step=1e-6):
    """Return the slope of a function of one array, entry by entry."""
    slope = np.empty_like(x)
    for place in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[place] += sign * step
            ends.append(function(moved))
        slope[place] = (ends[0] - ends[1]) / (2.0 * step)
    return slope
