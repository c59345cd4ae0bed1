"""The contents of ``offsets.json``: what a fitted ``WorstClassOffsets`` is, apart from the classifier inside."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

import numpy as np
import pydantic

from worstclass._version import __version__
from worstclass.data.seen_rows import Hashes
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.floors import Floors, exact_floor, shortest_floor
from worstclass.metrics import ClassReport
from worstclass.wrappers.offsets import WorstClassOffsets
from worstclass.wrappers.scores import resolve_kind

Offset = Annotated[float, pydantic.Field(allow_inf_nan=False)]
Count = Annotated[int, pydantic.Field(ge=0)]


class OffsetsCard(pydantic.BaseModel):
    """Parameters, offsets, and the counts of the held-out rows that chose them; one entry a class in every list."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    format: Literal["worstclass-offsets"] = "worstclass-offsets"
    format_version: Literal[1] = 1
    worstclass: str = __version__
    offsets: list[Offset]
    fitted_scores: Literal["mean-proba", "log-proba", "proba"]
    scores: Literal["auto", "mean-proba", "log-proba", "proba"]
    theta: list[str] | None
    theta_per_class: bool
    #: None stands for a splitter, which is not kept
    cv: int | float | Literal["prefit"] | None
    slack: Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)] | Literal["auto"] | None = None
    training_rows_known: bool | None = None
    refit: bool
    random_state: int | None
    least_worst_error: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None
    optimal: bool
    totals: list[Count]
    correct_before: list[Count]
    correct: list[Count]

    @pydantic.model_validator(mode="after")
    def _is_whole(self) -> Self:
        lengths = {len(self.offsets), len(self.totals), len(self.correct_before), len(self.correct)}
        if len(lengths | ({len(self.theta)} if self.theta is not None else set())) != 1:
            raise ValueError("offsets, counts and floors must have one entry a class")
        counts = zip(self.correct_before, self.correct, self.totals, strict=True)
        if any(max(before, after) > total for before, after, total in counts):
            raise ValueError("more rows are right than there are")
        if not any(self.totals):
            raise ValueError("there is no held-out row")
        for floor in self.theta or ():
            exact_floor(Fraction(floor))
        return self

    @classmethod
    def of(cls, model: WorstClassOffsets) -> OffsetsCard:
        """Describe a fitted model."""
        labels = model.classes_.tolist()
        after, before = model.validation_report_, model.validation_report_before_
        floors = None if model.theta is None else Floors.from_theta(model.theta, labels)
        values: dict[str, Any] = {"fitted_scores": model.scores_, "scores": model.scores, "cv": _kept_cv(model.cv)}
        values["slack"] = float(model.slack) if isinstance(model.slack, numbers.Real) else model.slack
        return cls(
            **values,
            offsets=model.offsets_.tolist(),
            theta=None if floors is None else [str(floor) for floor in floors.theta],
            theta_per_class=isinstance(model.theta, Mapping),
            training_rows_known=model.training_rows_known_,
            refit=bool(model.refit),
            random_state=int(model.random_state) if isinstance(model.random_state, int | np.integer) else None,
            least_worst_error=model.least_worst_error_,
            optimal=model.optimal_,
            totals=[row.total for row in _in_order(after, labels)],
            correct_before=[row.correct for row in _in_order(before, labels)],
            correct=[row.correct for row in _in_order(after, labels)],
        )

    def restored(self, booster: Any, row_hashes: Hashes | None) -> WorstClassOffsets:
        """Return the model around its classifier; a splitter comes back as ``"prefit"``."""
        labels = booster.classes_.tolist()
        if len(self.offsets) != len(labels):
            raise ModelFormatError(
                f"offsets.json has {len(self.offsets)} offsets, and the model {len(labels)} classes. "
                "Save the model again, or remove offsets.json to use it without offsets."
            )
        floors = None if self.theta is None else [shortest_floor(Fraction(text)) for text in self.theta]
        theta: Any = floors
        if floors is not None:
            theta = dict(zip(labels, floors, strict=True)) if self.theta_per_class else floors[0]
        cv = "prefit" if self.cv is None else self.cv
        model = WorstClassOffsets(
            booster,
            theta,
            cv=cv,
            scores=self.scores,
            slack=self.slack,
            refit=self.refit,
            random_state=self.random_state,
        )
        try:
            model.scores_ = resolve_kind(booster, self.fitted_scores, owner="load_model")
        except ParameterError:
            raise ModelFormatError(
                f"offsets.json is for scores {self.fitted_scores!r}, which this model does not give. Save it again."
            ) from None
        model._adopt(booster, booster.classes_)
        model._know_rows(row_hashes, self.training_rows_known)
        counts = (np.array(values, dtype=np.int64) for values in (self.totals, self.correct_before, self.correct))
        model.least_worst_error_ = self.least_worst_error
        model._settle(np.array(self.offsets, dtype=np.float64), self.optimal, *counts)
        return model


def _in_order(report: ClassReport, labels: list[Any]) -> list[Any]:
    rows = {row.name: row for row in report.rows}
    return [rows[str(label)] for label in labels]


def _kept_cv(cv: Any) -> Any:
    if isinstance(cv, np.generic):
        cv = cv.item()
    return cv if isinstance(cv, int | float | str) else None
