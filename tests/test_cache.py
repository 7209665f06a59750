"""Compiled loops in containers that are read-only, and after a full disk."""

import importlib.util
import os
import subprocess
import sys

import pytest

from linkwise import _cache

CODE = """
from linkwise._jit import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


def module_at(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("size", [0, 30])
def test_a_file_that_was_cut_off_is_made_again(tmp_path, ending, size):
    path = tmp_path / "loops.py"
    path.write_text(CODE)
    assert module_at(path, "loops").twice(3) == 6
    (cached,) = (tmp_path / "__pycache__").glob(f"*.{ending}")
    os.truncate(cached, size)
    assert module_at(path, "loops").twice(3) == 6
    found = module_at(path, "loops").twice
    assert found(3) == 6 and found.stats.cache_hits
    assert cached.stat().st_size > 30


class TestRoom:
    @pytest.fixture(autouse=True)
    def nowhere(self, tmp_path, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_DIR", "")  # put back afterwards
        monkeypatch.delenv("NUMBA_CACHE_DIR")
        monkeypatch.setattr(_cache, "_is_open", lambda folder: False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr("numba.config.CACHE_DIR", "")

    def test_is_in_a_folder_of_ones_own_and_found_again(self, tmp_path):
        _cache.find_room_for_cache()
        folder = os.environ["NUMBA_CACHE_DIR"]
        assert os.path.dirname(folder) == str(tmp_path)
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert sys.modules["numba"].config.CACHE_DIR == folder
        del os.environ["NUMBA_CACHE_DIR"]
        _cache.find_room_for_cache()
        assert os.environ["NUMBA_CACHE_DIR"] == folder

    def test_a_folder_that_others_can_write_to_is_not_used(self, tmp_path):
        _cache.find_room_for_cache()
        folder = os.environ.pop("NUMBA_CACHE_DIR")
        os.chmod(folder, 0o777)
        _cache.find_room_for_cache()
        assert os.environ["NUMBA_CACHE_DIR"] != folder
        assert os.stat(os.environ["NUMBA_CACHE_DIR"]).st_mode & 0o777 == 0o700

    def test_a_link_is_not_followed(self, tmp_path):
        target = tmp_path / "other"
        target.mkdir(mode=0o700)
        os.symlink(target, tmp_path / f"linkwise-numba-{os.getuid()}")
        _cache.find_room_for_cache()
        assert os.environ["NUMBA_CACHE_DIR"] != str(
            tmp_path / f"linkwise-numba-{os.getuid()}"
        )

    def test_is_as_was_asked_for(self, monkeypatch):
        monkeypatch.setenv("NUMBA_CACHE_DIR", "mine")
        _cache.find_room_for_cache()
        assert os.environ["NUMBA_CACHE_DIR"] == "mine"


def test_usual_places_are_used_if_they_can_be(monkeypatch):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    _cache.find_room_for_cache()
    assert "NUMBA_CACHE_DIR" not in os.environ


def test_the_package_runs_as_a_command():
    run = subprocess.run(
        [sys.executable, "-m", "linkwise", "--version"], capture_output=True, text=True
    )
    assert run.returncode == 0 and run.stdout.startswith("linkwise ")
