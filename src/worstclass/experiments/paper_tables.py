"""The values of the paper's tables, from the cells that are finished, in the layouts of the paper."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from worstclass._typing import FloatArray
from worstclass.data.registry import named_dataset
from worstclass.experiments.cells import CellResult
from worstclass.experiments.grid import Entry
from worstclass.experiments.paper import Row, ours_at
from worstclass.experiments.paper_problems import Problem
from worstclass.experiments.printed import PRINTED

if TYPE_CHECKING:
    from worstclass.experiments.reproduction import Reproduction

REFERENCE = "Ours"
WORST, AVERAGE = "Worst", "Avg."


@dataclass(frozen=True)
class Value:
    """A figure of a table in percent: the paper's, and the values here by seed."""

    paper: float | None
    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float | None:
        """The mean over the seeds; None without any."""
        return statistics.fmean(self.by_seed.values()) if self.by_seed else None

    @property
    def error(self) -> float | None:
        """The standard error of the mean; None for fewer than two seeds."""
        return standard_error(list(self.by_seed.values()))

    @property
    def difference(self) -> float | None:
        """By how much the mean is above the paper's figure; None if either is missing."""
        return None if self.mean is None or self.paper is None else self.mean - self.paper


@dataclass(frozen=True)
class Column:
    """A column of a table: its group (a data set) and what it shows."""

    group: str
    metric: str


@dataclass(frozen=True)
class Detail:
    """What else is known of a row on one problem: means over its seeds.

    Attributes
    ----------
    largest_mean : the largest of the mean class errors, in percent, which the paper may have printed.
    difference, difference_error : worst-class error minus that of the reference on the same seeds, with its standard
        error.
    bound_met : of a method with floors, on how many seeds every class met its floor on the training rows, and on how
        many that is known; None of others.
    chosen : of several entries, how often validation rows chose each.
    """

    problem: str
    row: str
    n: int
    largest_mean: float
    difference: float | None
    difference_error: float | None
    epochs: float | None
    n_members: float | None
    seconds: float | None
    bound_met: tuple[int, int] | None
    chosen: Mapping[str, int]


@dataclass(frozen=True)
class TableRow:
    """A line of a table."""

    label: str
    values: tuple[Value, ...]
    ours: bool = False


@dataclass(frozen=True)
class Table:
    """A table in the layout of the paper; ``details`` say more on each row."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    details: tuple[Detail, ...] = ()


Done = Mapping[tuple[str, str], Mapping[int, CellResult]]


def results_by_entry(results: Iterable[CellResult]) -> Done:
    """Return the finished results by problem and entry, then by seed."""
    done: dict[tuple[str, str], dict[int, CellResult]] = {}
    for result in results:
        if result.test is not None:
            done.setdefault((result.data, result.method), {})[result.seed] = result
    return done


def chosen_results(problem: Problem, row: Row, done: Done) -> dict[int, CellResult]:
    """Return one result of a row for each seed that all its entries have.

    Of several entries, that with the least validation error of the worst class, then of all rows; the later one of
    equals, which has the larger theta.
    """
    entries = [done.get((problem.name, entry.name), {}) for entry in row.entries(problem)]
    seeds = sorted(set.intersection(*(set(results) for results in entries)))
    return {seed: min((results[seed] for results in reversed(entries)), key=_validation_errors) for seed in seeds}


def _validation_errors(result: CellResult) -> tuple[float, float]:
    if result.validation is None:
        return 1.0, 1.0
    return result.validation["worst_error"], result.validation["plain_error"]


def average_error(problem: Problem, result: CellResult) -> float:
    """Return the error over all rows of the population, in percent."""
    assert result.test is not None
    if problem.shares is None:
        return 100 * float(result.test["plain_error"])
    return 100 * float(np.dot(problem.shares, class_errors(result.test)))


def class_errors(report: Mapping[str, Any]) -> FloatArray:
    """Return the errors of a report in the order of the classes, which are numbers; the report has the worst first."""
    return np.array([row["error"] for row in sorted(report["classes"], key=lambda row: int(row["name"]))])


def worst_error(result: CellResult) -> float:
    """Return the error of the worst test class, in percent."""
    assert result.test is not None
    return 100 * float(result.test["worst_error"])


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of a mean; None for fewer than two values."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else None


# layouts


def _errors(problem: Problem, results: Mapping[int, CellResult], printed: Sequence[float | None]) -> list[Value]:
    """Return worst and average error of some results."""
    worst = {seed: worst_error(result) for seed, result in results.items()}
    average = {seed: average_error(problem, result) for seed, result in results.items()}
    return [Value(printed[0], worst), Value(printed[1], average)]


def _printed(table: str, row: str, problem: str, n: int = 2) -> Sequence[float | None]:
    return PRINTED.get(table, {}).get(row, {}).get(problem, (None,) * n)


def _error_table(work: Reproduction, done: Done) -> list[Table]:
    """Worst and average test error of every problem, one line a method."""
    rows, details = [], []
    for row in work.rows():
        values: list[Value] = []
        for problem in work.problems:
            results = chosen_results(problem, row, done)
            values += _errors(problem, results, _printed(work.target.name, row.label, problem.name))
            details += _details(problem, row, results, done, work)
        rows.append(TableRow(row.label, tuple(values), row.ours))
    columns = tuple(Column(problem.title, metric) for problem in work.problems for metric in (WORST, AVERAGE))
    return [Table(work.target.name, work.target.title, columns, tuple(rows), tuple(details))]


def _training_table(work: Reproduction, done: Done) -> list[Table]:
    """Training error of every class, then worst and average test error, one line a method."""
    (problem,) = work.problems
    n_classes = named_dataset(problem.data).n_classes
    rows, details = [], []
    for row in work.rows():
        results = chosen_results(problem, row, done)
        printed = _printed(work.target.name, row.label, problem.name, n_classes + 2)
        trained = {
            seed: class_errors(result.training) for seed, result in results.items() if result.training is not None
        }
        values = [
            Value(printed[k], {seed: 100 * float(errors[k]) for seed, errors in trained.items()})
            for k in range(n_classes)
        ]
        values += _errors(problem, results, printed[-2:])
        rows.append(TableRow(row.label, tuple(values), row.ours))
        details += _details(problem, row, results, done, work)
    training = [Column("class-wise training error", str(k + 1)) for k in range(n_classes)]
    columns = (*training, Column("test error", WORST), Column("test error", AVERAGE))
    return [Table(work.target.name, work.target.title, columns, tuple(rows), tuple(details))]


def _theta_table(work: Reproduction, done: Done) -> list[Table]:
    """Worst and average test error of every problem, one line a theta."""
    rows = []
    trained = {problem.name: _on_common_seeds(problem, problem.thetas, ours_at, done) for problem in work.problems}
    printed = {float(theta) for theta in PRINTED[work.target.name]}
    for theta in sorted(printed.union(*trained.values())):
        values: list[Value] = []
        for problem in work.problems:
            results = trained[problem.name].get(theta, {})
            values += _errors(problem, results, _printed(work.target.name, f"{theta:g}", problem.name))
        rows.append(TableRow(f"theta = {theta:g}", tuple(values)))
    columns = tuple(Column(problem.title, metric) for problem in work.problems for metric in (WORST, AVERAGE))
    return [Table(work.target.name, work.target.title, columns, tuple(rows))]


def _gamma_table(work: Reproduction, done: Done) -> list[Table]:
    """Average and worst error, one column a gamma; a table for each problem."""
    tables = []
    for problem in work.problems:
        entry = lambda problem, gamma: ours_at(problem, problem.theta, gamma)  # noqa: E731
        trained = _on_common_seeds(problem, problem.gammas, entry, done)
        by_gamma = [
            _errors(problem, trained.get(gamma, {}), _printed("gamma", f"{gamma:g}", problem.name))
            for gamma in problem.gammas
        ]
        rows = [
            TableRow(AVERAGE, tuple(average for _, average in by_gamma)),
            TableRow(WORST, tuple(worst for worst, _ in by_gamma)),
        ]
        title = f"{work.target.title}, {problem.title}, theta {problem.theta:g}"
        columns = tuple(Column("gamma", f"{gamma:g}") for gamma in problem.gammas)
        tables.append(Table(f"gamma-{problem.name}", title, columns, tuple(rows)))
    return tables


def _on_common_seeds(
    problem: Problem, values: Sequence[float], entry: Callable[[Problem, float], Entry], done: Done
) -> dict[float, dict[int, CellResult]]:
    """Return the results of ours by theta or gamma, on the seeds that all values with any result have."""
    found = {value: done.get((problem.name, entry(problem, value).name), {}) for value in values}
    found = {value: results for value, results in found.items() if results}
    seeds = set.intersection(*map(set, found.values())) if found else set()
    return {value: {seed: results[seed] for seed in sorted(seeds)} for value, results in found.items()}


def results_by_theta(problem: Problem, done: Done) -> dict[float, list[CellResult]]:
    """Return the results of ours by theta, on common seeds."""
    trained = _on_common_seeds(problem, problem.thetas, ours_at, done)
    return {theta: list(results.values()) for theta, results in trained.items() if results}


LAYOUTS: dict[str, Callable[[Reproduction, Done], list[Table]]] = {
    "errors": _error_table,
    "training": _training_table,
    "theta": _theta_table,
    "gamma": _gamma_table,
}


def _details(
    problem: Problem, row: Row, results: Mapping[int, CellResult], done: Done, work: Reproduction
) -> list[Detail]:
    if not results:
        return []
    by_class = np.mean([class_errors(result.test) for result in results.values() if result.test], axis=0)
    names = [result.method for result in results.values()]
    met = [result.bound_met for result in results.values() if result.bound_met is not None]
    difference: list[float] = []
    reference = next((one for one in work.rows() if one.label == REFERENCE), None)
    if reference is not None and row.label != REFERENCE:
        theirs = chosen_results(problem, reference, done)
        difference = [worst_error(results[seed]) - worst_error(theirs[seed]) for seed in results if seed in theirs]
    return [
        Detail(
            problem=problem.name,
            row=row.label,
            n=len(results),
            largest_mean=100 * float(by_class.max()),
            difference=statistics.fmean(difference) if difference else None,
            difference_error=standard_error(difference),
            epochs=_mean(result.epochs for result in results.values()),
            n_members=_mean(result.n_members for result in results.values()),
            seconds=_mean(result.seconds for result in results.values()),
            bound_met=(sum(met), len(met)) if met else None,
            chosen={name: names.count(name) for name in sorted(set(names))} if len(row.entries(problem)) > 1 else {},
        )
    ]


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None
