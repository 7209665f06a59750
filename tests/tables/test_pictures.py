"""Pictures of all kinds become rows of numbers, and broken ones a reason."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from linkwise.tables import _pictures
from linkwise.tables._pictures import (
    Looks,
    UnreadableError,
    describe_picture,
    describe_pictures,
    picture_looks,
    picture_parts,
    read_picture,
)


def made_picture(seed=0, size=(90, 120)):
    """A picture with colours, edges, and no symmetry."""
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 6, 3)).astype(np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


PLAIN = made_picture()
ROW = describe_picture(PLAIN)


def distance(path, to=ROW):
    return float(np.linalg.norm(describe_picture(read_picture(path, 128)) - to))


@pytest.mark.parametrize(
    "name, options, mode",
    [
        ("a.png", {}, "RGB"),
        ("a.jpg", {"quality": 95}, "RGB"),
        ("a.webp", {"lossless": True}, "RGB"),
        ("a.bmp", {}, "RGB"),
        ("a.tiff", {}, "RGB"),
        ("a.gif", {}, "P"),
        ("cmyk.jpg", {"quality": 95}, "CMYK"),
        ("cmyk.tiff", {}, "CMYK"),
        ("lab.tiff", {}, "LAB"),
        ("opaque.png", {}, "RGBA"),
        ("a.jpeg.png", {}, "RGB"),
    ],
)
def test_formats_and_modes_have_one_description(tmp_path, name, options, mode):
    PLAIN.convert(mode).save(tmp_path / name, **options)
    read = read_picture(tmp_path / name)
    assert read.mode == "RGB" and read.size == PLAIN.size
    assert distance(tmp_path / name) < 0.2
    assert distance(tmp_path / name, describe_picture(made_picture(1))) > 0.5


def test_sixteen_bits_are_scaled_and_not_cut_off(tmp_path):
    grey = np.asarray(PLAIN.convert("L"))
    Image.fromarray(grey.astype(np.uint16) * 257).save(tmp_path / "16.png")
    Image.fromarray(grey.astype(np.float32) / 255).save(tmp_path / "f.tiff")
    Image.fromarray(grey.astype(np.int32) * 1000 - 10**5).save(tmp_path / "i.tiff")
    Image.fromarray(np.full((9, 9), np.nan, np.float32)).save(tmp_path / "nan.tiff")
    row = describe_picture(PLAIN.convert("L").convert("RGB"))
    for name, at_most in (("16.png", 0.05), ("f.tiff", 0.05), ("i.tiff", 0.3)):
        assert distance(tmp_path / name, row) < at_most
    assert np.isfinite(describe_picture(read_picture(tmp_path / "nan.tiff"))).all()


@pytest.mark.parametrize("turn", range(1, 9))
def test_pictures_are_turned_upright(tmp_path, turn):
    ways = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_90,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_270,
    }
    exif = Image.Exif()
    exif[0x0112] = turn
    turned = PLAIN if turn == 1 else PLAIN.transpose(ways[turn])
    turned.save(tmp_path / "a.jpg", exif=exif, quality=95)
    assert read_picture(tmp_path / "a.jpg").size == PLAIN.size
    assert distance(tmp_path / "a.jpg") < 0.1


def test_what_is_transparent_is_white(tmp_path):
    clear = PLAIN.convert("RGBA")
    clear.putalpha(0)
    clear.save(tmp_path / "clear.png")
    half = Image.new("LA", (9, 9), (0, 0))
    half.save(tmp_path / "la.png")
    palette = Image.new("P", (9, 9), 3)
    palette.save(tmp_path / "p.gif", transparency=3)
    for name in ("clear.png", "la.png", "p.gif"):
        assert np.asarray(read_picture(tmp_path / name)).min() == 255


def test_the_first_frame_counts(tmp_path):
    frames = [made_picture(1), made_picture(2)]
    for name in ("a.gif", "a.webp", "a.tiff", "a.png"):
        PLAIN.save(tmp_path / name, save_all=True, append_images=frames)
        assert distance(tmp_path / name) < 0.3


def bomb(width, height):
    """A PNG file that says it is huge, and is small."""

    def chunk(kind, content):
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    lines = zlib.compress(bytes(100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines)


def whole_png():
    content = io.BytesIO()
    PLAIN.save(content, "png")
    return content.getvalue()


@pytest.mark.parametrize(
    "content, reason",
    [
        (b"", "no PNG, JPEG"),
        (b"hello", "no PNG, JPEG"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no PNG, JPEG"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "no PNG, JPEG"),
        (whole_png()[:400], "broken: "),
        (whole_png()[:60], "broken: "),
        (bomb(100_000, 100_000), "more than 100,000,000 pixels"),
        (bomb(10_001, 10_000), "10,001 x 10,000 pixels; at most 100,000,000"),
        (bomb(0, 5), "no PNG, JPEG"),
    ],
)
def test_what_cannot_be_read_is_a_reason(tmp_path, content, reason):
    path = tmp_path / "a.png"
    path.write_bytes(content)
    with pytest.raises(UnreadableError, match=reason):
        read_picture(path, 128)


def test_a_missing_file_is_a_reason(tmp_path):
    with pytest.raises(UnreadableError, match="broken: "):
        read_picture(tmp_path / "none.png")


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 600), st.integers(0, 255)), min_size=1))
def test_damaged_files_give_a_picture_or_a_reason(tmp_path_factory, changes):
    content = bytearray(whole_png()[:3000])
    for place, value in changes:
        content[place % len(content)] = value
    path = tmp_path_factory.getbasetemp() / "damaged.png"
    path.write_bytes(bytes(content))
    try:
        assert read_picture(path, 64).mode == "RGB"
    except UnreadableError as error:
        assert str(error)


@settings(max_examples=40)
@given(arrays(np.uint8, st.tuples(st.integers(1, 40), st.integers(1, 40), st.just(3))))
def test_every_part_of_a_description_has_length_one(pixels):
    row = describe_picture(Image.fromarray(pixels))
    assert row.dtype == np.float32 and np.isfinite(row).all()
    for part in picture_parts().values():
        own = row[part].astype(np.float64)
        assert abs(own @ own - 1) < 1e-5


def test_brightness_alone_leaves_edges_and_greys_as_they_are():
    dark = PLAIN.point(lambda level: level // 2)
    first = picture_parts()["edge"].start
    edges = np.linalg.norm((describe_picture(dark) - ROW)[first:])
    other = np.linalg.norm((describe_picture(made_picture(1)) - ROW)[first:])
    assert edges < other / 4


@pytest.mark.parametrize(
    "colour, name",
    [
        ("red", "red"),
        ("lime", "green"),
        ("blue", "blue"),
        ("yellow", "yellow"),
        ("gray", "grey"),
        ("white", "grey"),
    ],
)
def test_pictures_are_told_by_their_colour(colour, name):
    assert picture_looks(Image.new("RGB", (4, 4), colour)).colour == name


def test_a_picture_has_the_same_row_in_any_company(tmp_path):
    for seed in range(3):
        made_picture(seed).save(tmp_path / f"{seed}.jpg")
    (tmp_path / "3.jpg").write_bytes(b"no")
    paths = [tmp_path / f"{seed}.jpg" for seed in (0, 3, 1, 2)]
    calls = []
    found = describe_pictures(
        paths, ["a", "b", "c", "d"], lambda done, total: calls.append((done, total))
    )
    assert found.places == [0, 2, 3] and calls == [(n, 4) for n in range(1, 5)]
    assert [str(unread) for unread in found.unread] == [
        "b (no PNG, JPEG, GIF, WebP, BMP or TIFF picture)"
    ]
    alone = describe_pictures(paths[2:3], ["c"])
    np.testing.assert_array_equal(alone.rows[0], found.rows[1])
    assert isinstance(found.looks[0], Looks)


def test_without_pillow_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "PIL", None)
    with pytest.raises(ImportError, match=r"linkwise\[images\]"):
        _pictures.read_picture(tmp_path / "a.png")
