import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from linkwise import __version__

HEAVY = {"sklearn", "pandas", "numpy", "scipy", "numba"}


def run(*arguments, code="import linkwise.cli as cli; cli.main()"):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_the_demo_reports_both_methods_and_is_repeatable(linkwise):
    command = ["demo", "--dataset", "iris", "--candidates", 30, "--pairs", 20]
    report, again = linkwise.json(*command), linkwise.json(*command)
    assert report["must_links"] + report["cannot_links"] == 20
    for name in ("kmeans", "kernel_csc"):
        assert 0 <= report[name]["satisfaction"] <= 1
        assert report[name] == again[name]
    assert report["kernel_csc"]["satisfaction"] >= report["kmeans"]["satisfaction"]
    assert report["chosen"] == again["chosen"] != []
    assert linkwise.json(*command, "--seed", 1)["chosen"] != report["chosen"]


def test_the_demo_reads_well(linkwise):
    command = ["demo", "--dataset", "wine", "--candidates", 20]
    text = linkwise.ok(*command).stdout
    for words in ("wine: 178 rows", "100 (", "k-means", "KernelCSC", "ARI", "--seed 1"):
        assert words in text
    assert all(line == line.rstrip() for line in text.splitlines())


def test_the_demo_without_free_rows_has_no_agreement(linkwise):
    command = ["demo", "--dataset", "iris", "--candidates", 1, "--pairs"]
    assert linkwise.json(*command, 3000)["kmeans"]["ari"] is None
    assert linkwise(*command, 10**6).exit_code == 2


def test_the_process_prints_one_json_object_and_nothing_else():
    done = run("demo", "--dataset", "iris", "--candidates", "10", "--json")
    assert done.returncode == 0 and done.stderr == ""
    assert json.loads(done.stdout)["dataset"] == "iris"


def test_the_process_fails_with_a_line_and_a_code(tmp_path):
    out = tmp_path / "out.csv"
    done = run("cluster", "none.csv", "-c", "none.csv", "-k", "2", "-o", str(out))
    assert done.returncode == 3 and done.stdout == ""
    assert done.stderr == "error: none.csv: there is no such file.\n"


def test_the_package_runs_as_a_module():
    code = "import runpy; runpy.run_module('linkwise.cli', run_name='__main__')"
    done = run("--version", code=code)
    assert done.stdout == f"linkwise {__version__}\n"


@pytest.mark.parametrize("command", [[], ["demo"], ["cluster"], ["predict"], ["check"]])
def test_help_has_an_example_and_exit_codes(linkwise, command):
    text = linkwise.ok(*command, "--help").stdout
    assert "Example: linkwise" in text and "Exit code" in text


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys, linkwise.cli as cli\n"
        "try: cli.main()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    for option in ("--help", "--version"):
        loaded = set(run(option, code=code).stderr.split())
        assert "linkwise.cli._app" in loaded
        assert not loaded & HEAVY


def test_no_command_shows_the_help(linkwise):
    result = linkwise()
    assert result.exit_code == 2 and "Commands" in result.output


def read_all(terminal):
    """Return what a terminal shows until nobody writes to it any more."""
    parts = []
    while True:
        try:
            parts.append(os.read(terminal, 4096))
        except OSError:  # what Linux says at the end
            return b"".join(parts)
        if not parts[-1]:
            return b"".join(parts)


@pytest.mark.parametrize(
    "options", [[], pytest.param(["--json"], marks=pytest.mark.slow)]
)
def test_in_a_terminal_the_progress_bar_goes_to_stderr(options):
    pty = pytest.importorskip("pty")
    pytest.importorskip("sklearn.callback", reason="from scikit-learn 1.9 on")
    reader, writer = pty.openpty()
    arguments = ["demo", "--dataset", "iris", "--candidates", "10", *options]
    with subprocess.Popen(
        [sys.executable, "-m", "linkwise.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=writer,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm"},
    ) as process:
        os.close(writer)
        # A terminal that nobody reads holds little, and then its writer waits.
        with ThreadPoolExecutor(1) as thread:
            shown = thread.submit(read_all, reader)
            stdout, _ = process.communicate(timeout=60)
    shown = shown.result().decode()
    os.close(reader)
    if options:
        assert json.loads(stdout)["candidates"] <= 10 and shown == ""
    else:
        assert b"10 candidates in" in stdout
        assert "KernelCSC" in shown and "100%" in shown
