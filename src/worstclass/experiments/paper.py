"""The paper's experiments as declarations: data, methods, settings, scales, and the figures that the paper prints.

A ``Problem`` is a data set with the paper's settings and what each smaller scale changes in them. A ``Row`` is a line
of a table: one entry of a grid, or several of which the validation rows choose one (theta and gamma candidates). A
``Target`` is a table or figure: its problems and rows. To add a problem, a row or a target, declare it here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from worstclass._checks import check_choice
from worstclass.data.registry import load_dataset, named_dataset
from worstclass.data.splits import Splits, at_most
from worstclass.exceptions import UnknownNameError
from worstclass.experiments.grid import Entry
from worstclass.methods import build_method, find_method

SCALES = ("paper", "cpu", "smoke")
#: settings of a problem in words, where their names do not say enough
WORDS = {
    "options": "data",
    "train_rows": "training rows",
    "val_rows": "validation rows",
    "instance_gammas": "gamma of Boosting",
    "instance_epochs": "epochs of Boosting",
    "boosting_epochs": "epochs of ours",
    "round_epochs": "epochs of a round",
    "round_patience": "patience of a round",
    "fold_epochs": "epochs of auto-networks",
    "warm_up": "epochs before IB begins",
    "thetas": "theta tried",
}
#: candidates of theta for real data
THETAS = tuple(n / 10 for n in range(1, 10))


# problems


@dataclass(frozen=True)
class Problem:
    """A data set with the settings of the paper, or of a smaller scale.

    Attributes
    ----------
    name, title : in files and commands, and in tables.
    data, options : name of the data set, and further options of ``load_dataset``.
    seeds : number of draws or splits.
    train_rows, val_rows : rows that are drawn from the training and validation part; None takes all.
    network, learner : the network and the options of ``TorchLearner``.
    epochs : epochs of a single network at most.
    patience : epochs without a lower training loss that end the training of a single network; None trains to the end.
    select_on : what chooses the epoch of a single network: the training ``"loss"`` where there are no validation rows,
        or a validation error.
    theta, thetas : the paper's floor, and the candidates of which validation rows choose one.
    gamma, gammas : the paper's gamma, and the candidates of the sensitivity table.
    instance_gammas : candidates of gamma of Boosting, which weighs rows.
    instance_epochs : epochs of all rounds of Boosting together at most; None is no limit. The authors stopped it after
        a week.
    round_epochs, round_patience : epochs of a round of boosting at most, and without progress of the edge; also those
        of the single round of 0.5-DNN.
    boosting_epochs : epochs of all rounds together at most; None is no limit.
    warm_up : epochs of cross-entropy before the influence-balanced loss.
    fold_epochs : epochs of ``auto-networks``, which divides them among the folds.
    loss_options : options of the losses that the authors set, by method.
    shares : of the classes in the population, where the test part has as many rows of each; None where the test part
        has the shares of the population.
    changes : by scale, what replaces the paper's settings.
    """

    name: str
    title: str
    data: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 1
    train_rows: int | None = None
    val_rows: int | None = None
    network: str = "mlp"
    learner: Mapping[str, Any] = field(default_factory=dict)
    epochs: int = 200
    patience: int | None = None
    select_on: str = "average"
    theta: float = 0.9
    thetas: tuple[float, ...] = THETAS
    gamma: float = 0.2995
    gammas: tuple[float, ...] = ()
    instance_gammas: tuple[float, ...] = (0.1995, 0.2995)
    instance_epochs: int | None = None
    round_epochs: int = 10_000
    round_patience: int = 1_000
    boosting_epochs: int | None = None
    warm_up: int = 50
    fold_epochs: int = 200
    loss_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shares: tuple[float, ...] | None = None
    changes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def validates(self) -> bool:
        """Whether there are validation rows, which choose epochs and candidates."""
        return self.select_on != "loss"

    def at(self, scale: str) -> Problem:
        """Return the problem at a scale."""
        check_choice(scale, "scale", "reproduce", SCALES)
        return replace(self, **self.changes.get(scale, {}))

    def reductions(self, other: Problem) -> list[str]:
        """Say what another form of the same problem changes, setting by setting."""
        pairs = [(one.name, getattr(self, one.name), getattr(other, one.name)) for one in fields(self)]
        changed = [(name, old, new) for name, old, new in pairs if old != new and name not in ("changes", "shares")]
        return [
            f"{WORDS.get(name, name)}: {_told(new, old)} instead of {_told(old, new)}" for name, old, new in changed
        ]

    def load(self, root: Path | None, seed: int) -> Splits:
        """Load the splits of a seed."""
        splits = load_dataset(self.data, root, seed, **self.options)
        if self.train_rows is None and self.val_rows is None:
            return splits
        val = None if splits.val is None else at_most(splits.val, self.val_rows, seed)
        return replace(splits, train=at_most(splits.train, self.train_rows, seed), val=val)

    @property
    def data_settings(self) -> dict[str, Any]:
        """What fixes the rows besides the seed."""
        return {"data_options": dict(self.options), "train_rows": self.train_rows, "val_rows": self.val_rows}


def _told(value: Any, other: Any) -> str:
    """Write a setting; of a mapping, only what the other has not."""
    if isinstance(value, Mapping):
        parts = [f"{key} {item}" for key, item in value.items() if key not in other or other[key] != item]
        return ", ".join(parts) or "the default"
    if isinstance(value, tuple):
        return ", ".join(f"{item:g}" for item in value)
    return "no limit" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _artificial(name: str, title: str, data: str, theta: float, thetas: tuple[float, ...], **more: Any) -> Problem:
    """Declare a problem of the artificial data; on a CPU it has other draws and test rows, and a limit for Boosting."""
    options, imbalanced = more.pop("options", {}), data == "artificial-imbalanced"
    full = {"n_test_min": 10_000} if imbalanced else {"n_test": 100_000}
    shares = {"shares": (10 / 31, 10 / 31, 10 / 31, 1 / 31)} if imbalanced else {}
    small = {"n_min": 4 + options["n_min"] // 20} if imbalanced else {"n_train": 20}
    learner = {"lr": 0.01, "batch_size": 512}
    return Problem(
        name,
        title,
        data,
        {**options, **full},
        seeds=5,
        learner=learner,
        epochs=10_000,
        patience=100,
        select_on="loss",
        theta=theta,
        thetas=thetas,
        gamma=0.0995,
        gammas=(0.0995, 0.2495, 0.4995) if imbalanced else (0.0995, 0.2995, 0.4995),
        instance_gammas=(0.0995,),
        fold_epochs=750,
        changes={
            "cpu": {"options": {**options, "n_test": 4_000}, "seeds": 15, "instance_epochs": 2_000, **shares},
            "smoke": {
                "options": {**options, **small, "n_test": 30},
                "seeds": 2,
                **shares,
                "learner": {"lr": 0.03, "batch_size": 512, "module_options": {"hidden": [16]}},
                "epochs": 20,
                "theta": 0.1,
                "thetas": (0.1, 0.2),
                "gamma": 0.0995,
                "round_epochs": 20,
                "boosting_epochs": 60,
                "instance_epochs": 60,
                "warm_up": 2,
                "fold_epochs": 20,
            },
        },
        **more,
    )


def _images(name: str, title: str, data: str | None = None, **more: Any) -> Problem:
    """Declare a problem of image data with the paper's network; the smaller scales have a small one and fewer rows."""
    facts = named_dataset(data or name)
    learner = dict(facts.settings["learner"])
    network, paper = learner.pop("module"), facts.settings.get("booster", {})
    augment = {key: value for key, value in learner.items() if key == "augment"}
    cpu = {
        "seeds": 3,
        "train_rows": 4_000,
        "val_rows": 2_000,
        "network": "cnn-small",
        "learner": {"batch_size": 128, **augment},
        "epochs": 20,
        "warm_up": 5,
        "thetas": (0.3, 0.5, 0.7, 0.9),
        "round_epochs": 60,
        "round_patience": 10,
        "boosting_epochs": 60,
        "instance_epochs": 60,
        "fold_epochs": 20,
        **more.pop("cpu", {}),
    }
    smoke = {
        **cpu,
        "seeds": 1,
        "train_rows": 500,
        "val_rows": 100,
        "learner": {"batch_size": 64, "module_options": {"width": 2}},
        "epochs": 2,
        "warm_up": 1,
        "thetas": (0.1, 0.2),
        "round_epochs": 2,
        "boosting_epochs": 4,
        "instance_epochs": 4,
        "fold_epochs": 2,
    }
    return Problem(
        name,
        title,
        data or name,
        network=network,
        learner=learner,
        gammas=(0.0995, 0.1995, 0.2995, 0.3995),
        loss_options={"la": {"tau": 2.25}},
        **{"gamma": paper.get("gamma", 0.2995), "theta": paper.get("theta", 0.9), **more},
        changes={"cpu": cpu, "smoke": smoke},
    )


_SQUARE_THETAS = (0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
_DISC_THETAS = (0.3, 0.4, 0.5, 0.6, 0.7)

PROBLEMS = {
    problem.name: problem
    for problem in (
        _artificial("squares", "Squares", "artificial-balanced", 0.75, _SQUARE_THETAS),
        *(
            _artificial(
                f"discs-{n_min}",
                f"n_min = {n_min}",
                "artificial-imbalanced",
                0.5,
                _DISC_THETAS,
                options={"n_min": n_min},
            )
            for n_min in (10, 50, 100)
        ),
        _images("cifar10", "CIFAR-10"),
        _images("cifar100", "CIFAR-100"),
        _images("tiny-imagenet", "Tiny ImageNet"),
        _images("fashion-mnist", "Fashion-MNIST (added)"),
        _images("imbalanced-cifar10", "Imb. CIFAR-10"),
        _images("emnist", "EMNIST"),
        _images("tissuemnist", "TissueMNIST", epochs=100),
        _images("retinamnist", "RetinaMNIST (added)", gamma=0.0995, epochs=100, cpu={"epochs": 60, "fold_epochs": 60}),
    )
}


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
    """One network until it has every training row right: no floor can be higher."""
    return [
        method_entry(
            problem,
            "zero-training-error",
            "0.5-dnn",
            theta=0.9999,
            options={"patience": problem.round_patience},
            max_epochs=problem.round_epochs,
            select_on="worst",
        )
    ]


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
    made = KINDS["ours"]
    return [_boosted(problem, f"ours+offsets-theta{theta:g}", "ours+offsets", **made, theta=theta)]


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
