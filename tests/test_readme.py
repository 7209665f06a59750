"""What the README shows is true."""

import re
from pathlib import Path

README = Path(__file__).parents[1].joinpath("README.md").read_text(encoding="utf-8")


def test_its_python_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


def test_its_commands_exist():
    from typer.testing import CliRunner

    from linkwise.cli._app import app

    commands = set(re.findall(r"^linkwise (\w+) ", README, flags=re.MULTILINE))
    assert commands >= {"check", "cluster", "predict"}
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0
