"""A report as one page that needs no other file."""

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --faint: #57606a;
        --line: #d8dee4; --card: #f6f8fa; --broken: #b64a00; }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #16191d; --ink: #e6edf3; --faint: #9ba5b0; --line: #363c44;
          --card: #1f2429; --broken: #ff8a4c; }
  .on-light { display: none; }
}
@media not screen, (prefers-color-scheme: light) { .on-dark { display: none; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink);
       background: var(--paper); max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h2 { margin-top: 2.5rem; } h3 { margin-top: 0; }
img { max-width: 100%; height: auto; }
.plain { background: #fff; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; }
th, td { padding: 0.25rem 0.75rem; text-align: right; vertical-align: top;
         border-bottom: 1px solid var(--line); overflow-wrap: normal; }
th:first-child, td:first-child, .text { text-align: left; }
thead th { border-bottom: 2px solid var(--faint); }
.note { color: var(--faint); }
@media print {
  body { max-width: none; margin: 0; font-size: 10.5pt; }
  h2, h3, h4 { break-after: avoid; } tr, li, img, svg { break-inside: avoid; }
  .table { overflow-x: visible; }
}
"""


# Control characters, halves of characters, and marks that turn the order of others.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]"
)


def escaped(value: object) -> str:
    """Return anything as text that can stand in a page, also in an attribute.

    All that comes from data, files or people goes through here.

    Examples
    --------
    >>> escaped('<b title="x">')
    '&lt;b title=&quot;x&quot;&gt;'
    """
    text = _UNSEEN.sub("\ufffd", str(value))
    return escape(text, quote=True)


def breakable(value: object) -> str:
    """Return anything as text of a page that may be broken after some marks.

    Examples
    --------
    >>> breakable("total_phenols<b>")
    'total_<wbr>phenols&lt;b&gt;'
    """
    return escaped(value).replace("_", "_<wbr>").replace("/", "/<wbr>")


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
    body = [f"<h1>{escaped(title)}</h1>"]
    body += [f'<p class="note">{escaped(line)}</p>' for line in lines]
    for part in parts:
        body.append(f"<h2>{escaped(part.title)}</h2>")
        if part.text:
            body.append(f"<p>{escaped(part.text)}</p>")
        if part.images:
            body.append(image(part.images["svg"], part.title, "plain"))
        if part.table is not None:
            body.append(f'<div class="table">{_table(part.table)}</div>')
    return document(title, body)


def document(title: str, body: Sequence[str], style: str = "") -> str:
    """Return a whole page, which may load nothing and run nothing.

    Parameters
    ----------
    title : str
        What the window shows.
    body : sequence of str
        HTML; what comes from outside is escaped in it.
    style : str, default=""
        Rules that come after those of all pages.
    """
    style = _STYLE + style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n"
        "</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
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


def image(svg: bytes, title: str, name: str) -> str:
    """Return a picture as HTML; ``name`` is a class of the style."""
    data = base64.b64encode(svg).decode()
    return (
        f'<img class="{name}" alt="{escaped(title)}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def _table(table: pd.DataFrame) -> str:
    head = "".join(f"<th>{escaped(str(name))}</th>" for name in table.columns)
    rows = [
        "<tr>" + "".join(_cell(value) for value in row) + "</tr>"
        for row in table.itertuples(index=False)
    ]
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _cell(value: object) -> str:
    if isinstance(value, str):
        return f'<td class="text">{escaped(value)}</td>'
    if isinstance(value, float):
        return f"<td>{value:.3g}</td>" if abs(value) < 100 else f"<td>{value:,.0f}</td>"
    return f"<td>{escaped(str(value))}</td>"
