"""``worstclass fit``: train a method, save the model, report on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli.console import console, say, warn
from worstclass.cli.options import BoosterOptions, MaxTestRows, Quiet, Seed, SelectOn, SplitOptions, Theta

if TYPE_CHECKING:
    from worstclass.data.splits import Splits
    from worstclass.experiments.run import RunResult

Out = Annotated[Path, typer.Option(help="Folder for the model and its results.", show_default=False)]
MethodName = Annotated[
    str | None,
    typer.Option(help="Method (see: worstclass methods); default: ours, for tables without --network ours-trees."),
]
OwnOptions = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the method (repeatable).")
]
Epochs = Annotated[int | None, typer.Option(help="Maximum epochs in all.", min=1)]
Seconds = Annotated[float | None, typer.Option(help="Maximum training time.", min=0)]


def fit(
    data: SplitOptions,
    out: Out,
    *,
    method: MethodName = None,
    set_: OwnOptions = None,
    theta: Theta = None,
    booster: BoosterOptions,
    max_epochs: Epochs = None,
    max_seconds: Seconds = None,
    select_on: SelectOn = "worst",
    max_test_rows: MaxTestRows = 10_000,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Train a classifier, save it and report on it.

    The default method boosts until every class meets the accuracy floor --theta on the training rows.

    Exit code 0: done, and floors are met. 1: done, but a floor is missed, or training was interrupted. 2: bad input.

    Example: worstclass fit train.csv --target diagnosis --theta 0.8 --out model
    """
    from worstclass.cli.by_class import floors_given
    from worstclass.cli.data import load_splits
    from worstclass.cli.errors import ConflictingOptions
    from worstclass.cli.learners import build_estimator, default_method
    from worstclass.cli.model import require_folder, write_model
    from worstclass.methods import find_method
    from worstclass.report.summary import markdown_report

    require_folder(out)
    splits = load_splits(data, seed)
    name = method or default_method(data.data, splits.train.X, booster.network)
    if theta and not find_method(name).needs_theta:
        raise ConflictingOptions("--theta", f"the method {name} has no accuracy floor.")
    floors = floors_given(theta, data.data, splits.train.y) if find_method(name).needs_theta else None
    own = _own_options(name, set_ or [])
    limits = {"max_epochs": max_epochs, "max_seconds": max_seconds, "select_on": select_on}
    model = build_estimator(name, data.data, splits.train.X, booster, theta=floors, seed=seed, own=own, **limits)
    out.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    started = time.perf_counter()
    interrupted = _train(model, splits, quiet)
    seconds = time.perf_counter() - started
    settings = {
        "method": name,
        "theta": theta or (None if floors is None else [str(floors)]),
        "network": booster.network,
        **booster.booster(),
        **booster.learner(),
        **own,
    }
    result = _result(model, splits, data, settings, max_test_rows, seed, seconds)
    figures = ["class-weights.png"] if hasattr(_inside(model), "history_") and floors is not None else []
    report = markdown_report(result, [Path(figure) for figure in figures])
    place = write_model(model, out, {"run.json": result.model_dump(), "report.md": report})
    for figure in figures:
        _draw(_inside(model), place / figure)
    if interrupted:
        warn(f"interrupted: the {len(model.estimators_)} finished rounds are kept")
    _show(result)
    say(f"model:  {out}\nreport: {place / 'report.md'}")
    return 0 if result.bound_met is not False and not interrupted else 1


def _own_options(name: str, texts: Sequence[str]) -> dict[str, Any]:
    """Read the method's own options, NAME=VALUE each."""
    from worstclass.cli.library import parse_options
    from worstclass.exceptions import ParameterError

    values = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or key in values:
            raise ParameterError("--set", "fit", allowed="NAME=VALUE, each name once", got=text)
        values[key] = value
    return parse_options(name, values)


def _train(model: Any, splits: Splits, quiet: bool) -> bool:
    """Fit; return True where the user interrupted it and finished rounds were kept."""
    import inspect

    from worstclass.cli.progress import RichProgress

    rows = [splits.train.X, splits.train.y]
    if splits.val is not None and "X_val" in inspect.signature(model.fit).parameters:
        rows += [splits.val.X, splits.val.y]
    interrupted = False
    with RichProgress(console(quiet=quiet)) as progress:
        if hasattr(model, "callbacks"):
            model.callbacks = [progress]
        try:
            model.fit(*rows)
        except KeyboardInterrupt:
            if not hasattr(model, "estimators_"):
                raise
            interrupted = True
        if hasattr(model, "callbacks"):
            model.callbacks = None
    return interrupted


def _result(
    model: Any,
    splits: Splits,
    data: SplitOptions,
    settings: dict[str, Any],
    max_test_rows: int,
    seed: int,
    seconds: float,
) -> RunResult:
    """Count the errors on every part that the model did not count itself."""
    from worstclass.cli.data import at_most, is_named
    from worstclass.cli.library import renamed
    from worstclass.cli.model import described, floors_of
    from worstclass.experiments.run import RunResult
    from worstclass.metrics import class_report

    parts = {"training": splits.train, "validation": splits.val, "test": splits.test}
    reports, rows = {}, None
    for name, part in parts.items():
        reports[name] = getattr(model, f"{name}_report_", None)
        if part is not None and reports[name] is None:
            drawn = at_most(part, max_test_rows, seed) if name == "test" else part
            answers = model.predict(drawn.X)
            reports[name] = class_report(drawn.y, answers, labels=model.classes_, theta=floors_of(model))
            rows = {"used": len(drawn), "available": len(part)} if name == "test" else None
    shares: dict[str, Any] = {} if is_named(data.data) else {"val_share": data.val_share, "test_share": data.test_share}
    own = {"training": reports["training"], "validation": reports["validation"], "method": settings["method"]}
    return RunResult.of(
        model,
        data=described(data, **shares),
        settings={name: value for name, value in settings.items() if value is not None},
        seed=seed,
        seconds=seconds,
        test=reports["test"],
        test_rows=rows,
        **renamed(RunResult.of, **own),
    )


def _show(result: RunResult) -> None:
    from worstclass.metrics import ClassReport
    from worstclass.report.summary import verdict

    for title, values in (
        ("training rows", result.training),
        ("validation rows", result.validation),
        ("test rows", result.test),
    ):
        if values is not None:
            say(f"\n{title}", "bold")
            say(str(ClassReport.from_dict(values)))
    if result.bound_met is not None:
        say(f"\n{verdict(result)}", "green" if result.bound_met else "red")


def _inside(model: Any) -> Any:
    """Return the model that was trained, without what is around it."""
    return _inside(model.estimator_) if hasattr(model, "estimator_") else model


def _draw(booster: Any, file: Path) -> None:
    from worstclass.report.figures import class_weight_figure, save_figure

    save_figure(class_weight_figure(booster.history_, booster.classes_.tolist()), file)
