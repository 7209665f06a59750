"""Model files: the same model again, or a clear error, and never any code."""

import copy
import hashlib
import importlib.util
import io
import json
import os
import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

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
from linkwise.estimators._ridge import learn_ridge
from linkwise.kernels import RBF, PairKernel, Polynomial, Precomputed
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
        (KernelCSC(3, kernels="precomputed", **FEW), [X @ X.T, WIDE @ WIDE.T]),
        (KernelCSC(3, **FEW), [X, csr_array(np.abs(WIDE))]),
        (MahalanobisCSC(3, n_candidates=5, random_state=np.random.RandomState(0)), X),
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


def made_table():
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["plan"] = np.array(["x", "y", None, "z"], dtype=object)[np.arange(60) % 4]
    table["since"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * Y, unit="D")
    table["note"] = [f"row {i} of the class {c}" for i, c in enumerate(Y)]
    return table


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"encoder": "tfidf"},
        {"views": False},
        {"views": False, "encoder": "tfidf"},
    ],
)
def test_the_preparation_of_a_table_comes_back(options, tmp_path):
    table = made_table()
    model = table_pipeline(KernelCSC(3, **FEW), **options).fit(table, constraints=PAIRS)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    new = table.assign(plan=[None, "new"] * 30, note=["the class 2", None] * 30)
    with pytest.warns(TableWarning, match="plan: 30 values not seen at fit"):
        assert_array_equal(again.predict(new), model.predict(new))
    assert again["table"].columns_ == model["table"].columns_
    assert again["table"].views_ == model["table"].views_
    assert again["table"].encoder_ == model["table"].encoder_
    assert_array_equal(again.labels_, model.labels_)


class OwnEncoder:
    def encode(self, texts):
        return [[len(text), text.count("e"), text.count("0"), 1.0] for text in texts]


class OtherEncoder:
    def encode(self, texts):
        return [[1.0, len(text)] for text in texts]


def test_an_encoder_of_ones_own_is_given_again(tmp_path):
    table, path = made_table(), tmp_path / "model"
    model = table_pipeline(KernelCSC(3, **FEW), encoder=OwnEncoder())
    save(model.fit(table, constraints=PAIRS), path)
    with pytest.raises(ModelFileError, match=r"OwnEncoder.*load\(path, encoder=\.\.\."):
        load(path)
    with pytest.raises(ModelFileError, match="OtherEncoder makes other rows"):
        load(path, encoder=OtherEncoder())
    again = load(path, encoder=OwnEncoder())
    assert_array_equal(again.predict(table), model.predict(table))
    assert isinstance(model["table"].encoder, OwnEncoder)  # as it was before


def test_no_file_decides_which_models_are_loaded(tmp_path, monkeypatch):
    table, path = made_table(), tmp_path / "model"
    model = table_pipeline(KernelCSC(3, **FEW), encoder=OwnEncoder())
    model.fit(table, constraints=PAIRS)
    texts = model["table"]._texts
    monkeypatch.setattr(
        texts, "note", texts.note._replace(name="model2vec:a/b", is_own=False)
    )
    save(model, path)
    with pytest.raises(ModelFileError, match="--encoder model2vec:a/b"):
        load(path)


def test_models_without_texts_take_no_encoder(tmp_path):
    save(KernelCSC(3, **FEW).fit(X, constraints=PAIRS), tmp_path / "model")
    with pytest.raises(ModelFileError, match="the model takes no tables"):
        load(tmp_path / "model", encoder="tfidf")


def test_a_model_that_cannot_predict_comes_back(tmp_path):
    model = KernelCSC(3, kernels=[Precomputed(X @ X.T)], **FEW)
    save(model.fit(X, constraints=PAIRS), tmp_path / "model")
    again = load(tmp_path / "model")
    assert_array_equal(again.labels_, model.labels_)
    with pytest.raises(ValueError, match="predict needs the kernel values"):
        again.predict(X)


def test_a_model_of_many_named_columns_comes_back(tmp_path):
    names = [f"a column with a long name {i}" for i in range(500)]
    table = pd.DataFrame(np.tile(X, 167)[:, :500], columns=names)
    model = MahalanobisCSC(3, n_candidates=2, random_state=0)
    save(model.fit(table, constraints=PAIRS), tmp_path / "model")
    assert load(tmp_path / "model").feature_names_in_.tolist() == names


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


@pytest.mark.slow
def test_models_of_tables_of_pyarrow_are_read_without_it(tmp_path):
    pytest.importorskip("pyarrow")
    table = made_table()
    tables = [
        table.astype({"plan": "string[pyarrow]", "note": "string[pyarrow]"}),
        table.astype({"plan": "str", "note": "str"}),
        table.astype({"plan": "string[pyarrow]"}).astype({"plan": "category"}),
        table.convert_dtypes(dtype_backend="pyarrow"),
    ]
    # Many contradictions, so that there is a table of pairs with texts in it.
    ends = np.random.default_rng(0).integers(0, 60, (300, 2))
    ends = ends[ends[:, 0] < ends[:, 1]]
    pairs = Constraints(ends[::2], ends[1::2])
    expected = []
    table.to_csv(tmp_path / "new.csv", index=False)
    for i, fitted in enumerate(tables):
        model = table_pipeline(KernelCSC(3, noise=0.3, **FEW))
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

    @pytest.mark.parametrize(
        "header",
        [b"[]", b"3", b"null", b"{}", b"[" * 9000, b'{"bytes": ' + b"9" * 5000 + b"}"]
        + [b"\xff", b"", b"x" * 2_000_000],
    )
    def test_headers_that_are_none(self, written, tmp_path, header):
        first, _, content = written[1].split(b"\n", 2)
        path = tmp_path / "odd"
        path.write_bytes(b"\n".join([first, header, content]))
        with pytest.raises(ModelFileError, match="its header cannot be read"):
            load(path)

    @pytest.mark.parametrize("name", ["bytes", "sha256", "linkwise", "scikit-learn"])
    @pytest.mark.parametrize("value", [None, "3", 3.0, True, [], {"a": 1}, 10**400])
    def test_headers_with_values_of_other_types(self, written, tmp_path, name, value):
        first, header, content = written[1].split(b"\n", 2)
        header = json.dumps(json.loads(header) | {name: value}).encode()
        path = tmp_path / "odd"
        path.write_bytes(b"\n".join([first, header, content]))
        with pytest.raises(ModelFileError, match="damaged|was written with"):
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
        with pytest.raises(ModelFileError, match="is damaged|holds what no model"):
            load(path)


class TestRules:
    """Models that say where rows belong, of which a part is not as it should be."""

    @pytest.fixture
    def placed(self, written):
        assert written[0]._rule is not None
        return written[0]

    @pytest.mark.parametrize(
        "field, at, value, match",
        [
            ("left", 0, 2_000_000_000, "leads nowhere"),
            ("right", 0, 0, "leads nowhere"),  # for ever
            ("feature", 0, 99, "looks beyond"),
            ("roots", 1, 10**6, "looks beyond"),
            ("roots", 1, 0, "do not follow"),
            ("classes", 0, 7, "not there"),
            ("classes", 0, 1, "unknown"),
        ],
    )
    def test_trees_that_lead_elsewhere(self, placed, tmp_path, field, at, value, match):
        (trees,) = placed._rule.placing.learners
        values = getattr(trees, field).copy()
        values[at] = value
        trees = replace(trees, **{field: values})
        self.refuse(placed, tmp_path, match, placing={"learners": (trees,)})

    def test_leaves_without_votes(self, placed, tmp_path):
        (trees,) = placed._rule.placing.learners
        trees = replace(trees, votes=trees.votes[:1])
        self.refuse(placed, tmp_path, "looks beyond", placing={"learners": (trees,)})

    @pytest.mark.parametrize(
        "change, match",
        [
            ({"centres": np.zeros((3, 99))}, "centres"),
            ({"coefficients": np.zeros((2, 3))}, "coefficients"),
            ({"offset": np.zeros(2)}, "coefficients"),
            ({"width": 0.0}, "no width"),
            ({"width": "wide"}, "no width"),
            ({"is_linear": None}, "of no kind"),
            ({"classes": np.array([0, 1, 7])}, "not there"),
            ({"classes": np.array([0, 1, 1])}, "unknown"),
            ({"classes": np.array([0.0, 1.0, 2.0])}, "whole numbers"),
            ({"classes": np.array([1, 0, 2])}, "different clusters"),
        ],
    )
    def test_regressions_of_another_size(self, placed, tmp_path, change, match):
        (trees,) = placed._rule.placing.learners
        n_features = len(placed._rule.placing.scaling.mean)
        own = np.arange(12) % 3
        columns = np.random.default_rng(0).normal(size=(12, n_features))
        ridge, _ = learn_ridge(columns, own, np.random.default_rng(0))
        model = copy.copy(placed)
        rule = replace(placed._rule.placing, learners=(trees, ridge))
        model._rule = replace(placed._rule, placing=rule)
        save(model, tmp_path / "model")
        rows = np.zeros((2, n_features))
        assert_array_equal(load(tmp_path / "model").predict(rows), model.predict(rows))
        both = (trees, replace(ridge, **change))
        self.refuse(placed, tmp_path, match, placing={"learners": both})

    def test_tables_of_another_size(self, placed, tmp_path):
        tables = placed._rule.placing.tables[:, :2]
        self.refuse(placed, tmp_path, "tables", placing={"tables": tables})

    def test_a_cluster_that_is_there_twice(self, placed, tmp_path):
        order = np.array([0, 0, 1])
        self.refuse(placed, tmp_path, "a cluster is missing", order=order)

    def test_a_member_less(self, placed, tmp_path):
        members = placed._rule.members[:-1]
        self.refuse(placed, tmp_path, "weights of members", members=members)

    def refuse(self, placed, tmp_path, match, placing=None, **parts):
        """Write a model with another rule, which must be refused."""
        if placing is not None:
            parts["placing"] = replace(placed._rule.placing, **placing)
        model = copy.copy(placed)
        model._rule = replace(placed._rule, **parts)
        save(model, tmp_path / "model")
        with pytest.raises(ModelFileError, match=match):
            load(tmp_path / "model")


class TestSaving:
    @pytest.mark.parametrize("number", [1, 2])
    def test_a_file_of_an_earlier_format_says_what_to_do(self, tmp_path, number):
        path = tmp_path / "model"
        path.write_bytes(f"linkwise model, format {number}\n{{}}\n".encode())
        with pytest.raises(ModelFileError, match="earlier version .* fit the model"):
            load(path)

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


def _fuzz():
    path = Path(__file__).parents[1] / "benchmarks" / "fuzz_models.py"
    spec = importlib.util.spec_from_file_location("fuzz_models", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


FUZZ = _fuzz()
ONE_NUMBER = {"__loader__": "JsonNode", "__module__": "builtins", "__class__": "str"}


@pytest.fixture(scope="module")
def good():
    """The files of models with trees, sparse matrices and tables inside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = ["forest", "diffusion", "sparse", "table", "meaning", "mahalanobis"]
        return FUZZ.models(names)


@pytest.fixture(scope="module")
def worker():
    """A process that loads and predicts, and may end."""
    with FUZZ.Worker() as worker:
        yield worker


class TestCrafted:
    """Files whose checksum is right, made to end the process that uses them."""

    @pytest.fixture
    def refuse(self, tmp_path):
        def refuse(data, match):
            path = tmp_path / "crafted"
            path.write_bytes(data)
            with pytest.raises(ModelFileError, match=match) as caught:
                load(path)
            assert str(path) in str(caught.value)

        return refuse

    def with_array(self, data, holds, change):
        """Return a file in which the first array that holds some bytes is changed."""
        entries = FUZZ.unpacked(data)
        name = next(n for n in entries if n.endswith(".npy") and holds in entries[n])
        array = FUZZ.as_array(entries[name])
        entries[name] = FUZZ.as_bytes(change(array))
        return FUZZ.packed(data, entries)

    def with_sparse(self, data, **parts):
        """Return a file in which the last sparse matrix has other parts."""
        entries = FUZZ.unpacked(data)
        name = [n for n in entries if n.endswith(".npz")][-1]
        with np.load(io.BytesIO(entries[name])) as matrix:
            found = {k: v if k not in parts else parts[k](v) for k, v in matrix.items()}
        file = io.BytesIO()
        np.savez_compressed(file, **found)
        entries[name] = file.getvalue()
        return FUZZ.packed(data, entries)

    def with_schema(self, data, change):
        """Return a file in which some nodes of the schema are changed."""
        entries = FUZZ.unpacked(data)
        schema = json.loads(entries["schema.json"])
        for node in FUZZ.nodes_of(schema, []):
            change(node)
        entries["schema.json"] = json.dumps(schema).encode()
        return FUZZ.packed(data, entries)

    def with_value(self, data, name, value):
        """Return a file in which all attributes of a name have another value."""

        def change(node):
            content = node.get("content")
            if isinstance(content, dict) and name in content:
                number = {"__id__": 7, "content": json.dumps(value), **ONE_NUMBER}
                content[name] = number

        return self.with_schema(data, change)

    @pytest.mark.parametrize(
        "field, value, match",
        [
            ("left_child", 2_000_000_000, "node 0 of a tree leads to node 2000000000"),
            ("right_child", -5, "leads to node -5"),
            ("right_child", 0, "leads to node 0"),  # for ever
            ("feature", 2_000_000, "looks at column 2000000 of 3"),
            ("feature", -1, "looks at column -1 of 3"),
        ],
    )
    def test_trees_that_lead_elsewhere(self, good, refuse, field, value, match):
        def change(nodes):
            nodes[field][0] = value
            return nodes

        refuse(self.with_array(good["forest"][0], b"left_child", change), match)

    @pytest.mark.parametrize("value", [2_000_000_000_000, -7])
    def test_the_tree_of_neighbours_is_built_again(self, good, worker, tmp_path, value):
        data, labels = good["diffusion"]

        def change(nodes):
            nodes["idx_start"][:], nodes["idx_end"][:] = value, value + 3
            return nodes

        path = tmp_path / "crafted"
        path.write_bytes(self.with_array(data, b"idx_start", change))
        found = worker.run(path, "diffusion")
        assert found.get("labels") == labels.tolist(), found

    @pytest.mark.parametrize(
        "parts",
        [
            {"indices": lambda v: np.full_like(v, 2_000_000_000)},
            {"indices": lambda v: v - 3},
            {"indptr": lambda v: v[::-1].copy()},
            {"indptr": lambda v: np.r_[0, np.full(len(v) - 2, 10**6), 0]},
            {"shape": lambda v: np.array([v[0], 2**40])},
            {"format": lambda v: np.array(b"csc")},
        ],
    )
    def test_sparse_matrices_that_lead_elsewhere(self, good, refuse, parts):
        refuse(self.with_sparse(good["sparse"][0], **parts), "is damaged")

    @pytest.mark.parametrize(
        "model, name, value, match",
        [
            ("forest", "n_classes_", 10**9, "another forest"),
            ("forest", "n_outputs_", 10**6, "another forest"),
            ("forest", "n_jobs", 10**6, "other settings"),
            ("mahalanobis", "n_clusters", 10**9, "3 clusters, not 1000000000"),
            ("mahalanobis", "n_features_in_", 10**12, "no columns"),
            ("diffusion", "n_neighbors", 10**9, "neighbours"),
            ("table", "_n_features_outs", [1], "categories"),
            ("table", "n_jobs", 500, "other settings"),
            ("table", "token_pattern", "(a+)+$", "words"),
            ("table", "memory", "here", "no model"),
            ("table", "probe", 3, "not known again"),
            ("meaning", "probe", None, "not known again"),
            ("meaning", "filling", 5, "rows of gaps"),
        ],
    )
    def test_numbers_that_do_not_fit(self, good, refuse, model, name, value, match):
        refuse(self.with_value(good[model][0], name, value), match)

    def test_words_without_a_column(self, good, refuse):
        def change(node):
            content = node.get("content")
            if isinstance(content, dict) and "vocabulary_" in content:
                words = content["vocabulary_"]["content"].values()
                # Small numbers are one object, here and as other settings.
                next(iter(words)).update({"__id__": 7, "content": "2000000000"})

        data = self.with_schema(good["table"][0], change)
        refuse(data, "a word has no column")

    def test_a_kernel_that_multiplies_for_ever(self, refuse, tmp_path):
        model = ConstrainedKernelKMeans(3, kernel=Polynomial(0.1, 3, 1.0))
        save(model.fit(X, constraints=PAIRS), tmp_path / "model")
        data = (tmp_path / "model").read_bytes()
        refuse(self.with_value(data, "degree", 10**9), "the degree 1000000000")

    def test_random_numbers_from_beyond_their_state(self, refuse, tmp_path):
        model = SingleKernelCSC(3, random_state=np.random.RandomState(0))
        save(model.fit(X, constraints=PAIRS), tmp_path / "model")
        data = (tmp_path / "model").read_bytes()
        refuse(self.with_value(data, "pos", 10**6), "random_state")

    def test_labels_of_no_cluster(self, good, refuse):
        data = good["mahalanobis"][0]
        refuse(self.with_array(data, b"'<i8'", lambda v: v + 7), "a label is none of 3")

    def test_types_that_only_other_models_have(self, good, refuse):
        def change(node):
            if node["__class__"] == "Standardized":
                node["__module__"], node["__class__"] = "sklearn.svm._classes", "SVC"

        data = self.with_schema(good["mahalanobis"][0], change)
        refuse(data, "holds what no model of linkwise holds.*SVC")


class TestBombs:
    """Small files that would take much memory, or time without end."""

    @pytest.mark.parametrize("kind", range(5))
    def test_they_are_refused_before_they_are_read(self, good, worker, tmp_path, kind):
        class Chosen:
            """Draws the kind, and the first of everything else."""

            draws = iter([0, kind])

            def integers(self, n):
                return next(self.draws, 0)

        path = tmp_path / "bomb"
        path.write_bytes(FUZZ.bomb(good["sparse"][0], Chosen()))
        assert path.stat().st_size < 3_000_000
        found = worker.run(path, "sparse")
        assert found["end"] == "refused", found
        assert found["megabytes"] < 100

    def test_the_limit_leaves_room_for_sparse_rows(self, tmp_path):
        # Rows of ones are compressed a hundred times.
        rows = csr_array(np.ones((2000, 60)))
        rows[:, 0] = 1.0 + np.arange(2000) % 2
        pairs = Constraints.sample(np.arange(2000) % 2, 20, random_state=0)
        model = KernelCSC(2, kernels=[RBF(1.0)], n_candidates=2, random_state=0)
        save(model.fit(csr_array(rows), constraints=pairs), tmp_path / "model")
        assert_array_equal(load(tmp_path / "model").labels_, model.labels_)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0])
def test_mutated_files_give_labels_or_are_refused(seed, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_failed = FUZZ.run(20, seed, ["default", "sparse", "mahalanobis"])
    assert n_failed == 0, capsys.readouterr().out
