"""The ranking of methods, from their cells: means, spreads, ranks, and which differences are significant.

It depends on the results of the cells alone and not on their order, so resuming a comparison does not change it. Rates
are in [0, 1].
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import pydantic

from worstclass.exceptions import ParameterError
from worstclass.experiments.cells import CellResult
from worstclass.experiments.run import Provenance
from worstclass.experiments.significance import PairedTest, SeedsChange, paired_tests

#: errors in a row of the ranking, and the value of a test report that holds each
METRICS = {"worst": "worst_error", "class_mean": "class_mean_error", "plain": "plain_error"}


class Spread(pydantic.BaseModel, frozen=True):
    """One value over the seeds; ``sd`` is the sample standard deviation (n - 1), None for a single seed."""

    by_seed: dict[int, float]
    mean: float
    sd: float | None

    @classmethod
    def of(cls, by_seed: dict[int, float]) -> Spread:
        """Summarise at least one value."""
        values = list(by_seed.values())
        sd = statistics.stdev(values) if len(values) > 1 else None
        return cls(by_seed=by_seed, mean=statistics.fmean(values), sd=sd)


class MethodRow(pydantic.BaseModel, frozen=True):
    """One method over its seeds; a value that no finished cell has is None.

    Attributes
    ----------
    rank : place by the mean error of the worst class; equal means share one. None for a method with fewer finished
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
    settings : settings of each method.
    provenance : what made the cells: one record, or several if they were run by different versions.

    Examples
    --------
    >>> from worstclass.experiments.cells import Cell, CellResult
    >>> from worstclass.experiments.run import Outcome
    >>> from worstclass.metrics import class_report
    >>> y, outcomes = [0, 0, 0, 0, 1, 1, 1, 1], {"ce": [0, 0, 0, 0, 0, 0, 1, 1], "ours": [0, 0, 0, 1, 0, 1, 1, 1]}
    >>> results = []
    >>> for name, answers in outcomes.items():
    ...     outcome = Outcome(test=class_report(y, answers))
    ...     results += [CellResult.of(Cell(name, "toy", 0), outcome, seconds=1.0, provenance=Provenance.collect())]
    >>> [(row.method, row.rank, row.worst.mean, row.plain.mean) for row in Comparison.from_results(results).rows]
    [('ours', 1, 0.25, 0.25), ('ce', 2, 0.5, 0.25)]
    """

    data: str
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
    settings: dict[str, dict[str, Any]]
    provenance: tuple[Provenance, ...]

    @property
    def against_best(self) -> tuple[PairedTest, ...]:
        """Every other method against the best; corrected over all pairs, because the best was found by the results."""
        return tuple(test for test in reversed(self.pairs) if test.b == self.best)

    @classmethod
    def from_results(cls, results: Iterable[CellResult], reference: str | None = "ours") -> Comparison:
        """Rank and test methods by the results of their cells.

        Parameters
        ----------
        results : of one data set; each method and seed once, a method with the same settings for all seeds. The
            setting ``seeds_change`` says how the seeds differ; without it they are independent draws.
        reference : the method that the others are tested against; to be named before the results are seen. If it is
            None or not among the results, methods are tested against the best only.
        """
        by_method = _by_method(results)
        everything = list(itertools.chain(*by_method.values()))
        rows = _ranked([_row(name, of_method) for name, of_method in by_method.items()])
        values = {row.method: row.worst.by_seed for row in rows if row.worst is not None}
        worst_first = dict(reversed(values.items()))  # so that the best is the second of its pairs
        found = reference if reference in values else None
        changes = {result.settings.get("seeds_change", "draws") for result in everything}
        change: SeedsChange = changes.pop() if len(changes) == 1 else "resplits"
        ratios = [result.n_test / result.n_train for result in everything if result.n_test and result.n_train]
        ratio = None if change == "draws" else max(ratios, default=1.0)
        made = {result.provenance.model_dump_json(): result.provenance for result in everything}
        return cls(
            data=everything[0].data,
            seeds=tuple(sorted({result.seed for result in everything})),
            seeds_change=change,
            test_to_train=ratio,
            rows=rows,
            reference=found,
            best=rows[0].method if rows[0].rank else None,
            against_reference=() if found is None else paired_tests(values, found, test_to_train=ratio),
            pairs=paired_tests(worst_first, test_to_train=ratio),
            failures=_notes((result, [result.error]) for result in everything if result.error),
            notes=_notes((result, result.notes) for result in everything),
            settings={name: of_method[0].settings for name, of_method in by_method.items()},
            provenance=tuple(made[text] for text in sorted(made)),
        )


def _by_method(results: Iterable[CellResult]) -> dict[str, list[CellResult]]:
    """Sort results by method and seed, and refuse those that are not one comparison."""
    ordered = sorted(results, key=lambda result: (result.method, result.seed))
    owner, data = "Comparison.from_results", sorted({result.data for result in ordered})
    if len(data) != 1:
        raise ParameterError("results", owner, allowed="cells of one data set, at least one", got=data)
    for one, other in itertools.pairwise(ordered):
        if (one.method, one.seed) == (other.method, other.seed):
            raise ParameterError("results", owner, allowed="each method and seed once", got=[(one.method, one.seed)])
        if one.method == other.method and one.settings != other.settings:
            allowed = "cells with the same settings for all seeds of a method"
            raise ParameterError("results", owner, allowed=allowed, got=[one.method], hint="Run this method anew.")
    return {name: list(group) for name, group in itertools.groupby(ordered, lambda result: result.method)}


def _row(method: str, results: Sequence[CellResult]) -> MethodRow:
    done = [result for result in results if result.test is not None]
    row: dict[str, Any] = {"n_done": len(done), "n_failed": len(results) - len(done)}
    for metric, name in METRICS.items():
        by_seed = {result.seed: result.test[name] for result in done if result.test is not None}
        row[metric] = Spread.of(by_seed) if done else None
    for name in ("epochs", "seconds", "n_members"):
        known = [value for result in done if (value := getattr(result, name)) is not None]
        row[name] = statistics.fmean(known) if known else None
    return MethodRow(method=method, **row)


def _ranked(rows: Sequence[MethodRow]) -> tuple[MethodRow, ...]:
    """Sort by mean and give ranks to the methods that have as many seeds as any."""
    most = max(row.n_done for row in rows)
    means = {row.method: row.worst.mean for row in rows if row.worst is not None and row.n_done == most}
    ranks = {method: 1 + sum(other < mean for other in means.values()) for method, mean in means.items()}
    ordered = sorted(rows, key=lambda row: (row.n_done < most, row.worst.mean if row.worst else math.inf, row.method))
    return tuple(row.model_copy(update={"rank": ranks.get(row.method)}) for row in ordered)


def _notes(texts: Iterable[tuple[CellResult, Iterable[str]]]) -> tuple[Note, ...]:
    """Return each text once for each method, with the seeds that have it."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for result, of_cell in texts:
        for text in dict.fromkeys(of_cell):
            seeds.setdefault((result.method, text), []).append(result.seed)
    return tuple(Note(method=method, seeds=tuple(of_note), text=text) for (method, text), of_note in seeds.items())
