"""``worstclass offsets``: decision offsets for a model, on held-out rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worstclass.cli.console import say, warn
from worstclass.cli.options import AllowEqualRows, ModelFolder, OwnNetwork, Seed, SplitOptions, Theta

if TYPE_CHECKING:
    from worstclass.cli.data import Rows


#: scores, as the library calls them
SCORES = {"auto": "auto", "mean": "mean-proba", "vote": "proba"}

Out = Annotated[Path, typer.Option(help="Folder for the model with offsets; may be MODEL itself.", show_default=False)]
Scores = Annotated[
    Literal["auto", "mean", "vote"],
    typer.Option(help="Add offsets to the members' mean probabilities, or to the shares of their votes."),
]
Slack = Annotated[
    float | None, typer.Option(help="Standard errors above the least worst-class error (default: 1; 2 classes: 0).")
]


def offsets(
    model: ModelFolder,
    data: SplitOptions,
    out: Out,
    scores: Scores = "auto",
    theta: Theta = None,
    slack: Slack = None,
    network: OwnNetwork = None,
    seed: Seed = 0,
    allow_equal_rows: AllowEqualRows = False,
) -> int:
    """Tune decision offsets on held-out rows.

    Rows are DATA's validation part, or all rows of a file. Without --theta the offsets serve the worst class; with
    --theta every class is to meet its floor. To use the validation part that fit cut from a file, give --val-share,
    --test-share and --seed as they were given to fit.

    Exit code 0: done, and floors are met. 1: done, but a floor is missed. 2: bad input.

    Example: worstclass offsets model validation.csv --target diagnosis --out model
    """
    from worstclass.cli.by_class import floors_by_class
    from worstclass.cli.errors import ConflictingOptions
    from worstclass.cli.library import fit_offsets
    from worstclass.cli.model import described, open_model, require_folder, with_rows, write_model
    from worstclass.experiments.run import Provenance

    require_folder(out)
    if theta and slack is not None:
        raise ConflictingOptions("--slack", "it has no effect on offsets for the floors of --theta.")
    asked = open_model(model, network)
    abstained = hasattr(asked, "abstain_label_")
    while hasattr(asked, "abstain_label_") or hasattr(asked, "offsets_"):  # what is around the classifier is replaced
        asked = asked.estimator_
    opened = with_rows(asked, _rows(data, asked, seed))
    floors = floors_by_class(theta, asked.classes_.tolist()) if theta else None
    tuned = fit_offsets(
        asked,
        floors,
        opened.X,
        opened.y,
        allow_equal_rows=allow_equal_rows,
        scores=SCORES[scores],
        slack="auto" if slack is None else slack,
    )
    settings = {
        "scores": scores,
        "theta": theta or None,
        "slack": slack,
        "val_share": data.val_share,
        "test_share": data.test_share,
        "allow_equal_rows": allow_equal_rows,
    }
    record = {
        "model": model.name,
        "data": described(data, opened.rows),
        "settings": settings,
        "seed": seed,
        **_record(tuned),
        "provenance": Provenance.collect().model_dump(),
    }
    place = write_model(tuned, out, {"tuning.json": record})
    if abstained:
        warn("the model abstained. Its certificate does not hold for the new answers; run worstclass abstain again")
    say(f"{opened.rows.count} rows, without offsets (by {tuned.scores_})\n{tuned.validation_report_before_}\n")
    say(f"with offsets\n{tuned.validation_report_}\n\n{_summary(tuned)}")
    say(f"model:  {out}\nrecord: {place / 'tuning.json'}")
    return 1 if tuned.floors_met_ is False else 0


def _rows(data: SplitOptions, model: Any, seed: int) -> Rows:
    """Return the validation part of data that has or is given one, else all rows of a file."""
    from worstclass.cli.data import Rows, draw_rows, load_parts, load_splits
    from worstclass.exceptions import ParameterError

    if data.val_share is None:
        return draw_rows(load_parts(data, model.classes_, seed), ("val", "all"), data.data, None, seed)
    splits = load_splits(data, seed)
    if splits.val is None:
        raise ParameterError("--val-share", "offsets", allowed="above 0, or left out", got=data.val_share)
    return Rows("val", splits.val, len(splits.val))


def _summary(model: Any) -> str:
    """Say what the offsets are and what they change on the rows that chose them."""
    pairs = zip(model.classes_.tolist(), model.offsets_.tolist(), strict=True)
    values = ", ".join(f"{label} {offset:+.3f}" for label, offset in pairs)
    before, after = model.validation_report_before_, model.validation_report_
    least = getattr(model, "least_worst_error_", None)
    could = "" if least is None or least >= after.worst_error else f" (the least possible is {least:.1%})"
    return (
        f"offsets on {model.scores_}: {values}\n"
        f"worst class {before.worst_error:.1%} -> {after.worst_error:.1%}{could}, all rows {before.plain_error:.1%} -> "
        f"{after.plain_error:.1%}, on the rows that chose the offsets"
    )


def _record(model: Any) -> dict[str, Any]:
    """Return the offsets and what they change on the rows that chose them, ready for JSON."""
    labels = [str(label) for label in model.classes_.tolist()]
    return {
        "scores": model.scores_,
        "offsets": dict(zip(labels, model.offsets_.tolist(), strict=True)),
        "least_worst_error": getattr(model, "least_worst_error_", None),
        "floors_met": model.floors_met_,
        "before": model.validation_report_before_.to_dict(),
        "after": model.validation_report_.to_dict(),
    }
