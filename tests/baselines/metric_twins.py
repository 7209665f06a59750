"""MPCK-means and HMRF-KMeans as the specification states them, plain and slow.

Every move is judged by the whole objective, computed anew from lists of pairs.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from linkwise.constraints import Constraints


class Lists(NamedTuple):
    """Pairs of a closure as triples (i, j, weight)."""

    must: list
    cannot: list


def lists_of(constraints, n, factor=1.0):
    closure = constraints.closure(n)
    return Lists(
        *(
            [(i, j, factor * w) for (i, j), w in zip(p.tolist(), w, strict=True)]
            for p, w in (closure.must_link_pairs(), closure.cannot_link_pairs())
        )
    )


def draw_problem(seed, n=None, weighted=False, n_pairs=None):
    """Return points, random consistent pairs, and start labels that use k clusters."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 13)) if n is None else n
    k, d = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 3.0, d)
    hidden = rng.integers(k, size=n)
    pairs = rng.integers(n, size=(n if n_pairs is None else n_pairs, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = hidden[pairs[:, 0]] == hidden[pairs[:, 1]]
    weights = (None, None)
    if weighted:
        values = np.array([0.25, 0.5, 1.0, 2.0])
        weights = (rng.choice(values, same.sum()), rng.choice(values, (~same).sum()))
    constraints = Constraints(pairs[same], pairs[~same], *weights)
    X -= X.mean(axis=0)
    X.flags.writeable = False
    return X, constraints, k, rng.permutation(np.arange(n) % k)


def means(X, labels, k):
    return np.stack([X[labels == c].mean(axis=0) for c in range(k)])


def farthest(X, A):
    """Return the difference of the farthest points under a full metric."""
    lengths = {(i, j): sq(X[i] - X[j], A) for i, j in combinations(range(len(X)), 2)}
    i, j = max(lengths, key=lengths.get)
    return X[i] - X[j]


def sq(difference, A):
    return difference @ A @ difference


def sweeps(labels, k, order, objective):
    """Move points in turn, each by the whole objective, until none moves."""
    labels = labels.copy()
    for _ in range(100):
        n_moves = 0
        for i in order:
            if (labels == labels[i]).sum() == 1:
                continue
            values = np.empty(k)
            for c in range(k):
                moved = labels.copy()
                moved[i] = c
                values[c] = objective(moved)
            now, best = values[labels[i]], values.min()
            if best < now - 1e-10 * (abs(now) + abs(best)):
                labels[i] = values.argmin()
                n_moves += 1
        if n_moves == 0:
            break
    return labels


def mpck_objective(X, labels, centres, metrics, pairs):
    """Return J of section 8.5; one full metric for each cluster."""
    far = [sq(farthest(X, A), A) for A in metrics]
    total = 0.0
    for x, c in zip(X, labels, strict=True):
        total += sq(x - centres[c], metrics[c]) - np.linalg.slogdet(metrics[c])[1]
    for i, j, w in pairs.must:
        a, b = labels[i], labels[j]
        if a != b:
            d = X[i] - X[j]
            total += w * (0.5 * sq(d, metrics[a]) + 0.5 * sq(d, metrics[b]))
    for i, j, w in pairs.cannot:
        a = labels[i]
        if a == labels[j]:
            total += w * (far[a] - sq(X[i] - X[j], metrics[a]))
    return total


def mpck_metrics(X, labels, centres, metrics, pairs, single, diagonal):
    """Return the closed form of section 8.5, without a guard."""
    k, d = centres.shape
    parts = np.zeros((k, d, d))
    for x, c in zip(X, labels, strict=True):
        parts[c] += np.outer(x - centres[c], x - centres[c])
    for i, j, w in pairs.must:
        if labels[i] != labels[j]:
            for c in (labels[i], labels[j]):
                parts[c] += 0.5 * w * np.outer(X[i] - X[j], X[i] - X[j])
    for i, j, w in pairs.cannot:
        if labels[i] == labels[j]:
            f = farthest(X, metrics[labels[i]])
            parts[labels[i]] += w * (
                np.outer(f, f) - np.outer(X[i] - X[j], X[i] - X[j])
            )
    mass = np.bincount(labels, minlength=k).astype(float)
    if single:
        parts, mass = parts.sum(axis=0)[None].repeat(k, 0), np.full(k, mass.sum())
    result = []
    for part, n in zip(parts, mass, strict=True):
        if diagonal:
            result.append(np.diag(n / np.maximum(part.diagonal(), 1e-9)))
            continue
        trace = np.trace(part)
        floor = 1e-9 * trace if trace > 0 else 1e-9
        values, vectors = np.linalg.eigh(part)
        if values[0] <= 1e-12 * values[-1]:
            values = values + floor
        result.append(n * (vectors / np.maximum(values, floor)) @ vectors.T)
    return np.stack(result)


def plain_mpck(X, constraints, start, centres, k, rng, single, diagonal, max_iter):
    """Return labels, metrics, and the objective after each round."""
    pairs = lists_of(constraints, len(X))
    metrics = np.stack([np.eye(X.shape[1])] * k)
    labels, trace = start, []
    while len(trace) < max_iter:
        order, before = rng.permutation(len(X)), labels

        def objective(candidate):
            return mpck_objective(X, candidate, centres, metrics, pairs)  # noqa: B023

        labels = sweeps(labels, k, order, objective)
        centres = means(X, labels, k)
        new = mpck_metrics(X, labels, centres, metrics, pairs, single, diagonal)
        groups = [range(k)] if single else [[c] for c in range(k)]
        for group in groups:  # the guard
            tried = metrics.copy()
            tried[list(group)] = new[list(group)]
            if mpck_objective(X, labels, centres, tried, pairs) <= mpck_objective(
                X, labels, centres, metrics, pairs
            ):
                metrics = tried
        trace.append(mpck_objective(X, labels, centres, metrics, pairs))
        if len(trace) > 1 and (
            np.array_equal(labels, before)
            or abs(trace[-2] - trace[-1]) < 1e-5 * abs(trace[-2])
        ):
            break
    return labels, metrics, trace


def hmrf_objective(X, labels, centres, a, pairs, distance, s=1.0, logdet=True):
    """Return J of section 8.6."""
    if distance == "euclidean":

        def phi(x, y):
            return (a * (x - y) ** 2).sum()
    else:

        def phi(x, y):
            product = (a * x * y).sum()
            return 1 - product / np.sqrt((a * x**2).sum() * (a * y**2).sum())

    largest = max(phi(x, y) for x, y in combinations(X, 2))
    total = sum(phi(x, centres[c]) for x, c in zip(X, labels, strict=True))
    total += sum(
        w * phi(X[i], X[j]) for i, j, w in pairs.must if labels[i] != labels[j]
    )
    total += sum(
        w * (largest - phi(X[i], X[j]))
        for i, j, w in pairs.cannot
        if labels[i] == labels[j]
    )
    total -= (np.log(a) - a**2 / (2 * s**2) - 2 * np.log(s)).sum()
    if distance == "euclidean" and logdet:
        total -= len(X) * np.log(a).sum()
    return total
