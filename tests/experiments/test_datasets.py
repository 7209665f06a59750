import os

import numpy as np
import pandas as pd
import pytest

from linkwise.experiments import dataset_size, load_dataset, paper_datasets
from linkwise.experiments._datasets import expand_names


@pytest.fixture
def table():
    return pd.DataFrame({"a": [1.0, 2.0, 3.0], "target": ["y", "x", "y"], "b": 4})


def test_sets_of_scikit_learn_are_there():
    X, y = load_dataset("sklearn:wine")
    assert X.shape == (178, 13) and np.bincount(y).tolist() == [59, 71, 48]


def test_an_unknown_set_of_scikit_learn_is_named():
    with pytest.raises(ValueError, match="no data set 'moons'.*iris"):
        load_dataset("sklearn:moons")


def test_the_class_of_a_csv_file_is_its_target_or_its_last_column(tmp_path, table):
    table.to_csv(tmp_path / "t.csv", index=False)
    X, y = load_dataset(f"csv:{tmp_path / 't.csv'}")
    assert X.tolist() == [[1, 4], [2, 4], [3, 4]] and y.tolist() == [1, 0, 1]
    table.rename(columns={"target": "a", "a": "kind"})[["kind", "a"]].to_csv(
        tmp_path / "last.csv", index=False
    )
    assert load_dataset(f"csv:{tmp_path / 'last.csv'}").y.tolist() == [1, 0, 1]


def test_text_among_features_is_an_error_that_names_the_column(tmp_path, table):
    table.assign(b=["p", "q", "r"]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="column 'b' does not hold numbers"):
        load_dataset(f"csv:{tmp_path / 't.csv'}")


def test_missing_values_are_refused(tmp_path, table):
    table.assign(b=[1, np.nan, 2]).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match="finite"):
        load_dataset(f"csv:{tmp_path / 't.csv'}")


def test_a_folder_stands_for_its_csv_files(tmp_path, table):
    for name in ("b.csv", "a.csv", "notes.txt"):
        table.to_csv(tmp_path / name, index=False)
    names = expand_names([f"csv:{tmp_path}", "iris", "iris"])
    assert names == [f"csv:{tmp_path / 'a.csv'}", f"csv:{tmp_path / 'b.csv'}", "iris"]


def test_pmlb_sets_are_read_from_the_folder(tmp_path, monkeypatch, table):
    (tmp_path / "small").mkdir()
    table.to_csv(tmp_path / "small" / "small.tsv.gz", sep="\t", index=False)
    monkeypatch.setenv("LINKWISE_PMLB", str(tmp_path))
    assert load_dataset("small").y.tolist() == [1, 0, 1]
    with pytest.raises(FileNotFoundError, match="'other' is not in the folder"):
        load_dataset("other")


def test_a_function_can_be_a_data_set(folder, monkeypatch):
    monkeypatch.syspath_prepend(folder)
    X, y = load_dataset("my_methods:two_blobs")
    assert X.shape == (80, 2) and set(y) == {0, 1}
    assert dataset_size("my_methods:two_blobs") == (80, 2, 2, 20)


def test_the_paper_has_146_sets_the_smallest_first():
    names = paper_datasets()
    assert len(set(names)) == 146
    rows = [dataset_size(name).n_samples for name in names]
    assert rows == sorted(rows) and rows[0] > 99 and rows[-1] == 48_842
    small = expand_names(["paper<=1000"])
    assert small == [name for name in names if dataset_size(name).n_samples <= 1000]


@pytest.mark.skipif(
    not os.environ.get("LINKWISE_PMLB"), reason="set LINKWISE_PMLB to run this"
)
def test_sizes_of_the_paper_are_those_of_the_data():
    for name in paper_datasets()[::7]:
        X, y = load_dataset(name)
        counts = np.bincount(y)
        assert dataset_size(name) == (*X.shape, len(counts), (counts // 4).sum())
