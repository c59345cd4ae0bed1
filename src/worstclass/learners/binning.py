"""Columns put on a grid once, for classifiers that would bin them anew in every fit.

Histogram-based trees bin each column before they grow. With weights scikit-learn does this with one weighted percentile
after the other, and does it again in every fit, also of a warm start: on a small table it takes many times as long as
the trees. Columns that are on the grid already have few enough distinct values for it to have nothing to do.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin

from worstclass._typing import FloatArray


class QuantileGrid(TransformerMixin, BaseEstimator):
    """Replace each number by the upper edge of its bin, bins being quantiles of the training rows.

    The order of values stays as it is, so trees that split between bins are the same. Missing values stay missing;
    columns with no more than ``max_bins`` distinct values, and columns of a data frame that are no numbers, stay as
    they are.

    Parameters
    ----------
    max_bins : how many values a column may have in the end.

    Attributes
    ----------
    edges_ : the values of each column, in ascending order; None for a column that stays as it is.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [np.nan]])
    >>> QuantileGrid(max_bins=2).fit_transform(X).ravel()
    array([2.5, 2.5, 4. , 4. , nan])
    """

    def __init__(self, max_bins: int = 255) -> None:
        self.max_bins = max_bins

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the edges of the bins of every column."""
        frame = pd.DataFrame(X)
        self.edges_ = [_edges(frame.iloc[:, j], self.max_bins) for j in range(frame.shape[1])]
        return self

    def transform(self, X: Any) -> Any:
        """Put the columns on their grids; a data frame stays one."""
        if all(edges is None for edges in self.edges_):
            return X
        gridded = pd.DataFrame(X).copy()
        for j, edges in enumerate(self.edges_):
            if edges is not None:
                column = np.asarray(gridded.iloc[:, j], dtype=np.float64)
                place = np.minimum(np.searchsorted(edges, column, side="left"), len(edges) - 1)
                gridded.isetitem(j, np.where(np.isnan(column), np.nan, edges[place]))
        return gridded if hasattr(X, "iloc") else gridded.to_numpy()


def _edges(column: pd.Series[Any], max_bins: int) -> FloatArray | None:
    """Return the upper edges of the bins; None for a column that is no numbers, or has few."""
    if getattr(column.dtype, "kind", "O") not in "iuf":
        return None
    numbers = np.asarray(column, dtype=np.float64)
    values = numbers[np.isfinite(numbers)]
    if len(np.unique(values)) <= max_bins:
        return None
    inner = np.percentile(values, np.linspace(0, 100, max_bins + 1)[1:-1], method="averaged_inverted_cdf")
    return np.unique(np.append(inner, values.max()))
