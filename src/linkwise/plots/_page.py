"""A report as one page that needs no other file."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 70rem;
       margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; height: auto; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.75rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child, .text { text-align: left; }
thead th { border-bottom: 2px solid #666; }
.note { color: #555; }
"""


@dataclass(frozen=True)
class Part:
    """A heading, words, and a figure or a table under them."""

    title: str
    text: str = ""
    figure: Figure | None = None
    table: pd.DataFrame | None = None

    @cached_property
    def images(self) -> dict[str, bytes]:
        """The figure, if there is one, as PNG and SVG."""
        if self.figure is None:
            return {}
        return {kind: figure_bytes(self.figure, kind) for kind in ("png", "svg")}


def html_page(title: str, lines: Sequence[str], parts: Sequence[Part]) -> str:
    """Return a page with figures and tables inside it.

    Parameters
    ----------
    title : str
        Heading of the page.
    lines : sequence of str
        What stands under it.
    parts : sequence of Part
        The rest, in order.

    Returns
    -------
    str
        HTML without links to anything outside.
    """
    body = [f"<h1>{escape(title)}</h1>"]
    body += [f'<p class="note">{escape(line)}</p>' for line in lines]
    for part in parts:
        body.append(f"<h2>{escape(part.title)}</h2>")
        if part.text:
            body.append(f"<p>{escape(part.text)}</p>")
        if part.images:
            body.append(_image(part.images["svg"], part.title))
        if part.table is not None:
            body.append(f'<div class="table">{_table(part.table)}</div>')
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def figure_bytes(figure: Figure, kind: str) -> bytes:
    """Return a figure as a file of a kind, "png" or "svg".

    The same figure gives the same bytes: no dates, no random names inside.
    """
    buffer = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {"Software": None}
    with rc_context({"svg.hashsalt": "linkwise"}):
        figure.savefig(buffer, format=kind, dpi=150, metadata=metadata)
    return buffer.getvalue()


def _image(svg: bytes, title: str) -> str:
    data = base64.b64encode(svg).decode()
    return f'<img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}">'


def _table(table: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(name))}</th>" for name in table.columns)
    rows = [
        "<tr>" + "".join(_cell(value) for value in row) + "</tr>"
        for row in table.itertuples(index=False)
    ]
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f'<td class="text">{escape(value)}</td>'
    if isinstance(value, float):
        return f"<td>{value:.3g}</td>" if abs(value) < 100 else f"<td>{value:,.0f}</td>"
    return f"<td>{escape(str(value))}</td>"
