"""``worstclass compact``: a vote of fewer members that says the same."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from worstclass.cli.console import OptionError, say, say_table, tell
from worstclass.cli.options import ModelFolder, OutFolder, SameSplitOptions

#: how rows are divided where neither the user nor a record of the fit says it
SPLIT: dict[str, Any] = {"val_share": None, "test_share": 0.2, "seed": 0}
#: results that record a fit
RECORDS = ("run.json", "theta.json")
#: parts with a class report
PARTS = ("training", "validation", "test")
#: training rows on which the time to predict is measured
TIMED_ROWS = 200

Tolerance = Annotated[float, typer.Option(help="Share of a class that may be wrong in addition.")]
Drift = Annotated[float | None, typer.Option(help="How far shares of the votes may move [0.022].")]


def compact(
    model: ModelFolder, data: SameSplitOptions, out: OutFolder, tolerance: Tolerance = 0.0, drift: Drift = None
) -> int:
    """Keep the fewest members of a booster whose vote has the same reports.

    No class gets more errors on the training and validation rows, and shares of the votes stay where they are, up to
    --drift. DATA is what the model was fitted on; it is divided as it was for fit. Offsets, abstaining and certificates
    come after it.

    Exit code 0: done, and floors are met. 1: done, but a floor is missed, as before. 2: bad input.

    Example: worstclass compact model train.csv --target diagnosis --out small
    """
    from worstclass.boosting.compaction import DRIFT
    from worstclass.boosting.compaction import compact as compact_vote
    from worstclass.cli.data import Data
    from worstclass.cli.model import made_by, newest_part, open_model, write_model, write_report
    from worstclass.cli.progress import busy
    from worstclass.experiments.run import RunResult
    from worstclass.report.summary import verdict
    from worstclass.storage.folder import require_own

    require_own(out, "--out", "the command")
    whole, fitted = open_model(model, data.network), _record_of_fit(model)
    _require_votes(whole, model)
    recorded = {name: fitted.get(name, default) for name, default in SPLIT.items() if getattr(data, name) is None}
    data = replace(data, **recorded)
    opened, seed, started = Data.open(data), int(data.seed or 0), time.perf_counter()
    splits = opened.splits(seed, whole)
    rows = [values for part in (splits.train, splits.val) if part is not None for values in (part.X, part.y)]
    limits = {"tolerance": tolerance, "drift": DRIFT if drift is None else drift}
    with busy("looking for a smaller vote"):
        smaller = compact_vote(whole, *rows, **limits)
    made = made_by(data, seed, **{**fitted.get("settings", {}), **limits})
    made["data"] |= {} if opened.is_named else {"val_share": data.val_share, "test_share": data.test_share}
    seconds = fitted.get("seconds", 0.0) + time.perf_counter() - started
    with busy("counting errors"):
        result = RunResult.describe(smaller, splits, method=fitted.get("method"), seconds=seconds, **made)
        before, after = (_described(voter, splits.train.X) for voter in (whole, smaller))
    before |= {"bytes": _size(model), "test": _comparable(fitted.get("test"), result.test)}
    place = write_model(smaller, out, {"run.json": result.model_dump()})
    after |= {"bytes": _size(out), "test": result.test}
    record = {"model": model.name, **made, **asdict(smaller.compaction_), "before": before, "after": after}
    (place / "compact.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    page = write_report(smaller, out, *newest_part(splits))
    tell({**record, "out": str(out), "floors_met": result.floors_met})
    _say_gains(before, after)
    say(f"\n{smaller.compaction_}")
    if result.floors_met is not None:
        say(verdict(result))
    say(f"model:  {out}\nreport: {page}")
    return 1 if result.floors_met is False else 0


def _record_of_fit(folder: Path) -> dict[str, Any]:
    """Return what a model folder says of how the model was fitted; empty for a model that was saved from Python."""
    from worstclass.storage.files import read_json
    from worstclass.storage.folder import results_folder

    for file in (results_folder(folder) / name for name in RECORDS):
        if file.is_file():
            record = read_json(file)
            return {**record, **record.get("settings", {}), **record.get("data", {})}
    return {}


def _require_votes(model: Any, folder: Path) -> None:
    """Refuse a model that is no vote, and a wrapper, which was made for the vote as it is."""
    from worstclass.boosting.voting import MajorityVote

    kind, inside, place = type(model).__name__, model, folder
    while not isinstance(inside, MajorityVote) and hasattr(inside, "estimator_"):
        inside, place = inside.estimator_, place / "inner"
    if not isinstance(inside, MajorityVote):
        raise OptionError(
            f"{folder} is a {kind}, whose members do not vote. Only boosters can be compacted: those of fit --method "
            "ours, ours-trees or boosting, and of theta."
        )
    if inside is not model:
        raise OptionError(
            f"{folder} is a {kind}, made for the answers of the booster inside it. Compact that one, worstclass "
            f"compact {place} ..., and run worstclass offsets or abstain again on the result."
        )


def _described(model: Any, X: Any) -> dict[str, Any]:
    """Return what can be gained or lost of a voting model, ready for JSON."""
    import numpy as np

    from worstclass.data.splits import count_rows, take_rows

    rows = take_rows(X, np.arange(min(TIMED_ROWS, count_rows(X))))
    started = time.perf_counter()
    model.predict(rows)
    seconds = time.perf_counter() - started
    reports = {name: getattr(model, f"{name}_report_") for name in PARTS[:2]}
    known = {name: None if report is None else report.to_dict() for name, report in reports.items()}
    return {"members": model.n_members_used_, "timed_rows": count_rows(rows), "predict_seconds": seconds, **known}


def _size(folder: Path) -> int:
    """Return the bytes of a model, without the results about it."""
    from worstclass.storage.folder import OWN, RESULTS

    own = [folder / name for name in OWN if name != RESULTS]
    files = [file for place in own for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()]
    return sum(file.stat().st_size for file in files)


def _comparable(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a report on test rows if it is on as many rows of every class as another."""
    if before is None or after is None:
        return None
    sizes = [{row["name"]: row["total"] for row in report["classes"]} for report in (before, after)]
    return before if sizes[0] == sizes[1] else None


def _say_gains(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    pairs = [
        ("members", *(f"{found['members']:,}" for found in (before, after))),
        ("megabytes", *(f"{found['bytes'] / 1e6:,.1f}" for found in (before, after))),
        (f"seconds for {after['timed_rows']} rows", *(f"{found['predict_seconds']:.3f}" for found in (before, after))),
    ]
    for name in PARTS:
        errors = ["-" if found[name] is None else f"{found[name]['worst_error']:.1%}" for found in (before, after)]
        pairs += [(f"worst class, {name} rows", *errors)] if after[name] is not None else []
    say_table(("", "before", "after"), pairs)
    changed = [cells for name in PARTS[:2] for cells in _changes(name, before[name], after[name])]
    if changed:
        say("\nClasses whose errors changed:")
        say_table(("class", "rows", "wrong before", "after"), changed)
    else:
        say("\nThe reports are the same for every class.")


def _changes(part: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> Iterator[tuple[str, ...]]:
    """Yield a line for each class whose right answers are others than before."""
    if before is None or after is None:
        return
    right = {row["name"]: row["correct"] for row in before["classes"]}
    for row in after["classes"]:
        if row["correct"] != right[row["name"]]:
            wrong = (row["total"] - correct for correct in (right[row["name"]], row["correct"]))
            yield f"{row['name']} ({part})", f"{row['total']:,}", *(f"{n:,}" for n in wrong)
