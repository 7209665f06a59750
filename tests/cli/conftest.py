import json

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from linkwise import Constraints
from linkwise.cli import app


class Command:
    """Runs the command in a folder of its own, without a process."""

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, *arguments, stdin=None):
        return CliRunner(env={"COLUMNS": "200"}).invoke(
            app,
            [str(argument) for argument in arguments],
            input=stdin,
            prog_name="linkwise",
        )

    def ok(self, *arguments, stdin=None):
        result = self(*arguments, stdin=stdin)
        assert result.exit_code == 0, result.output
        return result

    def json(self, *arguments, stdin=None):
        return json.loads(self.ok(*arguments, "--json", stdin=stdin).stdout)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def linkwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


@pytest.fixture(scope="session")
def flowers():
    """Sixty rows of iris in three classes: features, classes and pairs."""
    X, y = load_iris(return_X_y=True)
    rows = np.arange(0, 150, 150 // 60)[:60]
    X, y = X[rows], y[rows]
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    return pd.DataFrame(X, columns=names), y, Constraints.sample(y, 30, random_state=0)


@pytest.fixture
def files(linkwise, flowers):
    """Paths of the data, with ids in a column, and of pairs as rows and as ids."""
    X, _, pairs = flowers
    ids = [f"f{row:03d}" for row in range(len(X))]
    X.to_csv("flowers.csv", index=False)
    X.assign(name=ids).to_csv("named.csv", index=False)
    pairs.to_csv("pairs.csv")
    table = pairs.to_table()
    table["i"], table["j"] = ([ids[row] for row in table[end]] for end in ("i", "j"))
    table.to_csv("named-pairs.csv", index=False)
    return linkwise
