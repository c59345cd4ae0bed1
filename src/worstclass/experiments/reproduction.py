"""A target of the paper: its grids, the results that are there, and the values of its tables.

All targets of a scale share one folder of cells, so what one target trained, another one uses.
"""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from worstclass._typing import FloatArray
from worstclass.data.facts import find
from worstclass.data.registry import named_dataset
from worstclass.data.splits import Splits
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.experiments.cells import Cell, CellResult, cell_file, differing_settings
from worstclass.experiments.grid import Entry, Grid, cells_of, run_grids
from worstclass.experiments.paper import Row, Target, ours_at
from worstclass.experiments.paper_problems import PROBLEMS, Problem
from worstclass.experiments.printed import PRINTED
from worstclass.experiments.run import PARTS
from worstclass.methods import find_method

#: points per side on which the answers of a model are kept for figures
SIDE = 100
REFERENCE = "Ours"
WORST, AVERAGE = "Worst", "Avg."


@dataclass(frozen=True)
class Reproduction:
    """A target at a scale, with the data that there are.

    Attributes
    ----------
    target, scale : what is made.
    folder : where the cells, tables and figures are.
    root : folder of the data sets.
    n_seeds : seeds instead of those of the scale; None for those.
    own : entries of the user, beside those of the target.
    problems : the problems at this scale whose data are here, or some of whose cells are finished.
    absent : title of every problem whose data cannot be read, and why.
    """

    target: Target
    scale: str
    folder: Path
    root: Path | None = None
    n_seeds: int | None = None
    own: tuple[Entry, ...] = ()
    problems: tuple[Problem, ...] = field(init=False)
    absent: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        here, absent = [], {}
        for name in self.target.problems:
            problem = PROBLEMS[name].at(self.scale)
            if self.n_seeds is not None:
                problem = replace(problem, seeds=self.n_seeds)
            if self.target.first_seed:
                problem = replace(problem, seeds=1)
            try:
                find(named_dataset(problem.data), self.root)
            except DatasetError as error:
                absent[problem.title] = f"{str(error).split('. ')[0]}. `worstclass datasets` says how to get it."
                folder, entries = self.cells_folder / name, self.target.entries(problem)
                if not any(file for entry in entries for file in folder.glob(f"{entry.name}-seed*.json")):
                    continue
            here.append(problem)
        names = {entry.name for problem in here for entry in self.target.entries(problem)}
        if clash := [entry.name for entry in self.own if entry.name in names]:
            hint = "Rename your function."
            raise ParameterError("methods", "reproduce", allowed="with names of their own", got=clash, hint=hint)
        object.__setattr__(self, "problems", tuple(here))
        object.__setattr__(self, "absent", absent)

    @property
    def cells_folder(self) -> Path:
        """Folder of the cells, which all targets of a scale share."""
        return self.folder / "cells"

    def grids(self, *, trainable: bool = False) -> list[Grid]:
        """Return one grid for each problem; with ``trainable`` only of those whose data are here."""
        problems = [problem for problem in self.problems if not trainable or problem.title not in self.absent]
        return [self._grid(problem) for problem in problems if self.target.entries(problem)]

    def cells(self, *, trainable: bool = False) -> list[Cell]:
        """Return all cells, or those that can be trained here."""
        return cells_of(self.grids(trainable=trainable))

    def run(
        self, progress: Callable[[str], None] | None = None, *, overwrite: bool = False, **options: Any
    ) -> list[CellResult]:
        """Run the missing cells of the data that are here; ``options`` are ``n_jobs`` and ``cluster`` of ``run_cells``.

        ``overwrite`` removes the results that were made with other settings; without it they are refused.
        """
        grids = self.grids(trainable=True)
        for grid in grids:
            for entry in grid.entries:
                if entry not in self.own:
                    find_method(entry.settings["method"]).require()
        for cell in cells_of(grids) if overwrite else ():
            file = cell_file(cell, self.cells_folder, by_data=True)
            with contextlib.suppress(OSError, ValueError):
                if differing_settings(cell, CellResult.read(file)):
                    file.unlink()
        return run_grids(grids, self.cells_folder, progress, by_data=True, **options) if grids else []

    def results(self) -> tuple[list[CellResult], list[str]]:
        """Return the results that are there, and a line for every file that is damaged or has other settings."""
        found, refused = [], []
        for cell in self.cells():
            file = cell_file(cell, self.cells_folder, by_data=True)
            if not file.exists():
                continue
            try:
                result = CellResult.read(file)
            except (OSError, ValueError):
                refused.append(f"{file} is left out: it is damaged.")
                continue
            if differing := differing_settings(cell, result):
                refused.append(f"{file} is left out: it was made with other settings: {differing}.")
            elif result.error is not None:
                refused.append(f"{file} is left out: the training failed: {result.error}")
            else:
                found.append(result)
        return found, refused

    def tables(self, results: Sequence[CellResult]) -> list[Table]:
        """Return the tables of the target, by the finished cells among the results."""
        if self.target.is_figure:
            return []
        done = results_by_entry(results)
        return LAYOUTS[self.target.layout](self, done)

    def reductions(self, problem: Problem) -> list[str]:
        """Say what differs from the paper's settings on a problem."""
        return PROBLEMS[problem.name].reductions(problem)

    def rows(self) -> list[Row]:
        """Return the rows of the table, those of the user last."""
        own = [Row(entry.name, lambda problem, entry=entry: [entry]) for entry in self.own]  # type: ignore[misc]
        return [*(row for row in self.target.rows if not row.drawn_only), *own]

    def _grid(self, problem: Problem) -> Grid:
        is_drawn = named_dataset(problem.data).built_in
        return Grid(
            problem.name,
            partial(problem.load, self.root),
            [*self.target.entries(problem), *self.own],
            range(problem.seeds),
            {"source": problem.data, **problem.data_settings},
            counted=PARTS,
            observe=observe if is_drawn else None,
        )


def unit_grid(side: int) -> FloatArray:
    """Return the middles of side x side equal squares that fill the unit square, row by row."""
    ticks = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)


def observe(model: Any, splits: Splits) -> dict[str, Any]:
    """Return what figures need of a model of points in the unit square: class weights, and answers on a grid."""
    points = unit_grid(SIDE).astype(np.float32)
    answers = np.searchsorted(model.classes_, model.predict(points)).reshape(SIDE, SIDE)
    seen: dict[str, Any] = {"regions": ["".join(map(str, line)) for line in answers]}
    history = getattr(model, "history_", ())
    if history and hasattr(history[0], "class_weight"):
        seen["class_weights"] = [[round(float(weight), 5) for weight in record.class_weight] for record in history]
    return seen


# values


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
