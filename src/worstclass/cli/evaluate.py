"""``worstclass evaluate``: the error of every class."""

from __future__ import annotations

from worstclass.cli.console import say, say_json
from worstclass.cli.options import HeldOutOptions, ModelFolder


def evaluate(model: ModelFolder, data: HeldOutOptions) -> None:
    """Report the error of every class.

    Rows are the test part of a data set, or all rows of a file. A model that abstains: risk and coverage.

    Example: worstclass evaluate model fresh.csv --target diagnosis
    """
    from worstclass.cli.model import floors_of, open_with_rows
    from worstclass.metrics import class_report

    opened = open_with_rows(model, data, ("test", "all"))
    asked, X, y = opened.model, opened.X, opened.y
    if hasattr(asked, "risk_report"):
        report = asked.risk_report(X, y)
    else:
        report = class_report(y, asked.predict(X), asked.classes_, theta=floors_of(asked))
    if data.json:
        say_json({**report.to_dict(), "rows": len(y), "available": opened.rows.available})
    else:
        say(f"{opened.rows}\n{report}")
