"""A grid: methods with all their settings, on the seeds of a data set. A comparison is one, a paper's table several.

Entries are built by ``build_method`` from settings that JSON can hold, or by a function of the user.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worstclass.data.splits import Splits
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.experiments.cells import Cell, CellResult, cell_file, checkpoint_folder, run_cells
from worstclass.experiments.run import Outcome, fit_on_splits


@dataclass(frozen=True)
class Entry:
    """What is trained on every seed.

    Attributes
    ----------
    name : in files and tables.
    settings : all that can change the result besides the data and the seed, as JSON can hold it.
    build : function from a seed to a classifier.
    """

    name: str
    settings: Mapping[str, Any]
    build: Callable[[int], Any]


@dataclass(frozen=True)
class Grid:
    """Entries on one data set.

    Attributes
    ----------
    data : name of the data set.
    load : function from a seed to its splits, with test rows.
    entries : what is trained.
    seeds : each is a draw or split of the data and a random start of every entry.
    settings : what fixes the data.
    counted : parts of the data on which errors are counted, if the model did not count them itself.
    observe : function from a fitted model and its splits to further attributes of ``Outcome``; for the first seed only.
    """

    data: str
    load: Callable[[int], Splits]
    entries: Sequence[Entry]
    seeds: Sequence[int]
    settings: Mapping[str, Any] = field(default_factory=dict)
    counted: Sequence[str] = ("validation", "test")
    observe: Callable[[Any, Splits], Mapping[str, Any]] | None = None

    def cells(self, seed: int) -> list[Cell]:
        """Return the cells of one seed."""
        return [Cell(entry.name, self.data, seed, {**entry.settings, **self.settings}) for entry in self.entries]

    def run(self, cell: Cell, splits: Splits, checkpoint: Path | None = None) -> Outcome:
        """Train the entry of a cell on its splits, and describe the model."""
        entry = next(entry for entry in self.entries if entry.name == cell.method)
        observe = self.observe if cell.seed == self.seeds[0] else None
        model = entry.build(cell.seed)
        return run_method(model, splits, counted=self.counted, observe=observe, checkpoint=checkpoint)


def run_grids(
    grids: Sequence[Grid], folder: Path, progress: Callable[[str], None] | None = None, **options: Any
) -> list[CellResult]:
    """Run the cells of several grids that are not in the folder yet; ``options`` are those of ``run_cells``.

    They are run seed by seed, so that all entries have some results early. An entry that fails is recorded, and the
    others go on. A long training keeps a checkpoint beside its file, unless it runs on a cluster.
    """
    by_data, on_cluster = options.get("by_data", False), options.get("cluster") is not None
    by_name = {grid.data: grid for grid in grids}
    loaded: dict[tuple[str, int], Splits] = {}  # those of one seed, which all entries share

    def run_cell(cell: Cell) -> Outcome:
        grid, key = by_name[cell.data], (cell.data, cell.seed)
        if key not in loaded:
            splits = grid.load(cell.seed)
            loaded.clear()
            loaded[key] = splits
        kept = None if on_cluster else checkpoint_folder(cell_file(cell, folder, by_data=by_data))
        return grid.run(cell, loaded[key], kept)

    return run_cells(cells_of(grids), run_cell, folder, progress, **options)


def cells_of(grids: Sequence[Grid]) -> list[Cell]:
    """Return all cells, seed by seed."""
    seeds = sorted({seed for grid in grids for seed in grid.seeds})
    return [cell for seed in seeds for grid in grids if seed in grid.seeds for cell in grid.cells(seed)]


def run_method(
    model: Any,
    splits: Splits,
    *,
    counted: Sequence[str] = ("validation", "test"),
    observe: Callable[[Any, Splits], Mapping[str, Any]] | None = None,
    checkpoint: Path | None = None,
) -> Outcome:
    """Train a classifier on the training rows, let the validation rows choose, and measure on the test rows."""
    if splits.test is None:
        raise DatasetError("There are no test rows to compare on.")
    started = time.perf_counter()
    fit_on_splits(model, splits, checkpoint)
    seconds = time.perf_counter() - started
    seen = {} if observe is None else observe(model, splits)
    return Outcome.describe(model, splits, counted=counted, seconds=seconds, **seen)


def own_entry(name: str, factory: Callable[..., Any], settings: Mapping[str, Any]) -> Entry:
    """Return the entry of a user's function or class that makes a classifier.

    It is called without arguments, or with ``random_state`` if it has such a parameter. ``settings`` must change when
    its code does.
    """
    if not callable(factory):
        raise ParameterError("methods", "own_entry", allowed="a function that returns a classifier", got=factory)
    seeded = "random_state" in inspect.signature(factory).parameters

    def build(seed: int) -> Any:
        model = factory(random_state=seed) if seeded else factory()
        if not (hasattr(model, "fit") and hasattr(model, "predict")):
            allowed = "a function that returns a classifier with fit and predict"
            raise ParameterError("methods", name, allowed=allowed, got=model)
        return model

    return Entry(name, settings, build)
