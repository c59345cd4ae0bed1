"""Members of a portfolio: one model per fold, and its probabilities of the rows that were held out."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from worstclass._text import n_of
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.portfolio import OWNER
from worstclass.exceptions import DataError
from worstclass.wrappers.scores import Split, aligned_scores, out_of_fold, resolve_kind

#: a single held-out part is one of so many
N_PARTS = 5


class Candidate(NamedTuple):
    """A trained member: its fitted models, one per fold, and its probabilities of the held-out rows."""

    name: str
    models: list[Any]
    probability: FloatArray
    target: IntArray
    seconds: float


@dataclass(frozen=True, eq=False)
class HeldOutTask:
    """Rows to train on and rows to be judged by, as index pairs. The held-out rows may be others (``X_val``).

    The labels are class indices: members know no others.
    """

    X: Any
    labels: Labels
    held_out: tuple[Any, IntArray]
    splits: list[Split]

    @classmethod
    def of(cls, X: Any, labels: Labels, held_out: tuple[Any, Labels] | None, n_folds: int, seed: int) -> HeldOutTask:
        """Return folds of the rows, or one split whose held-out rows were given."""
        y, numbered = labels.index, Labels(np.arange(labels.n_classes), labels.index)
        if held_out is not None:
            rows, target = held_out[0], held_out[1].index
            return cls(X, numbered, (rows, target), [(np.arange(len(y)), np.arange(len(target)))])
        if labels.totals.max() < 2:
            raise DataError(
                "y must have a class with two rows or more: one to train on and one to be held out. Got "
                f"{n_of(len(y), 'row')} of {labels.n_classes} classes. Collect more rows, or pass X_val and y_val."
            )
        return cls(X, numbered, (X, y), stratified_folds(y, N_PARTS if n_folds == 1 else n_folds, seed)[:n_folds])

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
    """Train one clone per split; collect its probabilities of the held-out rows.

    Networks get row weights that give every class the same total; other classifiers have class weights of their own.
    """
    started = time.perf_counter()
    options = {"sample_weight": (1 / task.labels.totals)[task.labels.index]} if _is_network(estimator) else {}
    found = out_of_fold(
        estimator, task.X, task.labels, task.splits, _kind(estimator),
        held_out=task.held_out, options=options, n_jobs=n_jobs,
    )  # fmt: skip
    return Candidate(name, found.models, np.exp(found.scores), found.target, time.perf_counter() - started)


def _is_network(estimator: Any) -> bool:
    networks = sys.modules.get("worstclass.ensembles.networks")  # here only where a network is
    return networks is not None and isinstance(estimator, networks.NetworkClassifier)


def class_probabilities(model: Any, rows: Any, n_classes: int) -> FloatArray:
    """Return the probabilities of a model that was trained on class indices, shape (n, K); 0 for a class unknown to it.

    A booster gives the mean of its members' probabilities instead of the shares of its vote.
    """
    return np.exp(aligned_scores(model, rows, _kind(model), np.arange(n_classes)))


def _kind(classifier: Any) -> str:
    return resolve_kind(classifier, "auto", "scores", owner=OWNER)
