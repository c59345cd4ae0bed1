"""``select_theta``: how high the accuracy floor should be."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from worstclass.boosting.base import is_count
from worstclass.boosting.booster import WorstClassBooster
from worstclass.exceptions import ParameterError, SelectionInterrupted, UnknownNameError
from worstclass.floors import Floors, exact_floor
from worstclass.metrics import SELECTION
from worstclass.randomness import SeedTree
from worstclass.selection.baseline import observed_worst_error, thetas_above
from worstclass.selection.nearest import check_steps
from worstclass.selection.race import Tell
from worstclass.selection.result import ThetaSelection
from worstclass.selection.rows import OWNER, separate
from worstclass.selection.search import Search
from worstclass.selection.ways import Found, best_attainable, for_goal, race, so_far

WAYS = ("grid", "baseline", "goal", "best")
#: the paper's candidates
GRID = tuple(tenths / 10 for tenths in range(1, 10))


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
    goal: float | Mapping[Any, float] | None = None,
    select_on: str | None = None,
    val_share: float = 0.2,
    step: float = 0.05,
    resolution: float | None = None,
    max_fits: int = 6,
    full: bool = False,
    cost_limit: float = 3.0,
    hopeless_after: int | str | None = "auto",
    random_state: Any = None,
    progress: Tell | None = None,
) -> ThetaSelection:
    """Choose the accuracy floor of a booster on validation rows, and fit it there.

    The validation rows choose theta and the prefix of the vote. They are then used up: what is measured on them is
    too good, and a certificate must rest on other rows. The booster that is returned remembers them, and ``certify``
    refuses them.

    Parameters
    ----------
    booster : what to fit; its theta is not looked at, and it is left as it is. Its budgets (``max_epochs``,
        ``max_seconds``) hold for each fit. Its callbacks are not told of the search.
    X, y : rows to train on.
    X_val, y_val : validation rows, of every class. Where there are none, ``val_share`` of every class of X is cut off.
    way : ``"grid"``: the candidate of the least validation error, as in the paper; between equals the other error
        decides, then a vote that meets its floor, then the larger theta. ``"baseline"``: the same, with candidates from
        the accuracy upwards that a baseline has on its worst validation class. ``"goal"``: fit at the goal of the task,
        and say whether it is met; where it is not, which classes block it and the nearest feasible floors.
        ``"best"``: the largest theta whose floor is met on the training rows, found by bisection, and whose
        validation error is at most one standard error above the least that any feasible theta had.
    candidates : the thetas of ``"grid"``, by default 0.1 to 0.9; of ``"baseline"``, from which those that do not
        improve on the baseline are left out.
    baseline : for ``"baseline"``: a classifier, fitted (on rows other than the validation rows) or not (it is then
        fitted on the training rows), a method's name, or the worst-class error that was observed.
    goal : for ``"goal"``: the floor, or a mapping from class to floor, in which ``"others"`` stands for the rest.
    select_on : the error that chooses theta and the prefix: of the ``"worst"`` class, or the ``"average"`` over all
        rows. None takes the booster's own.
    val_share : share of the rows that is cut off, in (0, 1).
    step : distance of the candidates of ``"baseline"``.
    resolution : thetas of ``"best"`` are multiples of it, by default 0.02, and so are the nearest floors of ``"goal"``,
        by default 0.01.
    max_fits : refits of ``"goal"`` in search of the nearest feasible floors.
    full : run every candidate of a grid to its end, whatever it costs.
    cost_limit : what a grid may cost, as a multiple of one fit at the largest feasible theta, in epochs. Candidates
        that are worse than others are abandoned to keep to it. It is aimed at and not guaranteed: costs to come are
        estimated.
    hopeless_after : epochs without any progress after which a round is set aside; ``"auto"`` is a tenth of the
        booster's patience and at least 10, None never. The round of a candidate that is then chosen is trained to
        its end all the same, except for ``"best"``, which takes a theta with such a round for infeasible.
    random_state : seed of the cut, and of the fits where the booster has no whole number for its own.
    progress : is called with a ``SelectionEvent`` when something has happened.

    Returns
    -------
    The ``ThetaSelection``: theta, the booster fitted at it, and a record of every candidate. For ``"grid"`` and
    ``"baseline"`` the booster is the one that ``fit(X, y, X_val, y_val)`` gives at that theta and with that seed. For
    the others its vote is the best prefix on the validation rows among those that meet every floor, if any does.

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
    started = time.perf_counter()
    _check(booster, way, baseline, goal, select_on)
    _check_numbers(step, resolution, max_fits, cost_limit, hopeless_after)
    thetas = _thetas(candidates, way)
    seed, split_seed = _seeds(booster, random_state)
    rows = separate(X, y, X_val, y_val, val_share=val_share, seed=split_seed)
    if goal is not None:
        Floors.from_theta(goal, rows.classes, owner=OWNER, parameter="goal")
    search = Search(
        booster,
        rows,
        seed=seed,
        select_on=booster.select_on if select_on is None else select_on,
        cost_limit=None if full else cost_limit,
        hopeless_after=None if full else hopeless_after,
        floors_first=way in ("goal", "best"),
        tell=progress,
    )
    try:
        if way in ("grid", "baseline"):
            found = race(search, thetas if way == "grid" else _improving(thetas, baseline, step, search))
        elif way == "best":
            found = best_attainable(search, resolution or 0.02)
        else:
            assert goal is not None
            found = for_goal(search, goal, resolution=resolution or 0.01, max_fits=max_fits)
    except KeyboardInterrupt:
        kept = so_far(search, way)
        if kept is None:
            raise
        raise SelectionInterrupted(_selection(search, way, kept, started, interrupted=True)) from None
    return _selection(search, way, found, started)


def _selection(search: Search, way: str, found: Found, started: float, *, interrupted: bool = False) -> ThetaSelection:
    return ThetaSelection(
        way=way,
        theta=found.theta,
        booster=found.booster,
        met=found.met,
        candidates=search.records,
        select_on=search.select_on,
        chosen_by=search.rows.origin,
        n_train=search.rows.n_train,
        epochs=search.work.epochs,
        seconds=time.perf_counter() - started,
        observed_error=search.observed_error,
        nearest=found.nearest,
        interrupted=interrupted,
    )


def _seeds(booster: WorstClassBooster, random_state: Any) -> tuple[int, int]:
    """Return the seed of all fits, the booster's own where it is a whole number, and that of the cut."""
    own = booster.random_state
    tree = SeedTree.from_random_state(own if random_state is None else random_state, owner=OWNER)
    whole = isinstance(own, int | np.integer) and not isinstance(own, bool)
    return int(own) if whole else tree.seed(0), tree.seed(1)


def _thetas(candidates: Iterable[float] | None, way: str) -> list[float]:
    if candidates is None:
        return list(GRID) if way == "grid" else []
    if way not in ("grid", "baseline"):
        raise _idle("candidates", candidates, "grid' or 'baseline")
    values = [candidates] if isinstance(candidates, numbers.Real) else list(candidates)
    if not values:
        raise ParameterError("candidates", OWNER, allowed="at least one accuracy floor in [0, 1)", got=values)
    return sorted({float(exact_floor(value, owner=OWNER, parameter="candidates")) for value in values})


def _improving(thetas: list[float], baseline: Any, step: float, search: Search) -> list[float]:
    """Return the thetas, or those in steps, that improve on a baseline."""
    observed = search.observed_error = observed_worst_error(baseline, search)
    least = 1 - Fraction(str(observed))
    above = [theta for theta in thetas if Fraction(str(theta)) >= least] if thetas else thetas_above(observed, step)
    if not above:
        raise ParameterError(
            "baseline",
            OWNER,
            allowed="one that leaves room: a candidate at or above the accuracy of its worst class",
            got=f"a worst-class error of {observed:.1%}",
            hint="There is nothing left to improve on." if observed == 0 else "Give higher candidates.",
        )
    return above


def _check(booster: Any, way: Any, baseline: Any, goal: Any, select_on: Any) -> None:
    if not isinstance(booster, WorstClassBooster):
        raise ParameterError("booster", OWNER, allowed="a WorstClassBooster", got=booster)
    if way not in WAYS:
        raise UnknownNameError("way", OWNER, way, WAYS)
    if select_on is not None and select_on not in SELECTION:
        raise UnknownNameError("select_on", OWNER, select_on, SELECTION)
    for name, value in (("baseline", baseline), ("goal", goal)):
        if (value is None) == (way == name):
            raise _idle(name, value, name)


def _check_numbers(step: Any, resolution: Any, max_fits: Any, cost_limit: Any, hopeless_after: Any) -> None:
    check_steps(0.01 if resolution is None else resolution, max_fits, owner=OWNER)
    if not _is_number(step) or not 0 < step < 1:
        raise ParameterError("step", OWNER, allowed="a number in (0, 1)", got=step)
    if not _is_number(cost_limit) or not 1 <= cost_limit < math.inf:
        raise ParameterError("cost_limit", OWNER, allowed="a number of at least 1", got=cost_limit)
    known = hopeless_after is None or hopeless_after == "auto" or is_count(hopeless_after, least=1)
    if not known:
        allowed = "'auto', a positive whole number or None"
        raise ParameterError("hopeless_after", OWNER, allowed=allowed, got=hopeless_after)


def _idle(name: str, value: Any, way: str) -> ParameterError:
    allowed = f"given for way='{way}', and left out for the other ways"
    return ParameterError(name, OWNER, allowed=allowed, got=value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
