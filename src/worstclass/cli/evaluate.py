"""``worstclass evaluate``: the error of every class."""

from __future__ import annotations

from worstclass.cli.console import say, tell
from worstclass.cli.options import HeldOutOptions, ModelFolder


def evaluate(model: ModelFolder, data: HeldOutOptions) -> None:
    """Report the error of every class.

    Rows are the test part of a data set, or all rows of a file. A model that abstains: risk and coverage.

    Example: worstclass evaluate model fresh.csv --target diagnosis
    """
    from worstclass.cli.model import open_with_rows
    from worstclass.cli.progress import busy
    from worstclass.data.seen_rows import row_overlap
    from worstclass.metrics import class_report
    from worstclass.wrappers.base import floors_of

    asked, rows = open_with_rows(model, data, ("test", "all"))
    with busy(f"asking about {rows}"):
        if hasattr(asked, "risk_report"):
            report = asked.risk_report(rows.X, rows.y)
        else:
            report = class_report(rows.y, asked.predict(rows.X), asked.classes_, theta=floors_of(asked))
        seen = row_overlap(rows.X, getattr(asked, "seen_rows_", None)).n_reused
    tell({**report.to_dict(), "rows": len(rows), "available": rows.available, "seen_rows": seen})
    say(f"{rows}\n{report}")
    if seen:
        used = "trained the model or chose something for it. Their errors say little about new rows."
        say(f"{seen:,} of these rows {used}")
