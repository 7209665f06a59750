"""Draw the picture of the page architecture.md: layers, and the way of the data.

``python docs/make_layers.py`` writes ``docs/pictures/layers.svg``. The picture has its
own light ground, so that it can be read on a dark page as well.
"""

from html import escape
from pathlib import Path

PICTURE = Path(__file__).parent / "pictures" / "layers.svg"
INK, FAINT, BLUE, GREEN, ORANGE = "#1b1f24", "#57606a", "#cfe3f5", "#d5ecd9", "#fbe3c4"

# From top to bottom: a layer may import those below it.
LAYERS = [
    ("cli", "the command linkwise"),
    ("label", "the labelling page"),
    ("plots", "pictures and the report"),
    ("experiments", "the paper's protocol, plans, records, tables"),
    ("model_files | active", "models on disk, sessions that ask"),
    ("estimators | baselines | tables", "KernelCSC and siblings, rivals, any table"),
    ("doors", "what all estimators share: input, scores, prediction"),
    ("search", "which weights to try next, what they are worth"),
    ("engines", "one thread, several, a Dask cluster"),
    ("clustering", "k-means on a Space, starts, constrained steps"),
    ("kernels", "views, families, banks, Spaces, landmarks"),
    ("constraints", "pairs, closure, conflicts, beliefs, scores"),
]


def text(x: float, y: float, words: str, size: int = 14, **more: str) -> str:
    """Return a line of text."""
    more = {"fill": INK, **more}
    style = "".join(f' {name.replace("_", "-")}="{v}"' for name, v in more.items())
    place = f'x="{x}" y="{y}" font-size="{size}"'
    return f"<text {place}{style}>{escape(words)}</text>"


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a rectangle with round corners."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" '
        f'fill="{fill}" stroke="{FAINT}"/>'
    )


def arrow(*points: tuple[float, float]) -> str:
    """Return a line through points that ends in an arrow."""
    path = " ".join(f"{x},{y}" for x, y in points)
    return (
        f'<polyline points="{path}" fill="none" stroke="{INK}" stroke-width="1.5" '
        'marker-end="url(#head)"/>'
    )


def step(x: float, y: float, name: str, what: str, fill: str) -> str:
    """Return a box with a name and what it does."""
    return (
        box(x, y, 200, 48, fill)
        + text(x + 10, y + 20, name, font_weight="bold")
        + text(x + 10, y + 38, what, 12, fill=FAINT)
    )


def picture() -> str:
    """Return the whole picture."""
    parts = [text(24, 34, "Layers: each imports only those below it", 16)]
    for place, (name, what) in enumerate(LAYERS):
        y = 50 + 42 * place
        parts += [
            box(24, y, 400, 38, BLUE),
            text(36, y + 16, name, 13, font_weight="bold"),
        ]
        parts.append(text(36, y + 32, what, 12, fill=FAINT))
    x, right = 470, 720
    parts.append(text(x, 34, "The way of the data through a fit", 16))
    parts += [
        step(x, 50, "table, pairs", "as people have them", ORANGE),
        step(right, 50, "tables", "columns become numbers", BLUE),
        arrow((x + 200, 74), (right - 4, 74)),
        step(right, 126, "doors", "X checked; pairs: closure", BLUE),
        arrow((right + 100, 98), (right + 100, 122)),
        step(x, 126, "constraints", "what follows, what conflicts", BLUE),
        arrow((right, 150), (x + 204, 150)),
        box(x - 14, 196, 478, 250, "#f6f8fa"),
        text(right, 216, "hundreds of times, on an engine", 12, fill=FAINT),
        step(x, 228, "Searcher", "asks: try these weights", GREEN),
        arrow((x + 100, 174), (x + 100, 224)),
        step(right, 228, "Bank", "weights become a Space", GREEN),
        arrow((x + 200, 252), (right - 4, 252)),
        step(right, 304, "Space", "distances to centres", GREEN),
        arrow((right + 100, 276), (right + 100, 300)),
        step(right, 380, "k-means", "clusters, without pairs", GREEN),
        arrow((right + 100, 352), (right + 100, 376)),
        step(x, 380, "score", "how many pairs hold", GREEN),
        arrow((right, 404), (x + 204, 404)),
        arrow((x + 100, 380), (x + 100, 280)),
        text(x + 108, 334, "tell", 12, fill=FAINT),
        step(x, 476, "committee", "what all expect together", BLUE),
        arrow((x + 60, 428), (x + 60, 472)),
        step(right, 476, "labels_, doubt_", "disbelieved_, predict", ORANGE),
        arrow((x + 200, 500), (right - 4, 500)),
    ]
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 572" \
role="img" font-family="system-ui, sans-serif">
<title>Layers of linkwise, and the way of the data through a fit</title>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" \
markerHeight="7" orient="auto"><path d="M0 0 10 5 0 10z" fill="{INK}"/></marker></defs>
<rect width="960" height="572" rx="10" fill="#ffffff"/>
{body}
</svg>
"""


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
