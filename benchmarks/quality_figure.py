"""The figure of the scoreboard: the worst-class error of every method on every table, `auto` among them."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from quality_report import AUTO, OFFSETS, Scores, read_json

#: methods that have a colour of their own; the others are grey
COLOURS = {AUTO: "#1b6ca8", "forest": "#d95f02", "hist-gradient-boosting": "#7570b3", "logistic": "#1b9e77"}


def draw_figure(folder: Path, file: Path) -> None:
    """Draw one row per table, sorted by the error of `auto`; methods without offsets only."""
    scores = Scores.of(read_json(folder.glob("tables/*/*.json")))
    methods = [name for name in scores.methods if not name.endswith(OFFSETS)]
    tables, table_errors = scores.tables, scores.by_table(methods)
    errors = {name: table_errors[:, column] for column, name in enumerate(methods)}
    order = np.argsort(errors[AUTO])
    figure, axes = plt.subplots(figsize=(7.5, 0.27 * len(tables) + 1.3))
    height = np.arange(len(tables))
    for name in [*(m for m in methods if m not in COLOURS), *(m for m in COLOURS if m in methods)]:
        own = name == AUTO
        label = name if name in COLOURS else "other methods" if name == methods[-1] else None
        colour, size = COLOURS.get(name, "0.75"), 55 if own else 22
        axes.scatter(100 * errors[name][order], height, s=size, color=colour, label=label, zorder=3 if own else 2)
    axes.set_yticks(height, [tables[k] for k in order])
    axes.set_xlabel("worst-class error on test rows, %")
    axes.grid(axis="x", color="0.92", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=8)
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=130)
    plt.close(figure)
