"""Columns of texts are views: rows of length 1, by meaning or by words."""

import logging
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.base import clone

from linkwise import KernelCSC, MahalanobisCSC, table_pipeline
from linkwise.tables import TablePreparation, _encoders
from linkwise.tables._encoders import Bundled, EncoderName, loaded, named
from linkwise.tables._text_rows import TextEncoder, Watch

TEXTS = [
    "the parcel is late again",
    "where is my parcel",
    "the invoice is wrong",
    "a wrong amount on the invoice",
    "my parcel has not arrived",
    "please send the invoice once more",
]
TABLE = pd.DataFrame({"age": [20, 31, 25, 47, 52, 38], "note": TEXTS})
PAIRS = ([(0, 1), (2, 3)], [(0, 2), (1, 3)])


class Letters:
    """An encoder of a person's own: how often each letter occurs."""

    def encode(self, texts):
        return [[text.count(letter) for letter in "abcdefghij"] for text in texts]


def lengths(rows):
    rows = rows.toarray() if issparse(rows) else rows
    return np.linalg.norm(rows, axis=1)


class TestViews:
    @pytest.mark.parametrize("encoder", ["wordllama", "tfidf", Letters()])
    def test_texts_are_one_view_and_other_columns_another(self, encoder):
        preparation = TablePreparation(encoder=encoder)
        text, plain = preparation.fit_transform(TABLE)
        assert_allclose(lengths(text), 1.0, rtol=1e-6)
        assert_allclose(plain, TablePreparation().fit_transform(TABLE[["age"]]))
        assert [view.columns for view in preparation.views_] == [("note",), ("age",)]
        assert [view.width for view in preparation.views_] == [text.shape[1], 1]
        for before, after in zip(
            (text, plain), preparation.transform(TABLE), strict=True
        ):
            assert_allclose(lengths(before - after), 0.0, atol=1e-7)

    def test_one_view_is_a_matrix(self):
        alone = TablePreparation(encoder="wordllama").fit_transform(TABLE[["note"]])
        assert alone.shape == (6, 256) and alone.dtype == np.float32
        both, _ = TablePreparation(encoder="wordllama").fit_transform(TABLE)
        assert_array_equal(alone, both)

    def test_each_column_of_texts_is_a_view(self):
        table = TABLE.assign(title=TEXTS[::-1])
        preparation = TablePreparation(encoder="tfidf").fit(table)
        assert [view.columns[0] for view in preparation.views_] == [
            "note",
            "title",
            "age",
        ]
        assert len(preparation.transform(table)) == 3

    def test_a_table_without_texts_needs_no_encoder(self):
        preparation = TablePreparation(encoder="no-such-package:model")
        assert preparation.fit_transform(TABLE[["age"]]).shape == (6, 1)
        assert preparation.encoder_ is None
        with pytest.raises(ValueError, match="the table has no texts to encode"):
            preparation.use_encoder("tfidf")

    def test_frames_are_given_where_they_are_asked_for(self):
        preparation = TablePreparation(encoder="wordllama").set_output(
            transform="pandas"
        )
        text, plain = clone(preparation).fit_transform(TABLE)
        assert list(text.columns[:2]) == ["note_0", "note_1"]
        assert list(plain.columns) == ["age"]
        with config_context(transform_output="pandas"):
            one = TablePreparation().fit_transform(TABLE[["age"]])
        assert list(one.columns) == ["age"]
        with pytest.raises(ValueError, match="transform='polars': allowed are"):
            preparation.set_output(transform="polars")

    def test_lines_for_people(self):
        preparation = TablePreparation(encoder="wordllama").fit(TABLE)
        text, plain = map(str, preparation.views_)
        assert text == "note: 256 numbers by wordllama"
        assert plain == "age: 1 number"


class TestTexts:
    @settings(deadline=None, max_examples=20)
    @given(
        st.lists(st.none() | st.text(max_size=30), min_size=3, max_size=8),
        st.sampled_from(["wordllama", "tfidf"]),
    )
    def test_any_texts_give_rows_of_length_one_or_zero(self, texts, encoder):
        table = pd.DataFrame({"t": [*texts, "two words"]})
        preparation = TablePreparation({"t": "text"}, encoder=encoder)
        rows = preparation.fit_transform(table)
        is_unit = np.isclose(lengths(rows), 1.0, atol=1e-5)
        if encoder == "wordllama":  # gaps too
            assert is_unit.all()
        assert (is_unit | (lengths(rows) == 0.0)).all()
        again = preparation.transform(table.iloc[::-1])
        assert_allclose(lengths(again - rows[::-1]), 0.0, atol=1e-5)

    def test_a_gap_points_where_all_texts_point_together(self):
        table = pd.DataFrame({"t": [*TEXTS, None, "   "]})
        rows = TablePreparation(encoder="wordllama").fit_transform(table)
        middle = rows[:6].mean(axis=0)
        assert_allclose(rows[6], middle / np.linalg.norm(middle), atol=1e-6)
        assert_array_equal(rows[6], rows[7])

    def test_near_meanings_are_near_rows(self):
        rows = TablePreparation(encoder="wordllama").fit_transform(
            pd.DataFrame({"t": ["a dog barks", "the puppy howls", "interest rates"]})
        )
        assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1

    def test_scripts_without_spaces_are_compared_by_letters(self):
        texts = ["注文した商品が届かない", "商品がまだ届かない", "請求書が間違っている"]
        preparation = TablePreparation(encoder="tfidf")
        rows = preparation.fit_transform(
            pd.DataFrame({"t": [f"{t} 。" for t in texts]})
        )
        near = (rows @ rows.T).toarray()
        assert near[0, 1] > near[0, 2] + 0.1

    def test_texts_that_share_no_word_are_taken(self):
        table = pd.DataFrame({"t": ["a b c", "d e f", "! ?", "g h"]})
        assert TablePreparation(encoder="tfidf").fit_transform(table).shape[0] == 4

    def test_a_column_of_texts_without_texts_is_refused(self):
        table = pd.DataFrame({"t": [None, ""], "x": [1, 2]})
        with pytest.raises(ValueError, match=r"kinds\['t'\]='text', but no value"):
            TablePreparation({"t": "text"}).fit(table)


class TestBundled:
    def test_rows_are_those_of_its_own_package(self):
        import wordllama

        folder = _encoders.Path(wordllama.__file__).parent
        model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
        texts = [*TEXTS, "", "日本語のテキスト", "x " * 1000]
        assert_allclose(Bundled().encode(texts), model.embed(texts), atol=1e-6)

    def test_batches_and_long_texts_change_nothing(self, monkeypatch):
        encoder = Bundled()
        long = "a parcel and an invoice. " * 2_000  # cut into pieces
        texts = [*TEXTS, long, "end"]
        once = encoder.encode(texts)
        assert once[6] @ encoder.encode(["a parcel and an invoice. "])[0] > 0.0
        monkeypatch.setattr(_encoders, "_BATCH", 50)
        assert_allclose(encoder.encode(texts), once, atol=1e-6)
        assert encoder.encode([]).shape == (0, 256)

    def test_it_leaves_the_messages_of_others_alone(self):
        before = list(logging.getLogger().handlers), logging.getLogger().level
        Bundled()
        assert (list(logging.getLogger().handlers), logging.getLogger().level) == before


def only(monkeypatch, *packages):
    """Let no other package of models be installed."""
    find = _encoders.importlib.util.find_spec

    def find_spec(name):
        is_there = name in packages or name not in _encoders.PACKAGES.values()
        return find(name) if is_there else None

    monkeypatch.setattr(_encoders.importlib.util, "find_spec", find_spec)


class TestNames:
    def test_auto_is_the_bundled_one_if_it_is_there(self, monkeypatch):
        assert named("auto") == EncoderName("wordllama")
        monkeypatch.setattr(_encoders, "is_bundled_there", lambda: False)
        assert named("auto") == EncoderName("tfidf")
        with pytest.raises(ValueError, match=r"pip install 'linkwise\[text\]'"):
            named("wordllama")

    def test_a_missing_package_is_named(self, monkeypatch):
        only(monkeypatch)
        with pytest.raises(ValueError, match="pip install fastembed"):
            named("fastembed:BAAI/bge-small-en-v1.5")
        with pytest.raises(ValueError, match="none that linkwise brings"):
            named("all-MiniLM-L6-v2")
        with pytest.raises(ValueError, match="allowed are a name"):
            TablePreparation(encoder=3).fit(TABLE)

    @pytest.mark.parametrize("package", ["sentence_transformers", "fastembed"])
    def test_models_of_other_packages_are_loaded_by_name(self, package, monkeypatch):
        asked = []

        class Model(Letters):
            def __init__(self, name):
                asked.append(name)

            def embed(self, texts):
                yield from (np.array(row, dtype=float) for row in self.encode(texts))

        module = ModuleType(package)
        module.SentenceTransformer = module.TextEmbedding = Model
        module.__spec__ = _encoders.importlib.util.spec_from_loader(package, None)
        monkeypatch.setitem(sys.modules, package, module)
        only(monkeypatch, package)
        monkeypatch.setattr(_encoders, "version", lambda name: "1.2")
        loaded.cache_clear()
        name = f"{package.replace('_', '-')}:some/model"
        preparation = TablePreparation(encoder=name)
        rows, _ = preparation.fit_transform(TABLE)
        own, _ = TablePreparation(encoder=Letters()).fit_transform(TABLE)
        assert_allclose(rows, own, atol=1e-7)
        assert asked == ["some/model"]
        assert preparation.encoder_[:2] == (name, "1.2")
        assert named("some/model").package == package.replace("_", "-")
        loaded.cache_clear()

    def test_a_model_of_model2vec_in_a_folder_is_loaded(self, tmp_path):
        model2vec = pytest.importorskip("model2vec")
        tokenizers = pytest.importorskip("tokenizers")
        words = sorted({word for text in TEXTS for word in text.split()})
        vocabulary = {"[UNK]": 0} | {word: at + 1 for at, word in enumerate(words)}
        tokenizer = tokenizers.Tokenizer(
            tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]")
        )
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        vectors = np.random.default_rng(0).normal(size=(len(vocabulary), 60))
        model = model2vec.StaticModel(vectors, tokenizer)
        model.save_pretrained(tmp_path / "tiny")
        preparation = TablePreparation(encoder=str(tmp_path / "tiny"))
        rows, _ = preparation.fit_transform(TABLE)
        expected = model.encode(TEXTS)
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        assert_allclose(rows, expected, atol=1e-5)
        assert preparation.encoder_.name == f"model2vec:{tmp_path / 'tiny'}"

    def test_a_model_that_cannot_be_loaded_says_why(self, monkeypatch):
        module = ModuleType("model2vec")
        module.__spec__ = _encoders.importlib.util.spec_from_loader("model2vec", None)
        monkeypatch.setitem(sys.modules, "model2vec", module)
        monkeypatch.setattr(_encoders, "version", lambda name: "1.2")
        with pytest.raises(ValueError, match="'model2vec:nothing' cannot be loaded"):
            TablePreparation(encoder="model2vec:nothing").fit(TABLE)


class TestOwnEncoders:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([[1.0, 2.0]], r"gave list for 9 texts"),
            (np.zeros((9, 0)), r"gave \(9, 0\) for 9 texts"),
            (np.full((9, 2), np.nan), "gave no finite numbers for 'The parcel"),
            ([["a"]] * 9, "it must give a row of numbers for each"),
        ],
    )
    def test_rows_that_cannot_be_used_are_refused(self, rows, message):
        class Wrong:
            def encode(self, texts):
                return rows

        with pytest.raises(ValueError, match=message):
            TablePreparation(encoder=Wrong()).fit(TABLE)

    def test_another_encoder_is_noticed(self):
        class Others(Letters):
            def encode(self, texts):
                return [row[::-1] for row in super().encode(texts)]

        preparation = TablePreparation(encoder=Letters()).fit(TABLE)
        assert preparation.use_encoder(Letters()) is preparation
        for other in (Others(), "wordllama", "tfidf"):
            with pytest.raises(ValueError, match="makes other rows of texts"):
                preparation.use_encoder(other)
        preparation.encoder = Others()
        with pytest.raises(ValueError, match="makes other rows of texts than Letters"):
            preparation.transform(TABLE)


class TestCache:
    def rows(self, folder, texts=TEXTS, progress=None):
        encoder = TextEncoder("wordllama")
        return encoder.rows(texts, Watch(folder, progress))[0]

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch):
        monkeypatch.setattr("linkwise.tables._text_rows._MANY", 2)

    def test_rows_come_from_the_cache_bit_for_bit(self, tmp_path, monkeypatch):
        folder = tmp_path / "cache"
        first = self.rows(folder)
        assert_array_equal(first, self.rows(None))
        assert len(list(folder.glob("*.npy"))) == 1
        assert (folder / ".gitignore").read_text() == "*\n"
        monkeypatch.setattr(Bundled, "encode", lambda self, texts: 1 / 0)
        assert_array_equal(self.rows(folder), first)
        with pytest.raises(ZeroDivisionError):
            self.rows(folder, TEXTS[::-1])

    @pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00garbage"])
    def test_a_damaged_file_is_made_again(self, content, tmp_path):
        first = self.rows(tmp_path)
        (file,) = tmp_path.glob("*.npy")
        file.write_bytes(content)
        assert_array_equal(self.rows(tmp_path), first)
        assert np.load(file).shape == (9, 256)

    @pytest.mark.parametrize(
        "wrong",
        [np.ones((9, 4), np.float32), np.zeros((2, 4), np.float32), np.eye(9)],
    )
    def test_other_arrays_are_not_believed(self, wrong, tmp_path):
        first = self.rows(tmp_path)
        (file,) = tmp_path.glob("*.npy")
        np.save(file, wrong)
        assert_array_equal(self.rows(tmp_path), first)

    def test_a_folder_that_cannot_be_written_is_no_matter(self, tmp_path):
        (tmp_path / "file").touch()
        assert self.rows(tmp_path / "file").shape == (6, 256)

    def test_old_files_go(self, tmp_path):
        for at in range(20):
            self.rows(tmp_path, [*TEXTS, str(at)])
        assert len(list(tmp_path.glob("*.npy"))) == 16

    def test_few_texts_of_the_bundled_encoder_are_not_kept(self, tmp_path, monkeypatch):
        monkeypatch.setattr("linkwise.tables._text_rows._MANY", 10_000)
        self.rows(tmp_path / "cache")
        assert not (tmp_path / "cache").exists()

    def test_progress_is_told(self, monkeypatch):
        monkeypatch.setattr("linkwise.tables._text_rows._BATCH", 4)
        told = []
        self.rows(None, progress=lambda done, total: told.append((done, total)))
        assert told == [(4, 9), (8, 9), (9, 9)]


class TestPipelines:
    def test_pairs_go_to_fit_and_labels_come_back(self):
        model = table_pipeline(KernelCSC(2, n_candidates=20, random_state=0))
        labels = model.fit(TABLE, constraints=PAIRS).labels_
        assert labels[0] == labels[1] != labels[2] == labels[3]
        assert model.doubt_.shape == (6,)
        assert_array_equal(model.predict(TABLE), labels)
        again = clone(model).fit_predict(TABLE, constraints=PAIRS)
        assert_array_equal(again, labels)
        prefixed = clone(model).fit(TABLE, cluster__constraints=PAIRS)
        assert_array_equal(prefixed.labels_, labels)

    def test_estimators_of_one_matrix_take_texts_without_views(self):
        model = table_pipeline(
            MahalanobisCSC(2, n_candidates=20, random_state=0), views=False
        )
        labels = model.fit(TABLE, constraints=PAIRS).labels_
        assert_array_equal(model.predict(TABLE), labels)
