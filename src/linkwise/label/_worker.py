"""Fits in the background: one at a time, given up when they are overtaken."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from linkwise.active import FitStopped

_log = logging.getLogger(__name__)
# Seconds between two reports of progress.
_REPORT_EVERY = 0.5


class Worker:
    """Fits a session in a thread of its own while answers go on.

    Parameters
    ----------
    session : Session
        What is fitted.
    lock : lock
        Held by whoever uses the session. The worker takes it to begin and to end a
        fit, not while candidates are tried.
    tell : callable
        Called after each change of what ``state`` returns.
    after : callable, optional
        ``after(model)`` is called after each fit, without the lock.
    """

    def __init__(
        self,
        session: Any,
        lock: Any,
        tell: Callable[[], None],
        after: Callable[[Any], None] = lambda model: None,
    ) -> None:
        self._session, self._lock = session, lock
        self._tell, self._after = tell, after
        self._changed = threading.Condition()
        self._is_wanted = self._is_running = self._is_over = False
        self._is_overtaken = self._was_overtaken = False
        self._n_done, self._error, self._told_at = 0, "", 0.0
        self.n_fits = self.n_overtaken = self.n_moved = 0
        self._thread = threading.Thread(target=self._run, name="fits", daemon=True)
        self._thread.start()

    def want(self) -> None:
        """Ask for a fit with all that is known now.

        One that runs is given up; but never two in a row, or a fast person would see
        no clusters at all.
        """
        with self._changed:
            self._is_wanted = True
            if self._is_running and not self._was_overtaken:
                self._is_overtaken = True
            self._changed.notify_all()

    def state(self) -> dict[str, Any]:
        """Return what the worker does, as the page takes it."""
        word = "fitting" if self._is_running or self._is_wanted else "idle"
        if word == "idle" and self._error:
            word = "failed"
        return {
            "state": word,
            "done": self._n_done,
            "error": self._error,
            "fits": self.n_fits,
            "moved": self.n_moved,
        }

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until nothing is to be fitted; tell whether that came in time."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._is_running and not self._is_wanted, seconds
            )

    def close(self) -> None:
        """Give up what is done and end the thread."""
        with self._changed:
            self._is_over = self._is_overtaken = True
            self._is_wanted = False
            self._changed.notify_all()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_wanted or self._is_over)
                if self._is_over:
                    return
                self._is_wanted, self._is_running = False, True
                self._is_overtaken, self._n_done = False, 0
            self._tell()
            self._fit()
            with self._changed:
                self._is_running = False
                self._was_overtaken = self._is_overtaken
                self._changed.notify_all()
            self._tell()

    def _fit(self) -> None:
        try:
            with self._lock:
                fitting = self._session.prepare_fit()
            fitting.run(self._go_on)
            with self._lock:
                self.n_moved = self._session.finish_fit(fitting)
            self._after(fitting.model)
            self.n_fits, self._error = self.n_fits + 1, ""
        except FitStopped:
            self.n_overtaken += 1
        except Exception as error:  # the clusters that are there stay
            _log.exception("a fit failed")
            self._error = " ".join(f"{type(error).__name__}: {error}".split())[:500]

    def _go_on(self, n_done: int) -> bool:
        self._n_done = n_done
        if time.monotonic() - self._told_at > _REPORT_EVERY:
            self._told_at = time.monotonic()
            self._tell()
        return not self._is_overtaken
