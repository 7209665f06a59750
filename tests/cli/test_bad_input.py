import gzip
import re

import numpy as np
import pandas as pd
import pytest

PAIRS = "i,j,kind\n0,1,ML\n1,2,CL\n"
DATA = "x,y\n1,2\n1,3\n8,9\n8,8\n"


@pytest.fixture
def fails(linkwise):
    """Run ``cluster`` on files; return the message after checking what must hold."""

    def run(*options, data=DATA, pairs=PAIRS, name="data.csv", k=2, code=3):
        if isinstance(data, str):
            data = data.encode()
        if isinstance(data, bytes):
            (linkwise.folder / name).write_bytes(data)
        if pairs is not None:
            linkwise.write("pairs.csv", pairs)
        linkwise.write("out.csv", "old")
        before = linkwise.files()
        result = linkwise(
            *("cluster", name, "--constraints", "pairs.csv", "--clusters", k),
            *("--out", "out.csv", "--candidates", 5, *options),
        )
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output and result.stdout == ""
        assert linkwise.files() == before
        assert (linkwise.folder / "out.csv").read_text() == "old"
        return result.stderr

    return run


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "data.csv is empty"),
        ("x,y\n", "no rows"),
        ("x,y\n1,2\n", "one row|too few"),
        ("x,y\n1,2\n3,inf\n", "line 3, column 'y': infinite value"),
        ("x,y\n1,2\n3,4,5\n6,7\n", "line 3: 3 fields, but the header names 2"),
        ("x,y\n1,2,3\n4,5,6\n", "line 2: 3 fields, but the header names 2"),
        ("x,y\n1,2\n3\n", "line 3: 1 fields, but the header names 2"),
        ('x,y\n1,2\n3,"4\n', "data.csv"),
        ("x;y\n1;2\n3;4;5\n", "';' between its fields.*--separator"),
        ("x,y\n,\n,\n", "no column to cluster by: x: empty, .*left out"),
        ("x,y\n1,a\n1,a\n", "no column to cluster by: x: constant, left out; y"),
        ("x,y\n1,2\n1,2\n", "all rows are equal"),
    ],
)
def test_damaged_data_is_described(fails, data, words):
    assert re.search(words, fails(data=data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("x,y\n1,2\n\n3,\n,4\n", r"line 4, column 'y': missing value \(2 missing"),
        ("x,y\n1,2\n3,4\n,\n", "line 4, column 'x': missing value"),
    ],
)
def test_gaps_are_refused_on_request(fails, data, words):
    assert re.search(words, fails("--strict", data=data))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--encoding", "utf-16"], "no text in the encoding utf-16.*--encoding"),
        (["--encoding", "klingon"], "--encoding klingon is not known"),
    ],
)
def test_wrong_encodings_are_described(fails, options, words):
    assert re.search(words, fails(*options))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--separator", "ab"], "--separator 'ab' must be one character"),
        (["--decimal", ";"], "--decimal ';' must be"),
        (["--decimal", ",", "--separator", ","], "is also the --separator"),
        (["--as", "x=colour"], "--as 'x=colour' must be NAME=KIND"),
        (["--as", "x"], "--as 'x' must be NAME=KIND"),
    ],
)
def test_options_of_tables_are_checked(fails, options, words):
    lines = [line.strip("│ ") for line in fails(*options, code=2).splitlines()]
    assert words in " ".join(lines)


def test_kinds_that_do_not_fit_are_described(fails):
    message = fails("--as", "z=date")
    assert "no column 'z' for --as" in message
    message = fails("--as", "x=date", "--drop-column", "x")
    assert "--as x: the column is left out" in message
    message = fails("--as", "c=number", data="x,c\n1,red\n2,blue\n3,red\n")
    assert "no value of the column can be read as that; the first is 'red'" in message


def test_text_columns_are_named_with_an_example(fails):
    data = "x,colour,my size\n1,red,2\n2,blue,two\n3,red,4\n"
    message = fails("--strict", data=data)
    assert "2 columns do not hold numbers" in message
    assert "colour: 'red' in line 2" in message
    assert "my size: 'two' in line 3" in message
    assert "--drop-column colour --drop-column 'my size'" in message


def test_a_line_number_counts_lines_not_records(fails):
    text = 'name,x\n"two\nlines",1\n\n"three\n\nlines",\nc,3\n'
    message = fails("--drop-column", "name", "--strict", data=text)
    assert "line 5, column 'x': missing value" in message


def test_missing_files_and_folders_are_described(fails, linkwise):
    assert "data.csv: there is no such file" in fails(data=None)
    (linkwise.folder / "data.csv").mkdir()
    assert "data.csv is a folder" in fails(data=None)
    message = fails("--constraints", "other.csv", name="rows.csv")
    assert "other.csv: there is no such file" in message


def test_unknown_endings_are_refused(fails):
    for name in ("data.xls", "data", "data.npz", "data.gz"):
        assert ".parquet or .npy" in fails(name=name)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("data.zip", "unpack it first"),
        ("data.csv.ZIP", "unpack it first"),
        ("data.xls", "save it as .xlsx or .csv"),
        ("data.ods", "save it as .xlsx or .csv"),
        ("data.txt", "rename it to .csv"),
        ("data.json", "pandas.read_json('data.json').to_csv('table.csv', index=False)"),
        ("data.jsonl", "pandas.read_json('data.jsonl', lines=True).to_csv("),
        ("data.feather", "pandas.read_feather('data.feather').to_csv("),
        ("data.sav", "pandas.read_spss('data.sav').to_csv("),
        ("data.pkl", "loading one can run code, so write the table as .csv"),
        ("data.gz", "name what is compressed, such as data.csv.gz"),
    ],
)
def test_formats_that_are_not_read_come_with_advice(fails, linkwise, name, advice):
    message = " ".join(fails(name=name).split())
    assert advice in message and "Data files end in .csv" in message
    linkwise.write("data.csv", DATA)
    (linkwise.folder / name).rename(linkwise.folder / f"pairs-{name}")
    message = " ".join(fails("--constraints", f"pairs-{name}").split())
    assert advice.replace("data.", "pairs-data.") in message
    assert "Pairs files end in .csv" in message


@pytest.mark.parametrize("kinds", ["same,different", "Yes,No", "1,0", "TRUE,FALSE"])
def test_lines_of_contradictions_are_found_whatever_kinds_are_called(fails, kinds):
    same, different = kinds.split(",")
    pairs = f"i,j,kind\n0,1,{same}\n1,2,{same}\n0,2,{different}\n"
    message = fails("--on-conflict", "raise", pairs=pairs, code=4)
    assert "line 4: cannot-link 0, 2 contradicts must-links 0 - 1 - 2" in message


def test_damaged_archives_are_described(fails):
    assert "cannot be read" in fails(data="no archive", name="data.csv.gz")
    whole = gzip.compress(DATA.encode() * 50)
    assert "cannot be read" in fails(data=whole[:-20], name="data.csv.gz")


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.arange(4.0), r"shape \(4,\)"),
        (np.zeros((2, 2, 2)), "two dimensions"),
        (np.array([[1, "a"]], dtype=object), "Python objects"),
        (np.array([["a", "b"]]), "not real numbers"),
        (np.array([[1j, 2]]), "not real numbers"),
        (np.array([[1, 2], [np.nan, 3]]), r"row 1 \(counted from 0\), column '0'"),
        (np.zeros((0, 3)), "no rows"),
        (np.zeros((3, 0)), "no column"),
    ],
)
def test_arrays_that_are_no_table_are_described(fails, linkwise, array, words):
    np.save(linkwise.folder / "data.npy", array)
    assert re.search(words, fails("--strict", data=None, name="data.npy"))


def test_files_that_are_not_what_their_ending_says_are_described(fails):
    assert "not an .npy file" in fails(name="data.npy")
    assert "not an .npy file" in fails(name="data.npy", data="")
    assert "not a Parquet file" in fails(name="data.parquet")


def test_bad_values_in_parquet_are_placed_by_row(fails, linkwise):
    frame = pd.DataFrame({"x": [1.0, 2.0, None], "y": [1, 2, 3]})
    frame.to_parquet(linkwise.folder / "data.parquet")
    message = fails("--strict", data=None, name="data.parquet")
    assert "row 2 (counted from 0), column 'x': missing value" in message
    frame = pd.DataFrame({"x": [1, 2], "day": pd.to_datetime(["2020-01-01"] * 2)})
    frame.to_parquet(linkwise.folder / "data.parquet")
    assert "day: '2020-01-01" in fails("--strict", data=None, name="data.parquet")


def test_id_columns_are_checked(fails, linkwise):
    ids = ["--id-column", "name"]
    assert re.search("no column 'name'.*it has x, y", fails(*ids))
    message = fails(*ids, data="name,x\na,1\nb,2\na,3\n")
    assert "line 4: the id 'a' was used before, in line 2" in message
    assert "line 3: the id" in fails(*ids, data="name,x\na,1\n,2\n")
    np.save(linkwise.folder / "data.npy", np.eye(4))
    assert "no column names" in fails(*ids, data=None, name="data.npy")


def test_unknown_columns_are_listed_with_the_known(fails):
    for option in ("--columns", "--drop-column"):
        assert re.search(f"'z' for {option}; it has x, y", fails(option, "z"))
    assert "no column is left" in fails("--drop-column", "x,y")


def test_more_clusters_than_rows_are_refused(fails):
    assert "4 rows, too few for --clusters 5" in fails(k=5)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ("", "pairs.csv is empty"),
        ("a,b\n0,1\n", "lacks the column.*i, j, kind.*it has a, b"),
        ("i,j,kind\n0,1,ML\n1,2,maybe\n", "line 3: kind is 'maybe'.*different, no"),
        ("i,j,kind\n0,1,same\n1,2,\n", "line 3: the kind is missing.*nobody knows"),
        ("i,j,kind\n0,1,1\n1,2,0\n0,2,-1\n", "line 3: kind is '0', but .*line 4"),
        ("i,j,kind\n0,1\n", "line 2: 2 fields"),
        ("i,j,kind\n0,1,ML\n\n0,,CL\n", "line 4: column j is missing"),
        ("i,j,kind\n0,-1,ML\n", "line 2.*negative"),
        ("i,j,kind\n0,0,CL\n", "line 2.*itself: correct it, or remove it"),
        ("i,j,kind,weight\n0,1,ML,heavy\n", "line 2: weight is 'heavy'"),
        ("i,j,kind\n0,1,ML\n0,9,CL\n", "line 3: there is no row 9.*0 to 3"),
        ("i,j,kind\n0,1,ML\n4,1,CL\n", "no row 4 .*counts from 1, subtract 1"),
        ("i,j,kind\n0,1,ML\n0,bob,CL\n", "line 3: 'bob' is not a row.*--id-column"),
        ("i,j,kind\n0,1.5,ML\n", "line 2: '1.5' is not a row number"),
    ],
)
def test_bad_pairs_are_placed_by_line(fails, pairs, words):
    assert re.search(words, fails(pairs=pairs))


def test_a_row_far_outside_brings_no_hint_about_counting(fails):
    assert "subtract" not in fails(pairs="i,j,kind\n0,9,CL\n")


def test_pairs_must_be_text(fails, linkwise):
    linkwise.write("data.csv", DATA)
    (linkwise.folder / "pairs.csv").write_bytes(b"i,j,kind\n0,\xff,ML\n")
    assert "pairs.csv, line 2: '\xff' is not a row number" in fails(pairs=None)
    linkwise.write("pairs.parquet", "")
    message = fails("--constraints", "pairs.parquet")
    assert "Pairs files end in .csv, .tsv" in message and ".xlsx" in message


def test_unknown_ids_are_placed_and_the_nearest_is_proposed(fails):
    message = fails(
        *("--id-column", "name"),
        data="name,x\nann,1\nbob,2\neve,3\n",
        pairs="i,j,kind\nann,bob,ML\nann,evee,CL\n",
    )
    assert "pairs.csv, line 3: id 'evee'" in message
    assert "Did you mean 'eve'?" in message
    assert "on_unknown" not in message and "Correct it" in message


def test_contradictions_are_named_by_id_with_their_path(fails):
    message = fails(
        *("--id-column", "name", "--on-conflict", "raise"),
        data="name,x\nann,1\nbob,2\neve,3\nzoe,9\n",
        pairs="i,j,kind\nann,bob,ML\nbob,eve,ML\neve,ann,CL\n",
        code=4,
    )
    assert re.search("line 4: cannot-link ann, eve .* ann - bob - eve", message)


def test_infeasible_pairs_are_refused_by_the_hard_step(fails):
    triangle = "i,j,kind\n0,1,CL\n1,2,CL\n0,2,CL\n"
    message = fails("--final-step", "hard", pairs=triangle, code=4)
    assert "2 clusters cannot satisfy every pair" in message
    assert "3 clusters are needed" in message


def test_too_little_memory_is_bad_input(fails):
    assert "--max-memory" in fails("--max-memory", "10B")


@pytest.mark.parametrize(
    "options",
    [
        ["--approximation", "exact"],
        ["--approximation", "landmarks"],
        ["--approximation", "working_set"],
        ["--approximation", "nystroem"],
        ["--method", "single"],
    ],
)
def test_memory_limits_are_told_in_options(linkwise, options):
    rows = np.random.default_rng(0).normal(size=(300, 4))
    np.save(linkwise.folder / "data.npy", rows)
    linkwise.write("pairs.csv", PAIRS)
    result = linkwise(
        *("cluster", "data.npy", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"),
        *("--max-memory", "2kB", *options),
    )
    assert result.exit_code == 3, result.output
    assert "too large for the memory allowed" in result.stderr
    assert "Raise --max-memory" in result.stderr
    assert not re.search("max_memory|n_landmarks|working_rows|KernelCSC", result.stderr)


def test_errors_of_the_estimators_name_options(fails, monkeypatch):
    def refuses(*_, **__):
        raise ValueError("max_memory='1MB' and n_candidates=5: no search, no noise=0.1")

    monkeypatch.setattr("linkwise.KernelCSC.fit", refuses)
    expected = "--max-memory 1MB and --candidates 5: no search, no --noise 0.1"
    assert expected in fails()


def test_a_machine_without_memory_is_not_called_a_limit(fails, monkeypatch):
    def refuses(*_, **__):
        raise MemoryError("Unable to allocate 9 GiB")

    monkeypatch.setattr("linkwise.KernelCSC.fit", refuses)
    assert "too large for the memory there is. Unable to allocate 9 GiB" in fails()


def test_wrong_usage_has_its_own_code(fails):
    assert "--clusters" in fails(k=0, code=2)
    assert "0 jobs" in fails("--n-jobs", 0, code=2)
    assert "not a size" in fails("--max-memory", "much", code=2)
    assert "not a size" in fails("--max-memory", "0MB", code=2)
    assert "positive" in fails("--time-limit", 0, code=2)
    assert "must end in .csv" in fails("--out", "labels.txt", code=2)
    assert "has no --max-kernels" in fails(
        "--method", "mahalanobis", "--max-kernels", 2, code=2
    )
    assert "has no --candidates" in fails("--method", "single", code=2)


def test_a_result_never_replaces_an_input_or_another_result(fails, linkwise):
    for path in ("data.csv", "pairs.csv"):
        assert "another name" in fails("--out", path, code=2)
    assert "another name" in fails("--model", "out.csv", code=2)
    linkwise.write("data.csv", DATA)
    (linkwise.folder / "alias.csv").symlink_to("data.csv")
    assert "another name" in fails("--out", "alias.csv", code=2)


def test_places_that_cannot_be_written_are_found_before_the_data_are_read(fails):
    message = fails("--out", "nowhere/labels.csv", data=None, pairs=None)
    assert "there is no folder" in message
    message = fails("--model", "nowhere/model", data=None, pairs=None)
    assert "there is no folder" in message


def test_a_folder_without_permission_is_found_before_the_data_are_read(
    fails, monkeypatch
):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.touch", refuse)
    message = fails("--out", "labels.csv", data=None, pairs=None)
    assert "labels.csv: the folder cannot be written to: Permission denied" in message


def test_a_folder_is_no_name_for_a_result(fails, linkwise):
    (linkwise.folder / "labels.csv").mkdir()
    assert "is a folder" in fails("--out", "labels.csv")


def test_if_the_model_cannot_be_written_the_labels_are_not_either(
    fails, linkwise, monkeypatch
):
    def full(model, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("linkwise.model_files.save", full)
    message = fails("--model", "model.linkwise")
    assert "model.linkwise cannot be written: the disk is full" in message


def test_an_unexpected_error_takes_one_line_and_a_traceback_only_on_demand(
    fails, linkwise, monkeypatch
):
    def broken(*_):
        raise RuntimeError("a riddle\non two lines")

    monkeypatch.setattr("linkwise.cli._cluster.write_all", broken)
    message = fails(code=1)
    assert message.count("\n") == 1
    assert "unexpected RuntimeError: a riddle on two lines" in message
    arguments = ["data.csv", "-c", "pairs.csv", "-k", 2, "-o", "out.csv"]
    result = linkwise("--debug", "cluster", *arguments, "--candidates", 5)
    assert result.exit_code == 1 and "Traceback" in result.stderr
    monkeypatch.setenv("LINKWISE_DEBUG", "1")
    result = linkwise("cluster", *arguments, "--candidates", 5)
    assert "Traceback" in result.stderr
