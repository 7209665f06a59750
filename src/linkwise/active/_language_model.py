"""An oracle that asks a language model over HTTP."""

import hashlib
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkwise.active._kinds import Grid, Merge, Question
from linkwise.active._oracles import OracleError

_PROMPT = (
    "You judge whether two items belong to the same group. {criterion}\n"
    "First item:\n{left}\n\nSecond item:\n{right}\n\n"
    "Answer with one word: same, different, or unsure."
)
_WHICH = (
    "You judge to which group an item belongs. {criterion}\n"
    "Item:\n{item}\n\n{groups}\n\n"
    "Answer with the number of the group, none if it belongs to none of them, or "
    "unsure."
)
_GRID = (
    "You judge which items do not belong to a group. {criterion}\n"
    "The group has items such as:\n{group}\n\nItems:\n{items}\n\n"
    "Answer with the numbers of the items that do not belong, such as 2, 5; with all "
    "if every item belongs; or with unsure."
)
_MERGE = (
    "You judge whether two groups are one and the same. {criterion}\n"
    "First group:\n{left}\n\nSecond group:\n{right}\n\n"
    "Answer with one word: same, different, or unsure."
)
# Seconds before the first new try; each further one waits twice as long.
_WAIT = 1.0
_WORDS = ("same", "different", "unsure")


class LanguageModel:
    """Answers by a server that has the chat-completions interface.

    Parameters
    ----------
    texts : sequence of str
        What is shown of each row.
    url : str
        Address of the interface, such as ``http://127.0.0.1:8000/v1/chat/completions``.
    model : str
        Name of the model, as the server knows it.
    criterion : str, default=""
        What makes items belong together, in a sentence.
    key : str, optional
        Sent as bearer token. Better in an environment variable than in a file.
    prompt : str, optional
        With the places ``{criterion}``, ``{left}`` and ``{right}``.
    cache : path-like, optional
        File of answers that were paid for before, one JSON object a line.
    max_calls : int, optional
        Requests after which it gives up: a limit on the cost.
    retries : int, default=3
        Further tries after a failure of the server or the line.
    timeout : float, default=60.0
        Seconds to wait for an answer.

    Notes
    -----
    What is in ``texts`` is sent to that server.
    """

    def __init__(
        self,
        texts: Sequence[str],
        url: str,
        model: str,
        *,
        criterion: str = "",
        key: str | None = None,
        prompt: str = _PROMPT,
        cache: str | os.PathLike[str] | None = None,
        max_calls: int | None = None,
        retries: int = 3,
        timeout: float = 60.0,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"url={url!r}: it must begin with http:// or https://.")
        self.texts, self.url, self.model = texts, url, model
        self.criterion, self.prompt, self.key = criterion, prompt, key
        self.max_calls, self.retries, self.timeout = max_calls, retries, timeout
        self.cache = None if cache is None else Path(cache)
        self.n_calls = 0
        self._wait = wait
        self._known = self._read_cache()

    def __call__(self, i: int, j: int) -> str:
        """Return what the model says about two rows."""
        prompt = self.prompt.format(
            criterion=self.criterion, left=self.texts[i], right=self.texts[j]
        )
        return str(self._said(prompt, self._word))

    def answer(self, question: Any) -> Any:
        """Return what the model says to a question of any kind."""
        if isinstance(question, Question):
            return self(question.i, question.j)
        if isinstance(question, Merge):
            prompt = _MERGE.format(
                criterion=self.criterion,
                left=self._list(question.left),
                right=self._list(question.right),
            )
            return self._said(prompt, self._word)
        if isinstance(question, Grid):
            prompt = _GRID.format(
                criterion=self.criterion,
                group=self._list(question.examples),
                items=self._list(question.rows, numbered=True),
            )
            return self._said(prompt, lambda text: _places(text, len(question.rows)))
        groups = "\n\n".join(
            f"Group {number}:\n{self._list(rows)}"
            for number, rows in enumerate(question.groups, start=1)
        )
        prompt = _WHICH.format(
            criterion=self.criterion, item=self.texts[question.row], groups=groups
        )
        return self._said(prompt, lambda text: _place(text, len(question.groups)))

    def _list(self, rows: Sequence[int], numbered: bool = False) -> str:
        """Return rows one under the other."""
        marks = [f"{at}." for at in range(1, len(rows) + 1)] if numbered else ["-"]
        marks *= 1 if numbered else len(rows)
        return "\n".join(
            f"{mark} {self.texts[row]}" for mark, row in zip(marks, rows, strict=True)
        )

    def _said(self, question: str, read: Callable[[str], Any]) -> Any:
        """Return an answer that was paid for before, or the model's."""
        name = hashlib.sha256(f"{self.model}\0{question}".encode()).hexdigest()
        if name not in self._known:
            said = read(self._request(question))
            self._known[name] = said
            self._write_cache(name, said)
        return self._known[name]

    def _word(self, text: str) -> str:
        words = "".join(c if c.isalpha() else " " for c in text.lower()).split()
        found = [word for word in words if word in _WORDS]
        # Whoever names several has not decided.
        return found[0] if len(set(found)) == 1 else "unsure"

    def _request(self, question: str) -> str:
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": question}],
            "temperature": 0,
            "max_tokens": 60,
        }
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(  # noqa: S310
            self.url, json.dumps(body).encode(), headers
        )
        problem = ""
        for attempt in range(self.retries + 1):
            if self.max_calls is not None and self.n_calls >= self.max_calls:
                raise OracleError(f"max_calls={self.max_calls} requests were made.")
            if attempt:
                self._wait(_WAIT * 2.0 ** (attempt - 1))
            self.n_calls += 1
            try:
                with urllib.request.urlopen(  # noqa: S310
                    request, timeout=self.timeout
                ) as reply:
                    value: Any = json.load(reply)
                return str(value["choices"][0]["message"]["content"])
            except urllib.error.HTTPError as error:
                problem = f"HTTP status {error.code}"
                if error.code < 500 and error.code != 429:
                    break  # trying again does not help
            except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
                problem = f"{type(error).__name__}: {error}"
        raise OracleError(f"{self.url} gave no answer ({problem}).")

    def _read_cache(self) -> dict[str, Any]:
        if self.cache is None or not self.cache.exists():
            return {}
        found = {}
        for line in self.cache.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[entry["question"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue  # a line that was torn
        return {name: said for name, said in found.items() if _is_answer(said)}

    def _write_cache(self, name: str, said: Any) -> None:
        if self.cache is not None:
            with self.cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"question": name, "answer": said}) + "\n")


def _tokens(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text.lower()).split()


def _place(text: str, n: int) -> int | str:
    """Return the group that a text names; whoever names several has not decided."""
    found = {
        word if word in ("none", "unsure") else int(word) - 1
        for word in _tokens(text)
        if word in ("none", "unsure") or (word.isdecimal() and 1 <= int(word) <= n)
    }
    return next(iter(found)) if len(found) == 1 else "unsure"


def _places(text: str, n: int) -> list[int] | str:
    """Return the items that a text names, none for "all"."""
    words = _tokens(text)
    found = {int(word) - 1 for word in words if word.isdecimal()}
    is_all = "all" in words or "none" in words
    if "unsure" in words or bool(found) == is_all:
        return "unsure"
    return sorted(found) if all(0 <= at < n for at in found) else "unsure"


def _is_answer(said: Any) -> bool:
    """Tell whether an entry of a cache is an answer to some question."""
    if isinstance(said, list):
        return all(isinstance(at, int) and not isinstance(at, bool) for at in said)
    if isinstance(said, int):
        return not isinstance(said, bool) and said >= 0
    return said in (*_WORDS, "none")
