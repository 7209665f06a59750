"""
Several views of the same things
================================

The same handwritten digits, seen twice: by their pixels, and by the sums of rows and
columns. A list of matrices is several views; each has its own kernels, and the pairs
say how much each view counts.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC

images = load_digits().images[:400]
digit = load_digits().target[:400]
pixels = images.reshape(400, 64)
sums = np.hstack([images.sum(axis=1), images.sum(axis=2)])
noise = np.random.default_rng(0).normal(size=(400, 20))
pairs = Constraints.sample(digit, 300, random_state=0)

fits = {
    "pixels": pixels,
    "sums": sums,
    "noise": noise,
    "pixels, sums and noise": [pixels, sums, noise],
}
for name, views in fits.items():
    model = KernelCSC(10, kernels="paper", n_candidates=200, random_state=0)
    fits[name] = model.fit(views, constraints=pairs)
    agreement = adjusted_rand_score(digit, model.labels_)
    print(f"{name}: ARI {agreement:.2f}, {model.constraint_score_:.0%} of pairs hold")

# %%
# How often each view was tried, and what its weight was in the end. The view of noise
# is tried as well, but no pair speaks for it.
model = fits["pixels, sums and noise"]
view_of = [name.rsplit(" ", 1)[-1] for name in model.kernel_names_]
weights = {}
for view, weight in zip(view_of, model.kernel_weights_, strict=True):
    weights[view] = weights.get(view, 0.0) + weight
print(sorted(set(view_of)))
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
ax.barh(list(weights), list(weights.values()), color="#009E73")
ax.set(xlabel="weight", title="What the pairs chose")
plt.show()
