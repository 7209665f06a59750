"""Files of pictures, made into views that rows are clustered by."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from linkwise._typing import FloatArray
from linkwise.tables._columns import ColumnNote
from linkwise.tables._pictures import describe_pictures, picture_parts
from linkwise.tables._preparation import ViewNote


class PicturePreparation(  # type: ignore[call-arg]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
    auto_wrap_output_keys=None,
):
    """Turns files of pictures into numbers: their colours, edges and greys.

    Nothing is learnt: a picture has the same numbers in whatever company. It needs
    Pillow (``linkwise[images]``).

    Parameters
    ----------
    views : bool, default=True
        Three views, which :class:`linkwise.KernelCSC` weighs by the pairs: all numbers,
        the colours alone, the edges alone. False: all numbers, one matrix.

    Attributes
    ----------
    views_ : list of ViewNote
        What ``transform`` returns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from PIL import Image
    >>> from linkwise.tables import PicturePreparation
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "red.png"
    ...     Image.new("RGB", (40, 30), "red").save(path)
    ...     views = PicturePreparation().fit_transform([path])
    >>> [view.shape for view in views]
    [(1, 338), (1, 64), (1, 129)]
    """

    def __init__(self, *, views: bool = True):
        self.views = views

    def fit(self, X: Any, y: Any = None) -> Self:
        """Do nothing: there is nothing to learn.

        Parameters
        ----------
        X : sequence of paths
            Files of pictures.
        y : None
            Not used.

        Returns
        -------
        self
        """
        return self

    def transform(self, X: Sequence[str | Path]) -> Any:
        """Read and describe pictures.

        Parameters
        ----------
        X : sequence of paths
            Files of pictures.

        Returns
        -------
        list of ndarray, or ndarray
            The views, in the order of ``views_``.

        Raises
        ------
        UnreadableError
            If one of them cannot be read.
        """
        paths = [Path(path) for path in X]
        found = describe_pictures(paths, [str(path) for path in paths], strict=True)
        return self.arranged(found.rows)

    def arranged(self, rows: FloatArray) -> Any:
        """Return the rows of :func:`describe_pictures` as ``transform`` does.

        Parameters
        ----------
        rows : ndarray of shape (n_pictures, n_numbers)
            Descriptions.

        Returns
        -------
        list of ndarray, or ndarray
            The views.
        """
        if not self.views:
            return rows
        parts = picture_parts()
        chosen = (rows[:, parts[name]] for name in ("colour", "edge"))
        return [rows, *map(np.ascontiguousarray, chosen)]

    @property
    def views_(self) -> list[ViewNote]:
        """What ``transform`` returns."""
        parts = picture_parts()
        widths = {name: part.stop - part.start for name, part in parts.items()}
        found = [ViewNote("picture", ("whole pictures",), sum(widths.values()))]
        if self.views:
            found.append(ViewNote("picture", ("colours",), widths["colour"]))
            found.append(ViewNote("picture", ("edges",), widths["edge"]))
        return found

    # What else is asked of what prepares tables.

    @property
    def columns_(self) -> list[ColumnNote]:
        """Columns of a table: there are none."""
        return []

    @property
    def encoder_(self) -> None:
        """The encoder of texts: there is none."""
        return None

    def use_encoder(self, encoder: Any) -> Self:
        """Refuse an encoder of texts."""
        raise ValueError(f"encoder={encoder!r}: pictures have no texts to encode.")

    def __sklearn_is_fitted__(self) -> bool:
        """Tell that there is nothing to fit."""
        return True
