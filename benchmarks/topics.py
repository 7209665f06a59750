"""KernelCSC in the place of HDBSCAN inside BERTopic.

Needs the folder ``LINKWISE_TEXT`` and BERTopic, whose other dependencies are not used:

    pip install --no-deps bertopic
    pip install hdbscan plotly pyyaml tqdm
    python benchmarks/topics.py

Prints versions, the ARI with k-means and with KernelCSC as the clusterer, words of the
first topics, and what ``transform`` makes of documents that were not in the fit.
"""

import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from texts import draw_pairs

import linkwise
from linkwise import KernelCSC

NAME, N_FIT, N_NEW, N_PAIRS = "stackoverflow", 1500, 500, 200


def main() -> None:
    import bertopic
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from bertopic.dimensionality import BaseDimensionalityReduction

    folder = Path(os.environ["LINKWISE_TEXT"])
    table = pd.read_csv(folder / f"{NAME}.csv.gz").iloc[: N_FIT + N_NEW]
    embeddings = np.load(folder / f"{NAME}.minilm.npy")[: N_FIT + N_NEW].astype(float)
    texts, classes = table["text"].tolist(), table["label"].to_numpy()
    old, new = slice(N_FIT), slice(N_FIT, None)
    pairs, test = draw_pairs(classes[old], N_PAIRS, "half must-links", seed=0)
    n_clusters = len(np.unique(classes))
    print(
        f"bertopic {bertopic.__version__}, scikit-learn {sklearn.__version__}, "
        f"linkwise {linkwise.__version__}; {NAME}, {N_FIT} texts, "
        f"{n_clusters} classes, {N_PAIRS} pairs, half of them must-links"
    )
    settings = {"constraints": pairs, "n_candidates": 300, "random_state": 0}
    clusterers = {
        "k-means": KMeans(n_clusters, n_init=10, random_state=0),
        "KernelCSC": KernelCSC(n_clusters, **settings),
        "KernelCSC, far=0.05": KernelCSC(n_clusters, far=0.05, **settings),
    }
    for name, clusterer in clusterers.items():
        start = time.perf_counter()
        topics = BERTopic(
            embedding_model=BaseEmbedder(),
            umap_model=BaseDimensionalityReduction(),
            hdbscan_model=clusterer,
        )
        found, _ = topics.fit_transform(texts[old], embeddings[old])
        seconds = time.perf_counter() - start
        guessed, _ = topics.transform(texts[new], embeddings[new])
        ari = adjusted_rand_score(classes[test], np.array(found)[test])
        print(
            f"{name}: ARI {ari:.3f} on {len(test)} texts without pairs, "
            f"{adjusted_rand_score(classes[new], guessed):.3f} on {N_NEW} new texts, "
            f"{len(topics.get_topic_info())} topics, {seconds:.1f} s"
        )
        for topic in range(3):
            words = [word for word, _ in topics.get_topic(topic)[:5]]
            print(f"  topic {topic}: {', '.join(words)}")


if __name__ == "__main__":
    main()
