"""Check the built guide: no broken internal link, nothing loaded from elsewhere.

``python docs/check_links.py FOLDER`` reads every page below FOLDER and fails with a
list if a link or a picture points to a file or an anchor that is not there, or if a
page would load a script, a style, a font or a picture from another host.
"""

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself when it shows a page.
_LOADED = {
    "audio": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
    "video": "src",
}
_FOREIGN_STYLE = re.compile(
    r"url\(\s*['\"]?(?:https?:)?//|@import\s+['\"](?:https?:)?//"
)


class Page(HTMLParser):
    """Anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what one tag has."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        loaded = values.get(_LOADED.get(tag, ""))
        if loaded and values.get("rel") not in ("canonical", "index", "search"):
            self.loads.append(loaded)


def is_foreign(address: str) -> bool:
    """Return whether an address leads out of the guide."""
    parts = urlsplit(address)
    return bool(parts.scheme or parts.netloc)


def complaints(root: Path) -> Iterator[str]:
    """Yield one line for each thing that is wrong in the pages below a folder."""
    # What lies in _static are parts of the theme, no pages.
    paths = (
        p for p in sorted(root.rglob("*.html")) if root / "_static" not in p.parents
    )
    pages = {path.resolve(): Page(path) for path in paths}
    if not pages:
        yield f"{root} has no pages"
    for path, page in pages.items():
        here = path.relative_to(root.resolve())
        for address in page.loads:
            if is_foreign(address) and not address.startswith("data:"):
                yield f"{here}: loads {address}"
        for address in page.links + page.loads:
            if is_foreign(address):
                continue
            parts = urlsplit(address)
            target = (
                (path.parent / unquote(parts.path)).resolve() if parts.path else path
            )
            if not target.is_file():
                yield f"{here}: no file {address}"
            elif parts.fragment and target in pages:
                if unquote(parts.fragment) not in pages[target].anchors:
                    yield f"{here}: no anchor {address}"
    for path in sorted(root.rglob("*.css")):
        if _FOREIGN_STYLE.search(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(root)}: loads from another host"


if __name__ == "__main__":
    wrong = list(complaints(Path(sys.argv[1])))
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} wrong links in {sys.argv[1]}")
    print(f"All links inside {sys.argv[1]} lead somewhere.")
