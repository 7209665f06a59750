"""
Finding wrong pairs
===================

Of two hundred answers, twenty are turned into their opposite. Where answers contradict
each other, `KernelCSC` estimates how far each can be believed, clusters by those that
it believes, and lists the others.
"""

# %%
# Pairs among 45 rows: many of them close circles, so that they check each other.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, ConstraintWarning, KernelCSC

X, y = load_wine(return_X_y=True)
rng = np.random.default_rng(0)
asked = rng.choice(len(X), 45, replace=False)
table = Constraints.sample(y, 200, rows=asked, random_state=0).to_table()
wrong = rng.choice(len(table), 20, replace=False)
turned = {"must-link": "cannot-link", "cannot-link": "must-link"}
table.loc[wrong, "kind"] = table.loc[wrong, "kind"].map(turned)
told = Constraints.from_table(table)
print(told.n_conflicts, "contradictions")

# %%
# A fit warns and goes on. With ``noise=0`` all pairs are facts.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConstraintWarning)
    model = KernelCSC(3, n_candidates=200, random_state=0).fit(X, constraints=told)
    facts = KernelCSC(3, n_candidates=200, noise=0, random_state=0)
    facts.fit(X, constraints=told)
print(f"ARI {adjusted_rand_score(y, model.labels_):.2f}, all believed: ", end="")
print(
    f"{adjusted_rand_score(y, facts.labels_):.2f}; estimated noise {model.noise_:.2f}"
)

# %%
# What is listed, the least believed first.
listed = model.disbelieved_
is_wrong = set(zip(table["i"][wrong], table["j"][wrong], strict=True))
found = [pair in is_wrong for pair in zip(listed["i"], listed["j"], strict=True)]
print(f"{len(listed)} pairs listed, {sum(found)} of them wrong")

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for kind, colour, hatch in [(True, "#D55E00", ""), (False, "#56B4E9", "//")]:
    places = [place for place, hit in enumerate(found) if hit == kind]
    label = "really wrong" if kind else "right all the same"
    values = listed["belief"].to_numpy()[places]
    ax.barh(places, values, color=colour, hatch=hatch, label=label, edgecolor="white")
names = [f"{p.kind} {p.i}, {p.j}" for p in listed.itertuples()]
ax.set_yticks(range(len(names)), names)
ax.invert_yaxis()
ax.set(xlabel="how far it is believed", title="Pairs to look at again")
ax.legend()
plt.show()
