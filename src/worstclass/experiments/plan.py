"""Every method under the same rules: the same splits, network, optimizer, budget and choice on validation rows."""

from __future__ import annotations

import hashlib
import inspect
import math
import shlex
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from worstclass.boosting.hedge import resolve_gamma
from worstclass.data.facts import NamedDataset
from worstclass.data.sources import Source
from worstclass.data.splits import Part, Splits, take_rows
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.experiments.cells import Cell, CellOutcome, CellResult
from worstclass.experiments.grid import CellEvent, run_cells
from worstclass.experiments.run import layers_of
from worstclass.experiments.significance import SeedsChange
from worstclass.floors import Floors
from worstclass.methods import Method, build_method, find_method, list_methods
from worstclass.metrics import ClassReport, class_report

#: methods whose number of rounds follows from gamma: they all get the plan's gamma
BY_GAMMA = ("ours", "ours+offsets", "ours-trees", "boosting", "deep-ensemble")


@dataclass(frozen=True)
class Budget:
    """What one training may spend: epochs over the training rows, seconds, or both.

    Examples
    --------
    >>> Budget.parse("epochs=400,seconds=60")
    Budget(epochs=400, seconds=60.0)
    """

    epochs: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.epochs is None and self.seconds is None:
            raise ParameterError("budget", "compare", allowed="epochs=N or seconds=S", got="neither")
        for name, value in (("epochs", self.epochs), ("seconds", self.seconds)):
            if value is not None and not 0 < value < math.inf:
                raise ParameterError("budget", "compare", allowed=f"{name} above 0", got=value)

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``epochs=N``, ``seconds=S``, or both with a comma between them."""
        amounts: dict[str, Any] = {}
        for part in text.split(","):
            name, _, amount = (piece.strip() for piece in part.partition("="))
            kind = {"epochs": int, "seconds": float}.get(name)
            try:
                if kind is None or name in amounts:
                    raise ValueError
                amounts[name] = kind(amount)
            except ValueError:
                allowed = "epochs=N, seconds=S, or both with a comma between them"
                raise ParameterError("budget", "compare", allowed=allowed, got=text) from None
        return cls(**amounts)


@dataclass(frozen=True)
class ComparisonPlan:
    """What is compared, and under which rules.

    Attributes
    ----------
    data : name of the data.
    methods : names of the methods.
    seeds : each is a draw or split of the data and a random start of every method.
    budget : what each training may spend.
    network, learner : the network and the options of ``TorchLearner`` that all networks share.
    theta : floors, for the methods that have any.
    gamma : for the methods whose number of rounds follows from it.
    select_on : the validation error that chooses, ``"worst"`` or ``"average"``.
    seeds_change : what another seed changes in the data, as ``seeds_change`` says; it decides how differences between
        methods are tested.
    data_settings : what else fixes the data, such as shares and checksums.
    """

    data: str
    methods: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: Budget
    network: Any = "mlp"
    learner: Mapping[str, Any] = field(default_factory=dict)
    theta: float | Mapping[Any, float] | None = None
    gamma: float | str = "auto"
    select_on: str = "worst"
    seeds_change: SeedsChange = "resplits"
    data_settings: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """Return one cell for each method and seed, seed by seed, so that every method has some results early."""
        return [Cell(name, self.data, seed, self._settings(name)) for seed in self.seeds for name in self.methods]

    def build(self, cell: Cell) -> Any:
        """Build the classifier of a cell."""
        method = find_method(cell.method)
        return build_method(
            method.name,
            self.network,
            learner=self.learner,
            theta=self.theta if method.needs_theta else None,
            max_epochs=self.budget.epochs,
            max_seconds=self.budget.seconds,
            select_on=self.select_on,
            random_state=cell.seed,
            **self.options(method),
        )

    def options(self, method: Method) -> dict[str, Any]:
        """Return the options of a method in this comparison."""
        return {**method.options, **({"gamma": self.gamma} if method.name in BY_GAMMA else {})}

    def _settings(self, name: str) -> dict[str, Any]:
        method = find_method(name)
        settings: dict[str, Any] = {
            "budget": asdict(self.budget),
            "select_on": self.select_on,
            "seeds_change": self.seeds_change,
            "options": self.options(method),
            **self.data_settings,
        }
        if method.kind == "network":
            settings |= {"network": _name(self.network), "learner": dict(self.learner)}
        if method.needs_theta:
            theta = self.theta
            settings["theta"] = {str(k): v for k, v in theta.items()} if isinstance(theta, Mapping) else theta
        return settings


def seeds_change(data: NamedDataset | Source) -> SeedsChange:
    """Tell what another seed changes in the rows, by the facts of a named data set or the parts of one's own data.

    Returns
    -------
    ``"draws"`` if all rows are drawn anew, ``"fixed-test"`` if the data has a test part of its own, and
    ``"resplits"`` if training and test rows are cut from the same rows.

    Examples
    --------
    >>> from worstclass.data.registry import named_dataset
    >>> [seeds_change(named_dataset(name)) for name in ("artificial-balanced", "iris", "cifar10")]
    ['draws', 'resplits', 'fixed-test']
    """
    if isinstance(data, Source):
        return "fixed-test" if "test" in data.parts else "resplits"
    if "test" not in data.counts:
        return "resplits"
    return "draws" if data.built_in else "fixed-test"


def contents_hash(path: str | Path) -> str:
    """Return the SHA-256 of a file's contents; of a folder, that of the names and sizes of all files in it."""
    path = Path(path)
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    listing = "\n".join(f"{file.relative_to(path).as_posix()} {file.stat().st_size}" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def check_plan(plan: ComparisonPlan, example: Splits) -> None:
    """Refuse settings that no training could use, before anything runs: one message, not a failure in every cell."""
    kinds = {find_method(name).kind for name in plan.methods}
    classes = np.unique(example.train.y)
    if set(plan.methods) & set(BY_GAMMA):
        resolve_gamma(plan.gamma, len(classes), owner="compare")
    if plan.theta is not None:
        Floors.from_theta(plan.theta, classes, owner="compare")
    if "network" in kinds:
        from worstclass.learners.torch_learner import TorchLearner

        learner, two = TorchLearner(plan.network, **plan.learner), np.arange(min(2, len(example.train)))
        few = learner.check_X(take_rows(example.train.X, two))
        learner.bind(few, np.zeros(len(two), dtype=np.int64), len(classes), seed=0)


def methods_for(names: Sequence[str], example: Splits) -> tuple[str, ...]:
    """Resolve the names of methods; ``all`` stands for every installed method that suits the rows.

    Methods for tables suit rows of numbers and categories. They see an image only as one long row of pixels.
    """
    if list(names) != ["all"]:
        for name in names:
            find_method(name)
        if not names or len(set(names)) != len(names):
            raise ParameterError("methods", "compare", allowed="'all', or names, each once", got=list(names))
        return tuple(names)
    flat = getattr(example.train.X, "ndim", 2) <= 2
    suited = (method for method in list_methods() if flat or method.kind == "network")
    return tuple(method.name for method in suited if method.is_installed)


def run_comparison(
    plan: ComparisonPlan,
    load: Callable[[int], Splits],
    folder: Path,
    on_event: Callable[[CellEvent], None] | None = None,
    *,
    n_jobs: int | None = None,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run the cells that are not in the folder yet; a method that fails is recorded, and the others go on.

    Parameters
    ----------
    plan : what is compared.
    load : function from a seed to its splits, with test rows.
    folder : where the result of each cell is kept as it finishes.
    on_event : called with every ``CellEvent``.
    n_jobs : cells that run side by side; see ``run_cells``.
    overwrite : run finished cells again.
    """
    try:
        return run_cells(plan.cells(), _Runner(plan, load), folder, on_event, n_jobs=n_jobs, overwrite=overwrite)
    finally:
        _LOADED.clear()


#: the splits that this process loaded last, by run and seed: one draw at a time in memory, in each worker
_LOADED: dict[tuple[str, int], Splits] = {}


@dataclass(frozen=True)
class _Runner:
    """Runs a cell of a plan, here or in a worker."""

    plan: ComparisonPlan
    load: Callable[[int], Splits]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __call__(self, cell: Cell) -> CellOutcome:
        splits = _LOADED.get((self.key, cell.seed))
        if splits is None:
            _LOADED.clear()
            splits = _LOADED[self.key, cell.seed] = self.load(cell.seed)
        return run_method(self.plan.build(cell), splits)


def run_method(model: Any, splits: Splits) -> CellOutcome:
    """Train a classifier on the training rows, let the validation rows choose, and measure on the test rows."""
    train, val, test = splits.train, splits.val, splits.test
    if test is None:
        raise DatasetError("There are no test rows to compare on.")
    started = time.perf_counter()
    if val is not None and "X_val" in inspect.signature(model.fit).parameters:
        model.fit(train.X, train.y, val.X, val.y)
    else:  # there is nothing that validation rows could choose
        model.fit(train.X, train.y)
    seconds = time.perf_counter() - started
    trained = layers_of(model)[-1]
    members = getattr(trained, "estimators_", None)
    return CellOutcome(
        test=_report(model, test),
        validation=None if val is None else getattr(model, "validation_report_", None) or _report(model, val),
        training=getattr(model, "training_report_", None),
        n_train=len(train) + (0 if val is None else len(val)),
        epochs=getattr(trained, "n_epochs_", None),
        seconds=seconds,
        n_members=getattr(trained, "n_members_used_", None if members is None else len(members)),
        extra=_extra(model, trained),
    )


def fit_command(
    plan: ComparisonPlan, name: str, data: str, *, out: str = "model", options: Mapping[str, Any] | None = None
) -> str:
    """Write the command line that fits and saves one method as a comparison did on its first seed.

    Parameters
    ----------
    plan : the comparison.
    name : a method of it.
    data : the data as the command line names it.
    out : folder for the model.
    options : further options of the command, such as ``{"--target": "diagnosis"}``; None stands for one left out.

    Examples
    --------
    >>> plan = ComparisonPlan("t.csv", ("ours",), (0,), Budget(epochs=50), learner={"lr": 0.01}, theta=0.8, gamma=0.25)
    >>> fit_command(plan, "ours", "t.csv", options={"--target": "kind"})  # doctest: +NORMALIZE_WHITESPACE
    'worstclass fit t.csv --target kind --method ours --theta 0.8 --set gamma=0.25 --network mlp --lr 0.01
    --max-epochs 50 --select-on worst --seed 0 --out model'
    """
    method, words = find_method(name), ["worstclass", "fit", data]

    def add(option: str, value: Any) -> None:
        if value is not None:
            words.extend([option, str(value)])

    for option, value in (options or {}).items():
        add(option, value)
    add("--method", name)
    if method.needs_theta:
        floors = plan.theta if isinstance(plan.theta, Mapping) else {"": plan.theta}
        for label, floor in floors.items():
            add("--theta", f"{label}={floor}" if label != "" else floor)
    for option, value in plan.options(method).items():
        if value != method.options[option]:
            add("--set", f"{option}={value}")
    if method.kind == "network":
        add("--network", _name(plan.network))
        for option in ("lr", "batch_size"):
            add(f"--{option.replace('_', '-')}", plan.learner.get(option))
        add("--max-epochs", plan.budget.epochs)
        add("--max-seconds", plan.budget.seconds)
        add("--select-on", plan.select_on)
    add("--seed", plan.seeds[0])
    add("--out", out)
    return shlex.join(words)


def _name(network: Any) -> str:
    """Return the name of a network in settings and commands."""
    return network if isinstance(network, str) else f"{network.__module__}:{network.__qualname__}"


def _report(model: Any, part: Part) -> ClassReport:
    return class_report(part.y, model.predict(part.X), labels=model.classes_)


def _extra(model: Any, trained: Any) -> dict[str, Any]:
    """Return what else a cell keeps: the best epoch or the bound of the trained model, and offsets."""
    kept = {name: getattr(trained, name) for name in ("best_epoch_", "bound_met_") if hasattr(trained, name)}
    if hasattr(model, "offsets_"):
        kept |= {"scores_": model.scores_, "offsets_": model.offsets_.tolist()}
        kept |= {"worst_error_before_offsets": model.validation_report_before_.worst_error}
    return {name.rstrip("_"): value for name, value in kept.items()}
