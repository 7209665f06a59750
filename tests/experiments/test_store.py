import itertools
import sqlite3
import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pytest

from linkwise.experiments import Job, Store, read_records, select_records
from linkwise.experiments._store import COLUMNS

JOBS = [Job("iris", "COP", "COP", trial, 63, "{}") for trial in range(40)]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "records.sqlite")


def record(job, status="ok", **values):
    return {
        **job.key._asdict(),
        "status": status,
        "error": "",
        "seconds": 1.0,
        "versions": "{}",
        "finished": "now",
        **values,
    }


def claims_in_a_process(path, then=""):
    """Start a process that claims what it can and prints it."""
    code = f"""
        import sys
        from linkwise.experiments import Job, Store
        store = Store({str(path)!r})
        for trial in range(40):
            job = Job("iris", "COP", "COP", trial, 63, "{{}}")
            if store.claim(job.key):
                print(trial, flush=True)
        {then}
    """
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )


def test_a_job_is_claimed_once_and_done_once(store):
    key = JOBS[0].key
    assert store.claim(key) and not store.claim(key)
    store.add(record(JOBS[0]))
    assert not store.claim(key)
    assert store.done() == {key: "ok"}


def test_a_released_job_can_be_claimed_again(store):
    store.claim(JOBS[0].key)
    store.release([JOBS[0].key])
    assert store.claim(JOBS[0].key)


def test_a_failed_job_is_done_again_only_if_asked_for(store):
    key = JOBS[0].key
    store.add(record(JOBS[0], "timeout"))
    assert not store.claim(key)
    assert store.claim(key, redo_failed=True)
    store.add(record(JOBS[0], ari_test=0.5))
    assert store.done() == {key: "ok"} and len(store.table()) == 1


def test_claims_of_a_living_process_hold_and_those_of_a_dead_one_do_not(store):
    store.claim(JOBS[0].key)
    other = claims_in_a_process(store.path, "sys.stdin.read()")
    taken = [int(other.stdout.readline()) for _ in JOBS[1:]]
    assert taken == list(range(1, 40))
    assert not store.claim(JOBS[1].key)
    other.kill()
    other.wait(20)
    other.stdin.close()
    other.stdout.close()
    assert store.claim(JOBS[1].key)
    assert not store.claim(JOBS[0].key)


def test_two_processes_never_claim_the_same_job(store):
    then = "print('end', flush=True); sys.stdin.read()"
    others = [claims_in_a_process(store.path, then) for _ in range(2)]
    # Both are through before either may go: until then its claims must hold.
    lines = [
        itertools.takewhile(lambda line: line != "end\n", other.stdout)
        for other in others
    ]
    lines = [list(own) for own in lines]
    for other in others:
        other.communicate(timeout=30)
    taken = [int(line) for own in lines for line in own]
    assert sorted(taken) == list(range(40))


def test_records_come_back_as_they_went_in(store, tmp_path):
    store.add(record(JOBS[1], ari_test=0.1 + 0.2, n_samples=150, peak_memory=1e9))
    store.add(record(JOBS[0], "error", error="no, not 'that'"))
    table = store.table()
    assert list(table.columns) == COLUMNS and table["trial"].tolist() == [0, 1]
    assert table["ari_test"].tolist()[1] == 0.1 + 0.2 and np.isnan(table["ari_test"][0])
    table.to_csv(tmp_path / "records.csv.gz", index=False)
    pd.testing.assert_frame_equal(
        read_records(tmp_path / "records.csv.gz"), table, check_dtype=False
    )
    pd.testing.assert_frame_equal(read_records(store.path), table)


def test_files_of_versions_without_notes_are_read_and_go_on(store, tmp_path):
    store.add(record(JOBS[0], ari_test=0.5))
    connection = sqlite3.connect(store.path)
    connection.execute("ALTER TABLE records DROP COLUMN notes")
    connection.close()
    again = Store(store.path)
    again.add(record(JOBS[1], notes='{"trust": 0.9}'))
    assert again.table()["notes"].tolist() == ["", '{"trust": 0.9}']
    again.table().drop(columns="notes").to_csv(tmp_path / "old.csv", index=False)
    assert (read_records(tmp_path / "old.csv")["notes"] == "").all()


def test_records_of_other_parameters_are_told_apart(store):
    other = Job("iris", "COP", "COP", 0, 63, '{"n_init": 2}')
    store.add(record(JOBS[0]))
    store.add(record(other))
    assert len(store.table()) == 2
    assert select_records(store.table(), [other.key])["parameters"].tolist() == [
        other.parameters
    ]


def test_a_store_with_other_columns_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "old.sqlite") as connection:
        connection.execute("CREATE TABLE records (dataset TEXT)")
    connection.close()
    with pytest.raises(ValueError, match="another version"):
        Store(tmp_path / "old.sqlite")


def test_what_is_no_file_of_records_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file of records"):
        read_records(tmp_path / "none.sqlite")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="no column dataset"):
        read_records(tmp_path / "other.csv")
