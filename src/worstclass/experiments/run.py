"""The record of one run: the results of a fitted model together with everything that made them, as one JSON file."""

from __future__ import annotations

import json
import math
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pydantic

from worstclass.exceptions import ModelFormatError
from worstclass.metrics import ClassReport

#: packages whose version can change a result
PACKAGES = ("worstclass", "torch", "scikit-learn", "numpy", "scipy", "pandas")


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
            versions={name: metadata.version(name) for name in PACKAGES},
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            commit=_commit(),
        )


class BoostingResult(pydantic.BaseModel):
    """What boosting did.

    Attributes
    ----------
    n_rounds, n_extra_rounds : planned rounds T, and rounds that were added after T.
    n_members, n_members_used : members trained, and those that vote.
    gamma : as it was used.
    theta : floor of each class; None for a booster without floors.
    bound_met : whether every class meets its floor on the training rows, by the vote itself; None without floors.
    shortfall : right answers that are missing, for each class below its floor.
    """

    n_rounds: int
    n_extra_rounds: int
    n_members: int
    n_members_used: int
    gamma: float
    theta: dict[str, float] | None = None
    bound_met: bool | None = None
    shortfall: dict[str, int] = {}

    @classmethod
    def of(cls, booster: Any) -> BoostingResult:
        """Describe a fitted booster."""
        floors = getattr(booster, "theta_", None)
        return cls(
            n_rounds=booster.n_rounds_,
            n_extra_rounds=sum(record.phase == "extend" for record in booster.history_),
            n_members=len(booster.estimators_),
            n_members_used=booster.n_members_used_,
            gamma=booster.gamma_,
            theta=None if floors is None else _by_class(booster, floors),
            bound_met=getattr(booster, "bound_met_", None),
            shortfall={str(label): short for label, short in getattr(booster, "shortfall_", {}).items()},
        )


class OffsetsResult(pydantic.BaseModel):
    """Decision offsets, and reports on the rows that chose them, without and with the offsets."""

    scores: str
    offsets: dict[str, float]
    floors_met: bool | None
    before: dict[str, Any]
    after: dict[str, Any]

    @classmethod
    def of(cls, model: Any) -> OffsetsResult:
        """Describe fitted offsets."""
        return cls(
            scores=model.scores_,
            offsets=_by_class(model, model.offsets_),
            floors_met=model.floors_met_,
            before=model.validation_report_before_.to_dict(),
            after=model.validation_report_.to_dict(),
        )


class AbstainingResult(pydantic.BaseModel):
    """A rule for abstaining: the limit on each class's risk, the threshold of each answer, and whether it is proven."""

    risk: dict[str, float]
    thresholds: dict[str, float | None]
    proven: bool

    @classmethod
    def of(cls, model: Any) -> AbstainingResult:
        """Describe a fitted rule; an infinite threshold, which JSON cannot hold, is None."""
        thresholds = _by_class(model, model.thresholds_)
        return cls(
            risk=_by_class(model, model.risk_),
            thresholds={label: value if math.isfinite(value) else None for label, value in thresholds.items()},
            proven=model.proven_,
        )


class RunResult(pydantic.BaseModel):
    """The contents of ``run.json``: one fitted model of any kind.

    Attributes
    ----------
    model : class of the model, that of what a wrapper wraps behind it: ``WorstClassOffsets(NetworkClassifier)``.
    method : name of the method, if it was built by one.
    data, settings, seed : what it was fitted with.
    provenance, seconds, epochs : what made it, and what it cost; epochs is None for a model that makes none.
    training, validation, test : class reports by part; None if there is none.
    test_rows : test rows used, and available.
    boosting, offsets, abstaining : what the boosters and wrappers in the model add; None if it has none.
    """

    model: str
    method: str | None = None
    data: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    provenance: Provenance
    seconds: float
    epochs: int | None = None
    training: dict[str, Any] | None = None
    validation: dict[str, Any] | None = None
    test: dict[str, Any] | None = None
    test_rows: dict[str, int] | None = None
    boosting: BoostingResult | None = None
    offsets: OffsetsResult | None = None
    abstaining: AbstainingResult | None = None

    @property
    def bound_met(self) -> bool | None:
        """Whether the answers of the whole model meet every floor on the training rows; None without floors."""
        if self.boosting is None or self.boosting.bound_met is None:
            return None
        if self.offsets is None and self.abstaining is None:
            return self.boosting.bound_met
        return None if self.training is None else not ClassReport.from_dict(self.training).missed

    @classmethod
    def of(
        cls,
        model: Any,
        *,
        data: dict[str, Any],
        settings: dict[str, Any],
        seed: int,
        seconds: float,
        method: str | None = None,
        training: ClassReport | None = None,
        validation: ClassReport | None = None,
        test: ClassReport | None = None,
        test_rows: dict[str, int] | None = None,
    ) -> RunResult:
        """Describe a fitted model.

        Parameters
        ----------
        model : any fitted classifier.
        data, settings, seed, seconds, method, test_rows : as the attributes.
        training, validation, test : reports by part. A training or validation report that is left out is the model's
            own, if it has one.
        """
        layers = layers_of(model)
        inner = layers[-1]
        reports = {
            "training": training or getattr(model, "training_report_", None),
            "validation": validation or getattr(model, "validation_report_", None),
            "test": test,
        }
        return cls(
            model="(".join(type(layer).__name__ for layer in layers) + ")" * (len(layers) - 1),
            method=method,
            data=data,
            settings=settings,
            seed=seed,
            provenance=Provenance.collect(),
            seconds=seconds,
            epochs=getattr(inner, "n_epochs_", None),
            **{name: None if report is None else report.to_dict() for name, report in reports.items()},
            test_rows=test_rows,
            boosting=BoostingResult.of(inner) if hasattr(inner, "n_rounds_") else None,
            offsets=next((OffsetsResult.of(layer) for layer in layers if hasattr(layer, "offsets_")), None),
            abstaining=next((AbstainingResult.of(layer) for layer in layers if hasattr(layer, "thresholds_")), None),
        )

    def write(self, folder: Path) -> Path:
        """Write ``run.json`` into a folder."""
        file = folder / "run.json"
        file.write_text(json.dumps(self.model_dump(), indent=1) + "\n", encoding="utf-8")
        return file

    @classmethod
    def read(cls, folder: Path) -> RunResult:
        """Read ``run.json`` from a folder."""
        try:
            return cls.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, pydantic.ValidationError) as error:
            raise ModelFormatError(f"{folder / 'run.json'} cannot be read: {error}") from None


def layers_of(model: Any) -> list[Any]:
    """Return a fitted model and what its offsets and rule for abstaining wrap, from the outside in."""
    layers = [model]
    while hasattr(layers[-1], "offsets_") or hasattr(layers[-1], "thresholds_"):
        layers.append(layers[-1].estimator_)
    return layers


def _by_class(model: Any, values: Any) -> dict[str, float]:
    return {str(label): float(value) for label, value in zip(model.classes_, values, strict=True)}


def _commit() -> str | None:
    """Return the commit of the checkout that this package runs from, marked if it was changed since."""
    git = ["git", "-C", str(Path(__file__).parent)]

    def output(*command: str) -> str:
        return subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout.strip()

    try:
        output("ls-files", "--error-unmatch", __file__)
        head, changed = output("rev-parse", "HEAD"), output("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changed else head
