"""The ranking of methods, from their cells: means, spreads, ranks, and which differences are significant.

It depends on the results of the cells alone and not on their order, so resuming a comparison does not change it. Rates
are in [0, 1].
"""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pydantic

from worstclass._checks import check_choice
from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import CellResult
from worstclass.experiments.run import Provenance
from worstclass.experiments.significance import PairedTest, SeedsChange, compare_all_pairs, compare_with

#: metrics to rank and test by, and the value of a cell that holds each
METRICS = {"worst": "worst_error", "class_mean": "class_mean_error", "plain": "plain_error"}


class Spread(pydantic.BaseModel, frozen=True):
    """One value over the seeds; ``sd`` is the sample standard deviation (n - 1), None for a single seed."""

    by_seed: dict[int, float]
    mean: float
    sd: float | None
    minimum: float
    maximum: float

    @classmethod
    def of(cls, by_seed: dict[int, float]) -> Spread:
        """Summarise at least one value.

        Examples
        --------
        >>> spread = Spread.of({0: 0.25, 1: 0.5, 2: 0.75})
        >>> spread.mean, spread.sd
        (0.5, 0.25)
        """
        values = list(by_seed.values())
        sd = statistics.stdev(values) if len(values) > 1 else None
        return cls(by_seed=by_seed, mean=statistics.fmean(values), sd=sd, minimum=min(values), maximum=max(values))


class MethodRow(pydantic.BaseModel, frozen=True):
    """One method over its seeds; a value that no finished cell has is None.

    Attributes
    ----------
    rank : place by the mean of the comparison's metric; equal means share one. None for a method with fewer finished
        seeds than others: its mean is over other seeds.
    worst, class_mean, plain : test errors.
    epochs, seconds, n_members : compute used, as means over the finished cells that have them.
    """

    method: str
    rank: int | None = None
    n_done: int
    n_failed: int
    worst: Spread | None = None
    class_mean: Spread | None = None
    plain: Spread | None = None
    epochs: float | None = None
    seconds: float | None = None
    n_members: float | None = None

    def spread(self, metric: str) -> Spread | None:
        """Return the errors by the name of a metric."""
        spread: Spread | None = getattr(self, metric)
        return spread


class Note(pydantic.BaseModel, frozen=True):
    """A note on a method, or why it failed, and the seeds that it holds for."""

    method: str
    seeds: tuple[int, ...]
    text: str


class Comparison(pydantic.BaseModel, frozen=True):
    """Methods on the same draws or splits of one data set.

    Attributes
    ----------
    data : name of the data set.
    metric : what the methods are ranked and tested by, a key of ``METRICS``.
    alpha : level of the tests.
    seeds : all seeds that occur.
    seeds_change : what another seed changes in the data; a significant difference is a claim about that.
    test_to_train : test rows per training or validation row, which corrects the tests; None for independent draws.
    rows : the methods, best first; those not ranked last.
    reference : the method that was named to compare with; None if it has no result.
    best : the first method by rank; None if no cell is done.
    against_reference : every other method against the reference, corrected over these tests.
    pairs : all pairs, corrected over all of them.
    failures : the cells that failed.
    notes : what the cells noted.
    settings : settings that all methods share.
    method_settings : for each method the settings that not all share.
    provenance : what made the cells: one record, or several if they were run by different versions.

    Examples
    --------
    >>> from worstclass.experiments.cells import Cell, CellOutcome, CellResult
    >>> from worstclass.metrics import class_report
    >>> here, y = Provenance.collect(), [0, 0, 0, 0, 1, 1, 1, 1]
    >>> answers = {"ce": [0, 0, 0, 0, 0, 0, 1, 1], "ours": [0, 0, 0, 1, 0, 1, 1, 1]}
    >>> outcomes = {name: CellOutcome(class_report(y, answer)) for name, answer in answers.items()}
    >>> results = [
    ...     CellResult.of(Cell(name, "toy", seed), outcome, seconds=1.0, provenance=here)
    ...     for name, outcome in outcomes.items()
    ...     for seed in range(2)
    ... ]
    >>> comparison = Comparison.from_results(results)
    >>> [(row.method, row.rank, row.worst.mean, row.plain.mean) for row in comparison.rows]
    [('ours', 1, 0.25, 0.25), ('ce', 2, 0.5, 0.25)]
    """

    data: str
    metric: str
    alpha: float
    seeds: tuple[int, ...]
    seeds_change: SeedsChange = "draws"
    test_to_train: float | None = None
    rows: tuple[MethodRow, ...]
    reference: str | None
    best: str | None
    against_reference: tuple[PairedTest, ...]
    pairs: tuple[PairedTest, ...]
    failures: tuple[Note, ...]
    notes: tuple[Note, ...]
    settings: dict[str, Any]
    method_settings: dict[str, dict[str, Any]]
    provenance: tuple[Provenance, ...]

    @property
    def against_best(self) -> tuple[PairedTest, ...]:
        """Every other method against the best; corrected over all pairs, because the best was found by the results."""
        return tuple(test for test in reversed(self.pairs) if test.b == self.best)

    @classmethod
    def from_results(
        cls, results: Iterable[CellResult], reference: str | None = "ours", metric: str = "worst", alpha: float = 0.05
    ) -> Comparison:
        """Rank and test methods by the results of their cells.

        Parameters
        ----------
        results : of one data set; each method and seed once, a method with the same settings for all seeds. The
            setting ``seeds_change`` says how the seeds differ; without it they are independent draws.
        reference : the method that the others are tested against; to be named before the results are seen. If it is
            None or not among the results, methods are tested against the best only.
        metric : what to rank and test by, a key of ``METRICS``.
        alpha : level of the tests.
        """
        check_choice(metric, "metric", "Comparison.from_results", METRICS)
        by_method = _by_method(results)
        rows = _ranked([_row(name, of_method) for name, of_method in by_method.items()], metric)
        values = {row.method: spread.by_seed for row in rows if (spread := row.spread(metric)) is not None}
        worst_first = dict(reversed(values.items()))  # so that the best is the second of its pairs
        found = reference if reference in values else None
        everything = [result for of_method in by_method.values() for result in of_method]
        shared, own = _settings({name: of_method[0].settings for name, of_method in by_method.items()})
        changes = {result.settings.get("seeds_change", "draws") for result in everything}
        change: SeedsChange = changes.pop() if len(changes) == 1 else "resplits"
        ratio = None if change == "draws" else _test_to_train(everything)
        return cls(
            data=everything[0].data,
            metric=metric,
            alpha=alpha,
            seeds=tuple(sorted({result.seed for result in everything})),
            seeds_change=change,
            test_to_train=ratio,
            rows=tuple(rows),
            reference=found,
            best=rows[0].method if rows[0].rank else None,
            against_reference=() if found is None else compare_with(values, found, alpha=alpha, test_to_train=ratio),
            pairs=compare_all_pairs(worst_first, alpha=alpha, test_to_train=ratio),
            failures=_notes((result, [_failure(result)]) for result in everything if result.status == "failed"),
            notes=_notes((result, result.notes) for result in everything),
            settings=shared,
            method_settings=own,
            provenance=_distinct(result.provenance for result in everything),
        )


def _by_method(results: Iterable[CellResult]) -> dict[str, list[CellResult]]:
    """Sort results by method and seed, and refuse those that are not one comparison."""
    ordered = sorted(results, key=lambda result: (result.method, result.seed))
    owner, data = "Comparison.from_results", sorted({result.data for result in ordered})
    if len(data) != 1:
        raise ParameterError("results", owner, allowed="cells of one data set, at least one", got=data)
    keys = Counter((result.method, result.seed) for result in ordered)
    twice = [key for key, count in keys.items() if count > 1]
    if twice:
        raise ParameterError("results", owner, allowed="each method and seed once", got=twice)
    by_method: dict[str, list[CellResult]] = {}
    for result in ordered:
        by_method.setdefault(result.method, []).append(result)
    mixed = [name for name, group in by_method.items() if any(one.settings != group[0].settings for one in group)]
    if mixed:
        allowed = "cells with the same settings for all seeds of a method"
        raise ParameterError("results", owner, allowed=allowed, got=mixed, hint="Run these methods anew.")
    return by_method


def _test_to_train(results: Sequence[CellResult]) -> float:
    """Return the largest share of test rows to rows that trained or chose; 1 if the finished cells do not say."""
    ratios = [result.n_test / result.n_train for result in results if result.n_test and result.n_train]
    return max(ratios, default=1.0)


def _row(method: str, results: Sequence[CellResult]) -> MethodRow:
    done = [result for result in results if result.status == "done"]
    row = MethodRow(method=method, n_done=len(done), n_failed=len(results) - len(done))
    if not done:
        return row
    spreads = {
        metric: Spread.of({result.seed: getattr(result, value) for result in done}) for metric, value in METRICS.items()
    }
    means = {name: _mean([getattr(result, name) for result in done]) for name in ("epochs", "seconds", "n_members")}
    return row.model_copy(update={**spreads, **means})


def _ranked(rows: Sequence[MethodRow], metric: str) -> list[MethodRow]:
    """Sort by mean and give ranks to the methods that have as many seeds as any."""
    most = max(row.n_done for row in rows)

    def key(row: MethodRow) -> tuple[bool, bool, float, str]:
        spread = row.spread(metric)
        return row.n_done < most, spread is None, 0.0 if spread is None else spread.mean, row.method

    ordered = sorted(rows, key=key)
    means = [spread.mean for row in ordered if row.n_done == most and (spread := row.spread(metric)) is not None]
    ranks = [means.index(mean) + 1 for mean in means]
    ranked = [row.model_copy(update={"rank": rank}) for row, rank in zip(ordered, ranks, strict=False)]
    return [*ranked, *ordered[len(ranked) :]]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def _settings(settings: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the settings that all methods share, and for each method the rest, where there is any."""
    first, *others = settings.values()
    shared = {
        key: value for key, value in first.items() if all(key in other and other[key] == value for other in others)
    }
    own = {method: {key: values[key] for key in values if key not in shared} for method, values in settings.items()}
    return shared, {method: values for method, values in own.items() if values}


def _failure(result: CellResult) -> str:
    return "" if result.error is None else f"{result.error.type}: {result.error.message}"


def _notes(texts: Iterable[tuple[CellResult, Iterable[str]]]) -> tuple[Note, ...]:
    """Return each text once for each method, with the seeds that have it."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for result, of_cell in texts:
        for text in dict.fromkeys(of_cell):
            seeds.setdefault((result.method, text), []).append(result.seed)
    return tuple(Note(method=method, seeds=tuple(of_note), text=text) for (method, text), of_note in seeds.items())


def _distinct(provenance: Iterable[Provenance]) -> tuple[Provenance, ...]:
    texts = {json.dumps(one.model_dump(), sort_keys=True): one for one in provenance}
    return tuple(texts[text] for text in sorted(texts))
