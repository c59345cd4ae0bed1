"""``worstclass offsets``, and the offsets of ``worstclass fit``."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from worstclass.boosting.booster import WorstClassBooster
from worstclass.cli.models import read_model, require_folder, write_model
from worstclass.cli.sources import first_part, load_parts, load_splits
from worstclass.cli.thetas import parse_floors
from worstclass.data.labels import known_labels
from worstclass.data.splits import ALL, Part, columns_in_order
from worstclass.exceptions import DataError, ParameterError, WorstClassWarning
from worstclass.experiments.run import OffsetsResult, Provenance, RunResult
from worstclass.metrics import ClassReport, class_report
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.cross_validation import count_trained_on
from worstclass.wrappers.offsets import WorstClassOffsets

OWNER = "offsets"
#: what offsets are added to, as the command line calls it
SCORES = {"auto": "auto", "mean": "mean-proba", "vote": "proba"}


@dataclass(frozen=True)
class OffsetsRequest:
    """What was asked for."""

    model: Path
    data: str
    out: Path
    scores: str
    theta: list[str]
    slack: float | None
    target: str | None
    network: str | None
    val_share: float | None
    test_share: float
    reading: dict[str, Any]
    seed: int
    force: bool


def offsets_command(request: OffsetsRequest) -> bool:
    """Tune offsets on rows that the model was not trained on, and write both; return whether floors asked for are met.

    Offsets that the model may have are replaced; where it abstains, that is left out, since it was proven for its
    answers without these offsets.
    """
    console = Console()
    require_folder(request.out)
    loaded: Any = read_model(request.model, request.network)
    abstained = isinstance(loaded, AbstainingClassifier)
    if abstained:
        loaded = loaded.estimator_
    booster = loaded.estimator_ if isinstance(loaded, WorstClassOffsets) else loaded
    rows = _rows(request, booster)
    labels = known_labels(rows.X, rows.y, booster.classes_, "the target column")
    part = Part(columns_in_order(rows.X, getattr(booster, "feature_names_in_", None)), booster.classes_[labels.index])
    n_seen = _require_held_out(booster, part, force=request.force)
    if request.theta and request.slack is not None:
        allowed = "left out where there are floors (--theta), which it has no bearing on"
        raise ParameterError("--slack", OWNER, allowed=allowed, got=request.slack)
    theta = parse_floors(request.theta, booster.classes_, owner=OWNER) if request.theta else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", WorstClassWarning)
        model = tuned(booster, part, request.scores, theta, "auto" if request.slack is None else request.slack)
    write_model(model, request.out)
    record = _write(request, model, len(part), n_seen)
    for warning in caught:
        _say(console, f"warning: {warning.message}", "yellow")
    if abstained:
        _say(
            console,
            "The model abstained. Offsets change its answers, so what was proven of them is gone, and it answers",
        )
        _say(console, "every row now; worstclass abstain finds a rule anew.\n")
    _say(console, f"{len(part):,} rows, without offsets (by {model.scores_})\n{model.validation_report_before_}\n")
    _say(console, f"with offsets\n{model.validation_report_}\n")
    _say(console, offsets_line(model))
    _say(console, f"model:  {request.out}\nrecord: {record}")
    return model.floors_met_ is not False


def tuned(
    booster: WorstClassBooster, part: Part, scores: str, theta: Any, slack: float | str = "auto"
) -> WorstClassOffsets:
    """Find offsets for a fitted booster on held-out rows."""
    return WorstClassOffsets(booster, theta, cv="prefit", scores=SCORES[scores], slack=slack).fit(part.X, part.y)


def offsets_line(model: WorstClassOffsets) -> str:
    """Say in a line what the offsets are and what they did on the rows that chose them."""
    pairs = zip(model.classes_.tolist(), model.offsets_.tolist(), strict=True)
    values = ", ".join(f"{label} {offset:+.3f}" for label, offset in pairs)
    before, after = model.validation_report_before_, model.validation_report_
    least = model.least_worst_error_
    could = "" if least is None or least >= after.worst_error else f" (the least there is {least:.1%})"
    return (
        f"offsets on {model.scores_}: {values}\n"
        f"worst class {before.worst_error:.1%} -> {after.worst_error:.1%}{could}, all rows {before.plain_error:.1%} -> "
        f"{after.plain_error:.1%}, on the rows that chose them"
    )


def _rows(request: OffsetsRequest, booster: WorstClassBooster) -> Part:
    """Return the validation part of data that has or is given one, else all rows of a file."""
    if request.val_share is None:
        parts = load_parts(
            request.data,
            request.target,
            booster.classes_,
            seed=request.seed,
            owner=OWNER,
            **request.reading,
        )
        return first_part(parts, ("val", ALL), request.data)[1]
    splits = load_splits(
        request.data,
        request.target,
        val=request.val_share,
        test=request.test_share,
        seed=request.seed,
        owner=OWNER,
        **request.reading,
    )
    if splits.val is None:
        raise ParameterError("--val-share", OWNER, allowed="above 0, or left out", got=request.val_share)
    return splits.val


def _require_held_out(booster: WorstClassBooster, part: Part, *, force: bool) -> int | None:
    """Refuse rows that the model was trained on; return how many, None where that is not known.

    What it trained on says little of its errors, so offsets tuned there would be for nothing.
    """
    n_seen = count_trained_on(booster, part.X, part.y)
    if n_seen and not force:
        raise DataError(
            f"The model was trained on some of these rows, or chosen by them: it knows {n_seen} of {len(part)}. Pass "
            "rows that it has not seen, or its validation part: give --val-share, --test-share and --seed as they were "
            "given to fit. --force goes on all the same."
        )
    return n_seen


def _write(request: OffsetsRequest, model: WorstClassOffsets, n_rows: int, n_seen: int | None) -> Path:
    """Write tuning.json: what the offsets did, and what made them."""
    values = {
        "model": request.model.name,
        "data": {"name": Path(request.data).name, "target": request.target, "rows": n_rows, "rows_seen": n_seen},
        "settings": {
            "scores": request.scores,
            "theta": request.theta or None,
            "slack": request.slack,
            "val_share": request.val_share,
            "test_share": request.test_share,
            "force": request.force,
        },
        "seed": request.seed,
        **offsets_record(model),
        "provenance": Provenance.collect().model_dump(),
    }
    file = request.out / "tuning.json"
    file.write_text(json.dumps(values, indent=1) + "\n", encoding="utf-8")
    return file


def counted_anew(
    result: RunResult, model: WorstClassOffsets, train: Part, val: Part | None, test: Part | None, goal: str
) -> RunResult:
    """Return the result of a fit with everything counted with the offsets, the bound too; the vote's is kept beside."""
    booster = model.estimator_

    def report(part: Part | None) -> ClassReport | None:
        if part is None:
            return None
        return class_report(part.y, model.predict(part.X), labels=booster.classes_, theta=booster.theta)

    reports = {"training": report(train), "validation": report(val), "test": report(test)}
    return result.model_copy(
        update={
            **{name: None if found is None else found.to_dict() for name, found in reports.items()},
            "offsets": OffsetsResult.of(model),
        }
    )


def offsets_record(model: WorstClassOffsets) -> dict[str, Any]:
    """Return offsets and what they did on the rows that chose them, ready for JSON."""
    labels = [str(label) for label in model.classes_.tolist()]
    return {
        "scores": model.scores_,
        "offsets": dict(zip(labels, model.offsets_.tolist(), strict=True)),
        "least_worst_error": model.least_worst_error_,
        "optimal": model.optimal_,
        "floors_met": model.floors_met_,
        "before": model.validation_report_before_.to_dict(),
        "after": model.validation_report_.to_dict(),
    }


def _say(console: Console, text: str, style: str | None = None) -> None:
    """Print text as it is: class names may look like markup."""
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)
