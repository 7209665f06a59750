"""``linkwise demo --label``: the page on pictures of digits."""

import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from linkwise.cli._data import Table
from linkwise.cli._label import LabelJob, require_extra, serve_page
from linkwise.cli._screen import Screen
from linkwise.cli._sessions import Opened

N_ROWS = 300
_PIXELS = 12  # of the screen for one of the picture


def run_label_demo(seed: int, n_candidates: int, browser: bool, screen: Screen) -> None:
    """Open the page on a part of scikit-learn's digits."""
    require_extra()
    from sklearn.datasets import load_digits

    from linkwise.active import Session
    from linkwise.estimators import KernelCSC
    from linkwise.label import Picture, Rows

    digits, _ = load_digits(return_X_y=True)
    digits = digits[:N_ROWS]
    ids = np.array([f"digit {row}" for row in range(N_ROWS)], dtype=object)
    with tempfile.TemporaryDirectory(prefix="linkwise-demo-") as folder:
        data = Path(folder) / "digits.csv"
        job = LabelJob(data=data, n_clusters="auto", browser=browser, seed=seed)
        model = KernelCSC(
            "auto", n_candidates=min(n_candidates, job.n_candidates), random_state=seed
        )
        log = Path(folder) / "digits.linkwise.jsonl"
        session = Session(digits, model, ids=ids, log=log, random_state=seed)
        session.describe("the same digit")
        ink = digits.mean(axis=1).round(2)
        frame = pd.DataFrame({"ink": ink})
        table = Table(data, frame, has_names=True, id_column="id", ids=ids.tolist())
        pictures = [Picture(png_of(row.reshape(8, 8)), "image/png") for row in digits]
        opened = Opened(session, table, ["ink"], None)
        rows = Rows(frame, ids.tolist(), (), lambda row: pictures[row])
        then = "linkwise label DATA --export results (the demo keeps nothing)."
        with session:
            serve_page(opened, rows, job, then, screen)


def png_of(gray: Any) -> bytes:
    """Return small numbers, 0 for white, as a PNG picture."""
    levels = 255 - (255 * gray / max(1.0, gray.max())).astype(np.uint8)
    pixels = np.kron(levels, np.ones((_PIXELS, _PIXELS), dtype=np.uint8))
    height, width = pixels.shape
    lines = np.hstack([np.zeros((height, 1), dtype=np.uint8), pixels]).tobytes()

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(lines))
        + chunk(b"IEND", b"")
    )
