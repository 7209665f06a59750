"""Draw the pictures of README and guide that no example page draws by itself.

``python docs/make_pictures.py`` writes them into ``docs/pictures``; they are committed,
so that README shows them.
"""

import runpy
from pathlib import Path

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot as plt  # noqa: E402

ROOT = Path(__file__).parents[1]
# Name of the picture, and the example whose last figure it is.
EXAMPLES = {"rings.png": "plot_rings.py"}


def main() -> None:
    """Run each example and keep its last figure."""
    for name, example in EXAMPLES.items():
        runpy.run_path(str(ROOT / "examples" / example))
        picture = ROOT / "docs" / "pictures" / name
        plt.gcf().savefig(picture, dpi=110, metadata={"Software": None})
        plt.close("all")


if __name__ == "__main__":
    main()
