"""Texts in tables, through the command and as views: how good, how fast, how large.

``python benchmarks/text_tables.py sets`` runs ``linkwise cluster`` on CSV files with an
id and a text: the four sets of the folder ``LINKWISE_TEXT``, 1,000 rows each, pairs by
id among a quarter of the rows, against k-means on the same rows (mean of eight seeds).
ARI of the rows without pairs, mean of three draws. ``--encoder tfidf`` is what a person
without ``linkwise[text]`` gets.

``python benchmarks/text_tables.py tickets`` makes a table of 240 messages to a library
in three classes, beside four columns that say nothing, and compares all columns as
views, the text alone, and all columns as one matrix.

``python benchmarks/text_tables.py many`` times 100,000 short texts and their memory.
``python benchmarks/text_tables.py words`` prints the words of the classes.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from linkwise import Constraints, KernelCSC, cluster_words, table_pipeline
from linkwise.tables import TablePreparation, words_text

SETS = ("agnews", "stackoverflow", "banking", "tweets")
N_ROWS, N_TICKETS = 1_000, 240
ITEMS = ["novel", "atlas", "film", "record", "magazine", "guide", "comic", "score"]
SAID = {
    "loan": [
        "may I keep the {} for another week",
        "I would like to renew the {} online",
        "the {} is due tomorrow and I am away",
        "how long can the {} be borrowed",
        "somebody reserved the {} before I could take it home",
    ],
    "fee": [
        "I returned the {} in time and still have to pay",
        "the reminder for the {} costs more than expected",
        "can the fine for the {} be waived",
        "where do I pay for the lost {}",
        "my card shows a charge for a {} that I never had",
    ],
    "place": [
        "the heating near the {} shelf is out of order",
        "is the reading room with the {} stand open on Sunday",
        "it was too loud to study beside the {} corner",
        "the lift to the {} floor is stuck",
        "there are no free seats where the {} collection is",
    ],
}


def messages(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table of messages to a library, and what each is about."""
    rng = np.random.default_rng(seed)
    about = rng.choice(list(SAID), size=N_TICKETS)
    texts = [str(rng.choice(SAID[kind])).format(rng.choice(ITEMS)) for kind in about]
    day = pd.Timestamp("2026-02-02") + pd.to_timedelta(
        rng.integers(0, 200, N_TICKETS), unit="D"
    )
    table = pd.DataFrame(
        {
            "received": day.strftime("%Y-%m-%d"),
            "branch": rng.choice(["north", "south", "harbour"], size=N_TICKETS),
            "reader": rng.choice(["pupil", "adult", "senior"], size=N_TICKETS),
            "visits": rng.poisson(9.0, N_TICKETS),
            "message": texts,
        }
    )
    table.loc[rng.random(N_TICKETS) < 0.08, "branch"] = None
    return table, about


def tickets(encoder: str, n_draws: int) -> pd.DataFrame:
    """Return the ARI of all rows by the number of pairs and what is clustered by."""
    rows = []
    for draw in range(n_draws):
        table, about = messages(draw)
        for n_pairs in (30, 60, 120):
            pairs = Constraints.sample(about, n_pairs, random_state=draw)
            ways = {
                "views": (table, {"encoder": encoder}),
                "text alone": (table[["message"]], {"encoder": encoder}),
                "one matrix": (table, {"encoder": encoder, "views": False}),
            }
            found = {"pairs": n_pairs, "draw": draw}
            for name, (own, options) in ways.items():
                model = table_pipeline(KernelCSC(3, random_state=draw), **options)
                model.fit(own, constraints=pairs)
                found[name] = adjusted_rand_score(about, model.labels_)
            rows.append(found)
            print(*(f"{key} {value:.3f}" for key, value in found.items()), flush=True)
    return pd.DataFrame(rows).drop(columns="draw").groupby("pairs").mean()


def text_rows(name: str) -> pd.DataFrame:
    """Return some rows of a set, classes with a single row left out."""
    path = Path(os.environ["LINKWISE_TEXT"]) / f"{name}.csv.gz"
    frame = pd.read_csv(path)
    frame = frame[frame.groupby("label")["label"].transform("size") > 1]
    frame = frame.sample(min(N_ROWS, len(frame)), random_state=0)
    return frame.reset_index(drop=True)


def drawn_pairs(labels: np.ndarray, n: int, kind: str, seed: int) -> Constraints:
    """Return pairs among a quarter of the rows of each class."""
    rng = np.random.default_rng(seed)
    chosen = np.concatenate(
        [
            rng.permutation(np.flatnonzero(labels == c))[
                : max(2, round(0.25 * np.sum(labels == c)))
            ]
            for c in np.unique(labels)
        ]
    )
    if kind == "random":
        own = Constraints.sample(labels[chosen], n, random_state=seed)
        return Constraints(chosen[own.must_link], chosen[own.cannot_link])
    ends = np.sort(rng.choice(chosen, (200 * n, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    ends = rng.permutation(ends)
    same = labels[ends[:, 0]] == labels[ends[:, 1]]
    return Constraints(ends[same][: n // 2], ends[~same][: n - n // 2])


def clustered(
    frame: pd.DataFrame, pairs: Constraints, k: int, encoder: str, folder: Path
) -> np.ndarray:
    """Return the labels that the command writes."""
    data, given, out = (folder / n for n in ("data.csv", "pairs.csv", "labels.csv"))
    frame[["id", "text"]].to_csv(data, index=False)
    table = pairs.to_table()
    for end in ("i", "j"):
        table[end] = frame["id"].to_numpy()[table[end]]
    table[["i", "j", "kind"]].to_csv(given, index=False)
    options = [
        "-c",
        given,
        "-k",
        k,
        "-o",
        out,
        "--id-column",
        "id",
        "--as",
        "text=text",
    ]
    command = [sys.executable, "-m", "linkwise", "cluster", data, *options]
    command += ["--encoder", encoder, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    json.loads(done.stdout)
    return pd.read_csv(out)["cluster"].to_numpy()


def sets(encoder: str, n_draws: int) -> pd.DataFrame:
    """Return the ARI of rows without pairs, by set and kind of pairs."""
    frames = {name: text_rows(name) for name in SETS}
    classes = {name: pd.factorize(own["label"])[0] for name, own in frames.items()}
    plain = {name: kmeans_labels(frames[name], classes[name], encoder) for name in SETS}
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, n_pairs in (("half", 200), ("random", 200), ("random", 50)):
            for name in SETS:
                labels, found = classes[name], []
                for draw in range(n_draws):
                    pairs = drawn_pairs(labels, n_pairs, kind, draw)
                    k = labels.max() + 1
                    own = clustered(frames[name], pairs, k, encoder, Path(folder))
                    free = np.setdiff1d(np.arange(len(labels)), pairs.points)
                    scores = [
                        adjusted_rand_score(labels[free], one[free])
                        for one in (own, *plain[name])
                    ]
                    found.append((scores[0], float(np.mean(scores[1:]))))
                ours, kmeans = np.mean(found, axis=0)
                row = {"set": name, "kind": kind, "pairs": n_pairs}
                rows.append({**row, "linkwise": ours, "k-means": kmeans})
                print(*rows[-1].values(), flush=True)
    return pd.DataFrame(rows)


def kmeans_labels(
    frame: pd.DataFrame, labels: np.ndarray, encoder: str
) -> list[np.ndarray]:
    """Return what k-means with eight seeds makes of the same rows."""
    prepared = TablePreparation({"text": "text"}, encoder=encoder)
    values = prepared.fit_transform(frame[["text"]])
    return [
        KMeans(labels.max() + 1, n_init=10, random_state=seed).fit(values).labels_
        for seed in range(8)
    ]


def many(n_texts: int) -> None:
    """Print seconds and memory of many short texts."""
    table, _ = messages(0)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    texts = [f"{text} no. {at}" for at, text in enumerate(table["message"])]
    texts = [f"{texts[at % len(texts)]} {at}" for at in range(n_texts)]
    start = time.perf_counter()
    rows = TablePreparation(encoder="wordllama").fit_transform(
        pd.DataFrame({"text": texts})
    )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n_texts:,} texts, rows {rows.shape}: {seconds:.1f} s")
    print(f"memory {peak:.0f} MiB, of which {base:.0f} before")


def words() -> None:
    """Print the words of the classes of all sets."""
    for name in (*SETS, "messages"):
        if name == "messages":
            table, about = messages(0)
            texts = table["message"]
        else:
            frame = text_rows(name)
            texts, about = frame["text"], frame["label"].to_numpy()
        codes, classes = pd.factorize(about)
        for code, own in cluster_words(texts, codes).items():
            print(f"{name} | {classes[code]} | {words_text(own)}")


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["sets", "tickets", "many", "words"])
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--draws", type=int, default=None)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--out", type=Path, help="CSV file for the table.")
    given = parser.parse_args()
    if given.what == "many":
        return many(given.texts)
    if given.what == "words":
        return words()
    warnings.simplefilter("ignore")
    if given.what == "tickets":
        found = tickets(given.encoder, given.draws or 5)
    else:
        found = sets(given.encoder, given.draws or 3)
        print(found.groupby(["kind", "pairs"])[["linkwise", "k-means"]].mean().round(3))
    print(found.round(3))
    if given.out is not None:
        found.round(4).to_csv(given.out, index=given.what == "tickets")
    return None


if __name__ == "__main__":
    main()
