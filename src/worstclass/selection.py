"""How high the accuracy floor should be: fit at several thetas, and compare them on validation rows."""

from __future__ import annotations

import copy
import inspect
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import OTHERS, check_choice, check_count, check_share, is_count, is_number
from worstclass._text import percent, text_table
from worstclass._typing import IntArray
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord
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
    WorstClassWarning,
)
from worstclass.floors import Floors, exact_floor
from worstclass.methods import build_method, find_method
from worstclass.metrics import SELECTION, ClassCounts, worst_class_error
from worstclass.randomness import SeedTree

OWNER = "select_theta"
#: the ways to choose theta, each with its default resolution; a grid has none
WAYS = {"grid": 1.0, "baseline": 0.05, "goal": 0.01, "best": 0.02}
#: the candidates of the paper
GRID = tuple(tenths / 10 for tenths in range(1, 10))
#: refits of a goal in search of the nearest feasible floors
MAX_FITS = 6
#: options of a torch learner that a baseline with the same network does not take over
NOT_SHARED = ("module", "loss", "head", "start")
#: why a fit ended early, if epochs or time ran out
SPENT = "the budget was spent"

Theta = float | Mapping[Any, float]


@dataclass(frozen=True)
class CandidateRecord:
    """The result of one fit of the search.

    Attributes
    ----------
    theta : the floor, or the floors by class.
    status : ``"feasible"``: the vote of all members, or of the first of them, meets every floor on the training rows,
        by exact counts. ``"infeasible"``: it does not. ``"failed"``: the network broke down in the first round.
        ``"interrupted"``: the user interrupted the fit; the finished rounds count.
    seconds, epochs : cost of the fit.
    rounds, planned_rounds : number of members, and T.
    worst_error, plain_error : validation error of the worst class, and over all rows; None for a fit that failed.
    bound_met : whether the members that vote meet every floor on the training rows.
    why : why the fit ended early; empty if it did not.
    """

    theta: Any
    status: str
    seconds: float
    why: str = ""
    rounds: int = 0
    planned_rounds: int = 0
    epochs: int = 0
    worst_error: float | None = None
    plain_error: float | None = None
    bound_met: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        return {**asdict(self), "theta": _plain(self.theta)}


@dataclass(frozen=True, eq=False)
class FeasibleFloors:
    """The nearest feasible floors, and the classes that block the floors asked for.

    Attributes
    ----------
    asked, floors : floors asked for, and nearest feasible ones, by class.
    accuracy, rows_short : training accuracy of each class in the vote fitted at the floors asked for, and how many more
        of its rows would have to be correct.
    booster : its vote meets ``floors`` on the training rows, by exact counts; None if no vote has a correct row of
        every class, so that not even floors of 0 are met.
    n_fits : number of refits.
    """

    asked: dict[Any, float]
    floors: dict[Any, float]
    accuracy: dict[Any, float]
    rows_short: dict[Any, int]
    booster: WorstClassBooster | None
    n_fits: int

    @property
    def lowered_by(self) -> dict[Any, float]:
        """How far the floor of each class has to come down."""
        return {k: float(Fraction(str(asked)) - Fraction(str(self.floors[k]))) for k, asked in self.asked.items()}

    @property
    def blocking(self) -> list[Any]:
        """The classes that miss the floor asked for, or have to be lowered for others that do, the furthest first."""
        lowered = self.lowered_by
        blocking = [k for k in lowered if any(lowered.values()) and (lowered[k] or self.rows_short[k])]
        return sorted(blocking, key=lambda k: -lowered[k])

    @property
    def met(self) -> bool:
        """Whether the floors asked for are met as they are."""
        return not self.blocking

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        names = ("asked", "floors", "lowered_by", "accuracy", "rows_short", "met", "n_fits")
        blocking = [str(label) for label in self.blocking]
        return {**{name: _plain(getattr(self, name)) for name in names}, "blocking": blocking}

    def __str__(self) -> str:
        if self.met:
            return "The floors asked for are met on the training rows."
        lines, nearest = ["Classes that block:"], []
        for k in self.blocking:
            short = f"{self.rows_short[k]} rows short" if self.rows_short[k] else "lowered for the sake of the others"
            lines.append(f"  {k}: floor {self.asked[k]:.1%}, reached {self.accuracy[k]:.1%}, {short}")
            nearest.append(f"{k} {self.floors[k]:g} (lowered by {self.lowered_by[k]:g})")
        if self.booster is None:
            return "\n".join([*lines, "No feasible floors were found: no vote has a correct row of every class."])
        rest = "; the other classes as asked" if len(nearest) < len(self.floors) else ""
        return "\n".join([*lines, f"Nearest feasible floors: {', '.join(nearest)}{rest}."])


@dataclass(frozen=True, eq=False)
class ThetaSelection:
    """The theta that was chosen, the booster fitted at it, and a record of every fit.

    ``str(selection)`` is a table for people, ``selection.to_dict()`` the same for files.

    Attributes
    ----------
    way : how theta was chosen: ``"grid"``, ``"baseline"``, ``"goal"`` or ``"best"``.
    booster : fitted at ``theta`` on the training rows; the validation rows chose how many of its members vote.
    candidates : one record for each fit: by increasing theta, or in the order of the fits for floors by class.
    chosen_by : which rows chose. ``certify`` refuses them.
    equal_rows_allowed : whether ``allow_equal_rows`` was needed to accept them.
    n_train : number of training rows.
    seconds : time of the whole search.
    observed_error : the baseline's worst-class validation error; None without one.
    nearest : for an infeasible goal, the classes that block it and the nearest feasible floors; else None.
    interrupted : whether the user interrupted the search. The selection is then the best so far.
    """

    way: str
    booster: WorstClassBooster
    candidates: tuple[CandidateRecord, ...]
    chosen_by: str
    n_train: int
    seconds: float
    equal_rows_allowed: bool = False
    observed_error: float | None = None
    nearest: FeasibleFloors | None = None
    interrupted: bool = False

    @property
    def theta(self) -> Any:
        """The floor chosen. For an infeasible goal: the nearest feasible floors by class."""
        return self.booster.theta

    @property
    def met(self) -> bool:
        """Whether the search found what it looked for.

        ``"goal"``: the vote meets the goal on the training rows. ``"best"``: some theta is feasible. ``"grid"`` and
        ``"baseline"`` only compare: always True. False after an interruption.
        """
        compares = self.way in ("grid", "baseline")
        return not self.interrupted and (compares or (self.nearest is None and self.booster.bound_met_))

    @property
    def epochs(self) -> int:
        """Epochs of all fits together."""
        return sum(record.epochs for record in self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("way", "met", "interrupted", "chosen_by", "equal_rows_allowed", "n_train", "epochs", "seconds")
        validation = self.booster.validation_report_
        return {
            "theta": _plain(self.theta),
            **{name: getattr(self, name) for name in names},
            "select_on": self.booster.select_on,
            "observed_error": self.observed_error,
            "bound_met": self.booster.bound_met_,
            "training": self.booster.training_report_.to_dict(),
            "validation": None if validation is None else validation.to_dict(),
            "candidates": [record.to_dict() for record in self.candidates],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
        }

    def __str__(self) -> str:
        lines = [*self._table(), ""]
        if self.interrupted:
            lines.append("INTERRUPTED: this is the best so far, with the rounds that were finished.")
        if self.observed_error is not None:
            lines.append(f"the baseline's worst-class validation error: {self.observed_error:.1%}")
        if self.nearest is not None:
            spent = self.candidates[0].why.endswith(SPENT)
            lines.append("The goal was not reached within the budget." if spent else "The goal is infeasible.")
        lines.append(self._outcome() if self.nearest is None else str(self.nearest))
        never = "These rows chose; a certificate must rest on others."
        return "\n".join([*lines, f"{self.epochs:,} epochs in all. Chosen by {self.chosen_by}. {never}"])

    def _table(self) -> list[str]:
        rows = [
            (
                f"{'*' if record.theta == self.theta else ' '} {short_theta(record.theta)}",
                record.status,
                f"{record.rounds}/{record.planned_rounds}",
                f"{record.epochs:,}",
                percent(record.worst_error),
                percent(record.plain_error),
                f"{'met' if record.bound_met else 'missed'}{f' ({record.why})' if record.why else ''}",
            )
            for record in self.candidates
        ]
        return text_table(["  theta", "status", "rounds", "epochs", "worst", "all rows", "bound"], rows, left=(0, 1, 6))

    def _outcome(self) -> str:
        report = self.booster.validation_report_
        assert report is not None
        bound = "meets" if self.booster.bound_met_ else "MISSES"
        return (
            f"theta {short_theta(self.theta)}: worst-class validation error {percent(report.worst_error)} "
            f"({report.worst_class}), all rows {percent(report.plain_error)}; the vote {bound} "
            f"{'its floors' if isinstance(self.theta, Mapping) else 'its floor'} on the training rows"
        )


def short_theta(theta: Any) -> str:
    """Write one floor, or floors by class with the most common one last.

    Examples
    --------
    >>> short_theta(0.8), short_theta({"mel": 0.95, "nv": 0.8, "bkl": 0.8}), short_theta({"a": 0.1, "b": 0.2})
    ('0.8', 'mel 0.95, others 0.8', 'a 0.1, b 0.2')
    >>> short_theta({"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "e": 0.5, "others": 0.7})
    'a 0.1, b 0.2, c 0.3, 2 more, others 0.7'
    """
    if not isinstance(theta, Mapping):
        return f"{theta:g}"
    common, count = Counter(theta.values()).most_common(1)[0]
    rest = theta.get(OTHERS, common if count > 1 else None)
    named = [f"{label} {floor:g}" for label, floor in theta.items() if floor != rest]
    if len(named) > 4:
        named[3:] = [f"{len(named) - 3} more"]
    return ", ".join(named if rest is None else [*named, f"others {rest:g}"])


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
    n_jobs : number of joblib workers for the fits of ``"grid"`` and ``"baseline"``; None is 1, or what
        ``joblib.parallel_config`` says. It does not change the result. The other ways fit one theta after another.
    random_state : seed of the held-out rows, and of the fits if the booster's own is not an integer.
    progress : called with the ``CandidateRecord`` of each fit when it ends.
    allow_equal_rows : accept validation rows that equal training rows.

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
    _check(booster, way, select_on, resolution, n_jobs, baseline=baseline, goal=goal)
    check_share(val_share, "val_share", OWNER)
    thetas = _thetas(candidates, way)
    template, split_seed = _template(booster, select_on, random_state)
    rows = _separate(X, y, X_val, y_val, val_share, split_seed, allow_equal_rows)
    if goal is not None:
        Floors.from_theta(goal, rows.classes, owner=OWNER, parameter="goal")
    step = Fraction(str(WAYS[way] if resolution is None else resolution))
    search = _Search(template, rows.data, step, floors_first=way in ("goal", "best"), n_jobs=n_jobs, progress=progress)
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
    chosen.callbacks, chosen.on_unmet_edge = booster.callbacks, booster.on_unmet_edge
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
    search = _Search(booster, (X, y, X_val, y_val), Fraction(str(resolution)), floors_first=True)
    return _nearest(booster, search, 0 if X is None else max_fits)


@dataclass(frozen=True, eq=False)
class _Fit:
    """A fitted booster; one without members if its network broke down, or it was interrupted, in the first round."""

    booster: WorstClassBooster
    record: CandidateRecord

    @property
    def errors(self) -> tuple[float, float]:
        """Validation errors: the one that chooses, and the other."""
        report = self.booster.validation_report_
        assert report is not None
        errors = report.worst_error, report.plain_error
        return errors if self.booster.select_on == "worst" else errors[::-1]

    @property
    def rank(self) -> tuple[float, float, bool, float]:
        """Order fits: least error, least other error, floors met before floors missed, larger theta."""
        return *self.errors, not self.record.bound_met, -self.record.theta

    @property
    def error_limit(self) -> float:
        """One standard error above the error that chooses; the standard error of 0 or 1 is that of half a row."""
        report = self.booster.validation_report_
        assert report is not None  # its first row is that of the worst class
        n = report.rows[0].total if self.booster.select_on == "worst" else sum(row.total for row in report.rows)
        rate = min(max(self.errors[0], 0.5 / n), 1 - 0.5 / n)
        return self.errors[0] + math.sqrt(rate * (1 - rate) / n)


@dataclass(eq=False)
class _Search:
    """Fits of one booster on the same rows. ``best`` is what is returned, also after an interruption."""

    booster: WorstClassBooster
    data: tuple[Any, Any, Any, Any]
    step: Fraction
    floors_first: bool
    n_jobs: int | None = None
    progress: Callable[[CandidateRecord], None] | None = None
    records: list[CandidateRecord] = field(default_factory=list)
    best: _Fit | None = None

    def compare(self, thetas: Sequence[float]) -> None:
        """Fit at every theta, the largest first, since it costs most; keep the best."""
        for fit in self.fits(sorted(thetas, reverse=True)):
            if self.best is not None and fit.record.rounds and fit.rank < self.best.rank:
                self.best = fit

    def bisect(self) -> None:
        """Find the largest theta that is feasible and does not cost validation error."""
        low, high, tried = 0, math.ceil(1 / self.step), list[_Fit]()
        while high - low > 1:
            middle = (low + high) // 2
            fit = self.fit(float(middle * self.step))
            tried += [fit] if fit.record.rounds else []
            feasible = [other for other in tried if other.record.status == "feasible"]
            limit = min(feasible, key=lambda fit: fit.rank).error_limit if feasible else 0.0
            accepted = [other for other in feasible if other.errors[0] <= limit]
            low, high = (middle, high) if fit in accepted else (low, middle)
            if tried:
                self.best = (max if accepted else min)(accepted or tried, key=lambda fit: fit.record.theta)

    def reach(self, goal: Theta) -> FeasibleFloors | None:
        """Fit at the goal; if it is infeasible, return the nearest feasible floors."""
        fit = self.fit(goal)
        return _nearest(fit.booster, self, MAX_FITS) if fit.record.rounds and not fit.record.bound_met else None

    def fit(self, theta: Theta) -> _Fit:
        """Fit at one theta."""
        (fit,) = self.fits([theta])
        return fit

    def fits(self, thetas: Sequence[Theta]) -> Iterator[_Fit]:
        """Fit at every theta, in parallel if asked for; yield the fits in order."""
        n_workers = min(effective_n_jobs(self.n_jobs), len(thetas))
        n_threads = None if n_workers == 1 else max(1, cpu_count() // n_workers)
        try:
            run = Parallel(n_workers, return_as="generator")
        except ValueError:  # a backend that returns all results at once
            run = Parallel(n_workers)
        for fit in run(delayed(_fit)(self._at(theta), self.data, self.floors_first, n_threads) for theta in thetas):
            if fit.record.rounds or fit.record.status == "failed":
                self.records.append(fit.record)
            if self.best is None and fit.record.rounds:
                self.best = fit
            yield fit
            if fit.record.status == "interrupted":
                raise KeyboardInterrupt
            if self.progress is not None:
                self.progress(fit.record)

    def _at(self, theta: Theta) -> WorstClassBooster:
        """Return a clone at another theta, which calls no callback and does not raise if a round fails."""
        changes = {"theta": theta, "callbacks": None, "on_unmet_edge": "stop"}
        same: WorstClassBooster = clone(type(self.booster)(**{**self.booster.get_params(deep=False), **changes}))
        return same


def _fit(booster: WorstClassBooster, data: tuple[Any, ...], floors_first: bool, n_threads: int | None) -> _Fit:
    """Fit a booster, in this process or in a worker; a fit that fails or is interrupted is returned, too."""
    if n_threads is not None and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(n_threads)  # of this worker
    started, status, why = time.perf_counter(), "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)  # the record says what was missed
        try:
            booster.fit(*data)
        except ModuleError as error:
            status, why = "failed", str(error)
        except KeyboardInterrupt:
            status = "interrupted"
    seconds = time.perf_counter() - started
    if not hasattr(booster, "estimators_"):
        return _Fit(booster, CandidateRecord(booster.theta, status, seconds, why))
    meeting = _prefix_meeting_floors(booster)
    if floors_first and meeting is not None:
        booster.n_members_used_ = meeting
        booster._report()
    report, unmet = booster.validation_report_, booster.unmet_edge_
    if unmet is not None:
        why = f"ended in round {unmet.round}: {SPENT if unmet.budget_spent else 'its edge was out of reach'}"
    record = CandidateRecord(
        theta=booster.theta,
        status=status or ("infeasible" if meeting is None else "feasible"),
        seconds=seconds,
        why=why,
        rounds=len(booster.estimators_),
        planned_rounds=booster.n_rounds_,
        epochs=booster.n_epochs_,
        worst_error=None if report is None else report.worst_error,
        plain_error=None if report is None else report.plain_error,
        bound_met=booster.bound_met_,
    )
    return _Fit(booster, record)


def _prefix_meeting_floors(booster: WorstClassBooster) -> int | None:
    """Return how many members, counted from the first, meet every floor on the training rows; None if no vote does.

    Of several votes it is the one with the least validation error, the longest of equals.
    """

    def rank(record: RoundRecord) -> tuple[float, int]:
        if record.val_totals is None:
            return 0.0, -record.round
        counts = ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals))
        return SELECTION[booster.select_on](counts), -record.round

    quota = Floors.from_theta(booster.theta, booster.classes_).vote_quota(booster.history_[0].class_totals)
    meeting = [record for record in booster.history_ if (np.array(record.vote_correct) >= quota).all()]
    return min(meeting, key=rank).round if meeting else None


def _nearest(booster: WorstClassBooster, search: _Search, max_fits: int) -> FeasibleFloors:
    """Find feasible floors near those of a booster: the ones that its vote meets, then by refits half way up."""
    labels, last = booster.classes_.tolist(), booster.history_[-1]
    asked = Floors.from_theta(booster.theta, labels)
    best, high, n_fits = _nearest_met(booster, asked.theta, search.step), asked.theta, 0

    def by_class(values: Iterable[Any]) -> dict[Any, Any]:
        return dict(zip(labels, values, strict=True))

    while best.lowered and n_fits < max_fits:
        if best.n_empty:
            trial = tuple(floor / 2 ** (n_fits + 1) // search.step * search.step for floor in asked.theta)
        else:
            trial = _half_way(best.floors, high, asked.theta, search.step)
        if trial == best.floors:
            break
        n_fits += 1
        fit = search.fit(by_class(map(float, trial)))
        if not best.n_empty and fit.record.status != "feasible":
            high = trial
        if fit.record.rounds:
            best = min(best, _nearest_met(fit.booster, asked.theta, search.step), key=lambda met: met[:2])
    floors, found = by_class(map(float, best.floors)), None
    if not best.n_empty:
        found = copy.copy(best.booster)
        found.theta = floors
        found.n_members_used_ = _prefix_meeting_floors(found) or len(found.history_)
        found._report()
    short = asked.vote_quota(last.class_totals) - np.array(last.vote_correct)
    return FeasibleFloors(
        asked=by_class(asked.as_floats()),
        floors=floors,
        accuracy=by_class(np.divide(last.vote_correct, last.class_totals).tolist()),
        rows_short=by_class(np.maximum(short, 0).tolist()),
        booster=found,
        n_fits=n_fits,
    )


class _Met(NamedTuple):
    """Floors that the vote of a booster meets, the distance from those asked for, and classes with no correct row."""

    n_empty: int
    lowered: Fraction
    floors: tuple[Fraction, ...]
    booster: WorstClassBooster


def _nearest_met(booster: WorstClassBooster, asked: Sequence[Fraction], step: Fraction) -> _Met:
    """Return the floors nearest to those asked for that the vote after some round meets.

    A class that misses its floor gets the largest multiple of ``step`` that it meets; 0 if it has no correct row.
    """

    def floor_met(correct: int, total: int, floor: Fraction) -> Fraction:
        accuracy = Fraction(correct, total)
        return floor if accuracy > floor else max(Fraction(0), (math.ceil(accuracy / step) - 1) * step)

    found = []
    for record in booster.history_:
        floors = tuple(map(floor_met, record.vote_correct, record.class_totals, asked))
        found.append(_Met(record.vote_correct.count(0), sum(asked, -sum(floors, Fraction(0))), floors, booster))
    return min(found, key=lambda met: met[:2])


def _half_way(
    met: Sequence[Fraction], missed: Sequence[Fraction], asked: Sequence[Fraction], step: Fraction
) -> tuple[Fraction, ...]:
    """Return floors half way from those met to higher ones that were missed, in whole steps.

    A class whose floor is met at the one that was missed did not block it: half way to the floor asked for.
    """
    return tuple(
        max(low, (low + (high if high > low else goal)) / 2 // step * step)
        for low, high, goal in zip(met, missed, asked, strict=True)
    )


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


def _check(booster: Any, way: Any, select_on: Any, resolution: Any, n_jobs: Any, **needed: Any) -> None:
    """Refuse parameters that are not allowed before anything is trained; ``needed`` belong to the way of that name."""
    if not isinstance(booster, WorstClassBooster):
        raise ParameterError("booster", OWNER, allowed="a WorstClassBooster", got=booster)
    check_choice(way, "way", OWNER, WAYS)
    if select_on is not None:
        check_choice(select_on, "select_on", OWNER, SELECTION)
    if resolution is not None:
        check_share(resolution, "resolution", OWNER)
    if n_jobs is not None and (not is_count(n_jobs, least=-sys.maxsize) or n_jobs == 0):
        raise ParameterError("n_jobs", OWNER, allowed="None or a whole number other than 0", got=n_jobs)
    for name, value in needed.items():
        if (value is None) == (way == name):
            raise _unused(name, value, name)


def _unused(name: str, value: Any, way: str) -> ParameterError:
    allowed = f"given for way='{way}', and left out for the other ways"
    return ParameterError(name, OWNER, allowed=allowed, got=value)


def _plain(value: Any) -> Any:
    """Return floors by class with text for keys, ready for JSON; other values as they are."""
    return {str(label): number for label, number in value.items()} if isinstance(value, Mapping) else value
