"""Figures: class weights over the rounds, as in the paper."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

#: colours that stay apart for people with colour blindness (Okabe and Ito), repeated for more classes
LINES = ("-", "--", ":")
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#F0E442", "#000000")


def class_weight_figure(
    class_weights: Sequence[Sequence[float]], classes: Sequence[Any], added: Sequence[int] = ()
) -> Figure:
    """Draw the weight of each class over the rounds, shape (rounds, K); the rounds ``added`` after T are shaded."""
    figure = Figure(figsize=(7, 3.5), layout="constrained")
    axes = figure.subplots()
    weights = np.array(class_weights)
    rounds = np.arange(1, len(weights) + 1)
    for k, label in enumerate(classes):
        line = LINES[k // len(COLOURS) % len(LINES)]
        marker = "o" if len(weights) < 10 else None
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(rounds, weights[:, k], color=colour, linestyle=line, marker=marker, label=as_text(label))
    if added:
        axes.axvspan(added[0] - 0.5, added[-1] + 0.5, color="0.9", zorder=0)
        axes.text(added[0], 0.98, " added", transform=axes.get_xaxis_transform(), va="top", fontsize=8, color="0.4")
    axes.set(xlabel="round", ylabel="class weight", ylim=(0, None), xlim=(0.5, len(weights) + 0.5))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    if len(classes) <= 20:
        axes.legend(title="class", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Figure, file: Path) -> Path:
    """Write a figure, as PNG or as PDF by the ending of the file."""
    FigureCanvasAgg(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")  # names in any script
        figure.savefig(
            file, dpi=150, bbox_inches="tight", metadata={"CreationDate": None} if file.suffix == ".pdf" else None
        )
    return file


def as_text(label: Any) -> str:
    """Return a class name that matplotlib shows as it is: no formulas, and no hidden legend entries."""
    text = str(label).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text
