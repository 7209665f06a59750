"""The methods as the specification states them, as plain and slow as can be."""

from typing import NamedTuple

import numpy as np

from linkwise.constraints import Constraints


class Problem(NamedTuple):
    """A small clustering problem on generic points."""

    X: np.ndarray  # (n, d)
    weight: np.ndarray  # (n,)
    gram: np.ndarray  # (n, n)
    start: np.ndarray  # (n,), every cluster is used
    k: int
    rng: np.random.Generator


def locked(array):
    array.flags.writeable = False
    return array


def draw_problem(seed, weighted=True, n=None, k=None):
    """Return a random problem; its arrays are read-only."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 26)) if n is None else n
    k = int(rng.integers(2, 5)) if k is None else k
    X = rng.normal(size=(n, int(rng.integers(1, 4))))
    X += rng.normal(scale=2.0, size=(k, X.shape[1]))[rng.integers(k, size=n)]
    weight = rng.uniform(0.3, 3.0, n) if weighted else np.ones(n)
    start = rng.permutation(np.arange(n) % k)
    gram = X @ X.T
    return Problem(*map(locked, (X, weight, gram, start)), k, rng)


def draw_constraints(rng, n, n_pairs, n_groups, weighted=False):
    """Return random pairs that agree with a hidden partition."""
    hidden = rng.integers(n_groups, size=n)
    pairs = rng.integers(n, size=(n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    must, cannot = pairs[same], pairs[~same]
    if not weighted:
        return Constraints(must, cannot)
    # Dyadic weights: their sums are exact in any order, so ties are ties.
    values = np.array([0.25, 0.5, 1.0, 2.0])
    return Constraints(
        must, cannot, rng.choice(values, len(must)), rng.choice(values, len(cannot))
    )


def distances_to_centres(gram, weight, labels, k):
    """Return the squared distances (n, k) to the centres of section 3."""
    result = np.full((len(gram), k), np.inf)
    for c in range(k):
        member = weight * (labels == c)
        if member.sum() > 0:
            share = member / member.sum()
            result[:, c] = gram.diagonal() - 2 * gram @ share + share @ gram @ share
    return result


def objective(gram, weight, labels):
    """Return J of section 3."""
    total = weight @ gram.diagonal()
    for c in np.unique(labels):
        member = weight * (labels == c)
        total -= member @ gram @ member / member.sum()
    return total


def lloyd(gram, weight, start, k, max_iter=100):
    """Return the labellings of Lloyd's iterations, or None if a cluster empties."""
    trace = [np.array(start)]
    for _ in range(max_iter):
        labels = distances_to_centres(gram, weight, trace[-1], k).argmin(axis=1)
        if len(np.unique(labels)) < k:
            return None
        if np.array_equal(labels, trace[-1]):
            break
        trace.append(labels)
    return trace


class Components(NamedTuple):
    """Must-link components in their order: larger first, then by smallest member."""

    members: list  # of lists of points
    broken_by: dict  # (point, point) -> weight of the entailed cannot-link

    def weight_between(self, g, h):
        return sum(
            self.broken_by.get((i, j), 0.0)
            for i in self.members[g]
            for j in self.members[h]
        )


def components_of(constraints, n):
    """Return the components, merged pair by pair."""
    group = list(range(n))
    for i, j in constraints.must_link.tolist():
        old, new = group[j], group[i]
        group = [new if g == old else g for g in group]
    members = [[i for i in range(n) if group[i] == g] for g in set(group)]
    members.sort(key=lambda m: (-len(m), m[0]))
    broken_by = {}
    pairs, weights = constraints.closure(n).cannot_link_pairs()
    for (i, j), w in zip(pairs.tolist(), weights.tolist(), strict=True):
        broken_by[i, j] = broken_by[j, i] = w
    return Components(members, broken_by)


def centroid_distances(gram, weight, members):
    """Return D (g, g) of section 4."""
    share = np.zeros((len(gram), len(members)))
    for g, points in enumerate(members):
        share[points, g] = weight[points] / weight[points].sum()
    inner = share.T @ gram @ share
    return inner.diagonal()[:, None] - 2 * inner + inner.diagonal()


def plain_farthest_first(
    gram, weight, constraints, k, rule="min", cl_aware_seeds=False, draws=None
):
    """Return start labels and seed components, step by step as in section 4."""
    n = len(gram)
    components = components_of(constraints, n)
    members = components.members
    distance = centroid_distances(gram, weight, members)
    linked = {
        (g, h)
        for g in range(len(members))
        for h in range(len(members))
        if components.weight_between(g, h) > 0
    }

    def tier(g):
        if len(members[g]) > 1:
            return 0
        if draws is not None:
            return 1
        return 1 if any((g, h) in linked for h in range(len(members))) else 2

    def drawn(candidates, score, draw):
        mass = [weight[members[g]].sum() * max(score(g), 0.0) for g in candidates]
        return candidates[int(np.searchsorted(np.cumsum(mass), draw * sum(mass)))]

    seeds = [0]
    if draws is not None:
        lowest = min(tier(g) for g in range(len(members)))
        first = [g for g in range(len(members)) if tier(g) == lowest]
        seeds = [drawn(first, lambda g: 1.0, np.ravel(draws[0])[0])]
    while len(seeds) < min(k, len(members)):
        candidates = [g for g in range(len(members)) if g not in seeds]
        lowest = min(tier(g) for g in candidates)
        candidates = [g for g in candidates if tier(g) == lowest]
        if draws is not None:
            nearest = distance[:, seeds].min(axis=1)
            trials = [
                drawn(candidates, lambda g, d=nearest: d[g], draw)
                for draw in np.ravel(draws[len(seeds)])
            ]

            def left(trial, d=nearest, own=candidates):
                mass = np.array([weight[members[g]].sum() for g in own])
                return mass @ np.minimum(d, distance[:, trial])[own].clip(0)

            seeds.append(min(trials, key=left))
            continue
        if cl_aware_seeds:
            n_linked = {g: sum((g, s) in linked for s in seeds) for g in candidates}
            most = max(n_linked.values())
            candidates = [g for g in candidates if n_linked[g] == most]
        score = {"min": min, "sum": sum}[rule]
        seeds.append(max(candidates, key=lambda g: score(distance[g, seeds])))

    cluster = {g: c for c, g in enumerate(seeds)}
    for g in range(len(members)):
        if g not in cluster:
            broken = [0.0] * len(seeds)
            for h, c in cluster.items():
                broken[c] += components.weight_between(g, h)
            cluster[g] = min(
                range(len(seeds)), key=lambda c: (broken[c], distance[g, seeds[c]], c)
            )
    labels = np.empty(n, dtype=int)
    for g, c in cluster.items():
        labels[members[g]] = c

    chosen = [members[s] for s in seeds]
    for label in range(len(seeds), k):  # fewer components than clusters
        alone = [i for i in range(n) if (labels == labels[i]).sum() == 1]
        points = [[i] for i in range(n)]
        far = centroid_distances(gram, weight, points + chosen)[:n, n:].min(axis=1)
        far[alone] = -np.inf
        labels[far.argmax()] = label
        chosen.append([int(far.argmax())])
    return labels, [members[s] for s in seeds]


def pair_prices(gram, constraints, penalty="outlier", penalty_weight=1.0):
    """Return the pairs of the closure with what they cost when broken (section 7.1)."""
    closure = constraints.closure(len(gram))
    d2 = gram.diagonal()[:, None] - 2 * gram + gram.diagonal()
    must, cannot = [], []
    for (i, j), w in zip(*closure.must_link_pairs(), strict=True):
        price = d2.max() - d2[i, j] if penalty == "outlier" else d2[i, j]
        must.append((int(i), int(j), penalty_weight * w * price))
    for (i, j), w in zip(*closure.cannot_link_pairs(), strict=True):
        price = d2[i, j] if penalty == "outlier" else d2.max() - d2[i, j]
        cannot.append((int(i), int(j), penalty_weight * w * price))
    return must, cannot


def soft_objective(gram, weight, labels, must, cannot):
    """Return the objective of section 7.1."""
    price = sum(p for i, j, p in must if labels[i] != labels[j])
    price += sum(p for i, j, p in cannot if labels[i] == labels[j])
    return objective(gram, weight, labels) + price


def plain_soft(gram, weight, start, k, must, cannot, order, max_iter):
    """Return the labels after each round of section 7.1."""
    labels = np.array(start)
    trace = [labels.copy()]
    for _ in range(max_iter):
        distance = distances_to_centres(gram, weight, labels, k)
        for _ in range(100):
            before = labels.copy()
            for i in order:
                if (labels == labels[i]).sum() == 1:
                    continue
                cost = weight[i] * distance[i]
                for a, b, price in must:
                    if i in (a, b):
                        cost[np.arange(k) != labels[a + b - i]] += price
                for a, b, price in cannot:
                    if i in (a, b):
                        cost[labels[a + b - i]] += price
                if cost.min() < cost[labels[i]] - 1e-12 * np.abs(cost).max():
                    labels[i] = cost.argmin()
            if np.array_equal(labels, before):
                break
        if np.array_equal(labels, trace[-1]):
            break
        trace.append(labels.copy())
    return trace
