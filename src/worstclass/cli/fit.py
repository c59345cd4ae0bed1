"""``worstclass fit``: train a method, save the model, report on it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli.console import ConflictingOptions, console, say, warn
from worstclass.cli.options import BoosterOptions, MaxTestRows, Quiet, Seed, SelectOn, SplitOptions, Theta

if TYPE_CHECKING:
    from worstclass.data.splits import Splits
    from worstclass.metrics import ClassReport

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
    from worstclass.cli.data import floors_given, is_named, load_splits, refuse_for_named, with_test_rows
    from worstclass.cli.learners import build_estimator, default_method
    from worstclass.cli.model import described, require_folder, write_model
    from worstclass.experiments.run import RunResult, layers_of
    from worstclass.methods import find_method, parse_options
    from worstclass.report.figures import class_weight_figure, save_figure
    from worstclass.report.summary import markdown_report, text_report

    require_folder(out)
    refuse_for_named(data, "val_share")
    splits = load_splits(data, seed)
    available = 0 if splits.test is None else len(splits.test)
    splits = with_test_rows(splits, max_test_rows, seed)
    name = method or default_method(data.data, splits.train.X, booster.network)
    record = find_method(name)
    if theta and not record.needs_theta:
        raise ConflictingOptions("--theta", f"the method {name} has no accuracy floor.")
    floors = floors_given(theta, data.data, splits.train.y) if record.needs_theta else None
    own = parse_options(record, _by_name(set_ or []))
    limits = {"max_epochs": max_epochs, "max_seconds": max_seconds, "select_on": select_on, "random_state": seed}
    model = build_estimator(name, data.data, splits.train.X, booster, own=own, theta=floors, **limits)
    out.mkdir(parents=True, exist_ok=True)  # before hours of training, not after
    started = time.perf_counter()
    interrupted = _train(model, splits, quiet)
    seconds = time.perf_counter() - started
    settings = {"theta": theta or (None if floors is None else [str(floors)]), "network": booster.network}
    settings |= {"method": name, **booster.booster(), **booster.learner(), **own}
    shares: dict[str, Any] = {} if is_named(data.data) else {"val_share": data.val_share, "test_share": data.test_share}
    result = RunResult.of(
        model,
        data={**described(data), **shares},
        settings={name: value for name, value in settings.items() if value is not None},
        seed=seed,
        seconds=seconds,
        method=name,
        **_reports(model, splits),
        test_rows=None if splits.test is None else {"used": len(splits.test), "available": available},
    )
    history: Any = getattr(layers_of(model)[-1], "history_", None) if floors is not None else None
    figures = [] if history is None else [Path("class-weights.png")]
    place = write_model(model, out, {"run.json": result.model_dump(), "report.md": markdown_report(result, figures)})
    for figure in figures:
        assert history is not None
        save_figure(class_weight_figure(history, model.classes_.tolist()), place / figure)
    if interrupted:
        warn(f"interrupted: the {len(model.estimators_)} finished rounds are kept")
    say(text_report(result))
    say(f"model:  {out}\nreport: {place / 'report.md'}")
    return 0 if result.bound_met is not False and not interrupted else 1


def _by_name(texts: Sequence[str]) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    from worstclass.exceptions import ParameterError

    values: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key or key in values:
            raise ParameterError("--set", "fit", allowed="NAME=VALUE, each name once", got=text)
        values[key] = value
    return values


def _train(model: Any, splits: Splits, quiet: bool) -> bool:
    """Fit; return True where the user interrupted it and finished rounds were kept."""
    import inspect

    from worstclass.cli.progress import BoostingProgress
    from worstclass.data.seen_rows import SeenRows

    train, val = splits.train, splits.val
    progress, interrupted = BoostingProgress(console(quiet=quiet)), False
    if hasattr(model, "callbacks"):
        model.callbacks = [progress]
    chosen = {}
    if val is not None and "X_val" in inspect.signature(model.fit).parameters:
        chosen = {"X_val": val.X, "y_val": val.y}
    with progress.bar:
        try:
            model.fit(train.X, train.y, **chosen)
        except KeyboardInterrupt:
            if not hasattr(model, "estimators_"):
                raise
            interrupted = True
    if hasattr(model, "callbacks"):
        model.callbacks = None
    if not hasattr(model, "seen_rows_"):  # classifiers of scikit-learn keep no record of their rows
        model.seen_rows_ = SeenRows.of(train.X)
    return interrupted


def _reports(model: Any, splits: Splits) -> dict[str, ClassReport]:
    """Count the errors on every part that the model did not count itself."""
    from worstclass.cli.model import floors_of
    from worstclass.metrics import class_report

    parts = {"training": splits.train, "validation": splits.val, "test": splits.test}
    return {
        name: class_report(part.y, model.predict(part.X), labels=model.classes_, theta=floors_of(model))
        for name, part in parts.items()
        if part is not None and getattr(model, f"{name}_report_", None) is None
    }
