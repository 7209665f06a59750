"""Make the table of the page start.md: made-up tickets of a made-up shop.

``python docs/make_tickets.py`` writes ``docs/data/tickets.csv``, with an id column, a
date, categories, numbers, a short text and gaps, ``docs/data/pairs.csv``, sixty pairs
such as a person would give, and ``docs/data/new_tickets.csv``, rows that come later.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from linkwise import Constraints

FOLDER = Path(__file__).parent / "data"
PRODUCTS = ["lamp", "kettle", "desk", "radio", "chair", "clock", "shelf", "toaster"]
SUBJECTS = {
    "delivery": [
        "parcel with the {} has not arrived",
        "where is my {}? the tracking says nothing",
        "the courier left the {} at the wrong address",
        "delivery of the {} is late again",
        "parcel arrived but the {} was not in it",
    ],
    "payment": [
        "I was charged twice for the {}",
        "the invoice for the {} has the wrong amount",
        "refund for the {} is not on my account yet",
        "my card was refused when I paid for the {}",
        "please send a new invoice for the {}",
    ],
    "defect": [
        "the {} is broken after two days",
        "the {} does not switch on any more",
        "a part of the {} came off",
        "the {} makes a strange noise and smells burnt",
        "crack in the {}, can it be repaired?",
    ],
}


def tickets(n_rows: int, seed: int, first: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table and what each of its tickets is about."""
    rng = np.random.default_rng(seed)
    about = rng.choice(list(SUBJECTS), size=n_rows)
    subject = [
        str(rng.choice(SUBJECTS[kind])).format(rng.choice(PRODUCTS)) for kind in about
    ]
    opened = pd.Timestamp("2026-01-05") + pd.to_timedelta(
        rng.integers(0, 250, n_rows), unit="D"
    )
    table = pd.DataFrame(
        {
            "ticket": [f"T-{first + row:04d}" for row in range(n_rows)],
            "opened": opened.strftime("%Y-%m-%d"),
            "channel": rng.choice(["mail", "phone", "chat"], size=n_rows),
            "customer": rng.choice(["new", "regular", "business"], size=n_rows),
            "order value": rng.gamma(2.0, 40.0, n_rows).round(2),
            "subject": subject,
        }
    )
    for column in ("opened", "channel", "order value"):
        table.loc[rng.random(n_rows) < 0.08, column] = None
    return table, about


def main() -> None:
    """Write the three files."""
    FOLDER.mkdir(exist_ok=True)
    table, about = tickets(240, seed=7, first=1)
    table.to_csv(FOLDER / "tickets.csv", index=False)
    tickets(30, seed=8, first=241)[0].to_csv(FOLDER / "new_tickets.csv", index=False)
    pairs = Constraints.sample(about, 60, random_state=0).to_table()
    for end in ("i", "j"):
        pairs[end] = table["ticket"].to_numpy()[pairs[end]]
    pairs[["i", "j", "kind"]].to_csv(FOLDER / "pairs.csv", index=False)


if __name__ == "__main__":
    main()
