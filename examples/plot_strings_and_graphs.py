"""
Strings and graphs by functions of two objects
==============================================

Rows need not be numbers. `PairKernel` makes a kernel of a function of two objects, and
several of them are tried in sums, as all kernels are.
"""

# %%
# Misspelt names
# --------------
# The kernels count pieces of one, two or three letters that two words share, relative
# to how many there are.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC
from linkwise.kernels import PairKernel

rng = np.random.default_rng(0)
NAMES = ["catherine", "christopher", "christina", "konstantin"]


def misspelt(name):
    letters = list(name)
    for _ in range(rng.integers(1, 4)):
        at = rng.integers(len(letters))
        letters[at] = rng.choice(["", letters[at] * 2, rng.choice(list("aeiklmnrst"))])
    return "".join(letters)


name = np.repeat(np.arange(4), 15)
words = [misspelt(NAMES[number]) for number in name]


def pieces(word, length):
    padded = f"<{word}>"
    return {padded[at : at + length] for at in range(len(padded) - length + 1)}


def shared(length):
    def similarity(a, b):
        of_a, of_b = pieces(a, length), pieces(b, length)
        return len(of_a & of_b) / np.sqrt(len(of_a) * len(of_b))

    return PairKernel(similarity)


pairs = Constraints.sample(name, 25, random_state=0)
model = KernelCSC(
    4,
    kernels=[shared(length) for length in (1, 2, 3)],
    n_candidates=100,
    random_state=0,
).fit(words, constraints=pairs)
for cluster in range(4):
    members = [
        word for word, at in zip(words, model.labels_, strict=True) if at == cluster
    ]
    print(cluster, " ".join(members))
print(f"ARI {adjusted_rand_score(name, model.labels_):.2f}")
print("new words:", model.predict(["katharine", "kristofer", "constantine"]))


# %%
# Graphs by their paths and degrees
# ---------------------------------
# A graph is a dict of neighbours here; any object will do. Rings, stars and chains of
# different sizes differ in how many neighbours their nodes have and how far they are
# from each other.
def graph(shape, size):
    near = {node: set() for node in range(size)}
    for node in range(1, size):
        other = 0 if shape == "star" else node - 1
        near[node].add(other)
        near[other].add(node)
    if shape == "ring":
        near[0].add(size - 1)
        near[size - 1].add(0)
    return near


def degrees(near):
    counts = np.bincount([min(len(others), 5) for others in near.values()], minlength=6)
    return counts / len(near)


def path_lengths(near):
    counts = np.zeros(12)
    for start in near:
        seen, border, length = {start}, {start}, 0
        while border:
            border = set().union(*(near[node] for node in border)) - seen
            seen |= border
            length += 1
            counts[min(length, 11)] += len(border)
    return counts / counts.sum()


def by(description, gamma):
    def similarity(a, b):
        return np.exp(-gamma * np.sum((description(a) - description(b)) ** 2))

    return PairKernel(similarity)


shapes = np.repeat(["ring", "star", "chain"], 15)
graphs = [graph(shape, rng.integers(5, 15)) for shape in shapes]
pairs = Constraints.sample(shapes, 25, random_state=0)
model = KernelCSC(
    3,
    kernels=[by(degrees, 10), by(degrees, 100), by(path_lengths, 10)],
    n_candidates=100,
    random_state=0,
).fit(graphs, constraints=pairs)
print(f"graphs: ARI {adjusted_rand_score(shapes, model.labels_):.2f}")

# %%
# Which kernels were chosen: the pairs say what counts.
figure, ax = plt.subplots(figsize=(6, 2.2), layout="constrained")
names = ["degrees, wide", "degrees, narrow", "lengths of paths"]
ax.barh(names, model.kernel_weights_, color="#0072B2")
ax.set(xlabel="weight", title="Kernels on graphs")
plt.show()
