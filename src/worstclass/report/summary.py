"""One run as text: the verdict and the class tables, made from ``run.json`` alone; and tables in Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from worstclass._text import n_of, text_table
from worstclass.experiments.run import BoostingResult, PortfolioResult, RunResult
from worstclass.metrics import ClassReport

MAX_NAMED = 10

#: parts of the data in the order of their report, and their titles
PARTS = {"test": "test rows", "validation": "validation rows", "training": "training rows"}


def verdict(result: RunResult) -> str:
    """Say in a sentence whether every class meets its floor; without floors, how the worst fares.

    Floors are judged on the training rows, and for a portfolio on the held-out rows. The worst class is that of the
    test rows, or of the validation or training rows if there are no test rows.
    """
    if result.portfolio is not None and result.portfolio.floors_met is not None:
        return _held_out_verdict(result.portfolio)
    boosting = result.boosting
    if boosting is None or result.bound_met is None or result.training is None:
        for part, title in PARTS.items():
            if getattr(result, part) is not None:
                report = ClassReport.from_dict(getattr(result, part))
                return f"Error of the worst class on the {title}: {report.worst_text}."
        return "No rows were counted."
    if result.bound_met:
        return (
            f"Bound met: {_answers(result, boosting)} errs on less than 1 - theta of every class of the training rows."
        )
    missed = ClassReport.from_dict(result.training).missed
    short = boosting.shortfall if result.offsets is None else {}
    return f"Bound NOT met: {_answers(result, boosting)} misses it for {_named(missed, short)}."


def _held_out_verdict(portfolio: PortfolioResult) -> str:
    report = ClassReport.from_dict(portfolio.held_out)
    if portfolio.floors_met:
        return "Floors met: on held-out rows every class errs on less than 1 - theta of its rows."
    parts = []
    if portfolio.shortfall:
        parts.append(f"missed on held-out rows by {_named(list(portfolio.shortfall), portfolio.shortfall)}")
    if report.absent:
        parts.append(f"not known for {_named(report.absent, {})}, of which no row could be held out")
    return f"Floors NOT met: {'; '.join(parts)}."


def _named(names: Sequence[str], short: Mapping[str, int]) -> str:
    """List classes, with the rows that they are short of where that is known."""
    listed = [f"{name} ({n_of(short[name], 'row')} short)" if name in short else name for name in names]
    more = f" and {len(listed) - MAX_NAMED} more" if len(listed) > MAX_NAMED else ""
    return f"{', '.join(listed[:MAX_NAMED])}{more}"


def _answers(result: RunResult, boosting: BoostingResult) -> str:
    """Describe what answers: the vote or the mean of how many members, and what is around it."""
    mean = result.offsets is not None and result.offsets["scores"] == "mean-proba"
    text = f"the {'mean probability' if mean else 'vote'} of "
    if boosting.n_members_used < boosting.n_members:
        text += f"the first {boosting.n_members_used} of {boosting.n_members} members, chosen on validation rows,"
    else:
        text += n_of(boosting.n_members_used, "member")
    if result.offsets is not None:
        text = f"{text.rstrip(',')}, with decision offsets,"
    if boosting.compacted_from is not None:
        return f"{text} (kept of {boosting.compacted_from})"
    if boosting.n_members < boosting.n_rounds:
        return f"{text} (boosting ended early, {boosting.n_rounds} rounds were planned)"
    return f"{text} (of which {boosting.n_extra_rounds} were added after T)" if boosting.n_extra_rounds else text


def text_report(result: RunResult) -> str:
    """Write the class tables and the verdict on the floors, for a terminal."""
    lines = [f"\n{title}\n{text}" for title, text in _sections(result).items()]
    return "\n".join(lines if result.floors_met is None else [*lines, "", verdict(result)])


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table of cells that are escaped already."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def inline(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\|*_`<\[])", r"\\\1", " ".join(text.split()))


def _sections(result: RunResult) -> dict[str, str]:
    """Return the tables of a report, by title: the class reports, and what a portfolio found out."""
    reports = {PARTS[part]: getattr(result, part) for part in reversed(PARTS)}
    texts = {title: str(ClassReport.from_dict(values)) for title, values in reports.items() if values is not None}
    if (found := result.portfolio) is None:
        return texts
    one = "one held-out part" if found.n_folds == 1 else ""
    texts[f"held-out estimate ({one or 'cross-validation'})"] = str(ClassReport.from_dict(found.held_out))
    rows = [
        (m.name, f"{m.weight:.2f}", f"{m.worst_error:.1%}", f"{m.plain_error:.1%}", f"{m.seconds:.1f}")
        for m in found.members
    ]
    title = "portfolio, held-out errors of each member alone, with its best offsets"
    table = text_table(("member", "weight", "worst class", "all rows", "seconds"), rows)
    texts[f"{title} ({one or f'{found.n_folds} folds'})"] = "\n".join(table)
    return {**texts, "notes": "\n".join(found.notes)} if found.notes else texts
