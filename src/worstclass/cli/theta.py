"""``worstclass theta``."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.learners import default_learner
from worstclass.cli.models import require_folder, write_model
from worstclass.cli.sources import at_most, is_named, load_splits
from worstclass.cli.thetas import parse_theta
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError, ReusedRowsWarning, SelectionInterrupted
from worstclass.experiments.plan import Budget
from worstclass.experiments.run import Provenance
from worstclass.metrics import ClassReport, class_report
from worstclass.selection import SelectionEvent, ThetaSelection, select_theta
from worstclass.selection.result import short_theta

OWNER = "theta"


@dataclass(frozen=True)
class ThetaRequest:
    """What was asked for; None in ``booster`` and ``learner`` means the data's or the library's default."""

    data: str
    out: Path
    way: str
    candidates: str | None
    goal: list[str]
    baseline: str | None
    target: str | None
    network: str | None
    booster: dict[str, Any]
    learner: dict[str, Any]
    budget: str | None
    search: dict[str, Any]
    val_share: float
    test_share: float
    reading: dict[str, Any]
    max_test_rows: int
    seed: int
    quiet: bool


def theta_command(request: ThetaRequest) -> bool:
    """Choose theta, write the model and theta.json, show the candidates; return whether what was asked for is met."""
    console = Console()
    require_folder(request.out)
    request.out.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    named = is_named(request.data)
    splits = load_splits(
        request.data,
        request.target,
        val=None if named else request.val_share,
        test=request.test_share,
        seed=request.seed,
        owner=OWNER,
        **request.reading,
    )
    booster = _booster(request, splits)
    goal = parse_theta(request.goal, request.data, splits, owner=OWNER, option="--goal") if request.goal else None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedRowsWarning)  # the data came divided, or were just now
            selection = select_theta(
                booster,
                *(splits.train.X, splits.train.y),
                *((None, None) if splits.val is None else (splits.val.X, splits.val.y)),
                way=request.way,
                candidates=None if request.candidates is None else _numbers(request.candidates),
                baseline=None if request.baseline is None else _number_or_name(request.baseline),
                goal=goal,
                val_share=request.val_share,
                progress=_Lines(Console(quiet=request.quiet)),
                **request.search,
            )
    except SelectionInterrupted as interrupt:
        selection = interrupt.selection
    write_model(selection.booster, request.out)
    test = _tested(request, splits, selection.booster)
    file = _write(request, selection, test)
    _say(console, f"\n{selection}", _colour(selection))
    if test is not None:
        _say(console, "\ntest rows", "bold")
        _say(console, str(test))
    _say(console, f"\nmodel:  {request.out}\nchoice: {file}")
    return selection.met


def _colour(selection: ThetaSelection) -> str:
    if not selection.met:
        return "red"
    return "green" if selection.booster.bound_met_ else "yellow"


def _booster(request: ThetaRequest, splits: Splits) -> WorstClassBooster:
    paper = named_dataset(request.data).settings.get("booster", {}) if is_named(request.data) else {}
    learner = default_learner(request.data, splits.train.X, request.network, request.learner, owner=OWNER)
    given = {name: value for name, value in request.booster.items() if value is not None}
    own = {"theta": 0.0, "random_state": request.seed}  # the search sets theta
    return WorstClassBooster(learner, **{**paper, **given, **_limits(request.budget), **own})


def _limits(budget: str | None) -> dict[str, Any]:
    if budget is None:
        return {}
    try:
        limits = Budget.parse(budget)
    except ParameterError:
        allowed = "epochs=N, seconds=S, or both with a comma between them, each above 0"
        raise ParameterError("--budget", OWNER, allowed=allowed, got=budget) from None
    return {"max_epochs": limits.epochs, "max_seconds": limits.seconds}


def _tested(request: ThetaRequest, splits: Splits, booster: WorstClassBooster) -> ClassReport | None:
    """Ask the chosen booster about rows that neither trained nor chose; None where there are none."""
    if splits.test is None:
        return None
    part = at_most(splits.test, request.max_test_rows, request.seed)
    return class_report(part.y, booster.predict(part.X), labels=booster.classes_, theta=booster.theta)


def _write(request: ThetaRequest, selection: ThetaSelection, test: ClassReport | None) -> Path:
    """Write theta.json: the choice, what the test rows say of it, and what made it."""
    settings = {
        name: value
        for name, value in {**request.booster, **request.learner, **request.search}.items()
        if value is not None
    }
    values = {
        "data": {"name": Path(request.data).name, "target": request.target, "test_share": request.test_share},
        "settings": {**settings, "network": request.network, "budget": request.budget, "val_share": request.val_share},
        "seed": request.seed,
        "gamma": selection.booster.gamma_,
        "n_rounds": selection.booster.n_rounds_,
        **selection.to_dict(),
        "test": None if test is None else test.to_dict(),
        "provenance": Provenance.collect().model_dump(),
    }
    file = request.out / "theta.json"
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return file


def _numbers(text: str) -> Sequence[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        allowed = "numbers in [0, 1) with commas between them"
        raise ParameterError("--candidates", OWNER, allowed=allowed, got=text) from None


def _number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


class _Lines:
    """Tells of every step of the search in a line."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __call__(self, event: SelectionEvent, /) -> None:
        record = event.record
        line = f"theta {short_theta(record.theta)}: {event.kind}, {record.rounds} of {record.planned_rounds} rounds"
        if record.worst_error is not None:
            line += f", worst-class validation error {record.worst_error:.1%}"
        if event.kind == "ended":
            line += f", {record.status}"
        if record.why:
            line += f" ({record.why})"
        _say(self._console, f"{line}; {event.epochs:,} epochs so far")


def _say(console: Console, text: str, style: str | None = None) -> None:
    """Print text as it is: class names may look like markup."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
