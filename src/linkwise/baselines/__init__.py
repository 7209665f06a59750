"""Rival methods, on the same constraints, starts and k-means parts."""

__all__: list[str] = []
