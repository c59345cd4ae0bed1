"""A target of the paper: its grids, and the results that are there; ``paper_tables`` makes tables of them.

All targets of a scale share one folder of cells, so what one target trained, another one uses.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
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
from worstclass.experiments.paper import Row, Target
from worstclass.experiments.paper_problems import PROBLEMS, Problem
from worstclass.experiments.paper_tables import LAYOUTS, Table, results_by_entry
from worstclass.experiments.run import PARTS
from worstclass.methods import find_method

#: points per side on which the answers of a model are kept for figures
SIDE = 100


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
        self,
        progress: Callable[[str], None] | None = None,
        *,
        data: Collection[str] | None = None,
        overwrite: bool = False,
        **options: Any,
    ) -> list[CellResult]:
        """Run the missing cells of the data that are here; ``options`` are ``n_jobs`` and ``cluster`` of ``run_cells``.

        ``data`` names the problems that are trained, all by default. ``overwrite`` removes the results that were made
        with other settings; without it they are refused.
        """
        grids = [grid for grid in self.grids(trainable=True) if data is None or grid.data in data]
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
