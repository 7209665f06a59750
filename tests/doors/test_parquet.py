"""Rows of Parquet files, mapped."""

import sys

import numpy as np
import pandas as pd
import pytest

from linkwise import Constraints, KernelCSC, map_parquet
from linkwise.doors import _parquet


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.parquet"


def frame_of(n=50, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.integers(-5, 5, n),
            "c": rng.random(n) < 0.5,
            "d": rng.normal(size=n).astype(np.float32),
        }
    )


@pytest.mark.parametrize("rows_at_once", [7, 50, 1000])
@pytest.mark.parametrize("row_group_size", [1, 20, 50])
def test_values_are_those_of_pandas(path, monkeypatch, rows_at_once, row_group_size):
    monkeypatch.setattr(_parquet, "_ROWS_AT_ONCE", rows_at_once)
    frame = frame_of()
    frame.to_parquet(path, row_group_size=row_group_size)
    rows = map_parquet(path)
    assert isinstance(rows, np.memmap) and rows.dtype == np.float64
    assert np.array_equal(rows, frame.to_numpy(dtype=np.float64))


def test_columns_come_in_the_order_asked_for(path):
    frame_of().to_parquet(path)
    expected = frame_of()[["d", "a"]].to_numpy(dtype=np.float64)
    assert np.array_equal(map_parquet(path, ["d", "a"]), expected)


def test_single_precision_is_kept_where_it_is_enough(path):
    frame_of().astype({"a": "float32", "b": "int8"}).to_parquet(path)
    assert map_parquet(path).dtype == np.float32


def test_an_index_is_no_column(path):
    frame_of().set_index("b").to_parquet(path)
    expected = frame_of()[["a", "c", "d"]].to_numpy(dtype=np.float64)
    assert np.array_equal(map_parquet(path), expected)


def test_missing_values_are_nan(path):
    frame = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": 1.0})
    frame.to_parquet(path)
    assert np.array_equal(
        map_parquet(path), [[1, 1], [np.nan, 1], [3, 1]], equal_nan=True
    )


def test_nothing_is_left_behind(path, tmp_path, monkeypatch):
    frame_of().to_parquet(path)
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    rows = map_parquet(path)
    assert not list(folder.iterdir()) and rows.sum() != 0.0


def test_an_estimator_takes_them(path):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    frame = pd.DataFrame(rng.normal(size=(400, 4)) + 3.0 * np.eye(3, 4)[y])
    frame.columns = list("abcd")
    frame.to_parquet(path, row_group_size=64)
    pairs = Constraints.sample(y, 40, random_state=0)
    model = KernelCSC(
        3, approximation="working_set", working_rows=99, n_candidates=9, random_state=0
    )
    mapped = model.fit(map_parquet(path), constraints=pairs).labels_
    plain = model.fit(frame.to_numpy(), constraints=pairs).labels_
    assert np.array_equal(mapped, plain)


def test_what_is_wrong_is_said(path, monkeypatch):
    frame = frame_of().assign(word="x")
    frame.to_parquet(path)
    with pytest.raises(ValueError, match=r"column 'word' holds .*string.*columns="):
        map_parquet(path)
    with pytest.raises(ValueError, match=r"no column 'e'; it has \['a', 'b'"):
        map_parquet(path, ["a", "e"])
    with pytest.raises(ValueError, match="no column is left"):
        map_parquet(path, [])
    with pytest.raises(FileNotFoundError, match="other"):
        map_parquet(path.with_name("other.parquet"))
    frame_of(0).to_parquet(path)
    with pytest.raises(ValueError, match="has no rows"):
        map_parquet(path)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r"pip install linkwise\[parquet\]"):
        map_parquet(path)
