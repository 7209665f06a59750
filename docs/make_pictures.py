"""Draw the pictures of README and guide that no example page draws by itself.

``python docs/make_pictures.py`` writes them into ``docs/pictures``; they are committed,
so that README shows them. The screens need chromium.
"""

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
# Name of the picture, and the example whose last figure it is.
EXAMPLES = {"rings.png": "plot_rings.py"}
QUIET = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --hide-scrollbars"
)


def draw_examples() -> None:
    """Run each example and keep its last figure."""
    for name, example in EXAMPLES.items():
        runpy.run_path(str(ROOT / "examples" / example))
        plt.gcf().savefig(PICTURES / name, dpi=110, metadata={"Software": None})
        plt.close("all")


def shoot(address: str, name: str, width: int, height: int) -> None:
    """Keep what a browser shows of a page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit(f"{name} needs chromium.")
    size, picture = f"--window-size={width},{height}", PICTURES / name
    command = [browser, *QUIET.split(), size, f"--screenshot={picture}", address]
    subprocess.run(command, check=True, capture_output=True)
    # Few colours: the file takes a third.
    Image.open(picture).convert("RGB").quantize(128).save(picture, optimize=True)


def shoot_report() -> None:
    """Cluster the tickets and show the report on them."""
    data = ROOT / "docs" / "data"
    with tempfile.TemporaryDirectory() as folder:
        command = [
            *(sys.executable, "-m", "linkwise", "cluster", data / "tickets.csv"),
            *("--constraints", data / "pairs.csv", "--id-column", "ticket"),
            *("--clusters", "3", "--seed", "0", "--out", f"{folder}/labels.csv"),
            *("--report", f"{folder}/report.html", "--quiet"),
        ]
        subprocess.run(command, check=True)
        shoot(f"file://{folder}/report.html", "report.png", 1000, 1360)


if __name__ == "__main__":
    draw_examples()
    shoot_report()
