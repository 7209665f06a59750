"""Pictures as rows of numbers: read safely, turned upright, shrunk, described.

A description has three parts of length 1: the colours, the directions of edges in each
part of the picture, and the picture itself as a few grey pixels. No model is needed and
nothing is learnt, so a picture has the same row in whatever company.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from linkwise._typing import FloatArray

# What pictures are called, and the formats that are read whatever they are called.
# Others can start programs (EPS), or are read by few.
PICTURE_ENDINGS = (
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff"),
    *(".heic", ".heif", ".avif"),  # to be said that they are not read
)
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_READABLE = "PNG, JPEG, GIF, WebP, BMP or TIFF"
NO_PILLOW = "Pictures need Pillow. Install it with `pip install 'linkwise[images]'`."
# A small file can hold very many pixels; decoded, each takes up to 16 bytes.
MAX_PIXELS = 100_000_000

_SIDE = 64  # pixels of a picture that is described, in both directions
_LEVELS = 4  # of red, green and blue
_CELLS, _DIRECTIONS = 4, 8  # parts in both directions, and directions of edges in each
_SMALL = 12  # pixels of the small grey picture, in both directions
# What a flat picture has in the place of edges and of greys, so that it has a row of
# the same length, and noise does not count as much as what can be seen.
_NO_EDGES, _NO_GREYS = 2.0, 0.5
_HUES = ("red", "yellow", "green", "cyan", "blue", "magenta")
_GREY = 0.04  # colours weaker than this are none
_LUMA = np.array([0.299, 0.587, 0.114])


class UnreadPicture(NamedTuple):
    """A picture that could not be read."""

    name: str
    reason: str

    def __str__(self) -> str:
        """Return the name and the reason."""
        return f"{self.name} ({self.reason})"


class UnreadableError(ValueError):
    """A file that is no picture, or none that is read; the text says why."""


def picture_finder(names: Iterable[str]) -> Callable[[str], str | None]:
    """Return a function that finds a picture by its name, with or without the ending.

    Without it, only if no other picture is called so. None is returned for others.

    Examples
    --------
    >>> find = picture_finder(["a.png", "b.JPG", "b.png", "notes.txt"])
    >>> find("a"), find("a.png"), find("a.jpg"), find("b"), find("notes")
    ('a.png', 'a.png', 'a.png', None, None)
    """
    known = set(names)
    pictures = [name for name in known if _bare(name) != name]
    times = Counter(map(_bare, pictures))
    whole = {_bare(name): name for name in pictures if times[_bare(name)] == 1}
    return lambda name: name if name in known else whole.get(_bare(name))


def _bare(name: str) -> str:
    """Return a name without the ending of a picture."""
    stem, mark, ending = name.rpartition(".")
    return stem if f"{mark}{ending}".lower() in PICTURE_ENDINGS else name


def read_picture(path: str | Path, side: int | None = None) -> Any:
    """Return a picture as one image of Pillow: upright, RGB, 8 bits, on white.

    Parameters
    ----------
    path : str or Path
        The file. Of several frames the first is taken.
    side : int, optional
        The picture is shrunk to fit into a square of so many pixels.

    Raises
    ------
    UnreadableError
        If it cannot be read.
    ImportError
        Without Pillow.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError(NO_PILLOW) from None
    with warnings.catch_warnings():
        # What is odd in a file is no news for who looks at pictures.
        warnings.simplefilter("ignore")
        try:
            with Image.open(path, formats=_FORMATS) as image:
                return _upright(image, side)
        except UnreadableError:
            raise
        except UnidentifiedImageError:
            raise UnreadableError(f"no {_READABLE} picture") from None
        except Image.DecompressionBombError:
            raise UnreadableError(f"more than {MAX_PIXELS:,} pixels") from None
        except Exception as error:  # of a broken file, anything may come
            reason = " ".join(str(error).split())[:80] or type(error).__name__
            raise UnreadableError(f"broken: {reason}") from None


def _upright(image: Any, side: int | None) -> Any:
    """Return an open image as it is meant to be seen."""
    from PIL import ImageOps

    width, height = image.size
    if width * height > MAX_PIXELS:
        raise UnreadableError(
            f"{width:,} x {height:,} pixels; at most {MAX_PIXELS:,} are read"
        )
    if side is not None:
        # JPEG is decoded smaller at once: much faster, and the same after shrinking.
        image.draft(None, (2 * side, 2 * side))
    image.load()
    image = ImageOps.exif_transpose(image)
    image = _in_rgb(image)
    if side is not None:
        image.thumbnail((side, side))
    return image


def _in_rgb(image: Any) -> Any:
    """Return an image of any mode in RGB; what is transparent is white."""
    from PIL import Image

    if image.mode[0] in "IF":  # more than 8 bits, which Pillow would cut off
        image = Image.fromarray(_eight_bits(np.asarray(image, dtype=np.float64)))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _eight_bits(values: FloatArray) -> Any:
    """Return levels of grey from 0 to 255, of 16 bits or of the range there is."""
    values = np.nan_to_num(values, posinf=0.0, neginf=0.0)
    low, high = float(values.min()), float(values.max())
    tops = [top for top in (1.0, 255.0, 65_535.0) if low >= 0 and high <= top]
    if tops:
        low, high = 0.0, tops[0]
    levels = 255 * (values - low) / max(high - low, 1e-30)
    return levels.round().astype(np.uint8)


def describe_picture(image: Any) -> FloatArray:
    """Return an image of Pillow, RGB, as a row of numbers.

    Examples
    --------
    >>> from PIL import Image
    >>> row = describe_picture(Image.new("RGB", (40, 30), "red"))
    >>> row.shape, round(float(row @ row), 4)
    ((338,), 3.0)
    """
    from PIL import Image

    square = image.resize((_SIDE, _SIDE), Image.Resampling.BILINEAR)
    pixels = np.asarray(square, dtype=np.float64) / 255
    greys = pixels @ _LUMA
    parts = [_colours(pixels.reshape(-1, 3)), _edges(greys), _small(greys)]
    return np.concatenate(parts).astype(np.float32)


@cache
def picture_parts() -> dict[str, slice]:
    """Return which numbers of a description are about what."""
    widths = {
        "colour": _LEVELS**3,
        "edge": _CELLS**2 * _DIRECTIONS + 1,
        "grey": _SMALL**2 + 1,
    }
    ends = np.cumsum(list(widths.values())).tolist()
    starts = [0, *ends]
    return {n: slice(*at) for n, *at in zip(widths, starts, ends, strict=False)}


def _colours(pixels: FloatArray) -> FloatArray:
    """Return the root of the share of each colour; a pixel counts for its neighbours.

    Roots, so that small shares count and distances are those of Hellinger.
    """
    scaled = pixels * (_LEVELS - 1)
    low = np.minimum(scaled.astype(np.intp), _LEVELS - 2)
    rest = scaled - low
    shares = np.zeros(_LEVELS**3)
    for corner in np.ndindex(2, 2, 2):
        weights = np.where(corner, rest, 1 - rest).prod(axis=1)
        places = (low + corner) @ [_LEVELS**2, _LEVELS, 1]
        shares += np.bincount(places, weights, minlength=_LEVELS**3)
    return np.sqrt(shares / len(pixels))


def _edges(greys: FloatArray) -> FloatArray:
    """Return the root of the share of each direction of edges in each part."""
    down, right = np.gradient(greys)
    strength = np.hypot(down, right)
    turn = np.arctan2(down, right) % np.pi / np.pi * _DIRECTIONS
    low = np.floor(turn)
    rest = turn - low
    cell = np.arange(_SIDE) * _CELLS // _SIDE
    first = _DIRECTIONS * (_CELLS * cell[:, None] + cell)
    n_bins = _CELLS**2 * _DIRECTIONS
    shares = np.full(n_bins + 1, _NO_EDGES)
    shares[:-1] = 0
    for step, weights in ((0, strength * (1 - rest)), (1, strength * rest)):
        places = first + (low.astype(np.intp) + step) % _DIRECTIONS
        shares[:-1] += np.bincount(places.ravel(), weights.ravel(), minlength=n_bins)
    return np.sqrt(shares / shares.sum())


def _small(greys: FloatArray) -> FloatArray:
    """Return the picture as a few pixels, without brightness and contrast."""
    from PIL import Image

    image = Image.fromarray(greys.astype(np.float32))
    size = (_SMALL, _SMALL)
    small = np.asarray(image.resize(size, Image.Resampling.BOX), dtype=np.float64)
    small = small.ravel() - small.mean()
    small /= np.sqrt(small @ small + _NO_GREYS**2)
    return np.append(small, np.sqrt(max(0.0, 1 - small @ small)))


class Looks(NamedTuple):
    """What a person would say of a picture."""

    brightness: int  # per cent
    colour: str


def picture_looks(image: Any) -> Looks:
    """Return how bright an image is, and which colour it has most of.

    Examples
    --------
    >>> from PIL import Image
    >>> picture_looks(Image.new("RGB", (9, 9), (250, 20, 20)))
    Looks(brightness=35, colour='red')
    """
    pixels = np.asarray(image, dtype=np.float64).reshape(-1, 3) / 255
    brightness = round(100 * float((pixels @ _LUMA).mean()))
    strength = np.ptp(pixels, axis=1)
    if strength.mean() < _GREY:
        return Looks(brightness, "grey")
    # The side of the circle of hues: sixths, the first around red.
    red, green, blue = pixels.T
    hue = np.arctan2(np.sqrt(3) * (green - blue), 2 * red - green - blue)
    sixth = np.rint(hue / (np.pi / 3)).astype(np.intp) % len(_HUES)
    # Squares: a thing in strong colours counts more than its pale ground.
    shares = np.bincount(sixth, strength**2, minlength=len(_HUES))
    return Looks(brightness, _HUES[int(shares.argmax())])


class Described(NamedTuple):
    """Pictures as rows of numbers."""

    rows: FloatArray  # (n_read, n_numbers), float32
    places: list[int]  # of the pictures that were read
    looks: list[Looks]
    unread: list[UnreadPicture]


def describe_pictures(
    paths: Sequence[Path],
    names: Sequence[str],
    progress: Callable[[int, int], None] | None = None,
    strict: bool = False,
) -> Described:
    """Return the rows of pictures; those that cannot be read are left out and named.

    If ``strict`` they raise an UnreadableError. ``progress`` is called with the number
    of pictures that are done, and of all.
    """
    rows, places, looks, unread = [], [], [], []
    for place, (path, name) in enumerate(zip(paths, names, strict=True)):
        try:
            image = read_picture(path, 2 * _SIDE)
            rows.append(describe_picture(image))
            looks.append(picture_looks(image))
            places.append(place)
        except UnreadableError as error:
            unread.append(UnreadPicture(name, str(error)))
            if strict:
                raise UnreadableError(f"{name}: {error}.") from None
        if progress is not None:
            progress(place + 1, len(paths))
    shape = (len(rows), picture_parts()["grey"].stop)
    found = np.array(rows, dtype=np.float32).reshape(shape)
    return Described(found, places, looks, unread)
