"""
Time series by a kernel of alignments
=====================================

Two series may show the same event at different times. A kernel that adds up over all
ways to align them sees that; the distance of their values at equal times does not. A
kernel is any function of two collections of rows, so it can be given as one.
"""

# %%
# Three kinds of events, each at some moment of its own.
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC

rng = np.random.default_rng(0)
time = np.linspace(0, 1, 30)


def bump(at, width):
    return np.exp(-(((time - at) / width) ** 2))


def one_series(kind):
    at = rng.uniform(0.15, 0.75)
    if kind == 0:
        shape = bump(at, 0.05)
    elif kind == 1:
        shape = bump(at, 0.05) - bump(at + 0.1, 0.05)
    else:
        shape = bump(at, 0.04) + bump(at + 0.15, 0.04)
    return shape + rng.normal(0, 0.08, len(time))


kinds = np.repeat([0, 1, 2], 30)
X = np.array([one_series(kind) for kind in kinds])


# %%
# The kernel of Cuturi, Vert, Birkenes and Matsui (2007): the similarities of single
# moments are multiplied along an alignment, and all alignments are added up. Here all
# pairs of series go through the recursion at once, in logarithms; values are normalised
# so that each series has a similarity of 1 with itself, and made less steep.
def log_alignments(A, B, width):
    A, B = np.broadcast_arrays(A, B)
    above = np.full((A.shape[-1] + 1, *A.shape[:-1]), -np.inf)
    above[0] = 0.0
    for i in range(A.shape[-1]):
        row = np.full_like(above, -np.inf)
        for j in range(A.shape[-1]):
            far = (A[..., i] - B[..., j]) ** 2 / (2 * width**2)
            ways = np.logaddexp(np.logaddexp(above[j], above[j + 1]), row[j])
            row[j + 1] = ways - far - np.log(2 - np.exp(-far))
        above = row
    return above[-1]


def alignment(A, B, width):
    own = np.add.outer(log_alignments(A, A, width), log_alignments(B, B, width)) / 2
    both = log_alignments(A[:, None], B[None], width)
    return np.exp((both - own) / 10)


# %%
# Three widths are given; thirty pairs choose among their sums. The list
# ``["rich", *alignments]`` would try the usual kernels as well.
pairs = Constraints.sample(kinds, 30, random_state=0)
alignments = [partial(alignment, width=width) for width in (0.1, 0.2, 0.4)]
plain = KernelCSC(3, n_candidates=200, random_state=0).fit(X, constraints=pairs)
aligned = KernelCSC(3, kernels=alignments, n_candidates=200, random_state=0).fit(
    X, constraints=pairs
)
labels = {
    "k-means": KMeans(3, random_state=0).fit_predict(X),
    "linkwise": plain.labels_,
    "linkwise with alignments": aligned.labels_,
}
for name, found in labels.items():
    print(f"{name}: ARI {adjusted_rand_score(kinds, found):.2f}")

# %%
# The clusters with alignments.
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for cluster, ax in enumerate(axes):
    rows = X[aligned.labels_ == cluster]
    ax.plot(time, rows.T, color="#0072B2", alpha=0.25, linewidth=1)
    ax.set(title=f"cluster {cluster}: {len(rows)} series", xlabel="time")
axes[0].set_ylabel("value")
plt.show()
