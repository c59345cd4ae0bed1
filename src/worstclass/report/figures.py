"""Figures of the paper: class weights over the rounds, and decision regions in the plane."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from worstclass.boosting.history import RoundRecord

#: colours that stay apart for people with colour blindness (Okabe and Ito), repeated for more classes
LINES = ("-", "--", ":")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def class_weight_figure(history: Sequence[RoundRecord], classes: Sequence[Any]) -> Figure:
    """Draw the weight of each class over the rounds; rounds added after T are shaded."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    weights = np.array([record.class_weight for record in history])
    rounds = np.arange(1, len(history) + 1)
    for k, label in enumerate(classes):
        line = LINES[k // len(COLOURS) % len(LINES)]
        marker = "o" if len(history) < 10 else None
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(rounds, weights[:, k], color=colour, linestyle=line, marker=marker, label=as_text(label))
    added = [record.round for record in history if record.phase == "extend"]
    if added:
        axes.axvspan(added[0] - 0.5, added[-1] + 0.5, color="0.9", zorder=0)
        axes.text(added[0], 0.98, " added", transform=axes.get_xaxis_transform(), va="top", fontsize=8, color="0.4")
    axes.set(xlabel="round", ylabel="class weight", ylim=(0, None), xlim=(0.5, len(history) + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(classes) <= 20:
        axes.legend(title="class", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def decision_region_figure(
    predictors: Mapping[str, Callable[[npt.NDArray[np.float32]], npt.NDArray[Any]]],
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    classes: Sequence[Any],
    *,
    grid: int = 100,
) -> Figure:
    """Draw where each predictor answers which class, side by side, with the training rows on top.

    Parameters
    ----------
    predictors : title of each panel, and a function from points of the plane to labels.
    X, y : training rows, shape (n, 2), and their labels.
    classes : the classes, in the order of the colours.
    grid : points asked about along each axis.
    """
    order = {label: k for k, label in enumerate(classes)}
    low, high = X.min(axis=0) - 0.05, X.max(axis=0) + 0.05
    across, up = np.meshgrid(np.linspace(low[0], high[0], grid), np.linspace(low[1], high[1], grid))
    points = np.stack([across.ravel(), up.ravel()], axis=1).astype(np.float32)
    colours = ListedColormap([COLOURS[k % len(COLOURS)] for k in range(len(classes))])
    figure = Figure(figsize=(4.2 * len(predictors), 4.2), layout="constrained")
    panels = figure.subplots(1, len(predictors), squeeze=False, sharey=True)[0]
    for axes, (title, predict) in zip(panels, predictors.items(), strict=True):
        answers = np.array([order[label] for label in predict(points).tolist()]).reshape(grid, grid)
        extent = (low[0], high[0], low[1], high[1])
        limits = {"vmin": -0.5, "vmax": len(classes) - 0.5}
        axes.imshow(answers, origin="lower", extent=extent, cmap=colours, alpha=0.45, aspect="equal", **limits)
        for label, k in order.items():
            rows = X[y == label]
            axes.scatter(
                rows[:, 0], rows[:, 1], s=7, color=colours(k), edgecolor="white", linewidth=0.3, label=as_text(label)
            )
        axes.set_title(title)
        axes.set(xticks=[], yticks=[])
    panels[-1].legend(title="class", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def save_figure(figure: Figure, file: Path) -> Path:
    """Write a figure as PNG."""
    FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # names in any script
        figure.savefig(file, dpi=150)
    return file


def as_text(label: Any) -> str:
    """Return a class name that matplotlib shows as it is: no formulas, and no hidden legend entries."""
    text = str(label).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
