"""``worstclass abstain``: a model that answers only where a risk limit is proven for every class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from worstclass.cli.console import OptionError, say, tell
from worstclass.cli.options import AllowEqualRows, Delta, HeldOutOptions, ModelFolder, OutFolder, numbers_by_class

#: margins, as the library calls them
MARGINS = {"auto": "auto", "mean": "mean-proba", "own": "own"}

Risk = Annotated[
    list[str] | None,
    typer.Option(metavar="RISK", help="Risk limit: 0.1, or class=0.02 (repeatable).", show_default=False),
]
Margin = Annotated[
    Literal["auto", "mean", "own"],
    typer.Option(help="By mean probabilities, or the model's own."),
]
Proving = Annotated[float, typer.Option(help="Share of the rows that prove, not choose.")]


def abstain(
    model: ModelFolder,
    data: HeldOutOptions,
    out: OutFolder,
    risk: Risk = None,
    delta: Delta = 0.05,
    margin: Margin = "auto",
    proving: Proving = 0.8,
    allow_equal_rows: AllowEqualRows = False,
) -> int:
    """Make a model abstain when it is not sure.

    The risk of every class is proven to be below its limit. Held-out rows choose and prove the rule: DATA's calibration
    part, else its test part, else all rows.

    Exit code 0: proven. 1: not proven, and the model answers nothing. 2: the same for lack of rows, or bad input.

    Example: worstclass abstain model held_out.csv --target diagnosis --risk 0.1 --out careful
    """
    from worstclass.cli.model import (
        CERTIFICATE,
        exit_code,
        made_by,
        open_with_rows,
        rows_name,
        write_model,
        write_report,
    )
    from worstclass.cli.progress import busy
    from worstclass.wrappers.abstention import AbstainingClassifier

    if not risk:
        raise OptionError("Missing option --risk. Give the risk limit, for example --risk 0.1.")
    inside, rows = open_with_rows(model, data)
    if hasattr(inside, "abstain_label_"):  # its rule is replaced, on rows that neither chose nor proved it
        inside.estimator_.seen_rows_ = inside.seen_rows_
        inside = inside.estimator_
    limits = numbers_by_class(risk, inside.classes_.tolist(), "--risk", "a number in (0, 1]")
    careful = AbstainingClassifier(
        inside,
        limits,
        delta=delta,
        margin=MARGINS[margin],
        cv="prefit",
        proving=proving,
        random_state=data.seed,
        allow_equal_rows=allow_equal_rows,
    )
    with busy(f"choosing and proving a rule on {rows}"):
        certificate = careful.fit(rows.X, rows.y).certificate_
    settings = {"risk": risk, "delta": delta, "margin": careful.margin_, "proving": proving}
    made = made_by(data, data.seed, rows, **settings, allow_equal_rows=allow_equal_rows)
    record = {**certificate.to_dict(), "model": model.name, **made}
    place = write_model(careful, out, {CERTIFICATE: record})
    page = write_report(careful, out, rows, rows_name(rows, data))
    tell(record)
    choosing = f"{certificate.n_choosing:,} choose the rule, {certificate.n_rows:,} prove it"
    say(f"{rows} of {Path(data.data).name}, part: {rows.name}; {choosing}\n{certificate}")
    if not careful.proven_:
        say("The model answers nothing. The counts are those of the first rule tested.")
    say(f"model:       {out}\ncertificate: {place / CERTIFICATE}\nreport:      {page}")
    return exit_code(certificate.verdict)
