"""``select_theta`` and ``nearest_feasible_floors``: how high the accuracy floor should be."""

from __future__ import annotations

import inspect
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_choice, check_count, check_share, is_count, is_number
from worstclass._typing import IntArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.data.labels import known_labels, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import make_splits, take_rows
from worstclass.exceptions import (
    DataError,
    ModuleError,
    ParameterError,
    SelectionInterrupted,
    WorstClassError,
)
from worstclass.floors import Floors, exact_floor
from worstclass.methods import build_method, find_method
from worstclass.metrics import SELECTION, worst_class_error
from worstclass.randomness import SeedTree
from worstclass.selection.result import CandidateRecord, FeasibleFloors, Theta, ThetaSelection
from worstclass.selection.search import MAX_FITS, Search, nearest_floors

OWNER = "select_theta"
#: the ways to choose theta, each with its default resolution; a grid has none
WAYS = {"grid": 1.0, "baseline": 0.05, "goal": 0.01, "best": 0.02}
#: the candidates of the paper
GRID = tuple(tenths / 10 for tenths in range(1, 10))
#: options of a torch learner that a baseline with the same network does not take over
NOT_SHARED = ("module", "loss", "head", "start")


def select_theta(
    booster: WorstClassBooster,
    X: Any,
    y: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    way: str = "grid",
    candidates: Iterable[float] | None = None,
    baseline: Any = None,
    goal: Theta | None = None,
    select_on: str | None = None,
    val_share: float = 0.2,
    resolution: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: Callable[[CandidateRecord], None] | None = None,
    allow_equal_rows: bool = False,
) -> ThetaSelection:
    """Choose the accuracy floor of a booster on validation rows, and fit it there.

    Each candidate is a plain ``fit(X, y, X_val, y_val)`` of a clone. The validation rows choose theta and the number
    of members that vote, so that errors on them are too optimistic afterwards. ``certify`` refuses these rows.

    Parameters
    ----------
    booster : what to fit. Its own theta is ignored, and it is not changed. Its budgets (``max_epochs``,
        ``max_seconds``) hold for each fit. Its callbacks are not called.
    X, y : training rows.
    X_val, y_val : validation rows of every class, none of them a training row. Without them ``val_share`` of every
        class of X is held out.
    way : ``"grid"``: the candidate with the least validation error, as in the paper. Ties are broken by the other
        error (see ``select_on``), then in favour of a vote that meets its floor, then of the larger theta.
        ``"baseline"``: the same, with candidates from the accuracy of a baseline's worst validation class upwards.
        ``"goal"``: fit at the goal and report whether it is met; if it is infeasible, which classes block it, and the
        nearest feasible floors. ``"best"``: the largest feasible theta, found by bisection, whose validation error is
        at most one standard error above the least of all feasible ones.
    candidates : the thetas of ``"grid"``, by default 0.1 to 0.9. For ``"baseline"``, thetas of which those below the
        baseline's accuracy are left out.
    baseline : for ``"baseline"``: a classifier, which is fitted on the training rows unless it is fitted already, the
        name of a method, or a worst-class error that was observed.
    goal : for ``"goal"``: the floor, or a mapping from class to floor, in which ``"others"`` stands for the rest.
    select_on : the error that chooses theta and the number of members: of the ``"worst"`` class, or the ``"average"``
        over all rows. None takes the booster's own.
    val_share : share of the rows that is held out, in (0, 1).
    resolution : step between thetas: of the candidates of ``"baseline"`` (by default 0.05), of ``"best"`` (0.02), and
        of the nearest floors of ``"goal"`` (0.01).
    n_jobs : number of joblib worker processes for the fits of ``"grid"`` and ``"baseline"``; None is 1, or what
        ``joblib.parallel_config`` says. It does not change the result. The other ways fit one theta after another, and
        so does a backend of threads.
    random_state : seed of the held-out rows, and of the fits if the booster's own is not an integer.
    progress : called with the ``CandidateRecord`` of each fit when it ends.
    allow_equal_rows : accept validation rows that equal training rows where reuse cannot be told from coincidence.

    Returns
    -------
    The ``ThetaSelection``. For ``"grid"`` and ``"baseline"`` its booster is that of a plain fit at that theta. For the
    others, only votes that meet every floor may be chosen, if there are any. Ctrl-C raises ``SelectionInterrupted``,
    which carries the selection so far, if a round was finished.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster, select_theta
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(), theta=0.5, random_state=0)
    >>> selection = select_theta(booster, X, y, candidates=[0.5, 0.7, 0.9], val_share=0.3)
    >>> selection.theta == selection.booster.theta, [record.theta for record in selection.candidates]
    (True, [0.5, 0.7, 0.9])
    """
    _check(booster, way, select_on, n_jobs, progress, baseline=baseline, goal=goal)
    check_share(val_share, "val_share", OWNER)
    thetas = _thetas(candidates, way)
    template, split_seed = _template(booster, select_on, random_state)
    rows = _separate(X, y, X_val, y_val, val_share, split_seed, allow_equal_rows)
    if goal is not None:
        Floors.from_theta(goal, rows.classes, owner=OWNER, parameter="goal")
    step = _step(resolution, way)
    search = Search(template, rows.data, step, floors_first=way in ("goal", "best"), n_jobs=n_jobs, progress=progress)
    started, observed, nearest, interrupted = time.perf_counter(), None, None, False
    try:
        if goal is not None:
            nearest = search.reach(goal)
        elif way == "best":
            search.bisect()
        else:
            if way == "baseline":
                observed = _observed_error(baseline, template, rows)
                thetas = _improving(thetas, observed, step)
            search.compare(thetas)
    except KeyboardInterrupt:
        if search.best is None:
            raise
        interrupted = True
    if search.best is None:
        raise ModuleError(search.records[0].why)
    chosen = search.best.booster if nearest is None or nearest.booster is None else nearest.booster
    by_theta = all(isinstance(record.theta, float) for record in search.records)
    selection = ThetaSelection(
        way=way,
        booster=chosen,
        candidates=tuple(sorted(search.records, key=lambda record: record.theta) if by_theta else search.records),
        chosen_by=rows.chosen_by,
        n_train=rows.n_train,
        equal_rows_allowed=rows.equal_rows_allowed,
        seconds=time.perf_counter() - started,
        observed_error=observed,
        nearest=nearest,
        interrupted=interrupted,
    )
    if interrupted:
        raise SelectionInterrupted(selection)
    return selection


def nearest_feasible_floors(
    fitted: Any,
    X: Any = None,
    y: Any = None,
    X_val: Any = None,
    y_val: Any = None,
    *,
    resolution: float = 0.01,
    max_fits: int = MAX_FITS,
) -> FeasibleFloors:
    """Find the classes that block the floors of a booster, by how much, and feasible floors near those asked for.

    Only the floors of the blocking classes are lowered. If a class has no correct row at all, the floors of all classes
    are halved until it has. A vote meets floors by exact counts on the training rows. ``fitted`` is not changed.

    Parameters
    ----------
    fitted : a fitted booster, or what carries one: a ``WeakLearningError`` or a ``ThetaSelection``.
    X, y, X_val, y_val : the rows it was fitted on, for refits. Without X the floors are those that its own vote meets.
    resolution : floors are multiples of it.
    max_fits : maximum number of refits. Each halves the gap between floors that are met and those asked for.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.8, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the floor is missed
    ...     booster = booster.fit(X[:, :1], y)
    >>> nearest = nearest_feasible_floors(booster, X[:, :1], y, resolution=0.05)
    >>> nearest.floors, nearest.booster.bound_met_
    ({0: 0.8, 1: 0.55, 2: 0.75}, True)
    """
    owner = "nearest_feasible_floors"
    booster = getattr(fitted, "booster", fitted)
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        allowed = "a fitted WorstClassBooster, or a WeakLearningError or ThetaSelection that carries one"
        raise ParameterError("fitted", owner, allowed=allowed, got=fitted)
    check_share(resolution, "resolution", owner)
    check_count(max_fits, "max_fits", owner, least=0)
    if X is not None:
        labels, totals = training_labels(X, y), list(booster.history_[0].class_totals)
        if labels.classes.tolist() != booster.classes_.tolist() or labels.totals.tolist() != totals:
            raise DataError(
                f"X and y must be the rows that the booster was fitted on, {totals} of {booster.classes_.tolist()}. "
                f"Got {labels.totals.tolist()} of {labels.classes.tolist()}."
            )
    search = Search(booster, (X, y, X_val, y_val), Fraction(str(resolution)), floors_first=True)
    return nearest_floors(booster, search, 0 if X is None else max_fits)


class _Rows(NamedTuple):
    """Rows that train and rows that choose, with the classes and in words which rows choose."""

    data: tuple[Any, Any, Any, Any]
    classes: npt.NDArray[Any]
    n_train: int
    chosen_by: str
    equal_rows_allowed: bool = False


def _separate(X: Any, y: Any, X_val: Any, y_val: Any, val_share: float, seed: int, allow_equal_rows: bool) -> _Rows:
    """Take the validation rows as given, or hold out a share of every class of the training rows."""
    if not hasattr(X, "shape") and not hasattr(X, "__len__"):
        raise DataError(f"X must be rows: an array, a data frame, a tensor or a data set. Got {type(X).__name__}.")
    labels = training_labels(X, y)
    if X_val is None and y_val is None:
        values = labels.classes[labels.index]
        parts = make_splits(np.arange(len(values)), values, val=val_share, test=0.0, seed=seed)
        train, val = parts.train.X, np.zeros(0, np.int64) if parts.val is None else parts.val.X
        _require_every_class(labels.classes, labels.index[val])
        data = _take(X, train), values[train], _take(X, val), values[val]
        return _Rows(data, labels.classes, len(train), f"{len(val):,} rows held out of the training rows")
    if X_val is None or (y_val is None and not is_map_dataset(X_val)):
        raise DataError("X_val and y_val go together. Got one without the other; pass both, or neither.")
    index = known_labels(X_val, y_val, labels.classes).index
    _require_every_class(labels.classes, index)
    allowed = check_unseen(
        X_val, SeenRows.of(X), roles=("training",), owner=OWNER, allow_equal_rows=allow_equal_rows
    ).allowed
    n_train = len(labels.index)
    return _Rows((X, y, X_val, y_val), labels.classes, n_train, f"{len(index):,} validation rows", allowed)


def _require_every_class(classes: npt.NDArray[Any], index: IntArray) -> None:
    absent = np.delete(classes, np.unique(index)).tolist()
    if absent:
        raise DataError(
            f"There is no validation row of the classes {absent}, and theta is chosen by the worst class. "
            "Add rows of them, or raise val_share where validation rows are held out."
        )


def _take(X: Any, index: IntArray) -> Any:
    if is_map_dataset(X):
        from torch.utils.data import Subset

        return Subset(X, index.tolist())
    return take_rows(X, index)


def _improving(thetas: Sequence[float], error: float, step: Fraction) -> list[float]:
    """Return the thetas that are at least the accuracy of a baseline; without any, those in steps from there."""
    least = 1 - Fraction(str(error))
    first = Fraction(math.ceil(least * 100), 100)
    in_steps = [float(first + n * step) for n in range(math.ceil((1 - first) / step))]
    above = [theta for theta in thetas or in_steps if Fraction(str(theta)) >= least]
    if not above:
        raise ParameterError(
            "baseline",
            OWNER,
            allowed="one that leaves room: a candidate at or above the accuracy of its worst class",
            got=f"a worst-class error of {error:.1%}",
            hint="There is nothing left to improve on." if error == 0 else "Give higher candidates.",
        )
    return above


def _observed_error(baseline: Any, booster: WorstClassBooster, rows: _Rows) -> float:
    """Return the worst-class error of a baseline on the validation rows, or the error as given."""
    if is_number(baseline):
        if not 0 <= baseline <= 1:
            raise ParameterError("baseline", OWNER, allowed="a worst-class error in [0, 1]", got=baseline)
        return float(baseline)
    model = _named_baseline(baseline, booster) if isinstance(baseline, str) else baseline
    if isinstance(model, type) or not hasattr(model, "predict"):
        allowed = "a classifier, a method's name (worstclass methods), or an observed worst-class error"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline)
    X_val, y_val = rows.data[2:]
    try:
        if hasattr(model, "fit") and not _is_fitted(model):
            with_validation = "X_val" in inspect.signature(model.fit).parameters
            model = clone(model).fit(*(rows.data if with_validation else rows.data[:2]))
        elif hasattr(model, "seen_rows_"):
            check_unseen(X_val, model.seen_rows_, roles=("training",), owner=OWNER)
        answers = np.asarray(model.predict(X_val))
    except (TypeError, ValueError) as error:
        if isinstance(error, WorstClassError):
            raise
        allowed = "a classifier that can read these rows"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline, hint=f"It says: {error}") from error
    labels = rows.classes[known_labels(X_val, y_val, rows.classes).index]
    return worst_class_error(labels, answers, labels=rows.classes)


def _named_baseline(name: str, booster: WorstClassBooster) -> Any:
    """Build a method by its name; it trains the same network as the booster, if that has one."""
    if find_method(name).needs_theta:
        raise ParameterError("baseline", OWNER, allowed="a method that has no theta itself", got=name)
    options: dict[str, Any] = {"select_on": booster.select_on, "random_state": booster.random_state}
    if hasattr(booster.learner, "module"):
        parameters = booster.learner.get_params(deep=False)
        options["network"] = booster.learner.module
        options["learner"] = {key: value for key, value in parameters.items() if key not in NOT_SHARED}
    return build_method(name, **options)


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _template(booster: WorstClassBooster, select_on: str | None, random_state: Any) -> tuple[WorstClassBooster, int]:
    """Return the booster with the seed and the choice of all fits, and the seed of the held-out rows."""
    own = booster.random_state
    tree = SeedTree.from_random_state(own if random_state is None else random_state, owner=OWNER)
    seed = int(own) if is_count(own, least=0) else tree.seed(0)
    changes = {"random_state": seed, "select_on": select_on or booster.select_on}
    return type(booster)(**{**booster.get_params(deep=False), **changes}), tree.seed(1)


def _thetas(candidates: Iterable[float] | None, way: str) -> list[float]:
    if candidates is None:
        return list(GRID) if way == "grid" else []
    if way not in ("grid", "baseline"):
        raise _unused("candidates", candidates, "grid' or 'baseline")
    values = [candidates] if is_number(candidates) else list(candidates)
    if not values:
        raise ParameterError("candidates", OWNER, allowed="at least one accuracy floor in [0, 1)", got=values)
    return sorted({float(exact_floor(value, owner=OWNER, parameter="candidates")) for value in values})


def _step(resolution: Any, way: str) -> Fraction:
    if resolution is not None:
        if way == "grid":
            raise _unused("resolution", resolution, "baseline', 'goal' or 'best")
        check_share(resolution, "resolution", OWNER)
    return Fraction(str(WAYS[way] if resolution is None else resolution))


def _check(booster: Any, way: Any, select_on: Any, n_jobs: Any, progress: Any, **needed: Any) -> None:
    """Refuse parameters that are not allowed before anything is trained; ``needed`` belong to the way of that name."""
    if not isinstance(booster, WorstClassBooster):
        raise ParameterError("booster", OWNER, allowed="a WorstClassBooster", got=booster)
    check_choice(way, "way", OWNER, WAYS)
    if select_on is not None:
        check_choice(select_on, "select_on", OWNER, SELECTION)
    if n_jobs is not None and (not is_count(n_jobs, least=-sys.maxsize) or n_jobs == 0):
        raise ParameterError("n_jobs", OWNER, allowed="None or a whole number other than 0", got=n_jobs)
    if progress is not None and not callable(progress):
        raise ParameterError("progress", OWNER, allowed="a function of a CandidateRecord", got=progress)
    for name, value in needed.items():
        if (value is None) == (way == name):
            raise _unused(name, value, name)


def _unused(name: str, value: Any, way: str) -> ParameterError:
    allowed = f"given for way='{way}', and left out for the other ways"
    return ParameterError(name, OWNER, allowed=allowed, got=value)
