"""Members of a portfolio: one model per fold, and its probabilities of the rows that were held out."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from worstclass._state import KEEPS_NOTHING, Checkpoint
from worstclass._text import n_of
from worstclass._threads import one_thread
from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import Labels
from worstclass.data.splits import allot, draw, take_rows
from worstclass.ensembles.combination import stratified_folds
from worstclass.ensembles.portfolio import OWNER, is_network
from worstclass.ensembles.schedule import extrapolate
from worstclass.exceptions import DataError
from worstclass.wrappers.scores import Split, aligned_scores, out_of_fold, resolve_kind

#: a single held-out part is one of so many
N_PARTS = 5
#: share of the rows on which the cost of a member is estimated, and their least number
PROBE_SHARE, LEAST_PROBE = 0.1, 200
#: probabilities count as no smaller
SMALLEST = 1e-6
#: numbers in a table up to which classifiers of scikit-learn work in one thread
MOST_IN_ONE_THREAD = 500_000
#: where the classifiers and transformers of the portfolio for tables come from
OF_SKLEARN = ("sklearn.", "worstclass.ensembles.portfolio", "worstclass.learners.binning")


class Candidate(NamedTuple):
    """A trained member: its fitted models, one per fold, and its probabilities of the held-out rows."""

    name: str
    models: list[Any]
    probability: FloatArray
    target: IntArray
    seconds: float

    def with_more(self, other: Candidate) -> Candidate:
        """Return the member with the folds of another part of its training."""
        return Candidate(
            self.name,
            self.models + other.models,
            np.concatenate([self.probability, other.probability]),
            np.concatenate([self.target, other.target]),
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, eq=False)
class HeldOutTask:
    """Rows to train on and rows to be judged by, as index pairs. The held-out rows may be others (``X_val``).

    The labels are class indices: members know no others. ``first`` is the number of the first split.
    """

    X: Any
    labels: Labels
    held_out: tuple[Any, IntArray]
    splits: list[Split]
    first: int = 1

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

    def folds(self, first: int, last: int) -> HeldOutTask:
        """Return the task with some of its splits."""
        return replace(self, splits=self.splits[first:last], first=self.first + first)

    def small(self, n_rows: int, seed: int) -> HeldOutTask:
        """Return the first split with so many of its training rows, some of each class, and as few held-out rows."""
        train, held = self.splits[0]
        y = self.labels.index[train]
        sizes = allot(np.bincount(y), min(len(train), n_rows))
        return replace(self, splits=[(train[draw(y, sizes, np.random.default_rng(seed))], held[:n_rows])])


def estimated_seconds(name: str, estimator: Any, task: HeldOutTask, seed: int, allowed: float) -> float:
    """Estimate what one fold of a member takes, by a fortieth and a tenth of the rows (50 and 200 at least).

    If the first try takes more than half of the seconds ``allowed``, there is no time for the second: infinity.
    """
    n_rows = len(task.splits[0][0])
    most = max(LEAST_PROBE, round(PROBE_SHARE * n_rows))
    parts = task.small(most // 4, seed), task.small(most, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as a remark that these are few rows
        few = train_member(name, estimator, parts[0], None).seconds
        if 2 * few > allowed:
            return math.inf
        more = train_member(name, estimator, parts[1], None).seconds
    return extrapolate((len(parts[0].splits[0][0]), len(parts[1].splits[0][0])), (few, more), n_rows)


def ends_in_time(estimator: Any, seconds: float) -> bool:
    """Give a classifier that can end its training by itself, such as a network, its share of the time."""
    if "max_seconds" not in estimator.get_params(deep=False):
        return False
    given = estimator.max_seconds
    estimator.set_params(max_seconds=seconds if given is None else min(given, seconds))
    return True


def train_member(
    name: str, estimator: Any, task: HeldOutTask, n_jobs: int | None, checkpoint: Checkpoint = KEEPS_NOTHING
) -> Candidate:
    """Train one clone per split; collect its probabilities of the held-out rows.

    Rows of networks are weighted by one over the square root of the size of their class: with equal totals a network
    learns the rows of a small class by heart, without weights it hardly sees them. Other classifiers have class weights
    of their own. The held-out rows choose the epoch of networks that keep several.
    """
    started = time.perf_counter()
    options = {"sample_weight": (task.labels.totals**-0.5)[task.labels.index]} if is_network(estimator) else {}
    names = [f"fold-{number}" for number, _ in enumerate(task.splits, start=task.first)]
    with threads_for(estimator, task.X):
        found = out_of_fold(
            estimator, task.X, task.labels, task.splits, _kind(estimator),
            held_out=task.held_out, options=options, n_jobs=n_jobs, checkpoint=checkpoint, names=names,
        )  # fmt: skip
    trained = Candidate(name, found.models, np.exp(found.scores), found.target, 0.0)
    if is_network(estimator):
        trained = min([trained, *_stages(trained, task)], key=log_loss)
        for model in found.models:
            model.stages_ = {}
    return trained._replace(seconds=time.perf_counter() - started)


def threads_for(classifier: Any, rows: Any) -> AbstractContextManager[None]:
    """Return a context in which a classifier of scikit-learn has one thread for a small table.

    Networks, and classifiers of other packages, keep their threads: networks gain from them on small tables, too.
    """
    small = getattr(rows, "ndim", 2) == 2 and math.prod(rows.shape) <= MOST_IN_ONE_THREAD
    inner = getattr(classifier, "estimator", None), *(step for _, step in getattr(classifier, "steps", ()))
    parts = [classifier, *(part for part in inner if hasattr(part, "get_params"))]
    known = all(type(part).__module__.startswith(OF_SKLEARN) for part in parts)
    return one_thread() if small and known else nullcontext()


def _stages(trained: Candidate, task: HeldOutTask) -> Iterator[Candidate]:
    """Yield the stages that all models of a network have."""
    rows, target = task.held_out
    stages = [model.stages_ for model in trained.models]
    for epoch in sorted(set.intersection(*map(set, stages))):
        models, parts = [of_model[epoch] for of_model in stages], []
        for model, (train, held) in zip(models, task.splits, strict=True):
            known = held[np.isin(target[held], task.labels.index[train])]
            parts.append(class_probabilities(model, take_rows(rows, known), task.labels.n_classes))
        yield trained._replace(models=models, probability=np.concatenate(parts))


def log_loss(member: Candidate) -> float:
    """Return the mean over the classes of the mean log loss on held-out rows.

    A class of a few rows decides the worst-class error by single rows; its log loss tells sooner that a network is
    overfitted.
    """
    of_row = -np.log(np.maximum(member.probability[np.arange(len(member.target)), member.target], SMALLEST))
    totals = np.bincount(member.target)
    return float((np.bincount(member.target, weights=of_row)[totals > 0] / totals[totals > 0]).mean())


def class_probabilities(model: Any, rows: Any, n_classes: int) -> FloatArray:
    """Return the probabilities of a model that was trained on class indices, shape (n, K); 0 for a class unknown to it.

    A booster gives the mean of its members' probabilities instead of the shares of its vote.
    """
    with threads_for(model, rows):
        return np.exp(aligned_scores(model, rows, _kind(model), np.arange(n_classes)))


def _kind(classifier: Any) -> str:
    return resolve_kind(classifier, "auto", "scores", owner=OWNER)
