"""``worstclass fit``: train a method, save the model, report on it."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli import complete
from worstclass.cli.console import (
    OptionError,
    console,
    interrupts_noted,
    refuse_given,
    say,
    stopped_gently,
    tell,
    warn,
)
from worstclass.cli.options import BoosterOptions, OutFolder, Quiet, Seed, SelectOn, Theta, TrainingOptions, given
from worstclass.cli.resume import CHECKPOINT, COMMAND, forget, remember, tell_how_to_go_on

if TYPE_CHECKING:
    from worstclass.data.splits import Splits
    from worstclass.methods import Method
    from worstclass.storage.checkpoint import FolderCheckpoint

MethodName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="See worstclass methods [auto, auto+network].",
        autocompletion=complete.method,
    ),
]
OwnOptions = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option of the method (repeatable).")
]
Epochs = Annotated[
    int | None, typer.Option(help="Maximum epochs in all networks together; each has at least one.", min=1)
]
Seconds = Annotated[float | None, typer.Option(help="Maximum training time.", min=0)]


def fit(
    data: TrainingOptions,
    out: OutFolder,
    *,
    method: MethodName = None,
    set_: OwnOptions = None,
    theta: Theta = None,
    booster: BoosterOptions,
    max_epochs: Epochs = None,
    max_seconds: Seconds = None,
    select_on: SelectOn = "worst",
    seed: Seed = 0,
    quiet: Quiet = False,
) -> int:
    """Train a classifier, save it and report on it.

    The default method combines several classifiers for the lowest error of the worst class. It estimates the errors
    for new rows by cross-validation. The paper's booster is --method ours, or ours-trees for tables, with --theta.

    Exit code 0: done, and floors are met (held-out rows; ours: training rows). 1: a floor is missed, or interrupted,
    with the model saved. 2: bad input. 130: interrupted.

    Example: worstclass fit train.csv --target diagnosis --out model
    """
    from worstclass.cli.data import Data
    from worstclass.cli.model import build_estimator, default_method, made_by, newest_part, write_model, write_report
    from worstclass.cli.progress import busy
    from worstclass.experiments.run import RunResult
    from worstclass.methods import find_method, parse_options
    from worstclass.report.summary import text_report
    from worstclass.storage.folder import require_own

    opened = Data.open(data)
    splits = opened.splits(seed)
    name = method or default_method(booster)
    record = find_method(name)
    if theta and not record.takes_theta:
        raise OptionError(f"--theta cannot be used here: the method {name} has no accuracy floor.")
    floors = opened.floors(theta, splits.train.y) if theta or record.needs_theta else None
    limits = {"max_epochs": max_epochs, "max_seconds": max_seconds}
    texts = dict(text.partition("=")[::2] for text in set_ or [])
    with _errors_name_set(texts):
        own = parse_options(record, texts)
        more: dict[str, Any] = {"theta": floors, "select_on": select_on, "random_state": seed}
        model = build_estimator(name, opened, splits.train.X, booster, **limits, **more, **own)
        _refuse_limits(limits, record, model, images=getattr(splits.train.X, "ndim", 2) > 2)
        require_own(out, "--out", "the command")  # before hours of training, not after
        with _folder(out):
            seconds, interrupted = _train(model, splits, quiet, remember(out), out)
    settings: dict[str, Any] = {"method": name, **given(booster), **limits, **own}
    settings["theta"] = theta or (None if floors is None else [str(floors)])
    made = made_by(data, seed, **{key: value for key, value in settings.items() if value is not None})
    made["data"] |= {} if opened.is_named else {"val_share": data.val_share, "test_share": data.test_share}
    with interrupts_noted() as noted:
        with busy("counting errors"):
            result = RunResult.describe(model, splits, method=name, seconds=seconds, **made)
        write_model(model, out, {"run.json": result.model_dump()})
        page = write_report(model, out, *newest_part(splits))
    if interrupted:
        members = getattr(model, "portfolio_", None)
        kept = f"{len(model.estimators_)} finished rounds" if members is None else f"{len(members)} finished members"
        warn(f"interrupted: the model has the {kept}. To go on: worstclass resume {out}")
    else:
        forget(out)
    ended = {"floors_met": result.floors_met, "interrupted": interrupted, "out": str(out)}
    tell({**result.model_dump(mode="json"), **ended})
    say(text_report(result))
    say(f"model:  {out}\nreport: {page}")
    return 130 if noted else 0 if result.floors_met is not False and not interrupted else 1


def _refuse_limits(limits: dict[str, Any], method: Method, model: Any, *, images: bool) -> None:
    """Refuse limits that the method would ignore."""
    if method.kind == "table":
        unknown = [name for name, limit in limits.items() if limit is not None and getattr(model, name, None) is None]
        refuse_given(unknown, f"{method.name} has no such limit.")
    elif method.kind == "any" and not images and limits["max_epochs"] is not None:
        refuse_given(["max_epochs"], f"{method.name} trains no network on tables.")


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """Make the folder; remove it again if what follows fails."""
    existed = out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        if not (out / CHECKPOINT).exists():
            (out / COMMAND).unlink(missing_ok=True)
        if not existed:
            with suppress(OSError):  # it is not empty
                out.rmdir()
        raise


@contextmanager
def _errors_name_set(names: Iterable[str]) -> Iterator[None]:
    """Let errors about options of the method name --set."""
    try:
        yield
    except ValueError as error:  # ours, or that of scikit-learn
        name = next((name for name in names if str(error).startswith(f"The {name!r} parameter")), None)
        if name is None:
            raise
        raise OptionError(str(error).replace(name, f"set {name}", 1)) from None


def _train(model: Any, splits: Splits, quiet: bool, checkpoint: FolderCheckpoint, out: Path) -> tuple[float, bool]:
    """Fit; return the seconds, and whether the user interrupted it and finished rounds were kept."""
    from worstclass.data.seen_rows import SeenRows
    from worstclass.experiments.run import fit_on_splits
    from worstclass.progress import ProgressCallback

    progress, interrupted, started = ProgressCallback(console(stderr=True, quiet=quiet)), False, time.perf_counter()
    progress.bar.show(0, None, "training")
    if hasattr(model, "callbacks"):
        model.callbacks = [progress]
    takes_checkpoint = "checkpoint" in inspect.signature(model.fit).parameters
    with progress.bar, stopped_gently(checkpoint.clock) if takes_checkpoint else nullcontext():
        try:
            fit_on_splits(model, splits, checkpoint)
        except KeyboardInterrupt:
            if not hasattr(model, "estimators_"):
                tell_how_to_go_on(out)
                raise
            interrupted = True
        except Exception:
            tell_how_to_go_on(out)
            raise
    if hasattr(model, "callbacks"):
        model.callbacks = None
    if not hasattr(model, "seen_rows_"):  # classifiers of scikit-learn keep no record of their rows
        model.seen_rows_ = SeenRows.of(splits.train.X)
    return time.perf_counter() - started, interrupted
