"""How high the accuracy floor should be: fit at several thetas, and compare them on validation rows."""

from __future__ import annotations

import copy
import inspect
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from itertools import accumulate
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from sklearn.base import clone

from worstclass._checks import check_choice, check_share, is_number
from worstclass._state import Checkpoint
from worstclass._text import Shown, TextTable, n_of, percent, text_table
from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.history import RoundRecord, best_prefix
from worstclass.checkpoints import checkpoint_of, fit_kept, seeds_of
from worstclass.data.labels import known_labels, require_pair, training_labels
from worstclass.data.seen_rows import SeenRows, check_unseen
from worstclass.data.splits import Part, make_splits
from worstclass.exceptions import DataError, ModuleError, ParameterError, SelectionInterrupted, WorstClassWarning
from worstclass.floors import Floors, exact_floor
from worstclass.methods import build_method, find_method
from worstclass.metrics import SELECTION, worst_class_error

OWNER = "select_theta"
#: the ways to choose theta, each with its default resolution
WAYS = {"grid": 0.1, "baseline": 0.05, "goal": 0.01, "best": 0.02}
#: what to give for the ways that need something
NEEDED = {
    "goal": "Give the floors to meet, for example 0.8.",
    "baseline": "Give what to improve on: a method's name, a worst-class error such as 0.35, or a classifier.",
}
#: why a fit ended early, if epochs or time ran out
SPENT = "the budget was spent"
#: options of a torch learner that a baseline with the same network does not take over
NOT_SHARED = ("module", "loss", "head", "start")

Theta = float | Mapping[Any, float]
#: X, y, X_val, y_val
Data = tuple[Any, Any, Any, Any]
#: from thetas to boosters that are fitted at them
Fits = Callable[[Sequence[Theta]], Iterator[WorstClassBooster]]


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
    worst_error, plain_error : validation error of the worst class, and over all rows; None without a finished round.
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

    def __str__(self) -> str:
        line = f"theta {short_theta(self.theta)}: {self.status}, {self.rounds} of {self.planned_rounds} rounds"
        if self.worst_error is not None:
            line += f", worst-class validation error {self.worst_error:.1%}"
        return f"{line} ({self.why})" if self.why else line


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
    """

    asked: dict[Any, float]
    floors: dict[Any, float]
    accuracy: dict[Any, float]
    rows_short: dict[Any, int]
    booster: WorstClassBooster | None

    @property
    def met(self) -> bool:
        """Whether the floors asked for are met as they are."""
        return self.booster is not None and self.floors == self.asked

    @property
    def blocking(self) -> list[Any]:
        """The classes that miss the floor asked for, or have to be lowered for others that do."""
        lowered = [k for k, floor in self.floors.items() if floor < self.asked[k] or self.rows_short[k]]
        return [] if self.met else lowered

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; classes become text."""
        names = ("asked", "floors", "accuracy", "rows_short", "met")
        return {name: text_keys(getattr(self, name)) for name in names} | {"blocking": [str(k) for k in self.blocking]}

    def __str__(self) -> str:
        if self.met:
            return "The floors asked for are met on the training rows."
        rows = [
            [str(k), f"{self.asked[k]:g}", percent(self.accuracy[k]), str(self.rows_short[k]), f"{self.floors[k]:g}"]
            for k in self.blocking
        ]
        lines = text_table(["blocking class", "floor", "reached", "rows short", "nearest feasible"], rows)
        if self.booster is None:
            lines.append("No feasible floors were found: no vote has a correct row of every class.")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class ThetaSelection(Shown):
    """The theta that was chosen, the booster fitted at it, and a record of every fit.

    ``str(selection)`` is a table for people, ``selection.to_dict()`` the same for files.

    Attributes
    ----------
    way : how theta was chosen: ``"grid"``, ``"baseline"``, ``"goal"`` or ``"best"``.
    booster : fitted at ``theta`` on the training rows; the validation rows chose how many of its members vote.
    candidates : one record for each fit: by increasing theta, or in the order of the fits for floors by class.
    chosen_by : which rows chose. ``certify`` refuses them.
    equal_rows_allowed : whether ``allow_equal_rows`` was needed to accept them.
    seconds : time of the whole search.
    observed_error : the baseline's worst-class validation error; None without one.
    nearest : for an infeasible goal, the classes that block it and the nearest feasible floors; else None.
    interrupted : whether the user interrupted the search. The selection is then the best so far.
    """

    way: str
    booster: WorstClassBooster
    candidates: tuple[CandidateRecord, ...]
    chosen_by: str
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
    def n_train(self) -> int:
        """Number of training rows."""
        return sum(self.booster.history_[0].class_totals)

    @property
    def epochs(self) -> int:
        """Epochs of all fits together."""
        return sum(record.epochs for record in self.candidates)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        names = ("way", "met", "interrupted", "chosen_by", "equal_rows_allowed", "n_train", "epochs", "seconds")
        validation: Any = self.booster.validation_report_
        return {
            "theta": text_keys(self.theta),
            **{name: getattr(self, name) for name in names},
            "select_on": self.booster.select_on,
            "observed_error": self.observed_error,
            "bound_met": self.booster.bound_met_,
            "training": self.booster.training_report_.to_dict(),
            "validation": validation.to_dict(),
            "candidates": [{**asdict(record), "theta": text_keys(record.theta)} for record in self.candidates],
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
        }

    def _headline(self) -> str:
        return f"theta {short_theta(self.theta)} by {self.way}, {n_of(len(self.candidates), 'fit')}"

    def _table(self) -> TextTable:
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
        head = ["  theta", "status", "rounds", "epochs", "worst", "all rows", "bound"]
        lines = [""]
        if self.interrupted:
            lines.append("INTERRUPTED: this is the best so far, with the rounds that were finished.")
        if self.observed_error is not None:
            lines.append(f"the baseline's worst-class validation error: {self.observed_error:.1%}")
        if self.nearest is not None:
            spent = self.candidates[0].why.endswith(SPENT)
            lines.append("The goal was not reached within the budget." if spent else "The goal is infeasible.")
            lines.append(str(self.nearest))
        report: Any = self.booster.validation_report_
        lines.append(
            f"theta {short_theta(self.theta)}: worst-class validation error {report.worst_text}, "
            f"all rows {report.plain_error:.1%}; the vote "
            f"{'meets' if self.booster.bound_met_ else 'MISSES'} it on the training rows"
        )
        never = "These rows chose; a certificate must rest on others."
        lines.append(f"{self.epochs:,} epochs in all. Chosen by {self.chosen_by}. {never}")
        return TextTable(head, rows, (0, 1, 6), lines)


def short_theta(theta: Any) -> str:
    """Write one floor, or floors by class; of more than four, the smallest and the largest.

    Examples
    --------
    >>> short_theta(0.8), short_theta({"mel": 0.95, "others": 0.8}), short_theta(dict.fromkeys("abcde", 0.5))
    ('0.8', 'mel 0.95, others 0.8', '0.5 to 0.5 by class')
    """
    if not isinstance(theta, Mapping):
        return f"{theta:g}"
    if len(theta) > 4:
        return f"{min(theta.values()):g} to {max(theta.values()):g} by class"
    return ", ".join(f"{label} {floor:g}" for label, floor in theta.items())


def text_keys(value: Any) -> Any:
    """Return floors by class with text for keys, ready for JSON; other values as they are."""
    return {str(label): number for label, number in value.items()} if isinstance(value, Mapping) else value


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
    of members that vote, so that errors on them are too optimistic afterwards. ``certify`` refuses these rows.

    Parameters
    ----------
    booster : what to fit. Its own theta is ignored, and it is not changed. Its ``select_on`` says which error chooses
        theta, its ``random_state`` is the seed of all fits and of the rows held out, its budgets (``max_epochs``,
        ``max_seconds``) hold for each fit. Its callbacks are not called.
    X, y : training rows.
    X_val, y_val : validation rows of every class, none of them a training row. Without them ``val_share`` of every
        class of X is held out.
    way : ``"grid"``: the candidate with the least validation error, as in the paper. Ties are broken by the other
        error (see its ``select_on``), then in favour of a vote that meets its floor, then of the larger theta.
        ``"baseline"``: the same, with candidates from the accuracy of a baseline's worst validation class upwards.
        ``"goal"``: fit at the goal and report whether it is met; if it is infeasible, which classes block it, and the
        nearest feasible floors. ``"best"``: the largest feasible theta, found by bisection, whose validation error is
        at most one standard error above the least of all feasible ones.
    candidates : the thetas of ``"grid"``, by default 0.1 to 0.9.
    baseline : for ``"baseline"``: a classifier, which is fitted on the training rows unless it is fitted already, the
        name of a method, or a worst-class error that was observed.
    goal : for ``"goal"``: the floor, or a mapping from class to floor, in which ``"others"`` stands for the rest.
    val_share : share of the rows that is held out, in (0, 1).
    resolution : step between thetas: of the default candidates of ``"grid"`` (0.1) and ``"baseline"`` (0.05), of
        ``"best"`` (0.02), and of the nearest floors of ``"goal"`` (0.01).
    n_jobs : number of joblib worker processes for the fits of ``"grid"`` and ``"baseline"``; None is 1, or what
        ``joblib.parallel_config`` says. It does not change the result. The other ways fit one theta after another, and
        so does a backend of threads.
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
    with checkpoint_of(clone(booster).set_params(theta=0.0), checkpoint, X, y, X_val, y_val) as kept:
        started, seeds = time.perf_counter(), seeds_of(booster, kept)
        data, found = _separate(X, y, X_val, y_val, val_share, seeds.seed(1), allow_equal_rows)
        changes = {"random_state": seeds.entropy, "callbacks": None}
        plain = type(booster)(**{**booster.get_params(deep=False), **changes})
        records: list[CandidateRecord] = []
        fits = partial(_fits, plain, data, way in ("goal", "best"), n_jobs, records, progress, kept)
        if goal is not None:
            Floors.from_theta(goal, np.unique(data[1]), owner=OWNER, parameter="goal")
            search = _meet(fits, goal, step)
        elif way == "best":
            search = _bisect(fits, step)
        else:
            if way == "baseline":
                found["observed_error"] = _observed_error(baseline, plain, data, kept)
            search = _compare(fits, _thetas(candidates, found.get("observed_error"), step))
        found |= _last_of(search)
    if "booster" not in found:
        raise ModuleError(records[0].why)
    found["booster"].callbacks = booster.callbacks
    ordered = records if way == "goal" else sorted(records, key=lambda record: record.theta)
    selection = ThetaSelection(way, candidates=tuple(ordered), seconds=time.perf_counter() - started, **found)
    if selection.interrupted:
        raise SelectionInterrupted(selection)
    return selection


def _last_of(search: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Return what a search found, or until the user interrupted it."""
    found: dict[str, Any] = {}
    try:
        for news in search:
            found |= news
    except KeyboardInterrupt:
        found["interrupted"] = True
        if "booster" not in found:
            raise
    return found


def nearest_feasible_floors(fitted: Any, *, resolution: float = 0.01) -> FeasibleFloors:
    """Find the classes that block the floors of a booster, by how much, and feasible floors near those asked for.

    They are the floors that its vote after some round meets, by exact counts on the training rows. Only the floors of
    the blocking classes are lowered. ``fitted`` is not changed. ``select_theta(..., way="goal")`` also fits there anew.

    Parameters
    ----------
    fitted : a fitted booster, or a ``ThetaSelection``, which carries one.
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
        allowed = "a fitted WorstClassBooster, or a ThetaSelection, which carries one"
        raise ParameterError("fitted", owner, allowed=allowed, got=fitted)
    check_share(resolution, "resolution", owner)
    return _nearest_floors([booster], Fraction(str(resolution)))


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
) -> tuple[Data, dict[str, Any]]:
    """Take the validation rows as given, or hold out a share of every class of the training rows.

    Returns the rows that train and choose, and what the selection says about the rows that choose.
    """
    labels, found = training_labels(X, y), dict[str, Any]()
    train, val, which = Part(X, labels.classes[labels.index]), None, "validation rows"
    if X_val is None and y_val is None:
        parts = make_splits(X, train.y, val=val_share, test=0.0, seed=seed)
        train, val, which = parts.train, parts.val, "rows held out of the training rows"
    else:
        require_pair(X_val, y_val)
        policy: Any = {"roles": ("training",), "owner": OWNER, "allow_equal_rows": allow_equal_rows}
        found["equal_rows_allowed"] = check_unseen(X_val, SeenRows.of(X), **policy).allowed
        val = Part(X_val, labels.classes[known_labels(X_val, y_val, labels.classes).index])
    absent = [label for label in labels.classes.tolist() if val is None or label not in val.y]
    if val is None or absent:
        raise DataError(
            f"There is no validation row of the classes {absent}, and theta is chosen by the worst class. "
            "Add rows of them, or raise val_share where validation rows are held out."
        )
    return (train.X, train.y, val.X, val.y), {**found, "chosen_by": f"{len(val):,} {which}"}


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
    model = _named_baseline(baseline, booster) if isinstance(baseline, str) else baseline
    if is_number(baseline) and 0 <= baseline <= 1:
        error = float(baseline)
    elif isinstance(model, type) or not hasattr(model, "predict"):
        allowed = "a classifier, a method's name (worstclass methods), or a worst-class error in [0, 1]"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=baseline)
    else:
        X_val, y_val = data[2:]
        if not hasattr(model, "classes_"):
            with_validation = "X_val" in inspect.signature(model.fit).parameters
            options = {"X_val": X_val, "y_val": y_val} if with_validation else {}
            model = fit_kept(clone(model), *data[:2], checkpoint, "baseline", **options)
        elif hasattr(model, "seen_rows_"):
            check_unseen(X_val, model.seen_rows_, roles=("training",), owner=OWNER)
        error = worst_class_error(y_val, np.asarray(model.predict(X_val)), labels=np.unique(y_val))
    if error < 0.01:
        allowed = "one that leaves room: with an error of at least 1% on its worst class"
        raise ParameterError("baseline", OWNER, allowed=allowed, got=f"a worst-class error of {error:.1%}")
    return error


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


def _compare(fits: Fits, thetas: list[float]) -> Iterator[dict[str, Any]]:
    """Fit at every theta, the largest first, since it costs most; yield the best so far."""
    for best in accumulate(fits(sorted(thetas, reverse=True)), partial(min, key=_rank)):
        yield {"booster": best}


def _bisect(fits: Fits, step: Fraction) -> Iterator[dict[str, Any]]:
    """Find the largest theta that is feasible and does not cost validation error; yield the best so far."""
    low, high, least = 0, math.ceil(1 / step), None
    while high - low > 1:
        middle, accepted = (low + high) // 2, False
        for booster in fits([float(middle * step)]):
            if booster.bound_met_:
                least = booster if least is None else min(least, booster, key=_rank)
                accepted = _rank(booster)[0] <= _error_limit(least)
            if accepted or least is None:
                yield {"booster": booster}
        low, high = (middle, high) if accepted else (low, middle)


def _meet(fits: Fits, goal: Theta, step: Fraction) -> Iterator[dict[str, Any]]:
    """Fit at a goal; if it is missed, once more at the nearest floors that this fit meets. Yield the best so far.

    If a class has no correct row, the second fit is at half of the floors asked for.
    """
    tried: list[WorstClassBooster] = []
    for booster in fits([goal]):
        tried.append(booster)
        yield {"booster": booster}
    if tried and not tried[0].bound_met_:
        nearest = _nearest_floors(tried, step)
        yield {"booster": tried[0], "nearest": nearest}
        half = {label: float(Fraction(str(floor)) / 2 // step * step) for label, floor in nearest.asked.items()}
        tried += fits([half if nearest.booster is None else nearest.floors])
        nearest = _nearest_floors(tried, step)
        yield {"booster": nearest.booster or tried[0], "nearest": nearest}


def _rank(booster: Any) -> tuple[float, float, bool, float]:
    """Order fits: least error, least other error, floors met before floors missed, larger theta."""
    counts = booster.validation_report_.counts
    errors = counts.worst_error, counts.plain_error
    return SELECTION[booster.select_on](counts), sum(errors), not booster.bound_met_, -booster.theta


def _error_limit(booster: Any) -> float:
    """One standard error above the error that chooses; the standard error of 0 or 1 is that of half a row."""
    counts, error = booster.validation_report_.counts, _rank(booster)[0]
    n = counts.total[counts.worst_class] if booster.select_on == "worst" else counts.total.sum()
    rate = min(max(error, 0.5 / n), 1 - 0.5 / n)
    return error + math.sqrt(rate * (1 - rate) / n)


def _fits(
    booster: WorstClassBooster,
    data: Data,
    floors_first: bool,
    n_jobs: int | None,
    records: list[CandidateRecord],
    progress: Callable[[CandidateRecord], None] | None,
    checkpoint: Checkpoint,
    thetas: Sequence[Theta],
) -> Iterator[WorstClassBooster]:
    """Fit clones at every theta, in parallel if asked for; yield those with members, in order. Add to the records."""
    n_workers = min(effective_n_jobs(n_jobs), len(thetas))
    if getattr(get_active_backend()[0], "supports_sharedmem", False):
        n_workers = 1  # threads would share the global generators, from which torch and scikit-learn draw
    clones = (clone(booster.set_params(theta=theta)) for theta in thetas)  # one by one, so that none is kept
    run = Parallel(n_workers, return_as="generator")
    names = [f"theta-{blake2b(repr(theta).encode(), digest_size=6).hexdigest()}" for theta in thetas]
    pairs = zip(clones, names, strict=True)
    tasks = (delayed(_fit)(same, data, floors_first, checkpoint.child(name)) for same, name in pairs)
    for fitted, record in run(tasks):
        records.append(record)
        if record.rounds:
            yield fitted
        if record.status == "interrupted":
            raise KeyboardInterrupt
        if progress is not None:
            progress(record)


def _fit(
    booster: WorstClassBooster, data: Data, floors_first: bool, checkpoint: Checkpoint
) -> tuple[WorstClassBooster, CandidateRecord]:
    """Fit a booster, in this process or in a worker; one that fails or is interrupted is returned, too."""
    started, status, why = time.perf_counter(), "", ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)  # the record says what was missed
        try:
            booster.fit(*data, checkpoint=checkpoint)
        except ModuleError as error:
            status, why = "failed", str(error)
        except KeyboardInterrupt:
            status = "interrupted"
    seconds = time.perf_counter() - started
    if not hasattr(booster, "estimators_"):
        return booster, CandidateRecord(booster.theta, status, seconds, why)
    meeting = _prefix_meeting_floors(booster)
    if floors_first and meeting is not None:
        booster.n_members_used_ = meeting
        booster._report()
    report: Any = booster.validation_report_
    unmet = booster.unmet_edge_
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
        worst_error=report.worst_error,
        plain_error=report.plain_error,
        bound_met=booster.bound_met_,
    )
    return booster, record


def _prefix_meeting_floors(booster: WorstClassBooster) -> int | None:
    """Return how many members, counted from the first, meet every floor on the training rows; None if no vote does.

    Of several votes it is the one with the least validation error, the longest of equals.
    """
    quota = booster._floors(booster.classes_).vote_quota(booster.history_[0].class_totals)
    meeting = [record for record in booster.history_ if (np.array(record.vote_correct) >= quota).all()]
    return meeting[best_prefix(meeting, booster.select_on) - 1].round if meeting else None


def _nearest_floors(boosters: Sequence[WorstClassBooster], step: Fraction) -> FeasibleFloors:
    """Find the floors nearest to those of the first booster that the vote of one of them meets after some round.

    A class that misses its floor gets the largest multiple of ``step`` that it meets; 0 if it has no correct row.
    """
    labels, last = boosters[0].classes_.tolist(), boosters[0].history_[-1]
    asked = boosters[0]._floors(boosters[0].classes_)

    def met(record: RoundRecord) -> list[Fraction]:
        reached = map(Fraction, record.vote_correct, record.class_totals)
        pairs = zip(reached, asked.theta, strict=True)
        return [
            floor if share > floor else max(Fraction(0), (math.ceil(share / step) - 1) * step) for share, floor in pairs
        ]

    def by_class(values: Iterable[Any]) -> dict[Any, Any]:
        return dict(zip(labels, values, strict=True))

    votes = [(booster, record) for booster in boosters for record in booster.history_]
    booster, record = min(votes, key=lambda vote: (vote[1].vote_correct.count(0), -sum(met(vote[1]))))
    floors, meeting = by_class(map(float, met(record))), None
    if all(record.vote_correct):
        meeting = copy.copy(booster)
        meeting.theta = floors
        meeting.n_members_used_ = _prefix_meeting_floors(meeting) or record.round
        meeting._report()
    short = np.maximum(asked.vote_quota(last.class_totals) - np.array(last.vote_correct), 0)
    accuracy = by_class(np.divide(last.vote_correct, last.class_totals).tolist())
    return FeasibleFloors(by_class(asked.as_floats()), floors, accuracy, by_class(short.tolist()), meeting)
