"""The record of one run: results together with all that made them, as one JSON file."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import pydantic

from worstclass.boosting.booster import WorstClassBooster
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
        """Look at this process and the checkout that worstclass is run from, if it is."""
        return cls(
            versions={name: metadata.version(name) for name in PACKAGES},
            python=platform.python_version(),
            machine=f"{platform.system()} {platform.machine()}",
            commit=_commit(),
        )


class RunResult(pydantic.BaseModel):
    """The contents of ``run.json``."""

    data: dict[str, Any]
    settings: dict[str, Any]
    seed: int
    provenance: Provenance
    seconds: float
    n_rounds: int
    n_extra_rounds: int
    n_members: int
    n_members_used: int
    gamma: float
    theta: dict[str, float]
    bound_met: bool
    shortfall: dict[str, int]
    epochs: int
    training: dict[str, Any]
    validation: dict[str, Any] | None = None
    test: dict[str, Any] | None = None
    test_rows: dict[str, int] | None = None
    #: decision offsets and what they did; the reports above are then counted with them
    offsets: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        booster: WorstClassBooster,
        *,
        data: dict[str, Any],
        settings: dict[str, Any],
        seed: int,
        seconds: float,
        test: ClassReport | None = None,
        test_rows: dict[str, int] | None = None,
    ) -> RunResult:
        """Sum up a fitted booster and its evaluation."""
        validation = booster.validation_report_
        return cls(
            data=data,
            settings=settings,
            seed=seed,
            provenance=Provenance.collect(),
            seconds=seconds,
            n_rounds=booster.n_rounds_,
            n_extra_rounds=sum(record.phase == "extend" for record in booster.history_),
            n_members=len(booster.estimators_),
            n_members_used=booster.n_members_used_,
            gamma=booster.gamma_,
            theta={str(label): floor for label, floor in zip(booster.classes_, booster.theta_, strict=True)},
            bound_met=booster.bound_met_,
            shortfall={str(label): short for label, short in booster.shortfall_.items()},
            epochs=sum(record.epochs for record in booster.history_),
            training=booster.training_report_.to_dict(),
            validation=None if validation is None else validation.to_dict(),
            test=None if test is None else test.to_dict(),
            test_rows=test_rows,
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


def _commit() -> str | None:
    """Return the commit of the checkout that this package is run from, marked where it was changed since."""
    here = Path(__file__).parent
    try:
        git = ["git", "-C", str(here)]
        tracked = subprocess.run([*git, "ls-files", "--error-unmatch", __file__], capture_output=True, check=False)
        if tracked.returncode != 0:
            return None
        head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--untracked-files=no"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}+changes" if changed.stdout.strip() else head
