"""
The same rows, other pairs
==========================

There is no one right clustering. These rows lie on two rings; whether the rings are the
clusters, or the left and the right, is for you to say. Ten pairs say it.
"""

# %%
# k-means looks for compact clusters and knows no pairs. `KernelCSC` is told ten pairs
# that were drawn from what somebody has in mind: first the rings, then the sides.
import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC

X, ring = make_circles(300, noise=0.06, factor=0.45, random_state=0)
side = (X[:, 0] > 0).astype(int)

results = {"k-means, no pairs": (None, KMeans(2, random_state=0).fit(X).labels_)}
for meant, truth in [("rings", ring), ("sides", side)]:
    pairs = Constraints.sample(truth, 10, random_state=3)
    model = KernelCSC(2, n_candidates=200, random_state=0).fit(X, constraints=pairs)
    agreement = adjusted_rand_score(truth, model.labels_)
    print(
        f"{meant}: {model.constraint_score_:.0%} of the pairs hold, ARI {agreement:.2f}"
    )
    results[f"linkwise, 10 pairs: {meant}"] = (pairs, model.labels_)

# %%
# Full lines are must-links, dashed lines cannot-links.
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, (title, (pairs, labels)) in zip(axes, results.items(), strict=True):
    for cluster, colour, marker in [(0, "#0072B2", "o"), (1, "#E69F00", "^")]:
        rows = X[labels == cluster]
        ax.scatter(*rows.T, s=14, color=colour, marker=marker, alpha=0.75, linewidth=0)
    if pairs is not None:
        for ends, style in [(pairs.must_link, "-"), (pairs.cannot_link, "--")]:
            for i, j in ends:
                ax.plot(*X[[i, j]].T, style, color="black", linewidth=1.2)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
plt.show()
