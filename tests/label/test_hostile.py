"""Requests that are not the page's own, and data that are up to something."""

import io
import json
import os
import threading

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from tests.label.pages import HOST, TOKEN, Page, X

from linkwise.label import FolderPictures
from linkwise.label._guard import MAX_BODY
from linkwise.label._rows import MAX_LETTERS, Rows

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
SCRIPT = "<script>document.title='bad'</script>"


@pytest.fixture
def untouched(page):
    """A page whose log must be as it was."""
    before = page.desk.session.log.path.read_bytes()
    yield page
    assert page.desk.session.log.path.read_bytes() == before
    assert page.state()["question"] is not None  # alive


def answer_body(page):
    question = page.state()["question"]["id"]
    return {"client": "x", "attempt": "x1", "question": question, "answer": "same"}


class TestRequests:
    @pytest.mark.parametrize(
        "sent", ["", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer é"]
    )
    def test_a_wrong_token(self, untouched, sent):
        body = answer_body(untouched)
        headers = {"Authorization": sent.encode()}
        for answer in (
            untouched.http.get("/api/state", headers=headers),
            untouched.http.post("/api/answer", json=body, headers=headers),
        ):
            assert answer.status_code == 401 and "row number" not in answer.text

    @pytest.mark.parametrize(
        "host",
        ["evil.example", "evil.example:8123", "127.0.0.1", "127.0.0.1:1", "", "x" * 999]
        + ["127.0.0.1:8123.evil.example", "127.0.0.1:8123, evil.example"],
    )
    def test_a_wrong_host_as_when_a_name_is_rebound(self, untouched, host):
        body = answer_body(untouched)
        for path in ("/", "/static/map.js", "/api/state"):
            answer = untouched.http.get(path, headers={"Host": host})
            assert answer.status_code == 403
        headers = {"Host": host}
        answer = untouched.http.post("/api/answer", json=body, headers=headers)
        assert answer.status_code == 403

    @pytest.mark.parametrize("host", [HOST, "localhost:8123", "LocalHost:8123"])
    def test_the_right_hosts(self, untouched, host):
        assert untouched.http.get("/api/state", headers={"Host": host}).is_success

    @pytest.mark.parametrize(
        "headers",
        [
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Origin": f"https://{HOST}"},
            {"Origin": f"http://{HOST}.evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
        ],
    )
    def test_a_foreign_origin(self, untouched, headers):
        body = answer_body(untouched)
        answer = untouched.http.post("/api/answer", json=body, headers=headers)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers

    def test_our_own_origin(self, page):
        headers = {"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}
        body = answer_body(page)
        assert page.http.post("/api/answer", json=body, headers=headers).is_success

    def test_getting_changes_nothing(self, untouched):
        for path in ("answer", "undo", "redo", "change", "correct", "criterion", "fit"):
            assert untouched.get(path).status_code == 405

    @pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
    def test_other_methods(self, untouched, method):
        for path in ("/api/answer", "/api/state", "/"):
            assert untouched.http.request(method, path).status_code in (405, 415)

    @pytest.mark.parametrize(
        "kind",
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"],
    )
    def test_forms_and_plain_texts(self, untouched, kind):
        content = json.dumps(answer_body(untouched))
        answer = untouched.http.post(
            "/api/answer", content=content, headers={"Content-Type": kind}
        )
        assert answer.status_code == 415

    def test_a_body_of_10_mb(self, untouched):
        body = {**answer_body(untouched), "note": "x" * 10_000_000}
        answer = untouched.http.post("/api/answer", json=body)
        assert answer.status_code == 413

    def test_a_body_of_10_mb_that_does_not_say_so(self, untouched):
        def parts():
            for _ in range(10):
                yield b"x" * 1_000_000

        answer = untouched.http.post(
            "/api/answer", content=parts(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 413
        assert MAX_BODY < 2_000_000

    @pytest.mark.parametrize(
        "content",
        [b"", b"[]", b"3", b"{", b"\xff", b"[" * 100_000, b'{"client": 3}', b"{}"],
    )
    def test_bodies_that_are_none(self, untouched, content):
        answer = untouched.http.post(
            "/api/answer", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 400 and "error" in answer.json()

    @pytest.mark.parametrize(
        "changed",
        [
            {"question": "1:0:0"},
            {"question": "1:0:999"},
            {"question": "1:-1:3"},
            {"question": "x"},
            {"question": ["1:0:1"]},
            {"answer": "maybe"},
            {"answer": None},
            {"answer": True},
            {"attempt": "x" * 10_000},
            {"who": {"a": 1}},
            {"note": "x" * 10_000},
        ],
    )
    def test_answers_that_are_none(self, untouched, changed):
        body = {**answer_body(untouched), **changed}
        assert untouched.http.post("/api/answer", json=body).status_code == 400

    @pytest.mark.parametrize(
        "path",
        ["/api/../etc/passwd", "/static/../_app.py", "/static/%2e%2e/_app.py"]
        + ["/static//etc/passwd", "/api/export/..%2f..%2fetc%2fpasswd", "/_app.py"]
        + ["/api/rows/60", "/api/rows/-1", "/api/cells/0/99", "/api/pictures/99"],
    )
    def test_paths_that_lead_elsewhere(self, untouched, path):
        answer = untouched.http.get(path)
        assert answer.status_code in (400, 404)
        assert "import " not in answer.text and "root:" not in answer.text

    @pytest.mark.parametrize("number", ["9" * 5000, "9" * 20, "²", "1.5", "x", "-0"])
    @pytest.mark.parametrize(
        "path", ["rows/{}", "cells/{}/0", "cells/0/{}", "pictures/{}", "clusters/{}"]
    )
    def test_numbers_in_addresses_that_are_none(self, untouched, path, number):
        answer = untouched.get(path.format(number))
        assert answer.status_code == 400 and "There is no" in answer.json()["error"]

    def test_numbers_that_no_page_sends(self, untouched):
        for number in (10**400, -(2**60), 1.5, True):
            answer = untouched.send("change", event=number, answer="same")
            assert answer.status_code == 400 and "whole number" in answer.text

    def test_a_length_of_5000_digits(self, untouched):
        headers = {"Content-Type": "application/json", "Content-Length": "9" * 5000}
        answer = untouched.http.post("/api/answer", content=b"{}", headers=headers)
        assert answer.status_code == 413

    @pytest.mark.parametrize("path", ["/", "/static/map.js", "/nowhere"])
    def test_bodies_are_not_read_without_a_token(self, untouched, path):
        def parts():
            raise AssertionError("it was read")
            yield b""

        assert untouched.http.post(path, content=parts()).status_code == 405

    @pytest.mark.parametrize("n_each", [10, pytest.param(50, marks=pytest.mark.slow)])
    def test_many_requests_at_once(self, page, n_each):
        found = []

        def look(number):
            for at in range(n_each):
                if at % 10:
                    found.append(page.get(f"state?client=c{number % 5}").status_code)
                else:
                    found.append(page.answer().status_code)

        threads = [threading.Thread(target=look, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 20 * n_each and set(found) <= {200, 409}
        taken = found.count(200) - 18 * n_each
        events = [e["event"] for e in page.desk.session.log.events]
        n_told = sum(event in ("answer", "conflict") for event in events)
        assert 0 < n_told <= taken
        attempts = [e.get("attempt") for e in page.desk.session.log.events]
        attempts = [attempt for attempt in attempts if attempt]
        assert len(attempts) == len(set(attempts))
        assert page.answer().status_code == 200

    def test_every_answer_has_the_policy(self, untouched):
        paths = ("/", "/static/map.js", "/api/state", "/nowhere", "/api/pictures/0")
        answers = [untouched.http.get(path) for path in paths]
        answers.append(untouched.http.get("/", headers={"Host": "evil"}))
        for answer in answers:
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'") and "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert "set-cookie" not in answer.headers


HOSTILE = [
    SCRIPT,
    "\"'><img src=x onerror=alert(1)>",
    "‮right to left",
    "👩‍👩‍👧 emoji",
    "=cmd|' /C calc'!A0",
    "\x00\x1b[31m",
    "\ud800 half",
    "a" * 1_000_000,
]


class TestData:
    @pytest.fixture
    def rows(self):
        frame = pd.DataFrame(
            {
                SCRIPT: pd.Series(HOSTILE, dtype=object),
                "</style>": [None, np.nan, "", "ok", 1, 2.5, True, pd.NA],
                "n": [1.0, np.nan, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0],
            }
        )
        return Rows(frame, HOSTILE)

    def test_cells_names_and_ids_come_as_text_in_json(self, rows):
        for row in range(len(rows)):
            shown = json.loads(json.dumps(rows.shown(row)))
            text = shown["cells"][0]["text"]
            assert text == HOSTILE[row].replace("\ud800", "?")[:MAX_LETTERS]
        assert rows.columns[0] == SCRIPT

    def test_a_megabyte_is_cut_and_can_be_had(self, rows):
        cell = rows.shown(7)["cells"][0]
        assert len(cell["text"]) == MAX_LETTERS and cell["letters"] == 1_000_000
        assert len(rows.text(7, 0)) == 1_000_000

    def test_gaps_are_empty(self, rows):
        assert [rows.text(row, 1) for row in (0, 1, 2, 7)] == [""] * 4
        assert "value" not in rows.shown(1)["cells"][2]
        assert rows.shown(0)["cells"][2]["percentile"] == 7

    def test_the_page_gets_them(self, make_desk):
        cells = [HOSTILE[row % 8] for row in range(len(X))]
        frame = pd.DataFrame({SCRIPT: pd.Series(cells, dtype=object)})
        page = Page(make_desk(frame=frame))
        state = page.get("state?client=a")
        assert state.is_success and state.headers["content-type"] == "application/json"
        assert state.json()["columns"] == [SCRIPT]
        whole = page.get("cells/7/0").json()["text"]
        assert len(whole) == 1_000_000


class TestPictures:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = tmp_path / "photos"
        folder.mkdir()
        (tmp_path / "secret.png").write_bytes(PNG)
        (tmp_path / "photos-not").mkdir()
        (tmp_path / "photos-not" / "a.png").write_bytes(PNG)
        (folder / "a.png").write_bytes(PNG)
        (folder / "r1.jpg").write_bytes(b"\xff\xd8\xff" + b"1")
        (folder / "text.png").write_text("a text")
        (folder / "drawing.svg").write_text(f"<svg>{SCRIPT}</svg>")
        (folder / "sound.webp").write_bytes(b"RIFF0000WAVE")
        os.symlink(tmp_path / "secret.png", folder / "link.png")
        os.symlink(tmp_path, folder / "up")
        os.symlink("a.png", folder / "inside.png")
        os.mkfifo(folder / "pipe.png")
        return folder

    @pytest.mark.parametrize(
        "name",
        ["../secret.png", "link.png", "up/secret.png", "text.png", "drawing.svg"]
        + ["sound.webp", "pipe.png", "../photos-not/a.png", "", ".", "x\0y", "a" * 5000]
        + ["file:///etc/passwd", "/etc/passwd", "nothing.png", "%2e%2e/secret.png"],
    )
    def test_what_is_not_a_picture_of_the_folder_is_not_read(self, folder, name):
        absolute = str(folder.parent / "secret.png")
        frame = pd.DataFrame({"photo": [name, absolute]})
        find = FolderPictures(folder, frame, ["x", "y"])
        assert find(0) is None and find(1) is None

    def test_pictures_are_found_by_cell_or_id(self, folder, make_desk):
        frame = pd.DataFrame({"photo": ["a.png", np.nan, "inside.png"] * 20})
        ids = [f"r{i}" for i in range(60)]
        find = FolderPictures(folder, frame, ids)
        assert find(0).kind == "image/png" and find(1).kind == "image/jpeg"
        assert find(2).content == PNG and find(4) is None
        page = Page(make_desk(frame=frame, pictures=find))
        answer = page.get("pictures/0")
        assert answer.headers["content-type"] == "image/png" and answer.content == PNG
        assert page.get("pictures/4").status_code == 404
        assert page.http.get("/api/pictures/0", headers={"Authorization": ""}).is_error

    def test_what_browsers_do_not_show_is_converted(self, folder):
        for name, size in (("t.TIFF", (3000, 20)), ("b.bmp", (5, 4))):
            Image.new("CMYK" if "T" in name else "RGB", size).save(folder / name)
        find = FolderPictures(folder, pd.DataFrame(index=range(2)), ["t", "b.bmp"])
        assert find.n_found == 2
        for row, size in ((0, (1600, 11)), (1, (5, 4))):
            assert find(row).kind == "image/png"
            assert Image.open(io.BytesIO(find(row).content)).size == size

    def test_a_huge_file_is_none(self, folder):
        with open(folder / "huge.png", "wb") as file:
            file.write(PNG)
            file.truncate(2**30)
        frame = pd.DataFrame({"photo": ["huge.png"]})
        assert FolderPictures(folder, frame, ["x"])(0) is None
