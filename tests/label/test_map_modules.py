"""The parts of the page that need no browser are tested in JavaScript, by node."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")


def reads_js_files_as_modules():
    answer = subprocess.run([NODE, "--version"], capture_output=True, text=True)
    version = tuple(int(part) for part in re.findall(r"\d+", answer.stdout))
    return (20, 19) <= version < (21,) or version >= (22, 7)


@pytest.mark.skipif(NODE is None, reason="no `node` to run tests/label/js with")
def test_modules_of_the_page_pass_their_own_tests():
    if not reads_js_files_as_modules():
        pytest.skip("node must be 20.19, 22.7 or newer to read .js files as modules")
    files = sorted(str(file) for file in Path(__file__).parent.glob("js/*.test.mjs"))
    run = subprocess.run(
        [NODE, "--test", *files], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert len(files) == 3
    assert re.search(r"^# pass [1-9]", run.stdout, re.MULTILINE), run.stdout
