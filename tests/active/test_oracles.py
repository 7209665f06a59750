"""Those who answer: a language model behind a small server, and an estimator."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

from linkwise import ConstrainedKernelKMeans, Constraints
from linkwise.active import (
    ActiveClusterer,
    Grid,
    LanguageModel,
    Merge,
    OracleError,
    Question,
    Session,
    Truth,
    Which,
    run,
)

TEXTS = ["red apple", "green apple", "old car", "new car"]
Y = np.array([0, 0, 1, 1])


def by_last_word(content):
    blocks = content.split("item:\n")
    first, second = (block.split("\n")[0].split()[-1] for block in blocks[1:3])
    return "Same." if first == second else "different"


@contextmanager
def serving(answer, statuses=()):
    """Serve chat completions; ``statuses`` are given before the first good answer."""
    seen, left = [], list(statuses)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((body, self.headers))
            status = left.pop(0) if left else 200
            said = answer(body["messages"][0]["content"])
            reply = {"choices": [{"message": {"content": said}}]}
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/chat/completions", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def model_at(url, **options):
    return LanguageModel(TEXTS, url, "small", wait=lambda seconds: None, **options)


def test_it_answers_and_remembers(tmp_path):
    cache = tmp_path / "said.jsonl"
    with serving(by_last_word) as (url, seen):
        model = model_at(url, key="secret", criterion="Kinds of things.", cache=cache)
        assert [model(0, 1), model(0, 2), model(0, 1)] == ["same", "different", "same"]
        assert model.n_calls == len(seen) == 2
        body, headers = seen[0]
        assert body["model"] == "small" and body["temperature"] == 0
        assert "Kinds of things." in body["messages"][0]["content"]
        assert headers["Authorization"] == "Bearer secret"
    # The server is gone; what was paid for is there. A torn line does not matter.
    cache.write_text(cache.read_text() + '{"question": "x')
    assert model_at(url, criterion="Kinds of things.", cache=cache)(0, 1) == "same"
    assert "secret" not in cache.read_text()


@pytest.mark.parametrize(
    "text, word",
    [
        ("They are DIFFERENT!", "different"),
        ("same or different", "unsure"),
        ("", "unsure"),
        ("I cannot tell", "unsure"),
    ],
)
def test_words_are_found_in_what_it_says(text, word):
    with serving(lambda content: text) as (url, _):
        assert model_at(url)(0, 1) == word


def test_failures_are_tried_again_and_then_told():
    with serving(by_last_word, [503, 429]) as (url, seen):
        assert model_at(url)(0, 1) == "same" and len(seen) == 3
    with serving(by_last_word, [500] * 9) as (url, seen):
        with pytest.raises(OracleError, match="HTTP status 500"):
            model_at(url, retries=2)(0, 1)
        assert len(seen) == 3
    with serving(by_last_word, [401]) as (url, seen):
        with pytest.raises(OracleError, match="HTTP status 401"):
            model_at(url)(0, 1)
        assert len(seen) == 1
    with pytest.raises(OracleError, match="gave no answer"):
        model_at(url, retries=1, timeout=2)(0, 1)


def test_the_cost_has_a_limit():
    with serving(by_last_word) as (url, _):
        model = model_at(url, max_calls=1)
        model(0, 1)
        with pytest.raises(OracleError, match="max_calls=1"):
            model(0, 2)


def test_another_kind_of_address_is_refused():
    with pytest.raises(ValueError, match="must begin with http"):
        LanguageModel(TEXTS, "file:///etc/passwd", "small")


def test_it_drives_a_session():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    with serving(by_last_word) as (url, _):
        session = Session(X, ConstrainedKernelKMeans(2, random_state=0))
        run(session, model_at(url), 10)
    labels = session.labels_
    assert labels[0] == labels[1] != labels[2] == labels[3]


class TestActiveClusterer:
    X, y = make_blobs(60, centers=3, cluster_std=0.5, random_state=0)

    def model(self, **options):
        estimator = ConstrainedKernelKMeans(3, random_state=0)
        return ActiveClusterer(estimator, Truth(self.y), budget=20, **options)

    def test_it_asks_and_clusters(self):
        model = clone(self.model()).fit(self.X)
        assert len(np.unique(model.labels_)) == 3
        np.testing.assert_array_equal(model.predict(self.X), model.labels_)
        assert model.constraints_.n_must_link + model.constraints_.n_cannot_link <= 20
        assert (model.fit_predict(self.X) == model.labels_).all()

    def test_known_pairs_count(self):
        pairs = (
            Constraints([(0, 1)])
            if self.y[0] == self.y[1]
            else Constraints([], [(0, 1)])
        )
        model = self.model().fit(self.X, constraints=pairs)
        found = model.constraints_
        assert found.merge(pairs) == found

    def test_no_answers_is_plain_clustering(self):
        model = self.model().set_params(budget=0).fit(self.X)
        assert model.constraints_.is_empty and len(model.labels_) == 60

    def test_bad_parameters(self):
        with pytest.raises(ValueError, match="budget=-1"):
            self.model().set_params(budget=-1).fit(self.X)
        with pytest.raises(ValueError, match="fit_every=0"):
            self.model(fit_every=0).fit(self.X)


class TestAllKinds:
    """What a server says becomes an answer of the kind that was asked."""

    WHICH = Which(0, [[1], [2, 3]], "1:which:a", [4, 5])
    GRID = Grid([0], [1, 2, 3], "1:grid:a", 4)
    MERGE = Merge([0, 1], [2], "1:merge:a", (4, 5))

    @pytest.mark.parametrize(
        ("question", "reply", "answer"),
        [
            (WHICH, "2", 1),
            (WHICH, "Group 1.", 0),
            (WHICH, "None of them", "none"),
            (WHICH, "1 or 2", "unsure"),
            (WHICH, "7", "unsure"),
            (GRID, "1, 3", [0, 2]),
            (GRID, "all", []),
            (GRID, "all but 2", "unsure"),
            (GRID, "9", "unsure"),
            (MERGE, "Different.", "different"),
            (MERGE, "same", "same"),
            (Question(0, 1, "a"), "same", "same"),
        ],
    )
    def test_a_reply_is_read(self, tmp_path, question, reply, answer):
        with serving(lambda content: reply) as (url, seen):
            cache = tmp_path / "cache.jsonl"
            model = model_at(url, cache=cache)
            assert model.answer(question) == answer
            assert model_at(url, cache=cache).answer(question) == answer
        assert len(seen) == 1
