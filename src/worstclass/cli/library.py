"""Calls whose names change at the merge: this file goes then."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

#: new parameters of the library -> what they were called before; None where there was nothing like it
OLD = {
    "allow_equal_rows": "force",
    "n_jobs": None,
    "method": None,
    "training": None,
    "validation": None,
    "seeds_change": None,
}


def renamed(function: Callable[..., Any], **options: Any) -> dict[str, Any]:
    """Return options under the names that a function has."""
    known = inspect.signature(function).parameters
    named = {name if name in known else OLD[name]: value for name, value in options.items()}
    return {name: value for name, value in named.items() if name is not None}


def first_of(*names: str) -> Any:
    """Return the first module that is there."""
    for name in names:
        if importlib.util.find_spec(name) is not None:
            return importlib.import_module(name)
    raise ImportError(names[0])


def plan_module() -> Any:
    """Budget, ComparisonPlan, check_plan, methods_for, run_comparison, fit_command, seeds_change."""
    return first_of("worstclass.experiments.plan", "worstclass.experiments.compare")


def ranking_module() -> Any:
    """Comparison."""
    return first_of("worstclass.experiments.ranking", "worstclass.experiments.comparison")


def report_module() -> Any:
    """comparison_csv, comparison_figure, comparison_markdown, comparison_text."""
    return first_of("worstclass.report.ranking", "worstclass.report.comparison")


def short_theta(theta: Any) -> str:
    """Name floors (after the merge: ``worstclass.selection.short_theta``)."""
    module = importlib.import_module("worstclass.selection")
    if not hasattr(module, "short_theta"):
        module = importlib.import_module("worstclass.selection.result")
    return str(module.short_theta(theta))


def parse_options(method: str, values: dict[str, str]) -> dict[str, Any]:
    """Read texts as options of a method (after the merge: ``worstclass.methods.parse_options``)."""
    import ast

    from worstclass import methods

    new = getattr(methods, "parse_options", None)
    if new is not None:
        return dict(new(methods.find_method(method), values))

    def read(text: str) -> Any:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError):
            return text

    return {name: read(text) for name, text in values.items()}


def fit_offsets(
    model: Any, theta: Any, X: Any, y: Any, *, allow_equal_rows: bool, scores: str, slack: float | str
) -> Any:
    """Find offsets for a fitted model on rows that it has not seen.

    After the merge: ``WorstClassOffsets(model, theta, cv="prefit", scores=, slack=, allow_equal_rows=).fit(X, y)``, or
    ``check_unseen`` before it.
    """
    from worstclass.wrappers.offsets import WorstClassOffsets

    options: dict[str, Any] = {"scores": scores, "slack": slack}
    known = inspect.signature(WorstClassOffsets).parameters
    if "allow_equal_rows" in known:
        options["allow_equal_rows"] = allow_equal_rows
    elif not allow_equal_rows:
        from worstclass.exceptions import DataError
        from worstclass.wrappers.cross_validation import count_trained_on

        n_seen = count_trained_on(model, X, y)
        if n_seen:
            raise DataError(f"The model has seen {n_seen} of these {len(y)} rows. Pass rows that it has not seen.")
    options = {name: value for name, value in options.items() if name in known}
    return WorstClassOffsets(model, theta, cv="prefit", **options).fit(X, y)


def carry_seen_rows(abstaining: Any) -> Any:
    """Return the model inside one that abstains, which remembers the rows of its rule as well.

    After the merge: ``inside.seen_rows_ = inside.seen_rows_.also(abstaining.seen_rows_)``.
    """
    inside = abstaining.estimator_
    if hasattr(abstaining, "seen_rows_"):
        inside.seen_rows_ = inside.seen_rows_.also(abstaining.seen_rows_)
    else:
        inside.row_hashes_ = abstaining.row_hashes_
        inside.training_rows_known_ = abstaining.training_rows_known_
    return inside


def candidate_of(event: Any) -> Any:
    """Return the record of a finished fit (after the merge ``progress`` is called with the record itself)."""
    if not hasattr(event, "record"):
        return event
    return event.record if event.kind == "ended" else None


@contextmanager
def held_out_was_checked(select_theta: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Give the options by which equal rows are accepted: the data came divided, or were divided just now.

    After the merge: ``select_theta(..., allow_equal_rows=True)``.
    """
    if "allow_equal_rows" in inspect.signature(select_theta).parameters:
        yield {"allow_equal_rows": True}
        return
    import warnings

    from worstclass.exceptions import ReusedRowsWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReusedRowsWarning)
        yield {}


def fit_command(plan: Any, name: str, data: str, options: dict[str, Any]) -> str:
    """Return the command that fits a method (after the merge: ``worstclass.experiments.plan.fit_command``)."""
    new = getattr(plan_module(), "fit_command", None)
    if new is not None:
        return str(new(plan, name, data, options=options))
    import shlex

    words = [part for option, value in options.items() if value is not None for part in (option, str(value))]
    return shlex.join(["worstclass", "fit", data, *words, "--method", name, "--out", "model"])
