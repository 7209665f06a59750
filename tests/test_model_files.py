"""Model files: the same model again, or a clear error, and never any code."""

import hashlib
import importlib
import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from pandas.testing import assert_frame_equal
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from linkwise import (
    ConstrainedKernelKMeans,
    Constraints,
    KernelCSC,
    MahalanobisCSC,
    ModelFileError,
    SingleKernelCSC,
    TableWarning,
    load,
    save,
    table_pipeline,
)
from linkwise.kernels import RBF, PairKernel
from linkwise.model_files import _FIRST_LINE, _TRUSTED

Y = np.arange(60) % 3
PAIRS = Constraints.sample(Y, 60, random_state=0)
X = 3.0 * np.eye(3)[Y] + np.random.default_rng(0).normal(size=(60, 3))
WIDE = np.concatenate([X, np.random.default_rng(1).normal(size=(60, 50))], axis=1)
FEW = {"n_candidates": 10, "random_state": 0}
VIEWS = ["within", "forest", "diffusion", "whitened", "discriminant", "unit"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return a fitted model and the bytes of its file."""
    path = tmp_path_factory.mktemp("models") / "a.linkwise"
    model = KernelCSC(3, kernels="paper", **FEW).fit(X, constraints=PAIRS)
    save(model, path)
    return model, path.read_bytes()


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (KernelCSC(3, **FEW), X),
        (KernelCSC(3, far=0.1, **FEW), X),
        (KernelCSC(3, **FEW), pd.DataFrame(X, columns=["a", "b", "c"])),
        (KernelCSC(3, **FEW), WIDE),
        (KernelCSC(3, **FEW), csr_array(np.abs(WIDE))),
        (KernelCSC(3, approximation="landmarks", n_landmarks=20, **FEW), X),
        (KernelCSC(3, approximation="nystroem", n_landmarks=20, **FEW), X),
        (KernelCSC(3, constraints=PAIRS, **FEW), X),
        (KernelCSC("auto", kernels="paper", **FEW), X),
        (SingleKernelCSC(3, random_state=0), X),
        (MahalanobisCSC(3, **FEW), X),
        (ConstrainedKernelKMeans(3, kernel=RBF(0.1), random_state=0), X),
        *((KernelCSC(3, kernels=[view], **FEW), X) for view in VIEWS),
    ],
)
def test_the_same_model_comes_back(model, rows, tmp_path):
    model.fit(rows, constraints=PAIRS)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is type(model)
    assert again.get_params().keys() == model.get_params().keys()
    assert_array_equal(again.predict(rows), model.predict(rows))
    assert_array_equal(again.labels_, model.labels_)
    if hasattr(model, "history_"):
        assert_frame_equal(again.history_, model.history_)
    assert os.listdir(tmp_path) == ["model"]


def test_the_preparation_of_a_table_comes_back(tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["plan"] = np.array(["x", "y", None, "z"], dtype=object)[np.arange(60) % 4]
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * Y, unit="D")
    table["note"] = [f"row {i} of the class {c}" for i, c in enumerate(Y)]
    model = table_pipeline(KernelCSC(3, **FEW)).fit(table, cluster__constraints=PAIRS)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    new = table.assign(plan=[None, "new"] * 30)
    with pytest.warns(TableWarning, match="plan: 30 values not seen at fit"):
        assert_array_equal(again.predict(new), model.predict(new))
    assert again["table"].columns_ == model["table"].columns_


# Prints the clusters of new rows, where pyarrow cannot be imported.
WITHOUT_PYARROW = """
import json, sys

class Finder:
    def find_spec(self, name, *args):
        if name.partition(".")[0] == "pyarrow":
            raise ImportError(name)

sys.meta_path.insert(0, Finder())
import pandas as pd
import linkwise

models = [linkwise.load(path) for path in sys.argv[2:]]
assert "pyarrow" not in sys.modules
new = pd.read_csv(sys.argv[1])
print(json.dumps([model.predict(new).tolist() for model in models]))
kinds = [model["cluster"].disbelieved_["kind"].tolist() for model in models]
assert all(kinds), kinds
"""


def test_models_of_tables_of_pyarrow_are_read_without_it(tmp_path):
    pytest.importorskip("pyarrow")
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["plan"] = np.array(["x", "y", None, "z"], dtype=object)[np.arange(60) % 4]
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * Y, unit="D")
    table["note"] = [f"row {i} of the class {c}" for i, c in enumerate(Y)]
    tables = [
        table.astype({"plan": "string[pyarrow]", "note": "string[pyarrow]"}),
        table.astype({"plan": "str", "note": "str"}),
        table.astype({"plan": "string[pyarrow]"}).astype({"plan": "category"}),
        table.convert_dtypes(dtype_backend="pyarrow"),
    ]
    # A contradiction, so that there is a table of pairs with texts in it.
    pairs = Constraints([(0, 1), (1, 2), (5, 9)], [(0, 2), (0, 59)])
    expected = []
    table.to_csv(tmp_path / "new.csv", index=False)
    for i, fitted in enumerate(tables):
        model = table_pipeline(KernelCSC(3, **FEW))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(fitted, cluster__constraints=pairs)
        save(model, tmp_path / f"{i}.linkwise")
        expected.append(model.predict(pd.read_csv(tmp_path / "new.csv")).tolist())
    paths = [tmp_path / f"{i}.linkwise" for i in range(len(tables))]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYARROW, tmp_path / "new.csv", *paths],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == expected


def test_every_type_that_is_trusted_exists():
    for name in _TRUSTED:
        module, _, own = name.rpartition(".")
        assert hasattr(importlib.import_module(module), own), name


class TestDamage:
    @settings(
        deadline=None,
        max_examples=60,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(place=st.floats(0, 1), bit=st.integers(0, 7), cut=st.booleans())
    def test_a_flipped_bit_or_a_cut_is_seen(self, written, tmp_path, place, bit, cut):
        model, data = written
        at = min(int(place * len(data)), len(data) - 1)
        damaged = bytearray(data[:at] if cut else data)
        if not cut:
            damaged[at] ^= 1 << bit
        path = tmp_path / "damaged"
        path.write_bytes(damaged)
        try:
            again = load(path)
        except ModelFileError as error:
            assert str(path) in str(error)
        else:  # only what the header says of Python, numpy and columns may change
            assert not cut and len(_FIRST_LINE) < at < len(_FIRST_LINE) + 500
            assert_array_equal(again.predict(X), model.predict(X))

    @pytest.mark.parametrize("name", ["linkwise", "scikit-learn"])
    def test_other_versions_are_named(self, written, tmp_path, name):
        first, header, content = written[1].split(b"\n", 2)
        header = json.dumps(json.loads(header) | {name: "0.0.9"}).encode()
        path = tmp_path / "old"
        path.write_bytes(b"\n".join([first, header, content]))
        with pytest.raises(ModelFileError, match=f"written with {name} 0.0.9"):
            load(path)


class Bomb:
    def __reduce__(self):
        return os.mkdir, ("bomb",)


class TestCode:
    def archive(self, content):
        header = {
            "linkwise": __import__("linkwise").__version__,
            "scikit-learn": __import__("sklearn").__version__,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        return _FIRST_LINE + json.dumps(header).encode() + b"\n" + content

    def test_none_runs(self, written, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        path = tmp_path / "model"
        bomb = pickle.dumps(Bomb())
        for data in (bomb, self.archive(bomb), _FIRST_LINE + bomb):
            path.write_bytes(data)
            with pytest.raises(ModelFileError):
                load(path)
        parts = {"model": written[0].__class__(2), "frames": {}, "more": os.system}
        path.write_bytes(self.archive(skops.io.dumps(parts)))
        with pytest.raises(ModelFileError, match="holds what no model .*system"):
            load(path)
        assert os.listdir(tmp_path) == ["model"]

    @pytest.mark.parametrize("model", [KMeans(), KernelCSC(3), [1, 2]])
    def test_archives_of_anything_else_are_refused(self, tmp_path, model):
        path = tmp_path / "model"
        path.write_bytes(self.archive(skops.io.dumps({"model": model, "frames": {}})))
        with pytest.raises(ModelFileError, match="is damaged"):
            load(path)


class TestSaving:
    def test_what_is_no_model_is_refused(self, tmp_path):
        with pytest.raises(TypeError, match="save takes a model of linkwise.*KMeans"):
            save(KMeans(), tmp_path / "model")
        with pytest.raises(NotFittedError):
            save(KernelCSC(), tmp_path / "model")

    def test_functions_cannot_be_written(self, tmp_path):
        kernel = PairKernel(lambda a, b: float(a @ b))
        model = KernelCSC(3, kernels=[kernel], **FEW).fit(X, constraints=PAIRS)
        with pytest.raises(TypeError, match="cannot be written without code.*joblib"):
            save(model, tmp_path / "model")
        assert os.listdir(tmp_path) == []
