"""What a page shows of a fitted model besides its reports: what needs rows, and the rounds of training. Kept small."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pydantic

from worstclass._typing import FloatArray, IntArray
from worstclass.data.labels import known_labels
from worstclass.data.splits import Part, count_rows, take_rows
from worstclass.exceptions import DataError, ModelFormatError
from worstclass.experiments.run import Report
from worstclass.metrics import ClassCounts, ClassReport, class_report
from worstclass.wrappers.abstention_rules import JudgedAnswers, candidate_thresholds, count_along
from worstclass.wrappers.base import floors_of
from worstclass.wrappers.scores import answers_and_margins, class_scores, resolve_kind

#: the file among the results of a model
DETAILS = "details.json"
#: points per side of decision regions, and rows drawn on top
GRID, MOST_DOTS = 80, 400
#: confusions that have example images, images of each, and their longest side in pixels
MOST_CONFUSED, MOST_EXAMPLES, LONGEST_SIDE = 4, 4, 64
#: questions about columns, times that each column is shuffled, and columns at the most
MOST_ASKED, REPEATS, MOST_COLUMNS = 10_000, 5, 200
#: rounds or epochs, classes with weights, and points of a curve that are kept
MOST_ROUNDS, MOST_WEIGHTS, MOST_POINTS = 300, 12, 60


class Example(pydantic.BaseModel, frozen=True):
    """A wrong answer about an image, which is kept as PNG data in base 64."""

    true: str
    answer: str
    png: str


class Importance(pydantic.BaseModel, frozen=True):
    """What shuffling a column does to the error of the worst class; columns that matter most come first.

    Attributes
    ----------
    of_class : the class; ``error`` is that of the ``n_rows`` rows that were asked about.
    rises : column -> by how much the error rises, on average over the repeats.
    """

    of_class: str
    error: float
    n_rows: int
    rises: dict[str, float]


class AnswerRegions(pydantic.BaseModel, frozen=True):
    """Answers on a grid from bottom to top, as class indices, and some rows with labels."""

    answers: list[list[int]]
    extent: tuple[float, float, float, float]
    columns: tuple[str, str]
    dots: list[tuple[float, float, int]]


class Rounds(pydantic.BaseModel, frozen=True):
    """The course of training; of many rounds or epochs evenly spaced ones.

    Attributes
    ----------
    unit : ``"round"`` or ``"epoch"``; ``numbers`` are theirs.
    used : the round or epoch whose model answers.
    added_after : planned rounds, where others were added after them.
    classes, weights : the classes with the largest weights, and their weights; empty without class weights.
    edges, needed : the edge of each round, and the one that it had to reach.
    errors : ``"training"`` and ``"validation"`` -> error of the worst class and over all rows.
    """

    unit: str
    numbers: list[int]
    used: int
    added_after: int | None = None
    classes: list[str] = []
    weights: list[list[float]] = []
    edges: list[float] = []
    needed: float | None = None
    errors: dict[str, list[tuple[float, float]]]


class RiskCurve(pydantic.BaseModel, frozen=True):
    """Coverage and risk of the answered rows, from the strictest threshold to the freest.

    ``used`` is the place of the threshold in use; None for a model that always answers, or never.
    """

    coverage: list[float]
    worst: list[float]
    plain: list[float]
    used: int | None = None


class Change(pydantic.BaseModel, frozen=True):
    """What a step changed: errors of the worst class and over all rows, before and after it."""

    step: str
    rows: str
    worst: tuple[float, float]
    plain: tuple[float, float]
    coverage: float = 1.0


class Details(pydantic.BaseModel, frozen=True):
    """The contents of ``details.json``.

    Attributes
    ----------
    part, n_rows : which rows were asked about, such as "test rows", and how many.
    classes : the classes in order.
    confusion : true class, answer (the number of classes for no answer) and rows, where there are any.
    report : class report on these rows; None for a model that abstains.
    fresh : whether these are rows that the user passed for the page, none of them seen by the model.
    """

    part: str
    n_rows: int
    classes: list[str]
    confusion: list[tuple[int, int, int]]
    report: Report | None = None
    fresh: bool = False
    examples: list[Example] = []
    importance: Importance | None = None
    regions: AnswerRegions | None = None
    rounds: Rounds | None = None
    risk: RiskCurve | None = None
    changes: list[Change] = []

    @classmethod
    def of(cls, model: Any, part: Part, name: str) -> Details:
        """Ask a fitted model about rows with labels; ``name`` says which, such as "test rows"."""
        answers, abstains = model.predict(part.X), hasattr(model, "abstain_label_")
        counts = confusion_counts(part.y, answers, model.classes_)
        report = class_report(part.y, answers, model.classes_, theta=floors_of(model))
        shape = np.shape(part.X)
        is_table = len(shape) == 2 and not hasattr(part.X, "tocsr")
        inside = model.estimator_ if abstains else model  # what it would answer
        worst = _worst_class(confusion_counts(part.y, inside.predict(part.X), model.classes_) if abstains else counts)
        curve = risk_curve(model, part.X, part.y) if abstains else None
        return cls(
            part=name,
            n_rows=len(part),
            classes=[str(label) for label in model.classes_.tolist()],
            confusion=[(int(i), int(j), int(counts[i, j])) for i, j in np.argwhere(counts)],
            report=None if abstains else report.to_dict(),
            examples=_examples(part, answers, counts, model.classes_) if len(shape) == 4 else [],
            importance=_importance(inside, part, worst) if is_table and worst is not None else None,
            regions=_regions(model, part) if is_table and shape[1] == 2 else None,
            rounds=rounds_of(model),
            risk=curve,
            changes=_changes(model, part, name, curve),
        )

    @classmethod
    def read(cls, folder: Path) -> Details | None:
        """Read ``details.json`` from a folder; None if there is none."""
        file = folder / DETAILS
        try:
            return cls.model_validate_json(file.read_text(encoding="utf-8")) if file.is_file() else None
        except (OSError, ValueError) as error:
            raise ModelFormatError(f"{file} cannot be read: {error}") from None


def confusion_counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, classes: npt.NDArray[Any]) -> IntArray:
    """Count answers by true class, shape (K, K); if some are no class, (K, K + 1), with those in the last column.

    Examples
    --------
    >>> confusion_counts(["a", "a", "b"], ["a", "b", "?"], np.array(["a", "b"])).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    K = len(classes)
    index = {label: k for k, label in enumerate(classes.tolist())}
    true = np.array([index[label] for label in np.asarray(y_true).tolist()], dtype=np.int64)
    answer = np.array([index.get(label, K) for label in np.asarray(y_pred).tolist()], dtype=np.int64)
    counts = np.bincount(true * (K + 1) + answer, minlength=K * (K + 1)).reshape(K, K + 1)
    return counts if counts[:, K].any() else counts[:, :K]


def risk_curve(model: Any, X: Any, y: Any) -> RiskCurve:
    """Follow risk and coverage along the thresholds of a classifier's margin."""
    inside, used = model, None
    if hasattr(model, "abstain_label_"):
        inside, kind = model.estimator_, model.margin_
    else:
        kind = resolve_kind(model, "auto", "margin", owner="RiskCoverageDisplay")
    target, K = known_labels(X, y, inside.classes_).index, len(inside.classes_)
    rows = JudgedAnswers(target, *answers_and_margins(inside, X, kind))
    thresholds = candidate_thresholds(rows)
    own = getattr(model, "threshold_", None)
    if own is not None and own != np.inf:
        thresholds = np.unique(np.append(thresholds, own))[::-1]
        used = int(np.flatnonzero(thresholds == own)[0])
    counts = count_along(rows, thresholds, K)
    answered = counts.answered.sum(axis=1)
    kept = np.flatnonzero(answered)
    kept = kept[_evenly(len(kept), MOST_POINTS)]
    if used is not None:
        kept = np.union1d(kept, [used]) if answered[used] else kept
        used = int(np.flatnonzero(kept == used)[0]) if answered[used] else None
    wrong, total = counts.wrong[kept], counts.answered[kept]
    worst = (wrong / np.maximum(total, 1)).max(axis=1)
    plain = wrong.sum(axis=1) / total.sum(axis=1)
    return RiskCurve(
        coverage=(answered[kept] / len(target)).tolist(), worst=worst.tolist(), plain=plain.tolist(), used=used
    )


def answer_grid(model: Any, X: Any, grid: int = GRID) -> tuple[IntArray, tuple[float, float, float, float]]:
    """Ask a classifier about a grid around rows of two numbers; no answer is -1.

    Returns class indices from bottom to top, shape (grid, grid), and left, right, bottom and top.
    """
    values = np.asarray(X)
    if values.ndim != 2 or values.shape[1] != 2 or values.dtype.kind not in "biuf":
        raise DataError(f"Decision regions need rows of two numbers. Got rows of shape {values.shape[1:]}.")
    low, high = values.min(axis=0), values.max(axis=0)
    room = 0.05 * np.where(high > low, high - low, 1)
    low, high = low - room, high + room
    across, up = np.meshgrid(*(np.linspace(low[j], high[j], grid) for j in range(2)))
    points: Any = np.stack([across.ravel(), up.ravel()], axis=1).astype(
        values.dtype if values.dtype.kind == "f" else float
    )
    if hasattr(X, "iloc"):
        import pandas as pd

        points = pd.DataFrame(points, columns=X.columns)
    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    answers = np.array([index.get(label, -1) for label in np.asarray(model.predict(points)).tolist()], dtype=np.int64)
    return answers.reshape(grid, grid), (float(low[0]), float(high[0]), float(low[1]), float(high[1]))


def rounds_of(model: Any) -> Rounds | None:
    """Return the course of training of a booster or of a single network, or of what a wrapper is around."""
    while hasattr(model, "estimator_"):
        model = model.estimator_
    history = list(getattr(model, "history_", ()))
    if len(history) < 2 or getattr(history[-1], "member", 1) > 1:
        return None
    boosted = hasattr(history[0], "class_weight")
    kept = _evenly(len(history), MOST_ROUNDS)
    shown = [history[i] for i in kept]
    errors = {"training": [_pair(record.training) for record in shown]}
    if shown[0].validation is not None:
        errors["validation"] = [_pair(record.validation) for record in shown]
    if not boosted:
        numbers = [record.epoch for record in shown]
        return Rounds(unit="epoch", numbers=numbers, used=getattr(model, "best_epoch_", numbers[-1]), errors=errors)
    weights = np.array([record.class_weight for record in history])
    heaviest = np.sort(np.argsort(-weights.max(axis=0), kind="stable")[:MOST_WEIGHTS])
    planned = sum(record.phase != "extend" for record in history)
    has_floors = getattr(model, "theta_", None) is not None
    return Rounds(
        unit="round",
        numbers=[record.round for record in shown],
        used=model.n_members_used_,
        added_after=planned if planned < len(history) else None,
        classes=[str(label) for label in model.classes_[heaviest].tolist()],
        weights=weights[np.ix_(kept, heaviest)].round(6).tolist(),
        edges=[record.edge for record in shown] if has_floors else [],
        needed=0.5 + model.gamma_ if has_floors else None,
        errors=errors,
    )


def _pair(counts: ClassCounts) -> tuple[float, float]:
    return counts.worst_error, counts.plain_error


def _evenly(n: int, most: int) -> IntArray:
    """Return numbers below n, all or evenly spaced ones, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _worst_class(counts: IntArray) -> int | None:
    """Return the class with the largest share of rows that are not right; None if none is wrong."""
    totals = counts.sum(axis=1)
    wrong = totals - np.diagonal(counts)
    return int(np.argmax(wrong / np.maximum(totals, 1))) if wrong.any() else None


def _examples(part: Part, answers: Any, counts: IntArray, classes: npt.NDArray[Any]) -> list[Example]:
    """Keep images of the most frequent confusions."""
    K = len(classes)
    wrong = counts[:, :K] - np.diag(np.diagonal(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSED]
    found = []
    for true, answer in zip(*np.unravel_index(order, wrong.shape), strict=True):
        rows = np.flatnonzero((part.y == classes[true]) & (np.asarray(answers) == classes[answer]))
        names = {"true": str(classes[true]), "answer": str(classes[answer])}
        found += [Example(**names, png=_png(image)) for image in np.asarray(take_rows(part.X, rows[:MOST_EXAMPLES]))]
    return found


def _png(image: npt.NDArray[Any]) -> str:
    """Return an image of shape (C, H, W) as a small PNG; values are spread over black to white if they are no bytes."""
    from PIL import Image

    values = image.astype(np.float64)
    if image.dtype != np.uint8:
        low, high = float(values.min()), float(values.max())
        low, high = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        values = 255 * (values - low) / ((high - low) or 1)
    pixels = values.round().astype(np.uint8)
    picture = Image.fromarray(pixels[:3].transpose(1, 2, 0) if len(pixels) >= 3 else pixels[0])
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    file = io.BytesIO()
    picture.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def _importance(model: Any, part: Part, worst: int) -> Importance | None:
    """Replace one column after another by values of other rows, and count the errors of the worst class."""
    n_columns = np.shape(part.X)[1]
    if not 1 <= n_columns <= MOST_COLUMNS:
        return None
    rng, label = np.random.default_rng(0), model.classes_[worst]
    own = np.flatnonzero(part.y == label)
    own = rng.permutation(own)[: MOST_ASKED // (REPEATS * n_columns)]
    base = take_rows(part.X, np.tile(own, REPEATS))
    pieces = []
    for j in range(n_columns):
        drawn = take_rows(part.X, rng.integers(len(part), size=len(own) * REPEATS))
        changed = base.copy()
        if hasattr(changed, "iloc"):
            changed.isetitem(j, drawn.iloc[:, j].array)
        else:
            changed[:, j] = drawn[:, j]
        pieces.append(changed)
    asked: Any = np.concatenate(pieces) if not hasattr(base, "iloc") else _joined(pieces)
    error = float(np.mean(np.asarray(model.predict(take_rows(part.X, own))) != label))
    wrong = (np.asarray(model.predict(asked)) != label).reshape(n_columns, -1).mean(axis=1) - error
    names = [str(name) for name in getattr(part.X, "columns", (f"column {j + 1}" for j in range(n_columns)))]
    rises = dict(sorted(zip(names, wrong.tolist(), strict=True), key=lambda item: -item[1]))
    return Importance(of_class=str(label), error=error, n_rows=len(own), rises=rises)


def _joined(frames: list[Any]) -> Any:
    import pandas as pd

    return pd.concat(frames, ignore_index=True)


def _regions(model: Any, part: Part) -> AnswerRegions | None:
    try:
        answers, extent = answer_grid(model, part.X)
    except DataError:  # columns of text
        return None
    rows = np.random.default_rng(0).permutation(count_rows(part.X))[:MOST_DOTS]
    index = {label: k for k, label in enumerate(model.classes_.tolist())}
    values = np.asarray(take_rows(part.X, rows), dtype=np.float64)
    dots = [(x, y, index[label]) for (x, y), label in zip(values.round(5).tolist(), part.y[rows].tolist(), strict=True)]
    first, second = (str(name) for name in getattr(part.X, "columns", ("column 1", "column 2")))
    return AnswerRegions(answers=answers.tolist(), extent=extent, columns=(first, second), dots=dots)


def _changes(model: Any, part: Part, name: str, curve: RiskCurve | None) -> list[Change]:
    """Say what the prefix, the offsets and abstaining changed, from the inside to the outside."""
    found: list[Change] = []
    inside: Any = getattr(model, "estimator_", None)
    if inside is not None and hasattr(inside, "classes_"):
        found += _changes(inside, part, name, None)
    before, after = (getattr(model, f"validation_report{end}", None) for end in ("_before_", "_"))
    if isinstance(before, ClassReport) and after is not None:
        found.append(_change("offsets", "the rows that chose them", before.counts, after.counts))
    elif hasattr(model, "portfolio_"):
        index = known_labels(part.X, part.y, model.classes_).index
        scores = class_scores(model, part.X, "decision")
        found.append(_change("offsets", name, *(_counted(index, s) for s in (scores - model.offsets_, scores))))
    elif hasattr(model, "n_members_used_") and model.n_members_used_ < len(getattr(model, "history_", ())):
        last, kept = model.history_[-1].validation, model.history_[model.n_members_used_ - 1].validation
        found.append(_change("prefix", "validation rows", last, kept))
    if curve is not None and curve.used is not None:
        worst, plain = ((values[-1], values[curve.used]) for values in (curve.worst, curve.plain))
        coverage = curve.coverage[curve.used]
        found.append(Change(step="abstaining", rows=name, worst=worst, plain=plain, coverage=coverage))
    return found


def _counted(target: IntArray, scores: FloatArray) -> ClassCounts:
    K = scores.shape[1]
    right = target[target == scores.argmax(axis=1)]
    return ClassCounts(np.bincount(right, minlength=K), np.bincount(target, minlength=K))


def _change(step: str, rows: str, before: ClassCounts, after: ClassCounts) -> Change:
    return Change(
        step=step,
        rows=rows,
        worst=(before.worst_error, after.worst_error),
        plain=(before.plain_error, after.plain_error),
    )
