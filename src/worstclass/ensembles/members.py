"""Members of a portfolio: one model per fold, and its probabilities of the rows that were held out."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.splits import take_rows
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.portfolio import OWNER
from worstclass.exceptions import DataError
from worstclass.wrappers.scores import class_scores, resolve_kind

Split = tuple[IntArray, IntArray]

#: a single held-out part is one of so many
N_PARTS = 5


class Candidate(NamedTuple):
    """A trained member: its fitted models, one per fold, and its probabilities of the held-out rows."""

    name: str
    models: list[Any]
    probability: FloatArray
    seconds: float


@dataclass(frozen=True, eq=False)
class HeldOutTask:
    """Rows to train on and rows to be judged by, as index pairs. The held-out rows may be others (``X_val``)."""

    classes: npt.NDArray[Any]
    X: Any
    y: IntArray
    X_held: Any
    y_held: IntArray
    splits: list[Split]

    @classmethod
    def of(cls, X: Any, labels: Labels, held_out: tuple[Any, Labels] | None, n_folds: int, seed: int) -> HeldOutTask:
        """Return folds of the rows, or one split whose held-out rows were given."""
        y = labels.index
        if held_out is not None:
            everything = np.arange(len(y)), np.arange(len(held_out[1].index))
            return cls(labels.classes, X, y, held_out[0], held_out[1].index, [everything])
        if labels.totals.max() < 2:
            raise DataError(
                "y must have a class with two rows or more: one to train on and one to be held out. Got "
                f"{len(y)} rows of {labels.n_classes} classes. Collect more rows, or pass X_val and y_val."
            )
        found = stratified_folds(y, N_PARTS if n_folds == 1 else n_folds, seed)
        # a classifier cannot be judged on a class that it was never shown
        splits = [(train, held[np.isin(y[held], y[train])]) for train, held in found[:n_folds]]
        return cls(labels.classes, X, y, X, y, splits)

    @property
    def target(self) -> IntArray:
        """Class indices of the held-out rows, fold after fold."""
        return np.concatenate([self.y_held[held] for _, held in self.splits])

    def small(self, share: float, least: int, seed: int) -> HeldOutTask:
        """Return the first split with a share of its training rows, to see what training costs."""
        train, held = self.splits[0]
        n_rows = min(len(train), max(least, round(share * len(train))))
        drawn = np.sort(np.random.default_rng(seed).choice(train, n_rows, replace=False))
        return replace(self, splits=[(drawn, held[:n_rows])])


def ends_in_time(estimator: Any, seconds: float) -> bool:
    """Give a classifier that can end its training by itself, such as a network, its share of the time."""
    if "max_seconds" not in estimator.get_params(deep=False):
        return False
    given = estimator.max_seconds
    estimator.set_params(max_seconds=seconds if given is None else min(given, seconds))
    return True


def train_member(name: str, estimator: Any, task: HeldOutTask, n_jobs: int | None) -> Candidate:
    """Train one clone per split; collect its probabilities of the held-out rows."""
    started = time.perf_counter()
    parts = Parallel(n_jobs=n_jobs)(delayed(_train_split)(clone(estimator), task, split) for split in task.splits)
    models = [model for model, _ in parts]
    return Candidate(name, models, np.concatenate([part for _, part in parts]), time.perf_counter() - started)


def _train_split(model: Any, task: HeldOutTask, split: Split) -> tuple[Any, FloatArray]:
    train, held = split
    model.fit(take_rows(task.X, train), task.y[train])
    return model, class_probabilities(model, take_rows(task.X_held, held), len(task.classes))


def class_probabilities(model: Any, rows: Any, n_classes: int) -> FloatArray:
    """Return the probabilities of a model that was trained on class indices, shape (n, K); 0 for a class unknown to it.

    A booster gives the mean of its members' probabilities instead of the shares of its vote.
    """
    found = np.zeros((rows.shape[0], n_classes))
    if rows.shape[0]:
        found[:, model.classes_] = np.exp(class_scores(model, rows, resolve_kind(model, "auto", "scores", owner=OWNER)))
    return found
