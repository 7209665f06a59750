"""Where the server is, who may wait for it, and what killed ones leave."""

import json
import socket
import tempfile
from types import SimpleNamespace

import pytest

from linkwise.label import _server, open_place


class TestPlace:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        """A folder for notes that no other server uses."""
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        return tmp_path

    @pytest.fixture
    def killed(self, tmp_path):
        """The place of a server that has left its note."""
        with pytest.raises(RuntimeError):
            with open_place(log=tmp_path / "log") as (place, _):
                raise RuntimeError
        return place

    def test_the_next_server_is_at_the_place_of_a_killed_one(self, killed, tmp_path):
        with open_place(log=tmp_path / "log") as (place, _):
            assert place == killed
        with open_place(log=tmp_path / "log") as (place, _):
            assert place.token != killed.token  # the last one ended in peace

    def test_on_another_port_the_token_is_another(self, killed, tmp_path):
        # Whoever listens on the old port gets the old token from pages that are open.
        with socket.socket() as other:
            other.bind(("127.0.0.1", killed.port))
            with open_place(log=tmp_path / "log") as (place, _):
                assert place.port != killed.port and place.token != killed.token
                assert len(place.token) >= 43

    def test_on_a_port_that_was_asked_for_as_well(self, killed, tmp_path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open_place(port=port, log=tmp_path / "log") as (place, _):
            assert place.port == port != killed.port
            assert place.token != killed.token

    def test_a_foreign_file_where_the_folder_of_notes_would_be(self, folder):
        with open_place(log=folder / "log"):
            (own,) = folder.iterdir()
        own.rmdir()
        own.write_text("foreign")
        with open_place(log=folder / "log") as (place, _):
            assert place.port
        assert own.read_text() == "foreign"

    @pytest.mark.parametrize("content", [None, "no note", "[]", "[1, 2]", "\0"])
    def test_a_foreign_file_where_the_note_would_be(self, folder, content):
        with open_place(log=folder / "log"):
            (note,) = next(folder.iterdir()).iterdir()
        if content is None:
            note.mkdir()
        else:
            note.write_text(content)
        with open_place(log=folder / "log") as (place, _):
            assert place.port and len(place.token) >= 43
            if content is not None:
                assert json.loads(note.read_text()) == [place.port, place.token]


class Connection:
    """As uvicorn has them."""

    def __init__(self):
        self.cycle, self.is_open = None, True
        self.transport = SimpleNamespace(close=self.close)

    def close(self):
        self.is_open = False

    def request(self, is_answered=True):
        self.cycle = SimpleNamespace(response_complete=is_answered)


class TestWaiting:
    def test_half_a_request_is_not_waited_for(self):
        waiting, slow, busy = _server.Waiting(), Connection(), Connection()
        busy.request(is_answered=False)
        for now in (0.0, _server._WAIT_SECONDS):
            waiting.close_late([slow, busy], now)
            assert slow.is_open and busy.is_open
        waiting.close_late([slow, busy], _server._WAIT_SECONDS + 0.1)
        assert not slow.is_open and busy.is_open

    def test_each_request_has_its_time(self):
        waiting, page = _server.Waiting(), Connection()
        for now in range(30):
            waiting.close_late([page], float(now))
            page.request()
        assert page.is_open
        for now in range(30, 40):
            waiting.close_late([page], float(now))
        assert not page.is_open

    def test_of_too_many_the_first_are_closed(self):
        waiting, all_of_them = _server.Waiting(), []
        for now in range(4):
            all_of_them += [Connection() for _ in range(_server._MAX_WAITING // 2)]
            waiting.close_late(all_of_them, now / 100)
        n_open = [connection.is_open for connection in all_of_them]
        assert n_open == [False] * _server._MAX_WAITING + [True] * _server._MAX_WAITING
