"""The paper's tables and figures as declarations: which methods are trained on which problems, with which settings.

A ``Row`` is a line of a table: one entry of a grid, or several of which the validation rows choose one (theta and
gamma candidates). A ``Target`` is a table or figure: the names of its problems, and its rows. To add a row or a target,
declare it here. Problems are declared in ``paper_problems``, and the numbers that the paper prints are in ``printed``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from worstclass.exceptions import UnknownNameError
from worstclass.experiments.grid import Entry
from worstclass.experiments.paper_problems import Problem
from worstclass.methods import build_method, find_method

# entries and rows


def method_entry(problem: Problem, name: str, method: str, *, learner: Mapping[str, Any] = {}, **more: Any) -> Entry:
    """Return the entry of a method; ``learner`` changes the learner, ``params`` are set on the built classifier."""
    settings: dict[str, Any] = {
        "method": method,
        "network": problem.network,
        "learner": {**problem.learner, **learner},
        "select_on": problem.select_on,
        **more,
        "options": {**find_method(method).options, **more.get("options", {})},  # a new default is another cell
    }
    return Entry(name, settings, _Build(settings))


@dataclass(frozen=True)
class _Build:
    """Builds the classifier of an entry from its settings."""

    settings: Mapping[str, Any]

    def __call__(self, seed: int) -> Any:
        settings = dict(self.settings)
        params, options = settings.pop("params", {}), settings.pop("options", {})
        model = build_method(settings.pop("method"), **settings, **options, random_state=seed)
        return model.set_params(**params)


def single(method: str, select_on: str | None = None, name: str | None = None) -> Callable[[Problem], list[Entry]]:
    """Return a function from a problem to the entry of a single network."""

    def entries(problem: Problem) -> list[Entry]:
        more: dict[str, Any] = {"max_epochs": problem.epochs}
        if problem.patience is not None:
            more["params"] = {"patience": problem.patience}
        if method in problem.loss_options:
            more["options"] = problem.loss_options[method]
        if select_on is not None and problem.validates:
            more["select_on"] = select_on
        if method.startswith("ib"):
            more["options"] = {"after": problem.warm_up}
            if not problem.validates:  # it changes its loss on the way, so that losses cannot be compared
                more |= {"select_on": "average", "max_epochs": 4 * problem.warm_up, "params": {}}
        return [method_entry(problem, name or method, method, **more)]

    return entries


def _boosted(problem: Problem, name: str, method: str, options: Mapping[str, Any] = {}, **more: Any) -> Entry:
    rounds = {"max_epochs_per_round": problem.round_epochs, "patience": problem.round_patience}
    given = {"gamma": problem.gamma, **rounds, **options}
    select_on = "average" if method == "boosting" else "worst"  # each by the error that it is made for
    limit = problem.instance_epochs if method == "boosting" else problem.boosting_epochs
    more = {"select_on": select_on, "max_epochs": limit, **more}
    return method_entry(problem, name, method, options=given, **more)


def boosting(problem: Problem) -> list[Entry]:
    """Boosting over rows, with each candidate of gamma."""
    return [
        _boosted(problem, f"boosting-gamma{gamma:g}", "boosting", {"gamma": gamma}, learner={"start": "same"})
        for gamma in problem.instance_gammas
    ]


def half_dnn(problem: Problem) -> list[Entry]:
    """One network until every class meets theta, for each candidate of theta."""
    patience = {"patience": problem.round_patience}
    common: dict[str, Any] = {"options": patience, "max_epochs": problem.round_epochs, "select_on": "worst"}
    return [
        method_entry(problem, f"0.5-dnn-theta{theta:g}", "0.5-dnn", theta=theta, **common)
        for theta in candidates(problem)
    ]


def zero_training_error(problem: Problem) -> list[Entry]:
    """One network trained to the end with a falling learning rate; the epoch with the fewest training errors."""
    decay, name = {"decay_epochs": problem.epochs}, "zero-training-error"
    return [method_entry(problem, name, "ce", learner=decay, max_epochs=problem.epochs, select_on="worst")]


def candidates(problem: Problem) -> tuple[float, ...]:
    """Return the thetas that a table tries: all where validation rows choose, else the paper's."""
    return problem.thetas if problem.validates else (problem.theta,)


#: how ours is done: as the equations of the paper, as the authors' code, and as worstclass does it
KINDS: dict[str, dict[str, Any]] = {
    "ours": {"options": {"extend": False}, "learner": {"start": "same"}},
    "ours-authors": {
        "options": {"extend": False, "weighting": "per-instance"},
        "learner": {"start": "same", "optimizer_state": "carry"},
    },
    "ours-extended": {"options": {"extend": True}},
}


def ours_at(problem: Problem, theta: float, gamma: float | None = None, kind: str = "ours") -> Entry:
    """Return one entry of ours."""
    made = KINDS[kind]
    at_gamma = "" if gamma in (None, problem.gamma) else f"-gamma{gamma:g}"
    options = {**made["options"], **({} if gamma is None else {"gamma": gamma})}
    name = f"{kind}-theta{theta:g}{at_gamma}"
    return _boosted(problem, name, "ours", options, learner=made.get("learner", {}), theta=theta)


def ours(kind: str = "ours") -> Callable[[Problem], list[Entry]]:
    """Return a function from a problem to the entries of ours, one for each candidate of theta."""
    return lambda problem: [ours_at(problem, theta, kind=kind) for theta in candidates(problem)]


def ours_with_offsets(problem: Problem) -> list[Entry]:
    """Ours with decision offsets, at the middle one of the candidates."""
    theta = problem.thetas[len(problem.thetas) // 2]
    return [_boosted(problem, f"ours+offsets-theta{theta:g}", "ours+offsets", **KINDS["ours"], theta=theta)]


def auto_networks(problem: Problem) -> list[Entry]:
    """The default of this package for the network: one for each fold, with offsets."""
    name = "auto-networks"
    return [method_entry(problem, name, name, select_on="worst", max_epochs=problem.fold_epochs)]


@dataclass(frozen=True)
class Row:
    """A line of a table.

    Attributes
    ----------
    label : as the paper writes it, or as we do.
    entries : function from a problem to what is trained; of several entries, validation rows choose one on every seed.
    ours : whether it is a line of ours, which the table marks.
    drawn_only : whether it has no place in the tables, only in figures of the first seed.
    """

    label: str
    entries: Callable[[Problem], list[Entry]]
    ours: bool = False
    drawn_only: bool = False


_CE, _WCE = Row("CE", single("ce")), Row("wCE", single("wce"))
_BOOSTING, _HALF = Row("Boosting", boosting), Row("0.5-DNN", half_dnn)
_NAIVE = Row("Naive", single("naive", "worst"))
_OURS, _AUTO = Row("Ours", ours(), ours=True), Row("auto-networks (docs/method.md)", auto_networks, ours=True)
_AUTHORS = Row("Ours, as the authors' code", ours("ours-authors"), ours=True)
_EXTENDED = Row("Ours, extended (our default)", ours("ours-extended"), ours=True)
_OURS_OFFSETS = Row("Ours + offsets", ours_with_offsets, ours=True)
_LOSSES = {
    label: Row(label, single(label.lower())) for label in ("Focal", "CB", "IB", "IB+CB", "IB+Focal", "LA", "CDT", "VS")
}
_BY_WORST = Row("CE, epoch by the worst class", single("ce", "worst", "ce-by-worst"))
_REAL = (_OURS, _OURS_OFFSETS, _AUTO)
_DRAWN = tuple(replace(_LOSSES[name], drawn_only=True) for name in ("Focal", "CB", "IB"))
_OVERFITTED = Row("zero training error", zero_training_error, drawn_only=True)


# targets


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper.

    Attributes
    ----------
    name, alias : both name it on the command line.
    title : what it shows.
    layout : how it is laid out: ``"training"`` (class-wise training errors, then test errors), ``"errors"`` (worst and
        average error of every problem), ``"theta"``, ``"gamma"``, or a figure: ``"overview"``, ``"ideal"``,
        ``"regions"``, ``"weights"``, ``"radar"``, ``"theta-figure"``.
    problems : names of the data sets, in order.
    rows : what is trained, in order; the layouts by theta and gamma have rows of their own.
    first_seed : whether the first seed is enough.
    """

    name: str
    alias: str
    title: str
    layout: str
    problems: tuple[str, ...]
    rows: tuple[Row, ...] = ()
    first_seed: bool = False

    @property
    def is_figure(self) -> bool:
        """Whether it is drawn and has no table."""
        return self.name.startswith("fig-")

    @property
    def takes_rows(self) -> bool:
        """Whether it is a table of methods, to which rows can be added."""
        return self.layout in ("errors", "training")

    def entries(self, problem: Problem) -> list[Entry]:
        """Return all that is trained on a problem."""
        if self.layout == "gamma":
            return [ours_at(problem, problem.theta, gamma) for gamma in problem.gammas]
        if self.layout in ("theta", "theta-figure"):
            return [ours_at(problem, theta) for theta in problem.thetas]
        return [entry for row in self.rows for entry in row.entries(problem)]


_DISCS = ("discs-10", "discs-50", "discs-100")
_BALANCED = ("cifar10", "cifar100", "tiny-imagenet", "fashion-mnist")
_IMBALANCED = ("imbalanced-cifar10", "emnist", "tissuemnist", "retinamnist")
_TABLE1 = (_CE, _BOOSTING, _HALF, _NAIVE, _OURS, _AUTHORS, _EXTENDED, _AUTO)
_TABLE2 = (_CE, _WCE, _BOOSTING, _HALF, _NAIVE, _OURS, _AUTHORS, _EXTENDED, _AUTO)
_TABLE3 = (_CE, _BOOSTING, _NAIVE, *(_LOSSES[name] for name in ("Focal", "IB", "IB+Focal", "LA", "CDT", "VS")))
_TABLE4 = (_CE, _WCE, _BOOSTING, _NAIVE, *_LOSSES.values())

TARGETS = {
    target.name: target
    for target in (
        Target("table1", "artificial-balanced", "errors on the balanced squares", "training", ("squares",), _TABLE1),
        Target("table2", "artificial-imbalanced", "errors on the imbalanced discs", "errors", _DISCS, _TABLE2),
        Target(
            "table3",
            "balanced",
            "errors on balanced images",
            "errors",
            _BALANCED,
            (*_TABLE3, _WCE, _LOSSES["CB"], _LOSSES["IB+CB"], _HALF, *_REAL, _BY_WORST),
        ),
        Target(
            "table4",
            "imbalanced",
            "errors on imbalanced images",
            "errors",
            _IMBALANCED,
            (*_TABLE4, _HALF, *_REAL, _BY_WORST),
        ),
        Target("gamma", "gamma-sensitivity", "ours by gamma", "gamma", ("cifar10", "squares", "discs-100")),
        Target(
            "theta-balanced", "sensitivity-balanced", "ours by theta, balanced data", "theta", (*_BALANCED, "squares")
        ),
        Target(
            "theta-imbalanced",
            "sensitivity-imbalanced",
            "ours by theta, imbalanced data",
            "theta",
            (*_IMBALANCED, "discs-100"),
        ),
        Target(
            "fig-overview",
            "overview",
            "average, overfitted and bounded boundaries",
            "overview",
            ("squares",),
            (_CE, _OVERFITTED, _OURS),
            first_seed=True,
        ),
        Target("fig-imbalanced", "ideal", "the discs beside their ideal boundary", "ideal", ("discs-100",)),
        Target(
            "fig-boundaries",
            "decision-regions",
            "decision regions of every method",
            "regions",
            ("squares", *_DISCS),
            (_CE, _WCE, _BOOSTING, _HALF, _NAIVE, *_DRAWN, _OURS),
            first_seed=True,
        ),
        Target(
            "fig-weights", "class-weights", "class weights over the rounds", "weights", ("squares",), (_OURS,), True
        ),
        Target(
            "fig-radar",
            "radar",
            "class-wise accuracy of CE and ours",
            "radar",
            (*_IMBALANCED, *_BALANCED),
            (_CE, _OURS),
        ),
        Target(
            "fig-theta",
            "theta-curves",
            "errors against theta",
            "theta-figure",
            (*_BALANCED, "squares", *_IMBALANCED, "discs-100"),
        ),
    )
}


def find_target(name: str) -> Target:
    """Return a target by its name or alias; an unknown name gets a suggestion."""
    known = {word: target for target in TARGETS.values() for word in (target.name, target.alias)}
    if name not in known:
        raise UnknownNameError("TARGET", "reproduce", name, ["all", *TARGETS])
    return known[name]
