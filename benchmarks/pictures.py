"""What fifty answers make of a folder of pictures.

``python benchmarks/pictures.py`` writes folders of pictures and lets ``linkwise ask``
put questions about them, which are answered truly:

- digits: 300 of scikit-learn's handwritten digits, 8 x 8 pixels, PNG
- colours, shapes: 150 circles, squares and triangles in red, green and blue, JPEG, of
  any size and place, on light grounds; the answers are about colours, or about shapes

Beside it, k-means on the same numbers, told the number of clusters (mean of eight
seeds).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from linkwise.tables._pictures import describe_pictures

COLOURS = np.array([[200, 40, 40], [40, 160, 60], [50, 70, 200]])


def write_digits(folder: Path) -> dict:
    rows, classes = load_digits(return_X_y=True)
    for number, row in enumerate(rows[:300]):
        levels = (255 - row.reshape(8, 8) * 255 / 16).astype(np.uint8)
        Image.fromarray(levels).save(folder / f"{number:03d}.png")
    return {"digits": classes[:300]}


def write_shapes(folder: Path) -> dict:
    rng = np.random.default_rng(0)
    colours, shapes = np.arange(150) % 3, rng.integers(3, size=150)
    for number, (colour, shape) in enumerate(zip(colours, shapes, strict=True)):
        ground = tuple(rng.integers(200, 256, 3).tolist())
        image = Image.new("RGB", (96, 80), ground)
        fill = np.clip(COLOURS[colour] + rng.integers(-35, 36, 3), 0, 255)
        r = int(rng.integers(12, 30))
        x, y = int(rng.integers(r, 96 - r)), int(rng.integers(r, 80 - r))
        pen, box = ImageDraw.Draw(image), [x - r, y - r, x + r, y + r]
        fill = tuple(fill.tolist())
        if shape == 0:
            pen.ellipse(box, fill=fill)
        elif shape == 1:
            pen.rectangle(box, fill=fill)
        else:
            pen.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill=fill)
        image.save(folder / f"{number:03d}.jpg")
    return {"colours": colours, "shapes": shapes}


def answer_to(question: dict, classes: np.ndarray) -> str:
    """Return the line that answers a question of any kind truly."""

    def class_of(shown: dict | str) -> int:
        name = shown if isinstance(shown, str) else shown["id"]
        return int(classes[int(Path(name).stem)])

    if question["kind"] == "which":
        own = class_of(question["row"])
        groups = enumerate(question["groups"], start=1)
        found = [str(at) for at, rows in groups if class_of(rows[0]) == own]
        return found[0] if found else "none"
    if question["kind"] == "grid":
        own = class_of(question["examples"][0])
        rows = enumerate(question["rows"], start=1)
        return " ".join(str(at) for at, row in rows if class_of(row) != own) or "all"
    if question["kind"] == "merge":
        sides = class_of(question["left"][0]), class_of(question["right"][0])
    else:
        sides = class_of(question["i"]), class_of(question["j"])
    return "same" if sides[0] == sides[1] else "different"


def ask(
    folder: Path,
    classes: np.ndarray,
    clusters: str,
    kinds: str,
    n_answers: int,
    seed: int,
) -> np.ndarray:
    """Return the clusters after true answers to the questions of ``linkwise ask``."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "labels.csv"
        command = [sys.executable, "-m", "linkwise", "ask", str(folder), "--json"]
        command += ["--clusters", clusters, "--limit", str(n_answers), "--out", out]
        command += ["--log", f"{place}/log.jsonl", "--pairs-out", f"{place}/pairs.csv"]
        command += ["--seed", str(seed), "--questions", kinds]
        with subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            for line in process.stderr:
                question = json.loads(line)
                if "question" in question:
                    process.stdin.write(f"{answer_to(question, classes)}\n")
                    process.stdin.flush()
        if process.returncode:
            raise SystemExit(f"linkwise ask ended: {line}")
        return pd.read_csv(out)["cluster"].to_numpy()


def kmeans(folder: Path, classes: np.ndarray) -> float:
    paths = sorted(folder.iterdir())
    rows = describe_pictures(paths, [path.name for path in paths]).rows
    k = len(np.unique(classes))
    found = [KMeans(k, n_init=10, random_state=s).fit_predict(rows) for s in range(8)]
    return float(np.mean([adjusted_rand_score(classes, labels) for labels in found]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="CSV file for the table")
    given = parser.parse_args()
    records = []
    with tempfile.TemporaryDirectory() as place:
        for write in (write_digits, write_shapes):
            folder = Path(place) / write.__name__
            folder.mkdir()
            for name, classes in write(folder).items():
                floor = kmeans(folder, classes)
                k = str(len(np.unique(classes)))
                for clusters, kinds in ((k, "auto"), ("auto", "auto"), (k, "pair")):
                    start = time.perf_counter()
                    scores = [
                        adjusted_rand_score(
                            classes,
                            ask(folder, classes, clusters, kinds, given.answers, seed),
                        )
                        for seed in range(given.seeds)
                    ]
                    seconds = (time.perf_counter() - start) / given.seeds
                    records.append(
                        {
                            "pictures": name,
                            "--clusters": clusters,
                            "--questions": kinds,
                            "answers": given.answers,
                            "ARI, mean": round(float(np.mean(scores)), 3),
                            "ARI, lowest": round(float(np.min(scores)), 3),
                            "k-means": round(floor, 3),
                        }
                    )
                    print(records[-1], f"{seconds:.0f} s a session", flush=True)
    table = pd.DataFrame(records)
    if given.out is not None:
        table.to_csv(given.out, index=False)


if __name__ == "__main__":
    main()
