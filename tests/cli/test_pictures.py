"""Folders of pictures in the place of data files."""

import copy
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image, ImageDraw
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from linkwise import KernelCSC, ModelFileError, load, save
from linkwise.active import is_fit_due
from linkwise.cli._screen import Screen
from linkwise.cli._sessions import SessionJob, beside, open_session
from linkwise.tables import PicturePreparation, TablePipeline, UnreadableError

COLOURS = np.array([[200, 40, 40], [40, 160, 60], [50, 70, 200]])
FEW = ("--candidates", 20)


def write_shapes(folder, n=45):
    """Write circles and squares in three colours; return the colours."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(n):
        image = Image.new("RGB", (60, 50), (240, 240, 235))
        fill = COLOURS[number % 3] + rng.integers(-30, 30, 3)
        r = int(rng.integers(8, 18))
        x, y = int(rng.integers(r, 60 - r)), int(rng.integers(r, 50 - r))
        pen, box = ImageDraw.Draw(image), [x - r, y - r, x + r, y + r]
        draw = pen.ellipse if number % 2 else pen.rectangle
        draw(box, fill=tuple(fill.clip(0, 255).tolist()))
        image.save(folder / f"s{number:02d}.{'jpg' if number % 2 else 'png'}")
    return np.arange(n) % 3


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "shapes"
    return folder, write_shapes(folder)


@pytest.fixture
def shapes(linkwise, made):
    """Write a folder with 45 pictures, a broken one, others, and pairs."""
    shutil.copytree(made[0], "shapes")
    Path("shapes/broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    Path("shapes/notes.txt").write_text("no picture")
    Path("shapes/.hidden.png").write_bytes(b"")
    lines = ["s00,s03.jpg,ML", "shapes/s01.jpg,s04,ML", "s02.png,s05,ML"]
    lines += ["s00.png,s01,CL", "s00,s02,CL", "s01,s02,CL"]
    lines += [f"s{row:02d},s{row + 3:02d},ML" for row in range(6, 14)]
    lines += [f"s{row:02d},s{row + 4:02d},CL" for row in range(6, 14)]
    linkwise.write("pairs.csv", "\n".join(["i,j,kind", *lines]))
    return made[1]


SAID = "shapes: 45 of 46 pictures read; not: broken.png"
CLUSTER = ("cluster", "shapes", "-c", "pairs.csv", "-k", 3, "-o", "labels.csv", *FEW)


def ari(classes, path="labels.csv"):
    found = pd.read_csv(path)
    assert found.columns.tolist() == ["picture", "cluster"]
    rows = [int(name[1:3]) for name in found["picture"]]
    return adjusted_rand_score(classes[rows], found["cluster"])


def test_a_folder_is_clustered_reported_and_predicted(linkwise, shapes):
    done = linkwise.ok(*CLUSTER, "--model", "m.linkwise", "--report", "page.html")
    assert SAID in done.stderr and "notes" not in done.stderr
    assert ari(shapes) == 1
    assert "colours: 64 numbers" in done.stdout
    page = Path("page.html").read_text()
    assert "colour = red" in page and ".png" in page
    done = linkwise.ok("predict", "m.linkwise", "shapes", "-o", "new.csv")
    assert SAID in done.stderr
    assert Path("new.csv").read_bytes() == Path("labels.csv").read_bytes()
    shutil.copytree("shapes", "more/deep/down", ignore=lambda *_: ["broken.png"])
    values = linkwise.json("predict", "m.linkwise", "more", "-o", "new.csv")
    assert values["rows"] == 45 and values["unread"] == []
    assert pd.read_csv("new.csv")["picture"][0] == "deep/down/s00.png"
    linkwise.ok("report", "m.linkwise", "shapes", "-c", "pairs.csv", "-o", "two.html")
    assert "22 pairs" in Path("two.html").read_text()


def test_weights_of_features_take_all_numbers_at_once(linkwise, shapes):
    Path("shapes/broken.png").unlink()
    linkwise.ok(*CLUSTER, "--method", "mahalanobis", "--model", "m.linkwise")
    linkwise.ok("predict", "m.linkwise", "shapes", "-o", "new.csv")
    assert Path("new.csv").read_bytes() == Path("labels.csv").read_bytes()


def test_models_of_python_and_of_the_command_are_the_same(linkwise, shapes):
    Path("shapes/broken.png").unlink()
    paths = sorted(Path("shapes").glob("s*"))
    must = [(row, row + 3) for row in (0, 1, 2, *range(6, 14))]
    cannot = [(0, 1), (0, 2), (1, 2), *((row, row + 4) for row in range(6, 14))]
    steps = [("pictures", PicturePreparation()), ("cluster", KernelCSC(3))]
    model = TablePipeline(steps).set_params(
        cluster__n_candidates=20, cluster__random_state=0
    )
    model.fit(paths, constraints=(must, cannot))
    save(model, "python.linkwise")
    assert (load("python.linkwise").predict(paths) == model.labels_).all()
    linkwise.ok("predict", "python.linkwise", "shapes", "-o", "new.csv")
    assert pd.read_csv("new.csv")["cluster"].tolist() == model.labels_.tolist()
    linkwise.ok(*CLUSTER)
    same = adjusted_rand_score(model.labels_, pd.read_csv("labels.csv")["cluster"])
    assert same == 1
    for name, value in (("views", 1), ("more", "settings")):
        crafted = copy.deepcopy(model)
        setattr(crafted[0], name, value)
        save(crafted, "crafted.linkwise")
        with pytest.raises(ModelFileError, match="other settings"):
            load("crafted.linkwise")
    Path("x.png").write_text("no")
    with pytest.raises(UnreadableError, match="x.png: no PNG"):
        model.predict(["x.png"])


def test_check_and_strict(linkwise, shapes):
    values = linkwise.json("check", "shapes/", "pairs.csv")
    assert values["rows"] == 45 and values["must_links"] == 11
    assert SAID in values["warnings"][0]
    result = linkwise("check", "shapes", "pairs.csv", "--strict")
    assert result.exit_code == 3 and SAID in result.stderr
    result = linkwise(*CLUSTER, "--strict")
    assert result.exit_code == 3 and "labels.csv" not in linkwise.files()


def asked(folder, classes, n_answers, k):
    """Answer the questions about a folder truly; return the agreement."""
    job = SessionJob(Path(folder), k, n_candidates=50)
    opened = open_session(job, Screen(quiet=True))
    with opened.session as session:
        for _ in range(n_answers):
            question = session.ask()
            is_same = classes[question.i] == classes[question.j]
            session.tell(question, "same" if is_same else "different")
            if is_fit_due(session.n_answers):
                session.fit()
        return adjusted_rand_score(classes, session.fit().labels_)


def test_few_answers_find_colours(linkwise, shapes):
    assert asked("shapes", shapes, 15, 3) == 1
    # Answers stand beside the folder, not in it.
    assert "shapes.linkwise.jsonl" in linkwise.files()


def test_few_answers_find_digits(linkwise):
    rows, classes = load_digits(n_class=4, return_X_y=True)
    Path("digits").mkdir()
    for number, row in enumerate(rows[:80]):
        levels = (255 - row.reshape(8, 8) * 255 / 16).astype(np.uint8)
        Image.fromarray(levels).save(f"digits/{number:02d}.png")
    assert asked("digits", classes[:80], 20, 4) > 0.85


def test_questions_name_pictures(linkwise, shapes):
    pairs = ("--questions", "pair")
    done = linkwise("ask", "shapes", "-k", 3, *FEW, *pairs, stdin="u\n")
    assert done.exit_code == 0, done.stderr
    first = next(line for line in done.stderr.splitlines() if "same, different" in line)
    assert first.count(".png") + first.count(".jpg") == 2
    assert "colour:" in done.stderr


def test_embeddings_of_pictures_are_found_by_names_with_or_without_endings(
    linkwise, shapes
):
    Path("shapes/broken.png").unlink()
    names = sorted(path.name for path in Path("shapes").glob("s*"))
    rows = np.eye(3)[shapes] + np.random.default_rng(0).normal(0, 0.1, (45, 3))
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    for keys in (names, [Path(name).stem for name in names]):
        frame.assign(key=keys).iloc[::-1].to_csv("rows.csv", index=False)
        said = linkwise.ok(*CLUSTER, "--embeddings", "rows.csv", "--id-column", "key")
        assert "by column 'key'" in said.stdout
        found = pd.read_csv("labels.csv")
        assert found["key"].tolist() == names
        assert adjusted_rand_score(shapes, found["cluster"]) == 1
    np.save("rows.npy", rows)
    linkwise.ok(*CLUSTER, "--embeddings", "rows.npy", "--model", "m.linkwise")
    assert ari(shapes) == 1
    result = linkwise("predict", "m.linkwise", "shapes", "-o", "new.csv")
    assert result.exit_code == 3 and "--embeddings FILE" in result.stderr
    linkwise.ok(
        *("predict", "m.linkwise", "shapes", "-o", "new.csv"),
        *("--embeddings", "rows.npy"),
    )
    assert ari(shapes, "new.csv") == 1


def test_a_name_that_two_pictures_share_needs_its_ending(linkwise, shapes):
    shutil.copy("shapes/s03.jpg", "shapes/s00.jpg")
    result = linkwise(*CLUSTER)
    assert result.exit_code == 3
    words = " ".join(result.stderr.split())
    assert "'s00'" in words and "the names of the pictures in shapes" in words


@pytest.mark.parametrize(
    "arguments, code, words",
    [
        ((*CLUSTER, "--columns", "colour"), 2, "a folder of pictures and has no"),
        ((*CLUSTER, "--id-column", "x"), 2, "whose names are the ids"),
        ((*CLUSTER, "--separator", ";"), 2, "options on text files"),
        (("cluster", "empty", *CLUSTER[2:]), 3, "a folder without pictures"),
        (("cluster", "bad", *CLUSTER[2:]), 3, "0 of 2 pictures read; not: a.png"),
        (("predict", "none", "shapes", "-o", "x.csv"), 3, "no such file"),
        (("cluster", "pairs.csv", "-c", "shapes", *CLUSTER[4:]), 3, "is a folder"),
    ],
)
def test_wrong_use_is_said(linkwise, shapes, arguments, code, words):
    Path("empty").mkdir()
    Path("bad").mkdir()
    for name in ("a.png", "b.heic"):
        Path("bad", name).write_bytes(b"no")
    result = linkwise(*arguments)
    assert result.exit_code == code, result.output
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_a_model_of_a_table_takes_no_pictures_and_the_reverse(linkwise, shapes):
    linkwise.ok(*CLUSTER, "--model", "m.linkwise")
    result = linkwise("predict", "m.linkwise", "labels.csv", "-o", "new.csv")
    assert result.exit_code == 3 and "was fitted on pictures" in result.stderr
    linkwise.write("rows.csv", "a,b\n" + "\n".join(f"{i},{i % 2}" for i in range(20)))
    linkwise.write("two.csv", "i,j,kind\n0,2,ML\n0,1,CL\n")
    linkwise.ok(
        *("cluster", "rows.csv", "-c", "two.csv", "-k", 2, "-o", "out.csv", *FEW),
        *("--model", "table.linkwise"),
    )
    result = linkwise("predict", "table.linkwise", "shapes", "-o", "new.csv")
    assert result.exit_code == 3 and "was not fitted on one" in result.stderr


def test_links_that_leave_the_folder_are_not_followed(linkwise, shapes):
    Image.new("RGB", (9, 9)).save("secret.png")
    Path("shapes/link.png").symlink_to(Path("secret.png").resolve())
    Path("shapes/broken.png").unlink()
    done = linkwise.ok("check", "shapes", "pairs.csv")
    assert "not: link.png (a link that leads out of the folder)" in done.stderr


def test_files_beside_a_folder_have_its_whole_name(tmp_path, monkeypatch):
    (tmp_path / "my.photos").mkdir()
    assert beside(tmp_path / "my.photos", ".x") == tmp_path / "my.photos.x"
    monkeypatch.chdir(tmp_path / "my.photos")
    assert beside(Path("."), ".x") == tmp_path / "my.photos.x"


@pytest.fixture
def page(monkeypatch):
    """Take what the page would show in the place of serving it."""
    shown = []
    monkeypatch.setattr(
        "linkwise.cli._label.serve_page", lambda opened, rows, *_: shown.append(rows)
    )
    return shown


def test_the_page_shows_the_pictures_of_a_folder(linkwise, shapes, page):
    linkwise.ok("label", "shapes", "-k", 3, *FEW)
    (rows,) = page
    assert len(rows) == 45 and rows.shown(1)["id"] == "s01.jpg"
    assert rows.shown(1)["picture"] and rows.columns == ["brightness", "colour"]
    assert rows.pictures(1).content == Path("shapes/s01.jpg").read_bytes()
    assert all(rows.pictures(row) is not None for row in range(45))


@pytest.mark.parametrize(
    "ids, said",
    [
        (["s00", "s01.jpg", "s02.png"], None),
        (["s00", "x", "s02"], "2 of 3 pictures found."),
        (["x", "y", "z"], "0 of 3 pictures found. A cell of each row, or its id, such"),
    ],
)
def test_how_many_pictures_of_a_table_are_found_is_said(
    linkwise, shapes, page, ids, said
):
    pd.DataFrame({"key": ids, "a": [1, 2, 9]}).to_csv("table.csv", index=False)
    done = linkwise.ok(
        "label", "table.csv", "--id-column", "key", "--images", "shapes", *FEW
    )
    assert ("pictures found" in done.stderr) == (said is not None)
    assert said is None or said in done.stderr
    found = [page[0].pictures(row) is not None for row in range(3)]
    assert found == [name.startswith("s") for name in ids]
