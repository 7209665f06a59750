"""The page in which a person makes the pairs, and the server behind it.

It holds no logic of its own: every event is a call of a ``linkwise.active.Session``.
"""
