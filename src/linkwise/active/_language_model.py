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

from linkwise.active._oracles import OracleError

_PROMPT = (
    "You judge whether two items belong to the same group. {criterion}\n"
    "First item:\n{left}\n\nSecond item:\n{right}\n\n"
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
        question = self.prompt.format(
            criterion=self.criterion, left=self.texts[i], right=self.texts[j]
        )
        name = hashlib.sha256(f"{self.model}\0{question}".encode()).hexdigest()
        if name not in self._known:
            said = self._word(self._request(question))
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
            "max_tokens": 20,
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

    def _read_cache(self) -> dict[str, str]:
        if self.cache is None or not self.cache.exists():
            return {}
        found = {}
        for line in self.cache.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
                found[entry["question"]] = entry["answer"]
            except (ValueError, KeyError, TypeError):
                continue  # a line that was torn
        return {name: said for name, said in found.items() if said in _WORDS}

    def _write_cache(self, name: str, said: str) -> None:
        if self.cache is not None:
            with self.cache.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"question": name, "answer": said}) + "\n")
