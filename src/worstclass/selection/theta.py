"""``select_theta``: choose the accuracy floor on validation rows."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import clone

from worstclass._checks import check_choice, check_share, is_number
from worstclass._state import Checkpoint
from worstclass.boosting.booster import WorstClassBooster
from worstclass.checkpoints import checkpoint_of, fit_kept, seeds_of
from worstclass.data.labels import known_labels, require_pair, training_labels
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import Part, make_splits
from worstclass.exceptions import DataError, ModuleError, ParameterError, SelectionInterrupted
from worstclass.floors import Floors, exact_floor
from worstclass.methods import build_method, find_method
from worstclass.metrics import worst_class_error
from worstclass.selection.records import CandidateRecord, ThetaSelection
from worstclass.selection.search import Data, Theta, ThetaSearch

OWNER = "select_theta"
#: the ways to choose theta, each with its default resolution
WAYS = {"grid": 0.1, "baseline": 0.05, "goal": 0.01, "best": 0.02}
#: what to give for the ways that need something
NEEDED = {
    "goal": "Give the floors to meet, for example 0.8.",
    "baseline": "Give what to improve on: a method's name, a worst-class error such as 0.35, or a classifier.",
}
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
    val_share: float = 0.2,
    resolution: float | None = None,
    n_jobs: int | None = None,
    progress: Callable[[CandidateRecord], None] | None = None,
    allow_equal_rows: bool = False,
    checkpoint: Any = None,
) -> ThetaSelection:
    """Choose the accuracy floor of a booster on validation rows, and fit it there.

    Each candidate is a plain ``fit(X, y, X_val, y_val)`` of a clone. The validation rows choose theta and the number
    of members that vote, so errors on them are too optimistic afterwards. ``certify`` refuses these rows.

    Parameters
    ----------
    booster : what to fit. Its own theta is ignored, and it is not changed. Its ``select_on`` says which error chooses
        theta, its ``random_state`` is the seed of all fits and of the rows held out, its budgets (``max_epochs``,
        ``max_seconds``) hold for each fit. Its callbacks are not called.
    X, y : training rows.
    X_val, y_val : validation rows of every class, none of them a training row. Without them ``val_share`` of every
        class of X is held out.
    way : ``"grid"``: the candidate with the least validation error, as in the paper. Ties are broken by the error that
        ``select_on`` does not name, then in favour of a vote that meets its floor, then of the larger theta.
        ``"baseline"``: the same, with candidates from the accuracy of a baseline's worst validation class upwards.
        ``"goal"``: whether floors can be met; if not, which classes block them, and the nearest feasible floors.
        ``"best"``: the largest feasible theta, found by bisection, whose validation error is at most one standard error
        above the least of all feasible ones.
    candidates : the thetas of ``"grid"``, by default 0.1 to 0.9.
    baseline : for ``"baseline"``: a classifier, which is fitted on the training rows unless it is fitted already, the
        name of a method, or a worst-class error that was observed.
    goal : for ``"goal"``: the floor, or a mapping from class to floor, in which ``"others"`` stands for the rest.
    val_share : share of the rows that is held out, in (0, 1).
    resolution : step between default candidates (0.1; for ``"baseline"`` 0.05), between the thetas of ``"best"``
        (0.02), and between nearest feasible floors (0.01).
    n_jobs : number of joblib worker processes for ``"grid"`` and ``"baseline"``; None is 1, or what
        ``joblib.parallel_config`` says. The result is the same for any number. The other ways fit one theta after
        another, and so does a backend of threads.
    progress : called with the ``CandidateRecord`` of each fit when it ends.
    allow_equal_rows : accept validation rows that equal training rows where reuse cannot be told from coincidence.
    checkpoint : a folder in which the search keeps what its fits have finished. A search that was killed goes on from
        there if it is called again with the same booster and rows.

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
    step = _checked_step(booster, way, resolution, candidates=candidates, baseline=baseline, goal=goal)
    check_share(val_share, "val_share", OWNER)
    plain = clone(booster).set_params(theta=0.0, callbacks=None)
    with checkpoint_of(plain, checkpoint, X, y, X_val, y_val) as kept:
        started, seeds = time.perf_counter(), seeds_of(booster, kept)
        plain.set_params(random_state=seeds.entropy)
        data, chosen_by, allowed = _separate(X, y, X_val, y_val, val_share, seeds.seed(1), allow_equal_rows)
        error = _observed_error(baseline, plain, data, kept) if way == "baseline" else None
        search = ThetaSearch(plain, data, way in ("goal", "best"), n_jobs, progress, kept)
        interrupted = False
        try:
            if goal is not None:
                Floors.from_theta(goal, np.unique(data[1]), owner=OWNER, parameter="goal")  # refuses what is no floor
                search.meet(goal, step)
            elif way == "best":
                search.bisect(step)
            else:
                search.compare(_thetas(candidates, error, step))
        except KeyboardInterrupt:
            if search.best is None:
                raise
            interrupted = True
    if search.best is None:
        raise ModuleError(search.records[0].why)
    search.best.callbacks = booster.callbacks
    selection = ThetaSelection(
        way=way,
        booster=search.best,
        candidates=tuple(search.records if way == "goal" else sorted(search.records, key=lambda record: record.theta)),
        chosen_by=chosen_by,
        seconds=time.perf_counter() - started,
        equal_rows_allowed=allowed,
        observed_error=error,
        nearest=search.nearest,
        interrupted=interrupted,
    )
    if interrupted:
        raise SelectionInterrupted(selection)
    return selection


def _checked_step(booster: Any, way: Any, resolution: Any, *, candidates: Any, baseline: Any, goal: Any) -> Fraction:
    """Refuse parameters that are not allowed; return the step between thetas."""
    if not isinstance(booster, WorstClassBooster):
        raise ParameterError("booster", OWNER, allowed="a WorstClassBooster", got=booster)
    check_choice(way, "way", OWNER, WAYS)
    if candidates is not None and way != "grid":
        raise ParameterError("candidates", OWNER, allowed="given for way='grid' alone", got=candidates)
    for name, value in {"baseline": baseline, "goal": goal}.items():
        if (value is None) == (way == name):
            allowed, hint = f"given for way={name!r}, and for it alone", NEEDED[name] if value is None else ""
            raise ParameterError(name, OWNER, allowed=allowed, got=value, hint=hint)
    step = WAYS[way] if resolution is None else resolution
    check_share(step, "resolution", OWNER)
    return Fraction(str(step))


def _separate(
    X: Any, y: Any, X_val: Any, y_val: Any, val_share: float, seed: int, allow_equal_rows: bool
) -> tuple[Data, str, bool]:
    """Take the validation rows as given, or hold out a share of every class of the training rows.

    Returns all rows, a text that says which of them choose, and whether ``allow_equal_rows`` was needed.
    """
    labels, allowed = training_labels(X, y), False
    train = Part(X, labels.classes[labels.index])
    if X_val is None and y_val is None:
        parts = make_splits(X, train.y, val=val_share, test=0.0, seed=seed)
        train, val, which = parts.train, parts.val, "rows held out of the training rows"
    else:
        require_pair(X_val, y_val)
        seen, roles = SeenRows.of(X), ("training",)
        allowed = check_unseen(X_val, seen, roles=roles, owner=OWNER, allow_equal_rows=allow_equal_rows).allowed
        known = known_labels(X_val, y_val, labels.classes)
        val, which = Part(X_val, labels.classes[known.index]), "validation rows"
    absent = [label for label in labels.classes.tolist() if val is None or label not in val.y]
    if val is None or absent:
        raise DataError(
            f"There is no validation row of the classes {absent}, and theta is chosen by the worst class. "
            "Add rows of them, or raise val_share where validation rows are held out."
        )
    return (train.X, train.y, val.X, val.y), f"{len(val):,} {which}", allowed


def _thetas(candidates: Iterable[float] | None, error: float | None, step: Fraction) -> list[float]:
    """Return candidates as given, or all steps up to 1, from the accuracy of a baseline on (in whole percents)."""
    if candidates is None:
        first = step if error is None else Fraction(math.ceil((1 - Fraction(str(error))) * 100), 100)
        return [float(first + n * step) for n in range(math.ceil((1 - first) / step))]
    values = {float(exact_floor(value, owner=OWNER, parameter="candidates")) for value in candidates}
    if not values:
        raise ParameterError("candidates", OWNER, allowed="at least one accuracy floor in [0, 1)", got=candidates)
    return list(values)


def _observed_error(baseline: Any, booster: WorstClassBooster, data: Data, checkpoint: Checkpoint) -> float:
    """Return the worst-class error of a baseline on the validation rows, or the error as given."""
    if is_number(baseline) and 0 <= baseline <= 1:
        error = float(baseline)
    else:
        X_val, y_val = data[2:]
        model = _fitted_baseline(baseline, booster, data, checkpoint)
        error = worst_class_error(y_val, np.asarray(model.predict(X_val)), labels=np.unique(y_val))
    if error < 0.01:
        allowed = "one that leaves room: with an error of at least 1% on its worst class"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=f"a worst-class error of {error:.1%}")
    return error


def _fitted_baseline(baseline: Any, booster: WorstClassBooster, data: Data, checkpoint: Checkpoint) -> Any:
    """Return a clone fitted on the training rows, or one that is fitted as it is, unless validation rows trained it."""
    X, y, X_val, y_val = data
    model = _named_baseline(baseline, booster) if isinstance(baseline, str) else baseline
    if isinstance(model, type) or not hasattr(model, "predict"):
        allowed = "a classifier, a method's name (worstclass methods), or a worst-class error in [0, 1]"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline)
    if not hasattr(model, "classes_"):
        validates = "X_val" in inspect.signature(model.fit).parameters
        options = {"X_val": X_val, "y_val": y_val} if validates else {}
        return fit_kept(clone(model), X, y, checkpoint, "baseline", **options)
    if hasattr(model, "seen_rows_"):
        check_unseen(X_val, model.seen_rows_, roles=("training",), owner=OWNER)
    return model


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
