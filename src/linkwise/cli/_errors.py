"""What can go wrong, and the exit code and the words it ends with."""

import errno
import select
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import NoReturn

import typer

from linkwise.cli._json_lines import is_json_wanted, say_json


class ExitCode(IntEnum):
    """What the command returns to the shell."""

    UNEXPECTED = 1
    BAD_INPUT = 3
    CONTRADICTION = 4
    INTERRUPTED = 130


class CommandError(Exception):
    """An error that the user can mend; the text says how."""

    code = ExitCode.UNEXPECTED


class BadInputError(CommandError):
    """A file cannot be used as it is."""

    code = ExitCode.BAD_INPUT


class DiskFullError(BadInputError):
    """A file cannot be written because there is no room for it."""

    def __init__(self, path: object, rest: str = "Nothing was written.") -> None:
        super().__init__(
            f"{path} cannot be written: the disk is full. {rest} Make room, or choose "
            "another place."
        )


class ContradictionError(CommandError):
    """The pairs cannot all hold."""

    code = ExitCode.CONTRADICTION


def is_disk_full(error: OSError) -> bool:
    """Tell whether an error means that a disk, or one's share of it, is full."""
    if error.errno is not None:
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    # Some libraries keep the words alone.
    return "No space left on device" in str(error)


@contextmanager
def errors_reported(debug: bool) -> Iterator[None]:
    """Turn errors inside the block into a message on stderr and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except CommandError as error:
        _leave(str(error), error.code, debug)
    except KeyboardInterrupt:
        leave_interrupted(debug)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _is_unread():
            raise  # no words: there is nobody to read them
        if isinstance(error, OSError) and is_disk_full(error):
            full = DiskFullError(error.filename or "a temporary file or the output")
            _leave(str(full), full.code, debug)
        # A report must fit on a line, and messages from afar may have several.
        text = " ".join(f"{type(error).__name__}: {error}".split())
        hint = "" if debug else " (`linkwise --debug ...` shows where)"
        _leave(f"unexpected {text}{hint}", ExitCode.UNEXPECTED, debug)


def _is_unread() -> bool:
    """Tell whether what is printed goes into a pipe that nobody reads any more."""
    if not hasattr(select, "poll"):
        return True  # not told on Windows; other pipes are rare
    printed = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # it is no file
            printed.register(stream.fileno(), 0)
    return any(state & select.POLLERR for _, state in printed.poll(0))


def leave_interrupted(debug: bool = False) -> NoReturn:
    """End the command after Ctrl-C."""
    _leave("interrupted; nothing was written.", ExitCode.INTERRUPTED, debug)


def leave_misused(error: typer.BadParameter) -> NoReturn:
    """End the command after wrong usage, where the message is not for people."""
    _leave(error.format_message(), error.exit_code, debug=False)


def _leave(message: str, code: int, debug: bool) -> NoReturn:
    if is_json_wanted():
        trace = {"traceback": traceback.format_exc()} if debug else {}
        say_json(error=message, code=int(code), **trace)
        raise typer.Exit(code)
    if debug:
        typer.echo(traceback.format_exc(), err=True)
    typer.secho("error: ", fg=typer.colors.RED, bold=True, err=True, nl=False)
    typer.echo(message, err=True)
    raise typer.Exit(code)
