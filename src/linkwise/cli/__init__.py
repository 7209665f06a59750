"""The command ``linkwise``: parse, call the layers, print.

Scripts can rely on the exit code:

====  ====================================================================
0     success; also a search that Ctrl-C ended early, whose result is kept
1     unexpected error
2     wrong usage: an unknown option or a value that is not allowed
3     bad input: a file that is missing, unreadable, unwritable or wrong
4     contradictory pairs, or more pairs than the clusters can satisfy
130   interrupted before there was a result
====  ====================================================================

Results go to stdout, progress, notes and errors to stderr. With ``--json`` stdout
holds exactly one JSON object. ``--debug`` before the command, or the environment
variable ``LINKWISE_DEBUG=1``, adds the traceback to an error.
"""

from linkwise.cli._app import app, main

__all__ = ["app", "main"]
