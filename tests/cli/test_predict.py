import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from linkwise import load


@pytest.fixture
def fitted(files):
    files.ok(
        *("cluster", "named.csv", "-c", "named-pairs.csv", "--id-column", "name"),
        *("-k", 3, "-o", "out.csv", "--candidates", 20, "--model", "model.linkwise"),
        *("--kernels", "paper"),  # under which rows of the fit get their labels back
    )
    return files


def fails(linkwise, *arguments):
    before = linkwise.files()
    result = linkwise("predict", *arguments)
    assert result.exit_code == 3, result.output
    assert linkwise.files() == before and result.stdout == ""
    return result.stderr


def test_the_rows_of_the_fit_get_their_labels_back(fitted):
    command = ["predict", "model.linkwise", "named.csv", "--id-column", "name"]
    report = fitted.json(*command, "--out", "again.csv")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), pd.read_csv("out.csv"))
    assert report["rows"] == sum(report["cluster_sizes"]) == 60
    assert report["warnings"] == []


def test_columns_are_found_by_name_and_others_ignored_with_a_note(fitted, flowers):
    X, y, _ = flowers
    X[X.columns[::-1]].assign(text="a", y=y).to_csv("new.csv", index=False)
    result = fitted.ok("predict", "model.linkwise", "new.csv", "--out", "new-out.csv")
    assert "does not use: text, y" in result.stderr
    expected = pd.read_csv("out.csv")["cluster"]
    np.testing.assert_array_equal(pd.read_csv("new-out.csv")["cluster"], expected)


def test_an_array_fits_by_position_with_a_note(fitted, flowers):
    np.save("new.npy", flowers[0].to_numpy())
    result = fitted.ok("predict", "model.linkwise", "new.npy", "--out", "new-out.npy")
    assert "feature names" in result.stderr
    expected = pd.read_csv("out.csv")["cluster"]
    np.testing.assert_array_equal(np.load("new-out.npy"), expected)


def test_lacking_columns_are_named(fitted, flowers):
    flowers[0].drop(columns="petal width").to_csv("new.csv", index=False)
    message = fails(fitted, "model.linkwise", "new.csv", "--out", "new-out.csv")
    assert "lacks 1 column" in message and "petal width" in message
    np.save("new.npy", np.eye(3))
    message = fails(fitted, "model.linkwise", "new.npy", "--out", "new-out.csv")
    assert "3 columns" in message and "fitted on 4" in message


def test_a_model_without_names_counts_columns(files, flowers):
    X, _, _ = flowers
    np.save("data.npy", X.to_numpy())
    files.ok(
        *("cluster", "data.npy", "-c", "pairs.csv", "-k", 3, "-o", "out.csv"),
        *("--candidates", 10, "--model", "model.linkwise"),
    )
    message = fails(files, "model.linkwise", "named.csv", "--out", "new.csv")
    assert "5 columns" in message and "--drop-column" in message
    command = ["predict", "model.linkwise", "named.csv", "--out", "new.csv"]
    files.ok(*command, "--drop-column", "name")
    assert files.json(*command, "--id-column", "name")["features"] == 4
    frame = pd.read_csv("new.csv")
    np.testing.assert_array_equal(frame["cluster"], pd.read_csv("out.csv")["cluster"])


def test_files_that_are_no_models_are_refused(files):
    files.write("text.joblib", "hello")
    message = fails(files, "text.joblib", "flowers.csv", "--out", "out.csv")
    assert "text.joblib is not a model" in message
    joblib.dump(KMeans(), "other.joblib")
    message = fails(files, "other.joblib", "flowers.csv", "--out", "out.csv")
    assert "can run code: if you trust this one" in message
    assert "no such file" in fails(files, "none", "flowers.csv", "--out", "out.csv")


def test_new_data_are_checked_like_the_old(fitted, flowers):
    X, _, _ = flowers
    X.mask(X == X.iloc[4, 2]).to_csv("new.csv", index=False)
    message = fails(fitted, "model.linkwise", "new.csv", "--out", "new-out.csv")
    assert "missing value" in message and "column 'petal length'" in message
    result = fitted("predict", "model.linkwise", "named.csv", "--out", "model.linkwise")
    assert result.exit_code == 2


def test_a_column_of_the_model_cannot_be_dropped(fitted):
    column = load("model.linkwise").feature_names_in_[0]
    message = fails(
        fitted,
        *("model.linkwise", "named.csv", "--id-column", "name", "--out", "again.csv"),
        *("--drop-column", column),
    )
    assert f"--drop-column {column}" in message and "cannot predict" in message
