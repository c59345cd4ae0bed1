"""``worstclass fit``."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.learners import default_learner
from worstclass.cli.models import require_folder, write_model
from worstclass.cli.offsets import counted_anew, offsets_line, tuned
from worstclass.cli.progress import RichProgress
from worstclass.cli.sources import at_most, is_named, load_splits
from worstclass.cli.thetas import parse_theta
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import ParameterError, WorstClassWarning
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport, class_report
from worstclass.report.figures import class_weight_figure, save_figure
from worstclass.report.summary import markdown_report, verdict
from worstclass.wrappers.offsets import WorstClassOffsets


@dataclass(frozen=True)
class FitRequest:
    """What was asked for; None in ``booster`` and ``learner`` means the data's or the library's default."""

    data: str
    out: Path
    theta: list[str]
    target: str | None
    network: str | None
    booster: dict[str, Any]
    learner: dict[str, Any]
    val_share: float | None
    test_share: float
    reading: dict[str, Any]
    max_test_rows: int
    seed: int
    quiet: bool
    offsets: str | None = None
    offsets_goal: str | None = None


def fit_command(request: FitRequest) -> bool:
    """Fit, write, report; return whether the bound is met."""
    console = Console()
    require_folder(request.out)
    request.out.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    splits = load_splits(
        request.data,
        request.target,
        val=request.val_share,
        test=request.test_share,
        seed=request.seed,
        owner="fit",
        **request.reading,
    )
    _check_offsets(request, splits)
    booster = _booster(request, splits)
    started = time.perf_counter()
    with (
        warnings.catch_warnings(record=True) as caught,
        RichProgress(Console(quiet=request.quiet)) as progress,
    ):
        warnings.simplefilter("always", WorstClassWarning)
        booster.callbacks = [progress]
        interrupted = _fit(booster, splits)
        booster.callbacks = None
        model = _with_offsets(request, booster, splits)
    seconds = time.perf_counter() - started
    write_model(model, request.out)
    result = _result(request, splits, booster, seconds)
    if isinstance(model, WorstClassOffsets):
        test = None if splits.test is None else at_most(splits.test, request.max_test_rows, request.seed)
        result = counted_anew(result, model, splits.train, splits.val, test, request.offsets_goal or "worst")
    result.write(request.out)
    figure = save_figure(
        class_weight_figure(booster.history_, booster.classes_.tolist()), request.out / "class-weights.png"
    )
    report = request.out / "report.md"
    report.write_text(markdown_report(result, [figure]), encoding="utf-8")
    if interrupted:
        _say(console, f"interrupted: the {len(booster.estimators_)} finished rounds are kept", "yellow")
    for warning in caught:
        _say(console, f"warning: {warning.message}", "yellow")
    _show(console, result)
    if isinstance(model, WorstClassOffsets):
        _say(console, offsets_line(model))
    _say(console, f"model:  {request.out}\nreport: {report}")
    return bool(result.bound_met) and not interrupted


def _fit(booster: WorstClassBooster, splits: Splits) -> bool:
    """Fit; return True where the user interrupted it and finished rounds were kept."""
    try:
        booster.fit(*_pair(splits.train), *_pair(splits.val))
    except KeyboardInterrupt:
        if not hasattr(booster, "estimators_"):
            raise
        return True
    return False


def _booster(request: FitRequest, splits: Splits) -> WorstClassBooster:
    paper = named_dataset(request.data).settings if is_named(request.data) else {}
    learner = default_learner(request.data, splits.train.X, request.network, request.learner)
    given = {name: value for name, value in request.booster.items() if value is not None}
    theta = parse_theta(request.theta, request.data, splits, owner="fit")
    settings = {"theta": theta, "random_state": request.seed, **given}
    return WorstClassBooster(learner, **{**paper.get("booster", {}), **settings})


def _check_offsets(request: FitRequest, splits: Splits) -> None:
    """Refuse, before anything is trained, offsets that nothing could choose, and a goal without offsets."""
    if request.offsets is not None and splits.val is None:
        allowed = "left out for data without validation rows"
        raise ParameterError("--offsets", "fit", allowed=allowed, got=request.data, hint="Give a file a --val-share.")
    if request.offsets is None and request.offsets_goal is not None:
        allowed = "left out without --offsets"
        raise ParameterError("--offsets-goal", "fit", allowed=allowed, got=request.offsets_goal)


def _with_offsets(
    request: FitRequest, booster: WorstClassBooster, splits: Splits
) -> WorstClassBooster | WorstClassOffsets:
    """Return the booster, with offsets tuned on the validation rows where they are asked for."""
    if request.offsets is None or splits.val is None:
        return booster
    return tuned(booster, splits.val, request.offsets, booster.theta if request.offsets_goal == "floors" else None)


def _result(request: FitRequest, splits: Splits, booster: WorstClassBooster, seconds: float) -> RunResult:
    test, rows = None, None
    if splits.test is not None:
        part = at_most(splits.test, request.max_test_rows, request.seed)
        test = class_report(part.y, booster.predict(part.X), labels=booster.classes_, theta=booster.theta)
        rows = {"used": len(part), "available": len(splits.test)}
    settings = {
        "theta": request.theta or [str(booster.theta)],
        "network": request.network,
        **{name: value for name, value in {**request.booster, **request.learner}.items() if value is not None},
    }
    data: dict[str, Any] = {"name": Path(request.data).name, "target": request.target}
    if not is_named(request.data):
        data |= {"val_share": request.val_share, "test_share": request.test_share}
    return RunResult.of(
        booster, data=data, settings=settings, seed=request.seed, seconds=seconds, test=test, test_rows=rows
    )


def _show(console: Console, result: RunResult) -> None:
    parts = [
        ("training rows", result.training),
        ("validation rows", result.validation),
        ("test rows", result.test),
    ]
    for title, values in parts:
        if values is not None:
            _say(console, f"\n{title}", "bold")
            _say(console, str(ClassReport.from_dict(values)))
    _say(console, f"\n{verdict(result)}", "green" if result.bound_met else "red")


def _say(console: Console, text: str, style: str | None = None) -> None:
    """Print text as it is: class names may look like markup."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _pair(part: Any) -> tuple[Any, Any]:
    return (None, None) if part is None else (part.X, part.y)
