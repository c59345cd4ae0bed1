"""The paper's figures, drawn from the results of cells: regions, class weights, radar charts, errors by theta."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from worstclass._typing import IntArray
from worstclass.data.registry import load_dataset, named_dataset
from worstclass.experiments.cells import CellResult
from worstclass.experiments.ideal import Regions, ideal_answers, least_average_answers, least_worst_error
from worstclass.experiments.paper_problems import Problem
from worstclass.experiments.paper_tables import (
    average_error,
    chosen_results,
    class_errors,
    results_by_entry,
    results_by_theta,
    worst_error,
)
from worstclass.experiments.reproduction import SIDE, Reproduction, unit_grid
from worstclass.report.displays import Display, RadarDisplay
from worstclass.report.figures import COLOURS, save_figure
from worstclass.report.training_displays import ClassWeightDisplay, DecisionRegionDisplay, ThetaDisplay

#: points per side for regions that are computed here
FINE = 500
#: class that lies in the middle of the squares
MIDDLE = 1
#: what regions cover
UNIT = (0.0, 1.0, 0.0, 1.0)


def paper_figure(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """Draw the figure of a target; None if nothing that it needs has finished."""
    return DRAWERS[work.target.layout](work, results)


def write_figure(work: Reproduction, results: Sequence[CellResult]) -> list[Path]:
    """Write the figure of a target as PNG and PDF; return the files."""
    figure = paper_figure(work, results)
    if figure is None:
        return []
    return [save_figure(figure, work.folder / f"{work.target.name}{ending}") for ending in (".png", ".pdf")]


# regions in the unit square


def _overview(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """The sample, the boundary of the least average error, an overfitted one, and the bounded one."""
    (problem,) = work.problems
    by_row = _first_seed(work, problem, results)
    overfitted, ours = by_row.get("zero training error"), by_row.get("Ours")
    if overfitted is None or ours is None:
        return None
    regions = Regions.of(problem.data)
    figure = Figure(figsize=(13, 3.7), layout="constrained")
    axes = figure.subplots(1, 4)
    _sample(axes[0], problem, "(a) training sample")
    average = least_average_answers(regions, unit_grid(FINE), MIDDLE).reshape(FINE, FINE)
    sacrificed = _share_lost(regions, MIDDLE)
    _fill(axes[1], average, f"(b) least average error\nclass {MIDDLE + 1} is wrong on {sacrificed:.0%}")
    for axis, result, title in (
        (axes[2], overfitted, "(c) overfitted"),
        (axes[3], ours, f"(d) bounded, theta {problem.theta:g}"),
    ):
        _fill(axis, _answers(result), f"{title}\nworst class: {_both(result)}")
        _dots(axis, problem)
    return figure


def _ideal(work: Reproduction, results: Sequence[CellResult]) -> Figure:
    """The imbalanced sample beside the regions of a classifier with the least possible worst-class error."""
    (problem,) = work.problems
    regions = Regions.of(problem.data)
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = figure.subplots(1, 2)
    _sample(axes[0], problem, "(a) training sample")
    answers = ideal_answers(regions, unit_grid(FINE)).reshape(FINE, FINE)
    _fill(axes[1], answers, f"(b) ideal boundary\nworst class: {least_worst_error(regions):.1%}")
    return figure


def _regions(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """Decision regions of every row on every problem."""
    by_problem = [(problem, _first_seed(work, problem, results)) for problem in work.problems]
    labels = [row.label for row in work.target.rows if any(row.label in found for _, found in by_problem)]
    if not labels:
        return None
    figure = Figure(figsize=(2.1 * len(work.problems) + 1, 2.2 * len(labels)), layout="constrained")
    axes = figure.subplots(len(labels), len(work.problems), squeeze=False)
    for line, label in zip(axes, labels, strict=True):
        for axis, (problem, found) in zip(line, by_problem, strict=True):
            title = problem.title if label == labels[0] else ""
            if label in found:
                _fill(axis, _answers(found[label]), f"{title}\nworst {worst_error(found[label]):.0f}%".strip())
                _dots(axis, problem)
            else:
                _fill(axis, np.full((SIDE, SIDE), -1), f"{title}\nnot trained".strip())
        line[0].set_ylabel(label)
    return figure


def _sample(axis: Axes, problem: Problem, title: str) -> None:
    axis.set_facecolor("white")
    _fill(axis, np.full((1, 1), -1), title)
    _dots(axis, problem, size=8)


def _dots(axis: Axes, problem: Problem, size: float = 2) -> None:
    part = load_dataset(problem.data, seed=0, **{**problem.options, "n_test": 1}).train  # no test rows to draw
    classes, target = np.unique(part.y, return_inverse=True)
    DecisionRegionDisplay(np.full((1, 1), -1), UNIT, classes.tolist(), part.X, target, size=size).plot_dots(axis)


def _fill(axis: Axes, answers: IntArray, title: str) -> None:
    """Colour the answers on the grid; points outside all regions (-1) stay white."""
    DecisionRegionDisplay(answers, UNIT, range(len(COLOURS))).plot(axis)
    _frame(axis, title)


def _frame(axis: Axes, title: str) -> None:
    axis.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], aspect="equal")
    axis.set_title(title, fontsize=9)


def _answers(result: CellResult) -> IntArray:
    assert result.regions is not None
    return np.array([[int(digit) for digit in line] for line in result.regions])


def _share_lost(regions: Regions, sacrificed: int) -> float:
    """Return the share of a class that lies in other regions, too."""
    pieces = {piece: area for piece, area in regions.pieces().items() if sacrificed in piece}
    return sum(area for piece, area in pieces.items() if len(piece) > 1) / sum(pieces.values())


def _both(result: CellResult) -> str:
    assert result.training is not None
    return f"training {result.training['worst_error']:.0%}, test {worst_error(result):.0f}%"


def _first_seed(work: Reproduction, problem: Problem, results: Sequence[CellResult]) -> dict[str, CellResult]:
    """Return the result of the first seed by row, of those that have regions."""
    done = results_by_entry(results)
    found = {row.label: chosen_results(problem, row, done).get(0) for row in work.target.rows}
    return {label: result for label, result in found.items() if result is not None and result.regions is not None}


# class weights, class-wise accuracy, theta


def _weights(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """The weight of each class over the rounds."""
    (problem,) = work.problems
    ours = _first_seed(work, problem, results).get("Ours")
    if ours is None or not ours.class_weights:
        return None
    return _figure(ClassWeightDisplay(ours.class_weights, range(1, len(ours.class_weights[0]) + 1)).plot())


def _figure(display: Display) -> Figure:
    figure: Figure = display.figure_
    return figure


def _radar(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """Class-wise test accuracy of CE and of ours, mean over the seeds."""
    done = results_by_entry(results)
    shown: list[tuple[Problem, dict[str, Any]]] = []
    for problem in work.problems:
        found = {row.label: chosen_results(problem, row, done) for row in work.target.rows}
        if all(found.values()):
            shown.append((problem, {label: _accuracies(list(of_row.values())) for label, of_row in found.items()}))
    if not shown:
        return None
    n_columns = min(2, len(shown))
    n_lines = math.ceil(len(shown) / n_columns)
    figure = Figure(figsize=(5.5 * n_columns, 5 * n_lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n_lines, n_columns, subplot_kw={"projection": "polar"})).ravel()
    figure.suptitle("Test accuracy of every class, mean over the seeds")
    for axis, (problem, by_row) in zip(axes, shown, strict=False):
        _radar_axis(axis, problem, by_row)
    for axis in axes[len(shown) :]:
        axis.remove()
    return figure


def _radar_axis(axis: Any, problem: Problem, by_row: Mapping[str, Any]) -> None:
    n_classes = len(next(iter(by_row.values())))
    names = named_dataset(problem.data).class_names or range(n_classes)
    RadarDisplay(by_row, names).plot(axis)
    axis.set_title(problem.title, pad=18)


def _accuracies(results: Sequence[CellResult]) -> Any:
    return 1 - np.mean([class_errors(result.test) for result in results if result.test], axis=0)


def _theta(work: Reproduction, results: Sequence[CellResult]) -> Figure | None:
    """Worst-class and average error against theta; the chosen theta is marked."""
    done = results_by_entry(results)
    found_by_problem = [(problem, results_by_theta(problem, done)) for problem in work.problems]
    curves = [(problem, found) for problem, found in found_by_problem if found]
    if not curves:
        return None
    n_columns = min(4, len(curves))
    n_lines = math.ceil(len(curves) / n_columns)
    figure = Figure(figsize=(3.4 * n_columns, 3 * n_lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(n_lines, n_columns)).ravel()
    for axis, (problem, found) in zip(axes, curves, strict=False):
        worst = [float(np.mean([worst_error(r) for r in of_theta])) / 100 for of_theta in found.values()]
        average = [float(np.mean([average_error(problem, r) for r in of_theta])) / 100 for of_theta in found.values()]
        label = "chosen" if problem.validates else "of the paper"
        ThetaDisplay(list(found), worst, average, _chosen_theta(problem, found), label, "test").plot(axis)
        axis.set_title(problem.title)
    for axis in axes[len(curves) :]:
        axis.remove()
    return figure


def _chosen_theta(problem: Problem, found: Mapping[float, Sequence[CellResult]]) -> float:
    """Return the theta with the least mean validation error of the worst class; the paper's without validation rows."""
    errors = {
        theta: np.mean([result.validation["worst_error"] for result in of_theta if result.validation is not None])
        for theta, of_theta in found.items()
        if any(result.validation is not None for result in of_theta)
    }
    return min(sorted(errors, reverse=True), key=lambda theta: errors[theta]) if errors else problem.theta


DRAWERS: dict[str, Callable[[Reproduction, Sequence[CellResult]], Figure | None]] = {
    "overview": _overview,
    "ideal": _ideal,
    "regions": _regions,
    "weights": _weights,
    "radar": _radar,
    "theta-figure": _theta,
}
