"""The command ``linkwise``: parse, call the layers, print.

Scripts can rely on the exit code:

====  ====================================================================
0     success; also a search that Ctrl-C ended early, whose result is kept
1     unexpected error
2     wrong usage: an unknown option or a value that is not allowed
3     bad input: a file that is missing, unreadable, unwritable or wrong
4     contradictory pairs, or more pairs than the clusters can satisfy
130   interrupted before there was a result
141   whoever read the output has gone, as after ``| head``; files that it names
      are there
====  ====================================================================

Results go to stdout, progress, notes and errors to stderr. With ``--json`` stdout
holds one JSON object, or nothing after an error, and each line of stderr is a JSON
object: ``{"note": ...}`` or ``{"error": ..., "code": ...}``. ``--debug`` before the
command, or the environment variable ``LINKWISE_DEBUG=1``, adds the traceback to an
error.
"""

import signal
import sys
from typing import Any

__all__ = ["app", "main"]

# What shells show of a command that a broken pipe has ended.
_UNREAD = 141


def main() -> None:
    """Run the command."""
    try:
        # Here and not above: it takes long enough to be interrupted.
        from linkwise.cli._app import app

        app(prog_name="linkwise")
    except KeyboardInterrupt:
        said = "error: interrupted; nothing was written."
        if "--json" in sys.argv:
            said = '{"error": "interrupted; nothing was written.", "code": 130}'
        sys.stderr.write(f"{said}\n")
        sys.exit(130)
    except SystemExit as end:
        # All is done or said: Ctrl-C must not turn it into something else.
        signal.signal(signal.SIGINT, signal.SIG_DFL if end.code else signal.SIG_IGN)
        if isinstance(end.__context__, BrokenPipeError):
            sys.exit(_UNREAD)
        raise


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from linkwise.cli._app import app

    return app
