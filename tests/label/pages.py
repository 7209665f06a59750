"""A page without a browser, for tests."""

import uuid

import pandas as pd
from sklearn.datasets import make_blobs
from starlette.testclient import TestClient

from linkwise.label._app import make_app

TOKEN = "t" * 43
HOST = "127.0.0.1:8123"
X, Y = make_blobs(60, centers=3, cluster_std=0.5, random_state=1)


class Page:
    """A page without a browser: it sends what the real one sends."""

    def __init__(self, desk, name="page", who=None, export=None):
        app = make_app(desk, TOKEN, [HOST, "localhost:8123"], export)
        self.http = TestClient(
            app, base_url=f"http://{HOST}", raise_server_exceptions=False
        )
        self.http.headers["Authorization"] = f"Bearer {TOKEN}"
        self.desk, self.name, self.who = desk, name, who

    def get(self, path, **options):
        return self.http.get(f"/api/{path}", **options)

    def state(self):
        return self.get(f"state?client={self.name}").json()

    def send(self, path, attempt=None, **values):
        body = {
            "client": self.name,
            "attempt": attempt or f"{self.name}-{uuid.uuid4().hex}",
        }
        if self.who is not None:
            body["who"] = self.who
        return self.http.post(f"/api/{path}", json={**body, **values})

    def answer(self, word=None, question=None, **values):
        question = question or self.state()["question"]
        if word is None:
            i, j = (question[side]["row"] for side in ("left", "right"))
            word = "same" if Y[i] == Y[j] else "different"
        return self.send("answer", question=question["id"], answer=word, **values)

    def answers(self, n):
        for _ in range(n):
            assert self.answer().status_code == 200


def frame_of(X):
    frame = pd.DataFrame(X.round(3), columns=["length", "width"])
    frame["title"] = [f"row number {i}" for i in range(len(X))]
    return frame
