"""The record of one run: the results of a fitted model together with everything that made them, as one JSON file."""

from __future__ import annotations

import inspect
import platform
import subprocess
from collections.abc import Collection
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Self

import pydantic

from worstclass.data.splits import Splits
from worstclass.ensembles.worst_class import PortfolioRecord
from worstclass.exceptions import ModelFormatError
from worstclass.metrics import ClassReport, class_report
from worstclass.wrappers.base import floors_of

#: parts of the data that a model has reports on
PARTS = ("training", "validation", "test")
#: packages whose version can change a result
PACKAGES = ("worstclass", "torch", "scikit-learn", "numpy", "scipy", "pandas")


def _plain(report: Any) -> Any:
    return report.to_dict() if isinstance(report, ClassReport) else report


class _Row(pydantic.BaseModel, strict=True, extra="forbid"):
    """The values of a ``ClassRow``."""

    name: str
    total: pydantic.NonNegativeInt
    correct: pydantic.NonNegativeInt
    floor: float | None = None
    meets_floor: bool | None = None
    error: float | None


class _Report(pydantic.BaseModel, strict=True):
    """The values of a ``ClassReport``."""

    worst_class: str
    worst_error: float
    class_mean_error: float
    plain_error: float
    absent: list[str]
    classes: Annotated[list[_Row], pydantic.Field(min_length=1)]


def _checked(report: dict[str, Any]) -> dict[str, Any]:
    """Refuse values that are not those of a class report."""
    _Report.model_validate(report)
    return report


#: a ``ClassReport``, kept as plain values
Report = Annotated[dict[str, Any], pydantic.BeforeValidator(_plain), pydantic.AfterValidator(_checked)]


class Provenance(pydantic.BaseModel):
    """Where a result comes from."""

    versions: dict[str, str]
    python: str
    machine: str
    commit: str | None

    @classmethod
    def collect(cls) -> Provenance:
        """Look at this process, and at the checkout that worstclass runs from, if it does."""
        return cls(
            versions={name: version for name in PACKAGES if (version := _version(name)) is not None},
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            commit=_commit(),
        )

    def __str__(self) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"Python {self.python} on {self.machine}, {versions}, commit {self.commit or 'unknown'}"


class BoostingResult(pydantic.BaseModel):
    """What boosting did.

    Attributes
    ----------
    n_rounds, n_extra_rounds : planned rounds T, and rounds that were added after T.
    n_members, n_members_used : members trained, and those that vote.
    compacted_from : members that voted before ``compact``; None for a vote that was not compacted.
    gamma : as it was used.
    theta : floor of each class; None for a booster without floors.
    bound_met : whether every class meets its floor on the training rows, by the vote itself; None without floors.
    shortfall : right answers that are missing, for each class below its floor.
    """

    n_rounds: int
    n_extra_rounds: int
    n_members: int
    n_members_used: int
    compacted_from: int | None = None
    gamma: float
    theta: dict[str, float] | None = None
    bound_met: bool | None = None
    shortfall: dict[str, int] = {}


class PortfolioResult(pydantic.BaseModel):
    """What ``WorstClassClassifier`` did.

    Attributes
    ----------
    n_folds : folds; 1 for a single held-out part.
    members : all members that were trained, with their weight in the answer.
    held_out : class report on the held-out rows: an estimate for new rows.
    theta : floor of each class; None without floors.
    floors_met : whether the held-out report meets every floor; None without floors.
    shortfall : right answers on held-out rows that are missing, for each class below its floor.
    notes : what was left out for lack of time or of torch, or because it failed.
    """

    n_folds: int
    members: list[PortfolioRecord]
    held_out: Report
    theta: dict[str, float] | None = None
    floors_met: bool | None = None
    shortfall: dict[str, int] = {}
    notes: list[str] = []


class Outcome(pydantic.BaseModel, frozen=True):
    """What is known of one fitted model of any kind.

    Attributes
    ----------
    model : class of the model, that of what a wrapper wraps behind it: ``WorstClassOffsets(NetworkClassifier)``.
    training, validation, test : class reports by part; None if there is none.
    n_train : number of rows that trained or chose: training and validation rows.
    seconds : time of the fit.
    epochs : epochs over the training rows; None for a model that makes none.
    n_members : members that answer; None for a model that is no ensemble.
    boosting : what boosting did; None for another model.
    portfolio : members and held-out estimate of a ``WorstClassClassifier``; None for another model.
    class_weights : weight of each class in every round of boosting; kept only where asked for.
    regions : answers on a grid over the unit square, by class index, one text of digits for each row of points from
        bottom to top; kept only where asked for.
    offsets : ``scores``, ``offsets`` by class, ``floors_met``, and class reports on the rows that chose the offsets,
        without (``before``) and with them (``after``); None without offsets.
    """

    model: str = ""
    training: Report | None = None
    validation: Report | None = None
    test: Report | None = None
    n_train: int | None = None
    seconds: float | None = None
    epochs: int | None = None
    n_members: int | None = None
    boosting: BoostingResult | None = None
    portfolio: PortfolioResult | None = None
    class_weights: list[list[float]] | None = None
    regions: list[str] | None = None
    offsets: dict[str, Any] | None = None

    @property
    def bound_met(self) -> bool | None:
        """Whether the answers of the whole model meet every floor on the training rows; None without floors."""
        if self.boosting is None or self.boosting.bound_met is None:
            return None
        if self.offsets is None:
            return self.boosting.bound_met
        return None if self.training is None else not ClassReport.from_dict(self.training).missed

    @property
    def floors_met(self) -> bool | None:
        """Whether every floor is met, on held-out rows by a portfolio, else on training rows; None without floors."""
        return self.bound_met if self.portfolio is None else self.portfolio.floors_met

    @classmethod
    def describe(cls, model: Any, splits: Splits, *, counted: Collection[str] = PARTS, **facts: Any) -> Self:
        """Describe a model that was fitted on splits.

        Parameters
        ----------
        model : any fitted classifier.
        splits : the rows that it was fitted on, and those that test it.
        counted : parts on which errors are counted here, if the model did not count them itself.
        facts : attributes that the model does not know.
        """
        layers = layers_of(model)
        trained = layers[-1]
        members = getattr(trained, "estimators_", None)
        found: dict[str, Any] = {
            "model": "(".join(type(layer).__name__ for layer in layers) + ")" * (len(layers) - 1),
            "n_train": len(splits.train) + (0 if splits.val is None else len(splits.val)),
            "epochs": epochs_of(trained),
            "n_members": getattr(trained, "n_members_used_", None if members is None else len(members)),
            "boosting": _boosting(trained) if hasattr(trained, "n_rounds_") else None,
            "portfolio": _portfolio(trained) if hasattr(trained, "portfolio_") else None,
            "offsets": offsets_record(model) if len(layers) > 1 else None,
        }
        return cls(**{**found, **class_reports(model, splits, counted), **facts})


class RunResult(Outcome, frozen=True):
    """The contents of ``run.json``: a fitted model, what it was fitted with, and what made it."""

    model: str
    method: str | None = None
    data: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    provenance: Provenance
    seconds: float

    @classmethod
    def read(cls, folder: Path) -> RunResult:
        """Read ``run.json`` from a folder."""
        try:
            return cls.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelFormatError(f"{folder / 'run.json'} cannot be read: {error}") from None


def class_reports(model: Any, splits: Splits, counted: Collection[str] = PARTS) -> dict[str, ClassReport]:
    """Return the model's own class reports by part of the splits, and those of ``counted`` parts that it has not."""
    parts = dict(zip(PARTS, (splits.train, splits.val, splits.test), strict=True))
    reports: dict[str, ClassReport] = {}
    for name, part in parts.items():
        own = getattr(model, f"{name}_report_", None)
        if part is not None and own is not None:
            reports[name] = own
        elif part is not None and name in counted:
            reports[name] = class_report(part.y, model.predict(part.X), labels=model.classes_, theta=floors_of(model))
    return reports


def fit_on_splits(model: Any, splits: Splits, checkpoint: Any = None) -> None:
    """Fit a classifier on the training rows; the validation rows choose, if there is anything that they can choose."""
    train, val, known = splits.train, splits.val, inspect.signature(model.fit).parameters
    options = {} if val is None or "X_val" not in known else {"X_val": val.X, "y_val": val.y}
    if checkpoint is not None and "checkpoint" in known:
        options["checkpoint"] = checkpoint
    model.fit(train.X, train.y, **options)


def layers_of(model: Any) -> list[Any]:
    """Return a fitted model and, if it is decision offsets around another model, that model."""
    is_around = hasattr(model, "offsets_") and hasattr(model, "estimator_")  # a portfolio has offsets of its own
    return [model, model.estimator_] if is_around else [model]


def epochs_of(model: Any) -> int | None:
    """Return the epochs of a model, or of all networks of a portfolio of networks; None for a model that makes none."""
    if not hasattr(model, "portfolio_"):
        return getattr(model, "n_epochs_", None)
    epochs: list[int] = [member.n_epochs_ for member in model.estimators_ if hasattr(member, "n_epochs_")]
    return sum(epochs) if len(epochs) == len(model.estimators_) else None


def _boosting(booster: Any) -> BoostingResult:
    return BoostingResult(
        n_rounds=booster.n_rounds_,
        n_extra_rounds=sum(record.phase == "extend" for record in booster.history_),
        n_members=len(booster.estimators_),
        n_members_used=booster.n_members_used_,
        compacted_from=None if booster.compaction_ is None else booster.compaction_.n_before,
        gamma=booster.gamma_,
        bound_met=getattr(booster, "bound_met_", None),
        **_floors(booster),
    )


def _portfolio(model: Any) -> PortfolioResult:
    return PortfolioResult(
        n_folds=model.n_folds_,
        members=list(model.portfolio_),
        held_out=model.cv_report_,
        floors_met=model.floors_met_,
        notes=list(model.notes_),
        **_floors(model),
    )


def _floors(model: Any) -> dict[str, Any]:
    """Return floors and shortfall by the names of the classes; the floors are None for a model without any."""
    floors, short = getattr(model, "theta_", None), getattr(model, "shortfall_", None) or {}
    theta = None if floors is None else _by_class(model, floors)
    return {"theta": theta, "shortfall": {str(label): rows for label, rows in short.items()}}


def offsets_record(model: Any) -> dict[str, Any]:
    """Return offsets and what they did on the rows that chose them, ready for JSON."""
    return {
        "scores": model.scores_,
        "offsets": _by_class(model, model.offsets_.tolist()),
        "floors_met": model.floors_met_,
        "before": model.validation_report_before_.to_dict(),
        "after": model.validation_report_.to_dict(),
    }


def _by_class(model: Any, values: Any) -> dict[str, Any]:
    return {str(label): value for label, value in zip(model.classes_, values, strict=True)}


def _version(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Return the commit of the checkout that this package runs from, marked if it was changed since."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", __file__)
        return git("describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes")
    except (OSError, subprocess.CalledProcessError):
        return None
