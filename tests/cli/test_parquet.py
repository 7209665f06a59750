import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from linkwise.cli._data import Wishes, read_features, read_table
from linkwise.cli._screen import Screen
from linkwise.cli._text_files import TextOptions

# Prints by how many bytes reading raises the peak, and the bytes of what was read.
PEAK = """
import sys
from pathlib import Path
import numpy as np
from linkwise.cli._data import Wishes, read_features, read_table
from linkwise.cli._screen import Screen
from linkwise.cli._text_files import TextOptions

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if "VmHWM" in line).split()[1])

def read(name):
    screen = Screen(quiet=True)
    table = read_table(Path(name), None, TextOptions(), screen)
    return np.asarray(read_features(table, Wishes(), screen).values)

read("small.parquet")  # what is imported on the way
before = peak()
values = read("large.parquet")
print(peak() - before, values.nbytes)
"""


def read(path, id_column=None):
    screen = Screen(quiet=True)
    table = read_table(path, id_column, TextOptions(), screen)
    return table, read_features(table, Wishes(), screen)


def frame_of(n, dtype="float64"):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 50)).astype(dtype)
    return pd.DataFrame(values, columns=[f"c{j}" for j in range(50)])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize(
    "dtype", [pytest.param("float32", marks=pytest.mark.slow), "float64"]
)
def test_numbers_are_in_memory_about_once(tmp_path, dtype):
    frame_of(100).to_parquet(tmp_path / "small.parquet")
    n = 200_000 if dtype == "float64" else 400_000
    frame_of(n, dtype).to_parquet(tmp_path / "large.parquet", row_group_size=50_000)
    done = subprocess.run(
        [sys.executable, "-c", PEAK], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    peak, size = map(int, done.stdout.split())
    assert size == n * 50 * np.dtype(dtype).itemsize
    assert size < peak < 2 * size


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (["float32", "float32"], "float32"),
        (["float32", "float64"], "float64"),
        (["float32", "int8"], "float64"),
        (["int64", "uint8"], "float64"),
        (["bool", "float32"], "float64"),
    ],
)
def test_values_and_types(tmp_path, types, expected):
    path = tmp_path / "data.parquet"
    values = np.array([[0, 1], [1, 5], [1, 3], [0, 4]])
    frame = pd.DataFrame(values, columns=["a", "b"])
    frame = frame.astype(dict(zip(frame.columns, types, strict=True)))
    frame.to_parquet(path, row_group_size=3)
    features = read(path)[1].values
    assert list(features.columns) == ["a", "b"]
    assert set(features.dtypes) == {np.dtype(expected)}
    assert np.array_equal(features, values)


@pytest.mark.parametrize("as_index", [False, True])
@pytest.mark.parametrize("ids", [["u", "v", "w"], [7, 9, 8]])
def test_ids_are_set_apart(tmp_path, ids, as_index):
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"a": [1.5, 2, 7], "id": ids, "b": [1, 2, 2]})
    (frame.set_index("id") if as_index else frame).to_parquet(path)
    table, features = read(path, "id")
    assert table.ids == ids
    assert np.array_equal(features.values, [[1.5, 1], [2, 2], [7, 2]])


def test_gaps_among_numbers_are_filled_in(tmp_path):
    path = tmp_path / "data.parquet"
    gaps = pd.array([1, None, 3, 9], dtype="Int64")
    pd.DataFrame({"a": gaps, "b": [1.0, 4.0, 2.0, 7.0]}).to_parquet(path)
    features = read(path)[1]
    assert [note.missing for note in features.notes] == [0.25, 0.0]
    assert np.isfinite(np.asarray(features.values)).all()


def test_damage_after_the_beginning_is_described(linkwise):
    frame_of(2000).to_parquet("data.parquet")
    content = bytearray((linkwise.folder / "data.parquet").read_bytes())
    content[1000:200_000] = bytes(199_000)
    (linkwise.folder / "data.parquet").write_bytes(content)
    linkwise.write("pairs.csv", "i,j,kind\n0,1,ML\n")
    result = linkwise("check", "data.parquet", "pairs.csv")
    assert result.exit_code == 3, result.output
    assert "data.parquet is not a Parquet file" in result.stderr


def test_labels_without_pyarrow_are_refused_before_the_search(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    options = ("--constraints", "pairs.csv", "--clusters", "3")
    result = files("cluster", "flowers.csv", *options, "--out", "labels.parquet")
    assert result.exit_code == 3
    assert "pip install 'linkwise[parquet]'" in result.stderr
    assert "labels.parquet" not in files.files()
