"""Which rows train and which choose: the two are kept apart before anything is fitted."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.labels import Labels, known_labels, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import make_splits, take_rows
from worstclass.exceptions import DataError, ParameterError, ReusedRowsWarning

OWNER = "select_theta"


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows, and the validation rows that choose theta and the prefix of every vote.

    ``split`` says whether the validation rows were cut off what was given for training.
    """

    X: Any
    y: Any
    X_val: Any
    y_val: Any
    classes: npt.NDArray[Any]
    n_train: int
    n_val: int
    split: bool

    @property
    def origin(self) -> str:
        """Say in words which rows chose."""
        return f"{self.n_val:,} validation rows" + (", cut off the rows given for training" if self.split else "")


def separate(X: Any, y: Any, X_val: Any, y_val: Any, *, val_share: float, seed: int) -> Rows:
    """Take the validation rows as given, or cut a share of every class off the training rows.

    Parameters
    ----------
    X, y : the rows to train on; y may be None where X is a data set that has its labels.
    X_val, y_val : validation rows, or None for both.
    val_share : share of every class that is cut off where there are none, in (0, 1).
    seed : fixes the cut.
    """
    if not hasattr(X, "shape") and not hasattr(X, "__len__"):
        raise DataError(f"X must be rows: an array, a data frame, a tensor or a data set. Got {type(X).__name__}.")
    labels = training_labels(X, y)
    given = X_val is not None or y_val is not None
    if given:
        if X_val is None or (y_val is None and not is_map_dataset(X_val)):
            raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
        chooses = known_labels(X_val, y_val, labels.classes)
        _require_every_class(chooses, "Add rows of them to X_val, or set a larger share apart.")
        try:
            check_unseen(X_val, SeenRows.of(X), owner=OWNER)
        except DataError as reused:
            warnings.warn(str(reused), ReusedRowsWarning, stacklevel=3)
        return Rows(X, y, X_val, y_val, labels.classes, len(labels.index), len(chooses.index), split=False)
    if isinstance(val_share, bool) or not isinstance(val_share, int | float | np.number) or not 0 < val_share < 1:
        raise ParameterError("val_share", OWNER, allowed="a share in (0, 1)", got=val_share)
    return _cut(X, labels, val_share, seed)


def _cut(X: Any, labels: Labels, val_share: float, seed: int) -> Rows:
    values = labels.classes[labels.index]
    places = np.arange(len(values))
    splits = make_splits(places, values, val=val_share, test=0.0, seed=seed)
    train, val = splits.train, splits.val
    chooses = np.zeros(0, dtype=np.int64) if val is None else labels.index[val.X]
    hint = "Raise val_share, give X_val and y_val, or add rows of them."
    _require_every_class(Labels(labels.classes, chooses), hint)
    assert val is not None
    return Rows(_take(X, train.X), train.y, _take(X, val.X), val.y, labels.classes, len(train), len(val), split=True)


def _take(X: Any, index: Any) -> Any:
    if is_map_dataset(X):
        from torch.utils.data import Subset

        return Subset(X, index.tolist())
    return take_rows(X, index)


def _require_every_class(labels: Labels, hint: str) -> None:
    absent = labels.classes[labels.totals == 0].tolist()
    if absent:
        raise DataError(
            f"There is no validation row of the classes {absent}, and theta is chosen by the worst class of those "
            f"rows. {hint}"
        )
