"""Many tests at once: what may be rejected so that any false rejection has a probability of at most delta."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worstclass._typing import BoolArray


def step_up(p_values: npt.ArrayLike, delta: float) -> BoolArray:
    """Reject by Hochberg's rule: all up to the largest j-th smallest p-value that is at most ``delta / (K - j + 1)``.

    For independent p-values. All K are rejected exactly when the largest is at most ``delta``.

    Parameters
    ----------
    p_values : shape (..., K), K tests in the last dimension.
    delta : probability of any false rejection, at the most.

    Examples
    --------
    >>> step_up([0.04, 0.03, 0.05], 0.05), step_up([0.04, 0.03, 0.06], 0.05), step_up([0.01, 0.3, 0.02], 0.05)
    (array([ True,  True,  True]), array([False, False, False]), array([ True, False,  True]))
    """
    p = np.asarray(p_values, dtype=np.float64)
    order, passed = _passed(p, delta)
    n_rejected = np.where(passed.any(-1), p.shape[-1] - np.argmax(passed[..., ::-1], axis=-1), 0)
    return _first(order, n_rejected)


def step_down(p_values: npt.ArrayLike, delta: float) -> BoolArray:
    """Reject by Holm's rule: all before the first j-th smallest p-value above ``delta / (K - j + 1)``.

    For p-values with any dependence; never more than ``step_up`` rejects, by the same thresholds.

    Examples
    --------
    >>> step_down([0.04, 0.03, 0.05], 0.05), step_down([0.01, 0.3, 0.02], 0.05)
    (array([False, False, False]), array([ True, False,  True]))
    """
    p = np.asarray(p_values, dtype=np.float64)
    order, passed = _passed(p, delta)
    return _first(order, np.logical_and.accumulate(passed, axis=-1).sum(-1))


def _passed(p: npt.NDArray[np.float64], delta: float) -> tuple[npt.NDArray[np.int64], BoolArray]:
    """Return the order of the p-values, and which of them are within their threshold, in that order."""
    order = np.argsort(p, axis=-1, kind="stable")
    thresholds = delta / np.arange(p.shape[-1], 0, -1)
    return order, np.take_along_axis(p, order, axis=-1) <= thresholds


def _first(order: npt.NDArray[np.int64], count: npt.NDArray[np.int64]) -> BoolArray:
    """Mark the first ``count`` in order, at their places."""
    marks = np.arange(order.shape[-1]) < np.asarray(count)[..., None]
    found = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(found, order, marks, axis=-1)
    return found
