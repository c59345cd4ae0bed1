"""A short report of one run, in Markdown, made from ``run.json`` alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from worstclass.boosting.booster import NEAREST
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport

#: classes that a sentence names one by one
MOST_NAMED = 10


def verdict(result: RunResult) -> str:
    """Say in a sentence whether every class meets its floor on the training rows."""
    if result.bound_met:
        return f"Bound met: {_vote(result)} errs on less than 1 - theta of every class of the training rows."
    parts = [f"{label} ({short} rows short)" for label, short in list(result.shortfall.items())[:MOST_NAMED]]
    more = f" and {len(result.shortfall) - MOST_NAMED} more" if len(result.shortfall) > MOST_NAMED else ""
    return f"Bound NOT met: {_vote(result)} misses it for {', '.join(parts)}{more}."


def _vote(result: RunResult) -> str:
    mean = result.offsets is not None and result.offsets.get("scores") == "mean-proba"
    what = "the mean probability" if mean else "the vote"
    used = f"{what} of {result.n_members_used} members"
    if result.n_members_used < result.n_members:
        used = f"{what} of the first {result.n_members_used} of {result.n_members} members, chosen on validation rows,"
    if result.offsets is not None:
        used = f"{used.rstrip(',')}, with decision offsets,"
    if result.n_members < result.n_rounds:
        return f"{used} (boosting ended early, {result.n_rounds} rounds were planned)"
    return f"{used} (of which {result.n_extra_rounds} were added after T)" if result.n_extra_rounds else used


def markdown_report(result: RunResult, figures: Sequence[Path] = ()) -> str:
    """Write the report: verdict, class tables, settings, and where it comes from."""
    lines = [f"# {result.data.get('name', 'run')}", "", verdict(result), ""]
    lines += [] if result.bound_met else [NEAREST, ""]
    for title, values in (("Training rows", result.training), ("Validation rows", result.validation)):
        if values is not None:
            lines += [f"## {title}", "", *_table(ClassReport.from_dict(values)), ""]
    if result.test is not None:
        lines += ["## Test rows", "", _test_note(result), "", *_table(ClassReport.from_dict(result.test)), ""]
    if result.offsets is not None:
        lines += ["## Decision offsets", "", *_offsets(result.offsets), ""]
    lines += [f"![{figure.stem.replace('-', ' ')}]({figure.name})\n" for figure in figures]
    lines += ["## How it was made", "", *_facts(result)]
    return "\n".join(lines) + "\n"


def _table(report: ClassReport) -> list[str]:
    with_floor = any(row.floor is not None for row in report.rows)
    head = "| class | error | wrong | rows |" + (" floor | met |" if with_floor else "")
    lines = [head, "|---" * (6 if with_floor else 4) + "|"]
    for row in report.rows:
        name = _escaped(row.name)
        error = "absent" if row.error is None else f"{row.error:.1%}"
        line = f"| {name} | {error} | {row.total - row.correct} | {row.total} |"
        if with_floor:
            met = {True: "yes", False: "**no**", None: "-"}[row.meets_floor]
            line += f" {row.floor:.1%} | {met} |"
        lines.append(line)
    summary = (
        f"Worst class {report.worst_error:.1%} ({report.worst_class}), class mean {report.class_mean_error:.1%}, "
        f"all rows {report.plain_error:.1%}."
    )
    return [*lines, "", summary]


def _offsets(values: dict[str, Any]) -> list[str]:
    before, after = (ClassReport.from_dict(values[name]) for name in ("before", "after"))
    lines = ["| class | offset |", "|---|---|"]
    lines += [f"| {_escaped(name)} | {offset:+.4f} |" for name, offset in values["offsets"].items()]
    return [
        f"Added to {values['scores']}, tuned on the validation rows: worst class {before.worst_error:.1%} without, "
        f"{after.worst_error:.1%} with them; all rows {before.plain_error:.1%} and {after.plain_error:.1%}.",
        "",
        *lines,
    ]


def _escaped(name: str) -> str:
    return name.replace("|", r"\|")


def _test_note(result: RunResult) -> str:
    rows = result.test_rows or {}
    used, there = rows.get("used", 0), rows.get("available", 0)
    return f"{used:,} rows that training never saw" + (f", of {there:,}." if there > used else ".")


def _facts(result: RunResult) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in result.provenance.versions.items())
    return [
        f"- data: {result.data}",
        f"- settings: {result.settings}",
        f"- seed {result.seed}, gamma {result.gamma:.4f}, {result.epochs} epochs, {result.seconds:.0f} seconds",
        f"- Python {result.provenance.python}, {versions}",
        f"- commit: {result.provenance.commit or 'unknown'}",
    ]
