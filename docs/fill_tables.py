"""Fill the tables of README and of the pages here from CSV files.

A page says where a table comes from, and how it is shown:

    <!-- table file.csv columns=a,b percent=b digits=2 rows=5 -->
    <!-- end -->

``columns`` are those shown, in this order (all without it), ``percent`` those that are
shares, ``digits`` the decimals of other numbers, ``rows`` how many rows are shown. Run
``python docs/fill_tables.py`` after a file has changed; everything between the two
lines is written anew.
"""

import re
from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
BLOCK = re.compile(r"(<!-- table (\S+)([^>]*)-->\n).*?(<!-- end -->)", re.DOTALL)


def shown(value: object, is_share: bool, digits: int) -> str:
    """Return a cell as text."""
    if not isinstance(value, float):
        return str(value)
    if pd.isna(value):
        return ""
    if is_share:
        return f"{100 * value:.1f} %"
    return f"{value:,.{digits}f}"


def table(path: Path, options: dict[str, str]) -> str:
    """Return a CSV file as a table in Markdown."""
    data = pd.read_csv(path)
    if "columns" in options:
        data = data[options["columns"].split(",")]
    data = data.head(int(options.get("rows", len(data))))
    shares = options.get("percent", "").split(",")
    digits = int(options.get("digits", 3))
    lines = [[name.replace("_", " ") for name in data.columns]]
    lines.append(["---"] * len(data.columns))
    for _, row in data.astype(object).iterrows():
        lines.append([shown(row[c], c in shares, digits) for c in data.columns])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def filled(page: Path) -> str:
    """Return the text of a page with its tables as they should be."""

    def fill(block: re.Match[str]) -> str:
        options = dict(option.split("=") for option in block[3].split())
        return block[1] + table(page.parent / block[2], options) + block[4]

    return BLOCK.sub(fill, page.read_text())


if __name__ == "__main__":
    for page in [HERE.parent / "README.md", *sorted(HERE.glob("*.md"))]:
        page.write_text(filled(page))
