"""A table and a clusterer as one model."""

from typing import Any, Self

from sklearn.pipeline import Pipeline

from linkwise._typing import FloatArray, IntArray
from linkwise.tables._preparation import TablePreparation


class TablePipeline(Pipeline):  # type: ignore[misc]
    """A pipeline that prepares a table and clusters its rows.

    Made by :func:`table_pipeline`.
    """

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Prepare a table and cluster its rows.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : array-like of shape (n_rows,), optional
            Known clusters, -1 where there are none.
        **params
            What the clusterer's ``fit`` takes, such as ``constraints=pairs``.

        Returns
        -------
        self
        """
        super().fit(X, y, **self._for_clusterer(params))
        return self

    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> IntArray:
        """Prepare a table, cluster its rows and return the clusters.

        Parameters
        ----------
        X : DataFrame
            The table.
        y : array-like of shape (n_rows,), optional
            Known clusters, -1 where there are none.
        **params
            What the clusterer's ``fit`` takes.

        Returns
        -------
        ndarray of shape (n_rows,)
            As ``labels_``.
        """
        return self.fit(X, y, **params).labels_

    @property
    def labels_(self) -> IntArray:
        """Clusters of the rows of the fit."""
        return self[-1].labels_

    @property
    def doubt_(self) -> FloatArray:
        """How doubtful the clusters of the rows are, see the clusterer."""
        return self[-1].doubt_

    def _for_clusterer(self, params: dict[str, Any]) -> dict[str, Any]:
        last = self.steps[-1][0]
        return {
            name if "__" in name else f"{last}__{name}": value
            for name, value in params.items()
        }


def table_pipeline(estimator: Any, **options: Any) -> TablePipeline:
    """Return a pipeline that prepares a table and clusters its rows.

    Parameters
    ----------
    estimator : clusterer
        Such as ``KernelCSC(3)``. One that takes no list of views, such as
        ``MahalanobisCSC(3)``, needs ``views=False`` where the table has texts.
    **options
        Parameters of :class:`linkwise.tables.TablePreparation`.

    Returns
    -------
    TablePipeline
        With the steps "table" and "cluster"; ``fit(table, constraints=pairs)``,
        ``labels_``, ``doubt_`` and ``predict(new_table)``.

    Examples
    --------
    >>> import pandas as pd
    >>> from linkwise import KernelCSC, table_pipeline
    >>> table = pd.DataFrame({"plan": ["a", "a", "b", "b"], "age": [20, 22, 40, None]})
    >>> model = table_pipeline(KernelCSC(2, kernels="paper", random_state=0))
    >>> model = model.fit(table, constraints=([(0, 1)], [(1, 2)]))
    >>> new = pd.DataFrame({"plan": ["a"], "age": [21]})
    >>> bool(model.predict(new)[0] == model.labels_[0])
    True
    """
    return TablePipeline(
        [("table", TablePreparation(**options)), ("cluster", estimator)]
    )
