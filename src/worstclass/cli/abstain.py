"""``worstclass abstain``: a model that answers only where a risk limit is proven for every class."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from worstclass.cli.console import say, say_json
from worstclass.cli.options import AllowEqualRows, DataOptions, Delta, Json, MaxRows, ModelFolder, OwnNetwork, Seed

#: margins, as the library calls them
MARGINS = {"auto": "auto", "mean": "mean-proba", "own": "own"}

Out = Annotated[Path, typer.Option(help="Folder for the model that abstains; may be MODEL itself.", show_default=False)]
Risk = Annotated[
    list[str] | None,
    typer.Option(help="Risk limit of the answered rows: 0.1, or class=0.02 (repeatable; 1 for no limit)."),
]
Margin = Annotated[
    Literal["auto", "mean", "own"],
    typer.Option(help="Margin by the members' mean probabilities, or the model's own (votes, offsets)."),
]
Proving = Annotated[float, typer.Option(help="Share of the rows that prove the rule; the others choose it.")]


def abstain(
    model: ModelFolder,
    data: DataOptions,
    out: Out,
    risk: Risk = None,
    delta: Delta = 0.05,
    margin: Margin = "auto",
    proving: Proving = 0.8,
    network: OwnNetwork = None,
    max_rows: MaxRows = 10_000,
    seed: Seed = 0,
    allow_equal_rows: AllowEqualRows = False,
    json: Json = False,
) -> int:
    """Make a model abstain when it is not sure.

    The risk of every class is proven to be below its limit. Held-out rows choose and prove the rule: DATA's calibration
    part, else its test part, else all rows.

    Exit code 0: proven. 1: not proven, and the model answers nothing. 2: the same for lack of rows, or bad input.

    Example: worstclass abstain model held_out.csv --target diagnosis --risk 0.1 --out careful
    """
    import warnings

    import numpy as np

    from worstclass.cli.by_class import RISK, numbers_by_class
    from worstclass.cli.data import class_names
    from worstclass.cli.errors import MissingOption
    from worstclass.cli.library import carry_seen_rows, renamed
    from worstclass.cli.model import (
        CANNOT_BE_JUDGED,
        EXIT_CODES,
        HELD_OUT,
        described,
        open_with_rows,
        require_folder,
        write_model,
    )
    from worstclass.exceptions import UnmetBoundWarning
    from worstclass.experiments.run import Provenance
    from worstclass.wrappers.abstention import AbstainingClassifier

    require_folder(out)
    if not risk:
        raise MissingOption("--risk", "Give the risk limit, for example --risk 0.1.")
    opened = open_with_rows(model, network, data, HELD_OUT, seed=seed, max_rows=max_rows)
    inside = opened.model
    if hasattr(inside, "abstain_label_"):  # its rule is replaced, on rows that neither chose nor proved it
        inside = carry_seen_rows(inside)
    limits = numbers_by_class(risk, inside.classes_.tolist(), "--risk", RISK, class_names(data.data))
    careful = AbstainingClassifier(
        inside,
        limits,
        delta=delta,
        margin=MARGINS[margin],
        cv="prefit",
        proving=proving,
        random_state=seed,
        **renamed(AbstainingClassifier, allow_equal_rows=allow_equal_rows),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetBoundWarning)  # the certificate says it
        careful.fit(opened.X, opened.y)
    certificate, rows = careful.certificate_, opened.rows
    settings = {
        "risk": risk,
        "delta": delta,
        "margin": careful.margin_,
        "proving": proving,
        "allow_equal_rows": allow_equal_rows,
    }
    record = {
        **certificate.to_dict(),
        "model": model.name,
        "data": described(data, rows),
        "settings": settings,
        "seed": seed,
        "provenance": Provenance.collect().model_dump(),
    }
    place = write_model(careful, out, {"certificate.json": record})
    if json:
        say_json(record)
    else:
        say(
            f"{rows.count} rows of {Path(data.data).name}, part: {rows.name}; {certificate.n_choosing:,} choose the "
            f"rule, {certificate.n_rows:,} prove it\n{certificate}"
        )
        if np.isposinf(careful.thresholds_).all():
            say("The model answers nothing. The counts are those of the first rule tested.")
        say(f"model:       {out}\ncertificate: {place / 'certificate.json'}")
    return EXIT_CODES.get(certificate.verdict or "", CANNOT_BE_JUDGED)
