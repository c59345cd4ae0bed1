"""``worstclass offsets``: decision offsets for a model, on held-out rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from worstclass.cli.console import say, tell, warn
from worstclass.cli.options import AllowEqualRows, ModelFolder, OutFolder, Theta, TuningOptions, numbers_by_class

#: scores, as the library calls them
SCORES = {"auto": "auto", "mean": "mean-proba", "vote": "proba"}

Scores = Annotated[
    Literal["auto", "mean", "vote"],
    typer.Option(help="Of mean probabilities, or shares of the votes."),
]


def offsets(
    model: ModelFolder,
    data: TuningOptions,
    out: OutFolder,
    scores: Scores = "auto",
    theta: Theta = None,
    allow_equal_rows: AllowEqualRows = False,
) -> int:
    """Tune decision offsets on held-out rows.

    Rows are DATA's validation part, or all rows of a file. Without --theta the offsets serve the worst class; with
    --theta every class is to meet its floor. To use the validation part that fit cut from a file, give the same
    --val-share, --test-share and --seed as for fit.

    Exit code 0: done, and floors are met. 1: done, but a floor is missed. 2: bad input.

    Example: worstclass offsets model validation.csv --target diagnosis --out model
    """
    from worstclass.cli.model import made_by, open_with_rows, rows_name, write_model, write_report
    from worstclass.cli.progress import busy
    from worstclass.exceptions import ParameterError
    from worstclass.experiments.run import layers_of, offsets_record
    from worstclass.wrappers.offsets import WorstClassOffsets

    if data.val_share == 0:
        raise ParameterError("--val-share", "offsets", allowed="above 0, or left out", got=data.val_share)
    asked, rows = open_with_rows(model, data, ("val", "all"))
    floors = numbers_by_class(theta, asked.classes_.tolist(), "--theta") if theta else None
    abstained = hasattr(asked, "abstain_label_")
    while hasattr(asked, "abstain_label_") or len(layers_of(asked)) > 1:  # what is around the classifier is replaced
        asked = asked.estimator_
    options: dict[str, Any] = {"scores": SCORES[scores], "allow_equal_rows": allow_equal_rows}
    with busy(f"tuning offsets on {rows}"):
        tuned = WorstClassOffsets(asked, floors, cv="prefit", **options).fit(rows.X, rows.y)
    settings: dict[str, Any] = {"scores": scores, "theta": theta or None, "allow_equal_rows": allow_equal_rows}
    settings |= {"val_share": data.val_share, "test_share": data.test_share}
    record = {"model": model.name, **made_by(data, data.seed, rows, **settings), **offsets_record(tuned)}
    place = write_model(tuned, out, {"tuning.json": record})
    page = write_report(tuned, out, rows, rows_name(rows, data))
    if abstained:
        warn("the model abstained. Its certificate does not hold for the new answers; run worstclass abstain again")
    tell({**record, "out": str(out)})
    before, after = tuned.validation_report_before_, tuned.validation_report_
    pairs = zip(tuned.classes_.tolist(), tuned.offsets_.tolist(), strict=True)
    say(f"{rows}, without offsets (by {tuned.scores_})\n{before}\n\nwith offsets\n{after}\n")
    say(f"offsets on {tuned.scores_}: {', '.join(f'{label} {offset:+.3f}' for label, offset in pairs)}")
    say(
        f"worst class {before.worst_error:.1%} -> {after.worst_error:.1%}, all rows {before.plain_error:.1%} -> "
        f"{after.plain_error:.1%}, on the rows that chose the offsets"
    )
    say(f"model:  {out}\nrecord: {place / 'tuning.json'}\nreport: {page}")
    return 1 if tuned.floors_met_ is False else 0
