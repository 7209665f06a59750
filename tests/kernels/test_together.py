"""Several data sets beside each other, each counting alike."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler, normalize

import linkwise
from linkwise import Constraints, KernelCSC
from linkwise.kernels import KernelBank, Known, SeveralSets
from linkwise.kernels._together import Joint, Together


@pytest.fixture(scope="module")
def sets():
    """Return a table, embeddings and sparse rows."""
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    table = 100.0 * rng.normal(size=(90, 4)) + 7.0
    embeddings = normalize(rng.normal(size=(90, 60)) + 0.5 * np.eye(60)[y])
    words = csr_array(rng.poisson(0.2 + np.eye(30)[y], size=(90, 30)).astype(float))
    return SeveralSets([table, embeddings, words]), y


class TestJoint:
    def test_each_data_set_has_variance_one(self, sets):
        X, _ = sets
        joint = Joint.fit(X, None)
        rows = joint(X)
        ends = np.cumsum([4, 60, joint.views[2].transform(X[2]).values.shape[1]])
        for part in np.split(rows, ends[:-1], axis=1):
            assert part.var(axis=0).sum() == pytest.approx(1.0)

    def test_tables_alone_are_standardised_and_divided_by_their_width(self):
        rng = np.random.default_rng(1)
        X = [rng.normal(size=(50, d)) * 9.0 for d in (2, 7)]
        expected = [StandardScaler().fit_transform(x) / x.shape[1] ** 0.5 for x in X]
        assert Joint.fit(X, None)(X) == pytest.approx(np.hstack(expected))

    def test_weights_of_rows_are_multiplicities(self):
        rng = np.random.default_rng(2)
        X = [rng.normal(size=(20, d)) for d in (2, 3)]
        twice = [np.concatenate([x, x[:5]]) for x in X]
        weight = np.where(np.arange(20) < 5, 2.0, 1.0)
        assert Joint.fit(X, weight)(X) == pytest.approx(Joint.fit(twice, None)(X))

    def test_a_constant_data_set_adds_nothing(self):
        X = [np.ones((10, 2)), np.arange(10.0)[:, None]]
        rows = Joint.fit(X, None)(X)
        assert not rows[:, :2].any() and rows[:, 2].var() == pytest.approx(1.0)

    def test_new_rows_are_placed_as_training_rows_are(self, sets):
        X, _ = sets
        joint = Joint.fit(X, None)
        few = [own[3:5] for own in X]
        assert joint(few) == pytest.approx(joint(X)[3:5])


class TestBank:
    def test_plain_k_means_sees_all_data_sets(self, sets):
        X, y = sets
        groups = np.where(np.arange(90) < 30, y, -1)
        bank = KernelBank.build(X, "rich", known=Known(groups, 3))
        assert bank.names[bank.plain.kernel] == "Linear() on raw of all X"
        assert bank.plain.credit == 0.0
        assert bank.angular_sources == [1, 2]

    def test_angles_of_all_data_sets_have_their_credit(self, sets):
        X, _ = sets
        bank = KernelBank.build(SeveralSets(X[1:]), "rich")
        assert bank.names[bank.plain.kernel] == "Linear() on raw of all X"
        assert bank.plain.credit > 0.0

    def test_one_data_set_has_no_such_kernel(self, sets):
        X, _ = sets
        bank = KernelBank.build(X[0], "rich")
        assert not any("all X" in name for name in bank.names)


class TestModels:
    def test_labels_are_predicted_and_files_keep_them(self, sets, tmp_path):
        X, y = sets
        pairs = Constraints.sample(y, 40, random_state=0)
        model = KernelCSC(3, n_candidates=20, final_step=None, random_state=0)
        model.fit(list(X), constraints=pairs, sample_weight=np.ones(90))
        everything = KernelCSC(
            3,
            kernels=KernelBank.build(X, "rich"),
            n_candidates=20,
            final_step=None,
            random_state=0,
        )
        assert len(everything.fit(list(X), constraints=pairs).labels_) == 90
        linkwise.save(model, tmp_path / "model")
        again = linkwise.load(tmp_path / "model")
        assert_array_equal(again.predict(list(X)), model.predict(list(X)))

    @pytest.mark.parametrize("approximation", ["exact", "landmarks"])
    def test_a_kernel_of_all_data_sets_predicts(self, sets, approximation, tmp_path):
        X, y = sets
        pairs = Constraints.sample(y, 40, random_state=0)
        model = KernelCSC(
            3, n_candidates=1, approximation=approximation, random_state=0
        )
        # The first candidate is that of plain k-means.
        model.fit(list(X), constraints=pairs)
        used = np.array(model.kernel_names_)[model.kernel_weights_ > 0]
        assert used.tolist() == ["Linear() on raw of all X"]
        assert_array_equal(model.predict(list(X)), model.labels_)
        linkwise.save(model, tmp_path / "model")
        again = linkwise.load(tmp_path / "model")
        assert_array_equal(again.predict(list(X)), model.labels_)

    def test_a_file_that_lacks_a_data_set_is_refused(self, sets, tmp_path):
        X, y = sets
        pairs = Constraints.sample(y, 40, random_state=0)
        model = KernelCSC(3, n_candidates=1, final_step=None, random_state=0)
        model.fit(list(X), constraints=pairs)
        views = model._kernel._views.views
        (at,) = [v for v, view in enumerate(views) if isinstance(view, Together)]
        joint = replace(views[at]._joint, views=views[at]._joint.views[:2])
        views[at] = replace(views[at], _joint=joint)
        linkwise.save(model, tmp_path / "model")
        with pytest.raises(linkwise.ModelFileError, match="a data set is missing"):
            linkwise.load(tmp_path / "model")
