"""kill -9 of the server while answers arrive: none is lost, none counts twice."""

import http.client
import json
import os
import random
import threading
import time
import uuid

import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from tests.cli.test_label import Server

X, Y = make_blobs(400, centers=4, random_state=0)


class Person(threading.Thread):
    """Answers as fast as the server takes it; sends again what was not acknowledged."""

    def __init__(self, name):
        super().__init__()
        self.who, self.place, self.is_over = name, None, False
        self.acknowledged, self.n_late, self.n_again = [], 0, 0

    def send(self, method, path, body=None):
        """Return status and answer; try again until there is one."""
        while not self.is_over:
            host, token = self.place
            connection = http.client.HTTPConnection(host, timeout=30)
            headers = {"Authorization": f"Bearer {token}"}
            if body is not None:
                headers["Content-Type"] = "application/json"
            try:
                content = None if body is None else json.dumps(body)
                connection.request(method, path, content, headers)
                answer = connection.getresponse()
                return answer.status, json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self.n_again += 1
                time.sleep(0.02)
            finally:
                connection.close()
        return None, None

    def run(self):
        _, state = self.send("GET", f"/api/state?client={self.who}")
        while not self.is_over and state and state["question"]:
            question = state["question"]
            i, j = (question[side]["row"] for side in ("left", "right"))
            body = {
                "client": self.who,
                "attempt": uuid.uuid4().hex,
                "question": question["id"],
                "answer": "same" if Y[i] == Y[j] else "different",
                "who": self.who,
            }
            status, found = self.send("POST", "/api/answer", body)
            if status == 200:
                self.acknowledged.append(body["attempt"])
            elif status == 409:
                self.n_late += 1
            elif status is not None:
                raise AssertionError(found)
            state = found and found["state"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_twenty_kills(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(X.round(3), columns=["a", "b"])
    frame.insert(0, "id", [f"r{i}" for i in range(len(X))])
    frame.to_csv("rows.csv", index=False)
    command = (
        "label",
        "rows.csv",
        "--id-column",
        "id",
        "-k",
        "4",
        "--candidates",
        "30",
    )
    rng = random.Random(0)
    people = [Person("Ann"), Person("Ben")]
    server = Server(*command)
    for person in people:
        person.place = (server.host, server.token)
        person.start()
    for _ in range(20):
        time.sleep(rng.uniform(0.0, 1.0))
        server.process.kill()
        server.process.wait()
        server.process.stdout.close()
        server = Server(*command)
        assert (server.host, server.token) == people[0].place
    time.sleep(1.0)
    for person in people:
        person.is_over = True
        person.join()
    server.end()
    events = [json.loads(line) for line in open_lines("rows.linkwise.jsonl")]
    kinds = ("answer", "conflict")
    stored = [e["attempt"] for e in events if e["event"] in kinds]
    for person in people:
        assert len(person.acknowledged) > 20 and person.n_again > 0
        assert set(person.acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))
    pairs = [frozenset((e["i"], e["j"])) for e in events if e["event"] == "answer"]
    again = sum("again" in e for e in events)
    assert len(pairs) - len(set(pairs)) <= again


def open_lines(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()
