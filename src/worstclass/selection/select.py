"""``select_theta`` and ``nearest_feasible_floors``: how high the accuracy floor should be."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from worstclass._checks import check_choice, check_share, is_count, is_number
from worstclass._typing import IntArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.data.labels import known_labels, require_pair, training_labels
from worstclass.data.map_style import is_map_dataset
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import make_splits, take_rows
from worstclass.exceptions import DataError, ModuleError, ParameterError, SelectionInterrupted
from worstclass.floors import Floors, exact_floor
from worstclass.methods import build_method, find_method
from worstclass.metrics import SELECTION, worst_class_error
from worstclass.randomness import SeedTree
from worstclass.selection.result import CandidateRecord, FeasibleFloors, Theta, ThetaSelection
from worstclass.selection.search import Data, Search, nearest_floors

OWNER = "select_theta"
#: the ways to choose theta, each with its default resolution
WAYS = {"grid": 0.1, "baseline": 0.05, "goal": 0.01, "best": 0.02}
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
    resolution : step between thetas: of the default candidates of ``"grid"`` (0.1) and ``"baseline"`` (0.05), of
        ``"best"`` (0.02), and of the nearest floors of ``"goal"`` (0.01).
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
    step = Fraction(str(_checked_step(booster, way, resolution, select_on, baseline=baseline, goal=goal)))
    thetas = _thetas(candidates, way, step)
    check_share(val_share, "val_share", OWNER)
    template, split_seed = _template(booster, select_on, random_state)
    data, classes, chosen_by, allowed = _separate(X, y, X_val, y_val, val_share, split_seed, allow_equal_rows)
    if goal is not None:
        Floors.from_theta(goal, classes, owner=OWNER, parameter="goal")
    search = Search(template, data, step, way in ("goal", "best"), n_jobs=n_jobs, progress=progress)
    found: dict[str, Any] = {"way": way, "chosen_by": chosen_by, "equal_rows_allowed": allowed}
    started = time.perf_counter()
    try:
        if goal is not None:
            record = (fit := search.fit(goal)).record
            if record.rounds and not record.bound_met:
                found["nearest"] = nearest_floors(fit.booster, step, search)
        elif way == "best":
            search.bisect()
        else:
            if way == "baseline":
                found["observed_error"] = _observed_error(baseline, template, data, classes)
                thetas = _improving(thetas, found["observed_error"], step)
            search.compare(thetas)
    except KeyboardInterrupt:
        if search.best is None:
            raise
        found["interrupted"] = True
    if search.best is None:
        raise ModuleError(search.records[0].why)
    nearest = found["nearest"].booster if "nearest" in found else None
    records = search.records if way == "goal" else sorted(search.records, key=lambda record: record.theta)
    seconds = time.perf_counter() - started
    selection = ThetaSelection(
        booster=nearest or search.best.booster, candidates=tuple(records), seconds=seconds, **found
    )
    if selection.interrupted:
        raise SelectionInterrupted(selection)
    return selection


def nearest_feasible_floors(fitted: Any, *, resolution: float = 0.01) -> FeasibleFloors:
    """Find the classes that block the floors of a booster, by how much, and feasible floors near those asked for.

    They are the floors that its vote after some round meets, by exact counts on the training rows. Only the floors of
    the blocking classes are lowered. ``fitted`` is not changed. ``select_theta(..., way="goal")`` also fits there anew.

    Parameters
    ----------
    fitted : a fitted booster, or a ``ThetaSelection``.
    resolution : floors are multiples of it.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from worstclass import WorstClassBooster
    >>> X, y = load_iris(return_X_y=True)
    >>> booster = WorstClassBooster(DecisionTreeClassifier(max_depth=2), theta=0.7, gamma=0.1, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # the floor is missed
    ...     booster = booster.fit(X[:, :1], y)
    >>> nearest = nearest_feasible_floors(booster, resolution=0.05)
    >>> nearest.blocking, nearest.floors, nearest.booster.bound_met_
    ([1], {0: 0.7, 1: 0.45, 2: 0.7}, True)
    """
    owner, booster = "nearest_feasible_floors", getattr(fitted, "booster", fitted)
    if not isinstance(booster, WorstClassBooster) or not hasattr(booster, "estimators_"):
        allowed = "a fitted WorstClassBooster, or a ThetaSelection"
        raise ParameterError("fitted", owner, allowed=allowed, got=fitted)
    check_share(resolution, "resolution", owner)
    return nearest_floors(booster, Fraction(str(resolution)))


def _checked_step(booster: Any, way: Any, resolution: Any, select_on: Any, **needed: Any) -> float:
    """Refuse parameters that are not allowed; return the step between thetas."""
    if not isinstance(booster, WorstClassBooster):
        raise ParameterError("booster", OWNER, allowed="a WorstClassBooster", got=booster)
    check_choice(way, "way", OWNER, WAYS)
    check_choice(select_on, "select_on", OWNER, [None, *SELECTION])
    for name, value in needed.items():
        if (value is None) == (way == name):
            raise ParameterError(name, OWNER, allowed=f"given for way={name!r}, and for it alone", got=value)
    step = WAYS[way] if resolution is None else resolution
    check_share(step, "resolution", OWNER)
    return float(step)


def _separate(
    X: Any, y: Any, X_val: Any, y_val: Any, val_share: float, seed: int, allow_equal_rows: bool
) -> tuple[Data, npt.NDArray[Any], str, bool]:
    """Take the validation rows as given, or hold out a share of every class of the training rows.

    Returns the rows that train and choose, the classes, which rows choose, and whether equal rows were allowed.
    """
    labels, allowed = training_labels(X, y), False
    if X_val is None and y_val is None:
        values = labels.classes[labels.index]
        parts = make_splits(np.arange(len(values)), values, val=val_share, test=0.0, seed=seed)
        train, val = parts.train.X, np.zeros(0, np.int64) if parts.val is None else parts.val.X
        data, index = (_take(X, train), values[train], _take(X, val), values[val]), labels.index[val]
        chosen_by = f"{len(val):,} rows held out of the training rows"
    else:
        require_pair(X_val, y_val)
        data, index = (X, y, X_val, y_val), known_labels(X_val, y_val, labels.classes).index
        policy: Any = {"roles": ("training",), "owner": OWNER, "allow_equal_rows": allow_equal_rows}
        allowed = check_unseen(X_val, SeenRows.of(X), **policy).allowed
        chosen_by = f"{len(index):,} validation rows"
    absent = np.delete(labels.classes, np.unique(index)).tolist()
    if absent:
        raise DataError(
            f"There is no validation row of the classes {absent}, and theta is chosen by the worst class. "
            "Add rows of them, or raise val_share where validation rows are held out."
        )
    return data, labels.classes, chosen_by, allowed


def _take(X: Any, index: IntArray) -> Any:
    if is_map_dataset(X):
        from torch.utils.data import Subset

        return Subset(X, index.tolist())
    return take_rows(X, index)


def _thetas(candidates: Iterable[float] | None, way: str, step: Fraction) -> list[float]:
    """Return the candidates, sorted; for a grid by default all steps."""
    if candidates is None:
        return [float(n * step) for n in range(1, math.ceil(1 / step))] if way == "grid" else []
    values = list(candidates)
    if not values or way not in ("grid", "baseline"):
        allowed = "accuracy floors in [0, 1), at least one, for way='grid' or 'baseline' alone"
        raise ParameterError("candidates", OWNER, allowed=allowed, got=values)
    return sorted({float(exact_floor(value, owner=OWNER, parameter="candidates")) for value in values})


def _improving(thetas: Sequence[float], error: float, step: Fraction) -> list[float]:
    """Return the thetas that are at least the accuracy of a baseline; without any, those in steps from there."""
    least = 1 - Fraction(str(error))
    first = Fraction(math.ceil(least * 100), 100)
    in_steps = [float(first + n * step) for n in range(math.ceil((1 - first) / step))]
    above = [theta for theta in thetas or in_steps if Fraction(str(theta)) >= least]
    if not above:
        allowed = "one that leaves room: a candidate at or above the accuracy of its worst class"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=f"a worst-class error of {error:.1%}")
    return above


def _observed_error(baseline: Any, booster: WorstClassBooster, data: Data, classes: npt.NDArray[Any]) -> float:
    """Return the worst-class error of a baseline on the validation rows, or the error as given."""
    if is_number(baseline) and 0 <= baseline <= 1:
        return float(baseline)
    model = _named_baseline(baseline, booster) if isinstance(baseline, str) else baseline
    if isinstance(model, type) or not hasattr(model, "predict"):
        allowed = "a classifier, a method's name (worstclass methods), or a worst-class error in [0, 1]"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline)
    X_val, y_val = data[2:]
    if not hasattr(model, "classes_"):
        with_validation = "X_val" in inspect.signature(model.fit).parameters
        model = clone(model).fit(*(data if with_validation else data[:2]))
    elif hasattr(model, "seen_rows_"):
        check_unseen(X_val, model.seen_rows_, roles=("training",), owner=OWNER)
    labels = classes[known_labels(X_val, y_val, classes).index]
    return worst_class_error(labels, np.asarray(model.predict(X_val)), labels=classes)


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


def _template(booster: WorstClassBooster, select_on: str | None, random_state: Any) -> tuple[WorstClassBooster, int]:
    """Return the booster with the seed and the choice of all fits, and the seed of the held-out rows."""
    own = booster.random_state
    tree = SeedTree.from_random_state(own if random_state is None else random_state, owner=OWNER)
    seed = int(own) if is_count(own, least=0) else tree.seed(0)
    changes = {"random_state": seed, "select_on": select_on or booster.select_on}
    return type(booster)(**{**booster.get_params(deep=False), **changes}), tree.seed(1)
