"""Members of a portfolio: one model per fold, and its probabilities of the rows that were held out."""

from __future__ import annotations

import itertools
import sys
import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from worstclass._text import n_of
from worstclass._typing import FloatArray, IntArray
from worstclass.boosting.hedge import hedge_rate
from worstclass.data.labels import Labels
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.portfolio import OWNER
from worstclass.exceptions import DataError
from worstclass.metrics import ClassCounts, count_correct
from worstclass.wrappers.scores import OutOfFold, Split, aligned_scores, out_of_fold, resolve_kind

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
    """Train one clone per split; collect its probabilities of the held-out rows."""
    started, kind = time.perf_counter(), _kind(estimator)
    options: dict[str, Any] = {"held_out": task.held_out, "n_jobs": n_jobs}
    if hears_errors(estimator):
        found = _with_feedback(estimator, task, kind)
    else:
        found = out_of_fold(estimator, task.X, task.labels, task.splits, kind, **options)
    return Candidate(name, found.models, np.exp(found.scores), found.target, time.perf_counter() - started)


def hears_errors(estimator: Any) -> bool:
    """Tell whether the folds of a classifier are trained one after the other, with feedback: those of networks are."""
    networks = sys.modules.get("worstclass.ensembles.networks")  # here only where a network is
    return networks is not None and isinstance(estimator, networks.NetworkClassifier)


def _with_feedback(estimator: Any, task: HeldOutTask, kind: str) -> OutOfFold:
    """Train fold after fold; Hedge moves weight to the classes with more errors on the rows held out so far.

    All classes have the same total weight at first. After each fold the weight of a class is multiplied by
    ``exp(eta e)``, with e the share of its held-out rows that the new model has wrong: the paper's update, by errors on
    rows that were not trained on.
    """
    labels, K = task.labels, task.labels.n_classes
    eta, errors = hedge_rate(len(task.splits), K), np.zeros(K)
    parts: list[OutOfFold] = []
    for split in task.splits:
        in_fold = np.bincount(labels.index[split[0]], minlength=K)
        weight = np.exp(eta * errors) / np.maximum(in_fold, 1)
        options = {"sample_weight": weight[labels.index]}
        part = out_of_fold(estimator, task.X, labels, [split], kind, held_out=task.held_out, options=options)
        correct = count_correct(part.target, part.scores.argmax(axis=1), K)
        errors += ClassCounts(correct, np.bincount(part.target, minlength=K)).errors.filled(0)
        parts.append(part)
    scores, target, models = zip(*parts, strict=True)
    return OutOfFold(np.concatenate(scores), np.concatenate(target), list(itertools.chain(*models)))


def class_probabilities(model: Any, rows: Any, n_classes: int) -> FloatArray:
    """Return the probabilities of a model that was trained on class indices, shape (n, K); 0 for a class unknown to it.

    A booster gives the mean of its members' probabilities instead of the shares of its vote.
    """
    return np.exp(aligned_scores(model, rows, _kind(model), np.arange(n_classes)))


def _kind(classifier: Any) -> str:
    return resolve_kind(classifier, "auto", "scores", owner=OWNER)
