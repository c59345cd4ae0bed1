"""Every method under the same rules: the same splits, network, optimiser, budget and choice on validation rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from worstclass.boosting.hedge import resolve_gamma
from worstclass.data.splits import Part, Splits, take_rows
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.experiments.cells import Cell, CellOutcome, CellResult, OnEvent, run_cells
from worstclass.floors import Floors
from worstclass.learners.estimator import LearnerClassifier
from worstclass.methods import Method, build_method, find_method, list_methods
from worstclass.metrics import ClassReport, class_report
from worstclass.wrappers.offsets import WorstClassOffsets

#: methods whose rounds follow from gamma, so that one gamma goes to all of them
BY_GAMMA = ("ours", "ours+offsets", "ours-trees", "boosting", "deep-ensemble")


@dataclass(frozen=True)
class Budget:
    """What a method may spend on one training: epochs over the sample, seconds, or both.

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
    seeds : each one is a draw or split of the data and a random start of every method.
    budget : what each training may spend.
    network, learner : the network and the options of ``TorchLearner`` that all networks share.
    theta : floors, for the methods that have any.
    gamma : for the methods whose rounds follow from it.
    select_on : the validation error that chooses, ``"worst"`` or ``"average"``.
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
    data_settings: Mapping[str, Any] = field(default_factory=dict)

    def cells(self) -> list[Cell]:
        """One cell a method and seed, seed by seed, so that every method has some results early."""
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
            **self._options(method),
        )

    def _options(self, method: Method) -> dict[str, Any]:
        return {**method.options, **({"gamma": self.gamma} if method.name in BY_GAMMA else {})}

    def _settings(self, name: str) -> dict[str, Any]:
        method = find_method(name)
        settings: dict[str, Any] = {
            "budget": asdict(self.budget),
            "select_on": self.select_on,
            "options": self._options(method),
            **self.data_settings,
        }
        if method.kind == "network":
            settings |= {"network": _name(self.network), "learner": dict(self.learner)}
        if method.needs_theta:
            theta = self.theta
            settings["theta"] = {str(k): v for k, v in theta.items()} if isinstance(theta, Mapping) else theta
        return settings


def check_plan(plan: ComparisonPlan, example: Splits) -> None:
    """Refuse, before anything is trained, what no training could use: one message, not a failure in every cell."""
    kinds = {find_method(name).kind for name in plan.methods}
    classes = np.unique(example.train.y)
    if set(plan.methods) & set(BY_GAMMA):
        resolve_gamma(plan.gamma, len(classes), owner="compare")
    if plan.theta is not None:
        Floors.from_theta(plan.theta, classes, owner="compare")
    if "network" in kinds:
        from worstclass.learners.torch_learner import TorchLearner

        learner, two = TorchLearner(plan.network, **plan.learner), np.arange(min(2, len(example.train)))
        few = as_numbers(Splits(Part(take_rows(example.train.X, two), example.train.y[two]))).train
        learner.bind(learner.check_X(few.X), np.zeros(len(two), dtype=np.int64), len(classes), seed=0)


def methods_for(names: Sequence[str], example: Splits) -> tuple[str, ...]:
    """Resolve the names of methods; ``all`` stands for every method that suits the rows and is installed.

    Methods for tables suit rows of numbers; images they would only see as a long row of pixels.
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
    on_event: OnEvent | None = None,
    *,
    overwrite: bool = False,
) -> list[CellResult]:
    """Run what is not in the folder yet; a method that fails is recorded, and the others go on.

    Parameters
    ----------
    plan : what is compared.
    load : the splits of a seed, with test rows.
    folder : where each cell's result is kept as it finishes.
    on_event : is told of every cell.
    overwrite : run again what is there.
    """
    loaded: dict[int, Splits] = {}

    def run_cell(cell: Cell) -> CellOutcome:
        if cell.seed not in loaded:
            loaded.clear()  # one draw at a time in memory
            loaded[cell.seed] = as_numbers(load(cell.seed))
        return run_method(find_method(cell.method), plan.build(cell), loaded[cell.seed])

    return run_cells(plan.cells(), run_cell, folder, on_event, overwrite=overwrite)


def run_method(method: Method, model: Any, splits: Splits) -> CellOutcome:
    """Train a classifier on the training rows, let the validation rows choose, and measure on the test rows."""
    if splits.test is None:
        raise DatasetError("There are no test rows to compare on.")
    train, val, test = (_rows_for(method, part) for part in (splits.train, splits.val, splits.test))
    assert train is not None
    assert test is not None
    started = time.perf_counter()
    chosen = isinstance(model, LearnerClassifier | WorstClassOffsets)  # others have nothing that validation rows choose
    if val is not None and chosen:
        model.fit(train.X, train.y, val.X, val.y)
    else:
        model.fit(train.X, train.y)
    seconds = time.perf_counter() - started
    trained = model.estimator_ if isinstance(model, WorstClassOffsets) else model
    validation = None if val is None else getattr(model, "validation_report_", None) or _report(model, val)
    training = getattr(model, "training_report_", None)
    return CellOutcome(
        test=_report(model, test),
        validation=validation,
        training=training if isinstance(training, ClassReport) else None,
        epochs=getattr(trained, "n_epochs_", None),
        seconds=seconds,
        n_members=_members_used(trained),
        extra=_extra(model, trained),
    )


def as_numbers(splits: Splits) -> Splits:
    """Return tables as numbers, the same for every method: categories one-hot, missing values the median.

    What is fitted for that is fitted on the training rows alone. Arrays are left as they are.
    """
    if not hasattr(splits.train.X, "columns"):
        return splits
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=SimpleImputer(strategy="median", keep_empty_features=True),
    ).fit(splits.train.X)

    def encode(part: Part | None) -> Part | None:
        return None if part is None else Part(np.asarray(encoder.transform(part.X), dtype=np.float32), part.y)

    train = encode(splits.train)
    assert train is not None
    return replace(splits, train=train, val=encode(splits.val), cal=encode(splits.cal), test=encode(splits.test))


def _rows_for(method: Method, part: Part | None) -> Part | None:
    """Return rows as a method takes them: those for tables see an image as one long row."""
    if part is None or method.kind != "table" or getattr(part.X, "ndim", 2) <= 2:
        return part
    return Part(np.asarray(part.X).reshape(len(part), -1), part.y)


def _name(network: Any) -> str:
    """Return what a network is known by in a cell's settings."""
    return network if isinstance(network, str) else f"{network.__module__}:{network.__qualname__}"


def _report(model: Any, part: Part) -> ClassReport:
    return class_report(part.y, model.predict(part.X), labels=model.classes_)


def _extra(model: Any, trained: Any) -> dict[str, Any]:
    """Return what else a cell keeps: the epoch or bound of what was trained, and offsets."""
    kept = {name: getattr(trained, name) for name in ("best_epoch_", "bound_met_") if hasattr(trained, name)}
    if isinstance(model, WorstClassOffsets):
        kept |= {"scores_": model.scores_, "offsets_": model.offsets_.tolist()}
        kept |= {"worst_error_before_offsets": model.validation_report_before_.worst_error}
    return {name.rstrip("_"): value for name, value in kept.items()}


def _members_used(model: Any) -> int | None:
    if hasattr(model, "n_members_used_"):
        return int(model.n_members_used_)
    members = getattr(model, "estimators_", None)
    return None if members is None else len(members)
