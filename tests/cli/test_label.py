"""The command that opens the page, without a browser; export and merge."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from linkwise import KernelCSC
from linkwise.active import Session

N = 30
X, Y = make_blobs(N, centers=3, cluster_std=0.4, random_state=1)
BASE = ("--id-column", "name", "--candidates", "20", "--clusters", "3")


@pytest.fixture
def flowers(linkwise):
    frame = pd.DataFrame(X.round(3), columns=["length", "width"])
    frame.insert(0, "name", [f"f{i}" for i in range(N)])
    frame.to_csv("flowers.csv", index=False)
    return linkwise


def answered(path, who, n=12, wrong=()):
    """Make a log as the page would, with n answers of a person."""
    frame = pd.read_csv("flowers.csv")
    model = KernelCSC(3, n_candidates=20, random_state=0)
    features = frame[["length", "width"]]
    ids = frame["name"].tolist()
    with Session(features, model, ids=ids, log=path) as session:
        for at in range(n):
            question = session.ask()
            is_same = Y[question.i] == Y[question.j]
            is_same = is_same != (at in wrong)
            session.tell(question, bool(is_same), who=who)
        return session.constraints_


class TestExport:
    def test_everything_is_written_without_a_page(self, flowers):
        answered("flowers.linkwise.jsonl", "Ann")
        done = flowers.json("label", "flowers.csv", *BASE, "--export", "out")
        names = ["clusters.csv", "labels.csv", "model.linkwise", "pairs.csv"]
        assert sorted(os.listdir("out")) == [*names, "report.html"]
        assert done["answers"] == 12 and done["clusters"] == 3
        labels = pd.read_csv("out/labels.csv")
        assert labels["name"].tolist() == [f"f{i}" for i in range(N)]
        for _, group in labels.groupby("cluster"):
            assert len(set(Y[group.index])) == 1
        page = Path("out/report.html").read_text(encoding="utf-8")
        assert page.lower().startswith("<!doctype html")
        # The model and the pairs serve the other commands.
        flowers.ok("predict", "out/model.linkwise", "flowers.csv", "-o", "new.csv")
        predicted = pd.read_csv("new.csv")["cluster"]
        names = pd.read_csv("out/clusters.csv").set_index("cluster")["predicted_as"]
        assert (names[labels["cluster"]].to_numpy() == predicted).mean() > 0.9
        check = ("check", "flowers.csv", "out/pairs.csv", "--id-column", "name")
        assert flowers.ok(*check).exit_code == 0

    def test_names_of_clusters_come_along(self, flowers):
        answered("flowers.linkwise.jsonl", "Ann")
        flowers.ok("label", "flowers.csv", *BASE, "--export", "out")
        frame = pd.read_csv("flowers.csv")
        with Session(
            frame[["length", "width"]],
            KernelCSC(3, n_candidates=20, random_state=0),
            ids=frame["name"].tolist(),
            log="flowers.linkwise.jsonl",
        ) as session:
            first = int(session.labels_[0])
            session.rename(first, "big, round")
        flowers.ok("label", "flowers.csv", *BASE, "--export", "out")
        labels = pd.read_csv("out/labels.csv", keep_default_na=False)
        assert set(labels["cluster_name"]) == {"big, round", ""}
        assert (labels["cluster"] == first).sum() == (labels["cluster_name"] > "").sum()

    def test_nothing_is_written_without_answers(self, flowers):
        done = flowers("label", "flowers.csv", *BASE, "--export", "out")
        assert done.exit_code == 3 and "no answers yet" in done.stderr
        assert flowers.files() == ["flowers.csv"]
        done = flowers("label", "-", "--export", "out", stdin="a\n1\n2\n")
        assert done.exit_code == 2 and "must be a file" in done.stderr

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (("--export", "flowers.csv"), "it is a file"),
            (("--export", "no/out"), "there is no folder"),
            (("--merge", "nothing.jsonl"), "no such file"),
            (("--merge", "flowers.csv"), "no event of a session"),
            (("--merge", "flowers.linkwise.jsonl"), "the log itself"),
            (("--images", "nowhere", "--export", "out"), "no such folder"),
            (("--show", "petals", "--export", "out"), "no such column"),
        ],
    )
    def test_errors(self, flowers, arguments, message):
        answered("flowers.linkwise.jsonl", "Ann", 1)
        done = flowers("label", "flowers.csv", *BASE, *arguments)
        assert done.exit_code == 3 and message in done.stderr
        assert not os.path.exists("out")


class TestMerge:
    def test_logs_of_several_people_become_one(self, flowers):
        answered("flowers.linkwise.jsonl", "Ann")
        answered("ben.jsonl", "Ben", wrong=[3])
        merge = ("label", "flowers.csv", *BASE, "--merge", "ben.jsonl")
        first = flowers.json(*merge)
        counts = first["joined"]["ben.jsonl"]
        assert counts["taken"] + counts["conflicts"] == 12 and counts["conflicts"] >= 1
        assert first["agreement"]["n_pairs"] > 3
        assert 0.5 < first["agreement"]["share"] < 1.0
        again = flowers.json(*merge)["joined"]["ben.jsonl"]
        assert again == {"taken": 0, "conflicts": 0, "before": 12, "lost": 0}
        lines = Path("flowers.linkwise.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        whos = [e["who"] for e in events if e["event"] in ("answer", "conflict")]
        assert whos.count("Ann") == whos.count("Ben") == 12

    def test_merge_and_export_go_together(self, flowers):
        answered("ben.jsonl", "Ben")
        flowers.ok(
            *("label", "flowers.csv", *BASE, "--merge", "ben.jsonl"),
            *("--export", "out"),
        )
        assert "labels.csv" in os.listdir("out")

    def test_ids_that_are_gone_are_counted(self, flowers):
        answered("ben.jsonl", "Ben")
        frame = pd.read_csv("flowers.csv").iloc[:10]
        frame.to_csv("flowers.csv", index=False)
        merge = ("label", "flowers.csv", *BASE, "--merge", "ben.jsonl")
        assert flowers.json(*merge)["joined"]["ben.jsonl"]["lost"] > 0


def test_without_the_extra_it_says_how_to_install_it(flowers, monkeypatch):
    find = "linkwise.cli._label.importlib.util.find_spec"
    monkeypatch.setattr(find, lambda name: None)
    done = flowers("label", "flowers.csv", *BASE)
    assert done.exit_code == 3 and "pip install linkwise[label]" in done.stderr
    assert not os.path.exists("flowers.linkwise.jsonl")
    done = flowers("demo", "--label")
    assert done.exit_code == 3 and "pip install linkwise[label]" in done.stderr


class Server:
    """The command as a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "linkwise", *arguments, "--no-browser"]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C" in line or '"url"' in line:
                break
        found = re.search(r'http://([^/]+)/#([^\s"]+)', self.said)
        assert found, self.said
        self.host, self.token = found.groups()

    def request(self, method, path, body=None, host=None):
        connection = http.client.HTTPConnection(self.host, timeout=30)
        headers = {"Authorization": f"Bearer {self.token}"}
        if host:
            headers["Host"] = host
        if body is not None:
            body = json.dumps(body)
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def end(self, sent=signal.SIGINT):
        self.process.send_signal(sent)
        self.said += self.process.stdout.read()
        self.process.stdout.close()
        return self.process.wait(30)


@pytest.mark.skipif(os.name != "posix", reason="signals")
class TestServer:
    def test_it_serves_goes_on_and_ends(self, flowers):
        server = Server(
            "label", "flowers.csv", *BASE, "--who", "Ann", "--criterion", "k"
        )
        status, content = server.request("GET", "/api/state?client=a")
        state = json.loads(content)
        assert status == 200 and state["criterion"] == "k" and state["who"] == "Ann"
        assert server.request("GET", "/")[0] == 200
        assert server.request("GET", "/api/state", host="evil.example")[0] == 403
        body = {"client": "a", "attempt": "1", "answer": "same"}
        body["question"] = state["question"]["id"]
        assert server.request("POST", "/api/answer", body)[0] == 200
        log = server.request("GET", "/api/export/log.jsonl")[1]
        assert log == Path("flowers.linkwise.jsonl").read_bytes()
        assert server.request("GET", "/api/export/labels.csv")[0] == 400
        assert b"must-link" in server.request("GET", "/api/export/pairs.csv")[1]
        assert server.end() == 0 and "--export results" in server.said
        again = Server("label", "flowers.csv", *BASE)
        assert again.token != server.token  # it ended in peace
        state = json.loads(again.request("GET", "/api/state?client=a")[1])
        assert state["status"]["n_answers"] == 1 and state["last"][0]["who"] == "Ann"
        assert again.end(signal.SIGTERM) in (0, -signal.SIGTERM)

    def test_a_program_is_told_the_address_in_json(self, flowers):
        server = Server("label", "flowers.csv", *BASE, "--json")
        assert server.request("GET", "/")[0] == 200
        assert server.end() == 0
        note, said = map(json.loads, server.said.splitlines())
        assert note == {"note": "Reading flowers.csv ..."}
        assert said["command"] == "label" and said["url"].endswith(server.token)
        assert said["log"] == "flowers.linkwise.jsonl"

    @pytest.mark.slow
    def test_after_a_kill_it_is_found_at_the_same_address(self, flowers):
        server = Server("label", "flowers.csv", *BASE)
        server.end(signal.SIGKILL)
        again = Server("label", "flowers.csv", *BASE)
        assert (again.host, again.token) == (server.host, server.token)
        again.end()

    @pytest.mark.slow
    def test_a_second_one_on_the_same_log_is_refused(self, flowers):
        server = Server("label", "flowers.csv", *BASE)
        done = flowers("label", "flowers.csv", *BASE, "--no-browser")
        assert done.exit_code == 3 and "in use by another session" in done.stderr
        port = server.host.split(":")[1]
        done = flowers(
            *("label", "flowers.csv", *BASE, "--no-browser"),
            *("--log", "other.jsonl", "--port", port),
        )
        assert done.exit_code == 3 and f"--port {port}" in done.stderr
        server.end()

    @pytest.mark.slow
    def test_half_sent_requests_hold_nothing_for_long(self, flowers):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))  # of the server
        try:
            server = Server("label", "flowers.csv", *BASE)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        host, port = server.host.split(":")
        begun = b"GET / HTTP/1.1\r\nHost: "
        with contextlib.ExitStack() as stack:
            clients = []
            for at in range(1500):
                try:
                    client = socket.create_connection((host, int(port)), 30)
                    client.sendall([b"", begun, b"POST / HTTP/1.1\r\n"][at % 3])
                except OSError:  # it was closed again
                    continue
                clients.append(stack.enter_context(client))
            assert server.request("GET", "/api/state?client=a")[0] == 200
            for client in clients:
                with contextlib.suppress(ConnectionResetError):
                    assert client.recv(1) == b""
        assert server.end() == 0
        assert "Traceback" not in server.said, server.said

    @pytest.mark.slow
    def test_another_address_is_warned_of(self, flowers):
        server = Server("label", "flowers.csv", *BASE, "--host", "0.0.0.0")
        assert "warning: --host 0.0.0.0" in server.said
        assert server.request("GET", "/", host="evil.example")[0] == 403
        server.end()


def test_digits_are_pictures():
    from linkwise.cli._label_demo import png_of

    image = np.arange(64.0).reshape(8, 8)
    content = png_of(image)
    assert content.startswith(b"\x89PNG")
    plt = pytest.importorskip("matplotlib.image")
    import io

    pixels = plt.imread(io.BytesIO(content))
    assert pixels.shape == (96, 96) and pixels[0, 0] == 1.0 and pixels[-1, -1] == 0.0


def test_an_address_that_is_none_is_named(flowers):
    for host in ("no.such.host.invalid", "x" * 300):
        done = flowers("label", "flowers.csv", *BASE, "--host", host, "--no-browser")
        assert done.exit_code == 3 and f"--host {host}"[:40] in done.stderr


def test_an_export_does_not_replace_what_it_is_made_from(flowers):
    Path("out").mkdir()
    log = Path("out/labels.csv")
    answered(log, "Ann")
    before = log.read_bytes()
    to = ("--export", "out")
    done = flowers("label", "flowers.csv", *BASE, "--log", str(log), *to)
    assert done.exit_code == 2 and "another file of this command" in done.stderr
    assert log.read_bytes() == before


def test_formulas_are_quoted_if_that_is_wanted(flowers):
    frame = pd.read_csv("flowers.csv")
    begins = ["=", "+", "-", "@", "f"]
    frame["name"] = [f"{begins[i % 5]}{i}" for i in range(N)]
    frame = frame.rename(columns={"name": "=name"})
    frame.to_csv("odd.csv", index=False)
    model = KernelCSC(3, n_candidates=20, random_state=0)
    features, ids = frame[["length", "width"]], frame["=name"].tolist()
    with Session(features, model, ids=ids, log="odd.linkwise.jsonl") as session:
        for i, j in [(0, 1), (2, 3), (4, 5)]:
            session.tell((ids[i], ids[j]), bool(Y[i] == Y[j]))
        session.fit()
        session.rename(int(session.labels_[0]), "@all")
    base = ("--id-column", "=name", *BASE[2:])
    for out, safe in (("plain", ()), ("safe", ("--excel-safe",))):
        done = flowers("label", "odd.csv", *base, "--export", out, *safe)
        assert done.exit_code == 0, done.stderr
    plain = {f: pd.read_csv(f"plain/{f}.csv") for f in ("pairs", "labels", "clusters")}
    safe = {f: pd.read_csv(f"safe/{f}.csv") for f in plain}
    assert plain["labels"]["=name"].tolist() == ids
    assert "@all" in plain["clusters"]["name"].tolist()
    quoted = [name if name[0] == "f" else f"'{name}" for name in ids]
    assert safe["labels"]["'=name"].tolist() == quoted
    assert set(safe["pairs"]["i"]) | set(safe["pairs"]["j"]) <= set(quoted)
    assert "'@all" in safe["clusters"]["name"].tolist()
    assert (safe["labels"]["cluster"] == plain["labels"]["cluster"]).all()
