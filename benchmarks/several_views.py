"""Several views: KernelCSC against k-means on all views side by side.

``python benchmarks/several_views.py`` clusters the six views of handwritten digits
(PMLB's mfeat sets, the same 2,000 rows; ``LINKWISE_PMLB`` names their folder), of which
it draws 1,000 rows, with 20, 50 and 200 random pairs, three draws, 100 candidates. ARI
is that of rows without pairs; k-means is the mean of four seeds on standardised views,
each divided by the root of its number of columns.
"""

import time
import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from linkwise import Constraints, KernelCSC
from linkwise.experiments import load_dataset

VIEWS = ("factors", "fourier", "karhunen", "morphological", "pixel", "zernike")
NUMBERS = (20, 50, 200)
N_TRIALS = 3
N_ROWS = 1000
N_CANDIDATES = 100
N_SEEDS = 4


def views_and_classes() -> tuple[list[np.ndarray], np.ndarray]:
    """Return the views of the drawn rows, and their classes."""
    sets = [load_dataset(f"mfeat_{name}") for name in VIEWS]
    rows = np.random.default_rng(0).permutation(len(sets[0].y))[:N_ROWS]
    y = np.unique(np.asarray(sets[0].y), return_inverse=True)[1]
    return [np.asarray(own.X, float)[rows] for own in sets], y[rows]


def plain_kmeans(views: list[np.ndarray], n_clusters: int) -> list[np.ndarray]:
    """Return clusters of k-means on all views side by side."""
    scaled = [StandardScaler().fit_transform(X) / X.shape[1] ** 0.5 for X in views]
    X = np.hstack(scaled)
    return [
        KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X)
        for seed in range(N_SEEDS)
    ]


def main() -> None:
    """Print one line for each number of pairs."""
    views, y = views_and_classes()
    k = int(y.max()) + 1
    plain = plain_kmeans(views, k)
    for n_pairs in NUMBERS:
        cells, seconds = [], []
        for trial in range(N_TRIALS):
            pairs = Constraints.sample(y, n_pairs, random_state=trial)
            test = np.setdiff1d(np.arange(len(y)), pairs.points)
            start = time.process_time()
            model = KernelCSC(k, n_candidates=N_CANDIDATES, random_state=trial)
            labels = model.fit(views, constraints=pairs).labels_
            seconds.append(time.process_time() - start)
            found = [
                np.mean([adjusted_rand_score(y[test], own[test]) for own in each])
                for each in (plain, [labels])
            ]
            cells.append(found)
        kmeans, own = np.mean(cells, axis=0)
        worst = min(mine - other for other, mine in cells)
        print(
            f"{n_pairs} pairs: k-means {kmeans:.3f}, KernelCSC {own:.3f}, "
            f"worst difference {worst:+.3f}, {np.mean(seconds):.1f} s of a processor"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
