"""The page in which a person makes the pairs, and the server behind it.

It holds no logic of its own: every event is a call of a ``linkwise.active.Session``.
"""

from linkwise.label._desk import Desk
from linkwise.label._pictures import FolderPictures, Picture
from linkwise.label._rows import Rows
from linkwise.label._server import is_local, open_browser, open_place, serve

__all__ = [
    "Desk",
    "FolderPictures",
    "Picture",
    "Rows",
    "is_local",
    "open_browser",
    "open_place",
    "serve",
]
