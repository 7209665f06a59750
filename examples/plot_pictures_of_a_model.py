"""
Pictures of a model
===================

A fitted model can be looked at: where rows lie under the learnt kernel and which pairs
hold, how the search went, which kernels were chosen, and which rows are doubtful.
``linkwise report`` puts these pictures, and more, on one page.
"""

# %%
# The rows as points of a plane, by the two largest components under the learnt kernel.
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine

from linkwise import Constraints, KernelCSC
from linkwise.plots import ClusterDisplay, DoubtDisplay, SearchDisplay, WeightsDisplay

X, y = load_wine(return_X_y=True)
pairs = Constraints.sample(y, 40, random_state=0)
model = KernelCSC(3, n_candidates=200, random_state=0).fit(X, constraints=pairs)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
ClusterDisplay.from_estimator(model, X, constraints=pairs, ax=ax)
plt.show()

# %%
# The search: the score of each candidate, and the one that was chosen.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
SearchDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# What the model looks at.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
WeightsDisplay.from_estimator(model, ax=ax)
plt.show()

# %%
# How sure it is: for each row, the share of good clusterings that put it elsewhere. The
# most doubtful rows are those to ask about next.
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
DoubtDisplay.from_estimator(model, ax=ax)
plt.show()
