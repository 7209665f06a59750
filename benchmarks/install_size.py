"""How large each extra is, and how long it takes to install.

``python benchmarks/install_size.py`` makes a new environment in a temporary folder,
installs linkwise from this clone and then the packages of one extra after the other.
What an extra adds is the growth of the folder: a package that two extras need counts
for the first. The time depends on the package index and on the machine.
"""

import argparse
import os
import subprocess
import tempfile
import time
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def size(folder: Path) -> float:
    """Return the megabytes of a folder."""
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def main() -> None:
    """Print a table of sizes and seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("extras", nargs="*", help="Those to install; all by default.")
    given = parser.parse_args()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    known = project["project"]["optional-dependencies"]
    print("| extra | packages | MB | seconds |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        scripts = "Scripts" if os.name == "nt" else "bin"
        python = Path(folder) / scripts / "python"
        packages = Path(folder)
        before, n_before = size(packages), len(list(packages.rglob("*.dist-info")))
        for extra in ["", *(given.extras or known)]:
            start = time.perf_counter()
            # The packages of an extra alone: linkwise is there already.
            wanted = known[extra] if extra else [str(ROOT)]
            command = [python, "-m", "pip", "install", "--quiet", "--no-cache-dir"]
            subprocess.run([*command, *wanted], check=True, capture_output=True)
            seconds = time.perf_counter() - start
            after, n_after = size(packages), len(list(packages.rglob("*.dist-info")))
            name = f"linkwise[{extra}]" if extra else "linkwise"
            print(
                f"| {name} | {n_after - n_before} | {after - before:.0f} | "
                f"{seconds:.0f} |",
                flush=True,
            )
            before, n_before = after, n_after


if __name__ == "__main__":
    main()
