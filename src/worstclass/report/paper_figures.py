"""The paper's figures, drawn from the results of cells: regions, class weights, radar charts, errors by theta."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from worstclass._typing import IntArray
from worstclass.data.registry import load_dataset, named_dataset
from worstclass.experiments.cells import CellResult
from worstclass.experiments.ideal import Regions, ideal_answers, least_average_answers, least_worst_error
from worstclass.experiments.paper import Problem
from worstclass.experiments.reproduction import (
    SIDE,
    Reproduction,
    average_error,
    chosen_results,
    class_errors,
    results_by_entry,
    results_by_theta,
    unit_grid,
    worst_error,
)
from worstclass.report.figures import COLOURS, as_text, class_weight_figure, save_figure

#: points per side for regions that are computed here
FINE = 500
#: class that lies in the middle of the squares
MIDDLE = 1
#: names, and names of one or two letters, around a radar chart; of more classes, only some are named
MOST_NAMES, MOST_LETTERS = 25, 70


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
        (axes[2], overfitted, "(c) zero training error"),
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
    _frame(axis, title)
    _dots(axis, problem, size=8)


def _dots(axis: Axes, problem: Problem, size: float = 2) -> None:
    part = load_dataset(problem.data, seed=0, **{**problem.options, "n_test": 1}).train  # no test rows to draw
    colours = np.array(COLOURS)[np.unique(part.y, return_inverse=True)[1]]
    axis.scatter(part.X[:, 0], part.X[:, 1], s=size, c=colours, edgecolors="black", linewidths=0.2)


def _fill(axis: Axes, answers: IntArray, title: str) -> None:
    """Colour the answers on the grid; points outside all regions (-1) stay white."""
    colours = ListedColormap(["#FFFFFF", *COLOURS])
    last = len(COLOURS)
    axis.imshow(answers + 1, origin="lower", extent=(0, 1, 0, 1), cmap=colours, vmin=0, vmax=last, alpha=0.5)
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
    return class_weight_figure(ours.class_weights, range(1, len(ours.class_weights[0]) + 1))


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
    for axis, (problem, by_row) in zip(axes, shown, strict=False):
        _radar_axis(axis, problem, by_row)
    for axis in axes[len(shown) :]:
        axis.remove()
    return figure


def _radar_axis(axis: Any, problem: Problem, by_row: Mapping[str, Any]) -> None:
    facts = named_dataset(problem.data)
    n_classes = len(next(iter(by_row.values())))
    names = [as_text(_short(name)) for name in facts.class_names] or [str(k) for k in range(n_classes)]
    angles = 2 * np.pi * np.arange(n_classes + 1) / n_classes
    for number, (label, accuracies) in enumerate(by_row.items()):
        values = 100 * accuracies
        axis.plot(angles, [*values, values[0]], color=COLOURS[(4, 0)[number]], linewidth=1.5, label=label)
        axis.fill(angles, [*values, values[0]], color=COLOURS[(4, 0)[number]], alpha=0.12)
    every = math.ceil(n_classes / (MOST_LETTERS if max(map(len, names)) <= 2 else MOST_NAMES))
    axis.set_xticks(angles[:-1][::every], names[::every], fontsize=9 if n_classes <= 12 else 7)
    for angle, name in zip(angles[:-1][::every], axis.get_xticklabels(), strict=True):
        name.set_horizontalalignment(("center", "left", "right")[round(math.sin(angle) * 0.9)])
    axis.set_theta_zero_location("N")
    axis.set_theta_direction(-1)
    axis.tick_params(axis="x", pad=2)
    axis.set_ylim(0, 100)
    axis.set_yticks([25, 50, 75, 100], ["25", "50", "75", "100%"], fontsize=6)
    axis.set_title(problem.title, pad=18)
    axis.legend(loc="upper left", bbox_to_anchor=(-0.2, 1.15), frameon=False, fontsize=9)


def _short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


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
        thetas = list(found)
        worst = [np.mean([worst_error(result) for result in of_theta]) for of_theta in found.values()]
        average = [np.mean([average_error(problem, result) for result in of_theta]) for of_theta in found.values()]
        axis.plot(thetas, worst, "o-", color=COLOURS[4], label="worst class")
        axis.plot(thetas, average, "s--", color=COLOURS[0], label="average")
        chosen = _chosen_theta(problem, found)
        label = "chosen" if problem.validates else "of the paper"
        axis.axvline(chosen, color="0.5", linestyle=":", label=f"{label}: {chosen:g}")
        axis.set(xlabel="theta", ylabel="test error [%]", ylim=(0, None), title=problem.title)
        axis.legend(frameon=False, fontsize=8)
        axis.spines[["top", "right"]].set_visible(False)
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
