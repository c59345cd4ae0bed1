"""Displays of how a model came about and where it answers what: class weights, thetas, decision regions, abstaining."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from worstclass._typing import IntArray
from worstclass.exceptions import DataError, ParameterError
from worstclass.experiments.details import GRID, RiskCurve, answer_grid, risk_curve
from worstclass.report.displays import Display, bare
from worstclass.report.figures import COLOURS, LINES, as_text


@dataclass(eq=False)
class ClassWeightDisplay(Display):
    """The weight of each class over the rounds of boosting.

    Parameters
    ----------
    class_weights : shape (rounds, K).
    classes : names of the classes.
    added : numbers of the rounds that were added after T; they are shaded.
    """

    class_weights: Sequence[Sequence[float]]
    classes: Sequence[Any]
    added: Sequence[int] = ()

    @classmethod
    def from_estimator(cls, booster: Any, *, ax: Any = None) -> Self:
        """Take the weights of a fitted booster, or of the booster inside a wrapper."""
        while hasattr(booster, "estimator_"):
            booster = booster.estimator_
        history = getattr(booster, "history_", ())
        if not history or not hasattr(history[0], "class_weight"):
            raise ParameterError("booster", cls.__name__, allowed="a fitted WorstClassBooster", got=booster)
        added = [record.round for record in history if record.phase == "extend"]
        return cls([record.class_weight for record in history], booster.classes_.tolist(), added).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 7.0, 3.5

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator

        weights = np.array(self.class_weights)
        rounds = np.arange(1, len(weights) + 1)
        for k, label in enumerate(self.classes):
            line, colour = LINES[k // len(COLOURS) % len(LINES)], COLOURS[k % len(COLOURS)]
            marker = "o" if len(weights) < 10 else None
            ax.plot(rounds, weights[:, k], color=colour, linestyle=line, marker=marker, label=as_text(label))
        if self.added:
            ax.axvspan(self.added[0] - 0.5, self.added[-1] + 0.5, color="0.9", zorder=0)
            transform = ax.get_xaxis_transform()
            ax.text(self.added[0], 0.98, " added", transform=transform, va="top", fontsize=8, color="0.4")
        ax.set(xlabel="round", ylabel="class weight", ylim=(0, None), xlim=(0.5, len(weights) + 0.5))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if len(self.classes) <= 20:
            ax.legend(title="class", frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        bare(ax)


@dataclass(eq=False)
class ThetaDisplay(Display):
    """Worst-class and average error by theta, and the theta that was chosen.

    Parameters
    ----------
    thetas, worst, average : floors, and errors in [0, 1] at each.
    chosen : the floor to mark; None marks none.
    chosen_label, rows : what the legend calls it, and whose errors these are.
    """

    thetas: Sequence[float]
    worst: Sequence[float]
    average: Sequence[float]
    chosen: float | None = None
    chosen_label: str = "chosen"
    rows: str = "validation"

    @classmethod
    def from_selection(cls, selection: Any, *, ax: Any = None) -> Self:
        """Draw a ``ThetaSelection`` in which every fit has one floor for all classes."""
        found = [record for record in selection.candidates if record.worst_error is not None]
        found = sorted((record for record in found if not isinstance(record.theta, Mapping)), key=lambda r: r.theta)
        if not found:
            raise DataError("There is nothing to draw: no fit of the selection has one floor for all classes.")
        chosen = None if isinstance(selection.theta, Mapping) else float(selection.theta)
        thetas, worst = [float(record.theta) for record in found], [record.worst_error for record in found]
        return cls(thetas, worst, [record.plain_error for record in found], chosen).plot(ax)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.thetas, 100 * np.asarray(self.worst), "o-", color=COLOURS[4], label="worst class")
        ax.plot(self.thetas, 100 * np.asarray(self.average), "s--", color=COLOURS[0], label="average")
        if self.chosen is not None:
            ax.axvline(self.chosen, color="0.5", linestyle=":", label=f"{self.chosen_label}: {self.chosen:g}")
        ax.set(xlabel="theta", ylabel=f"{self.rows} error [%]", ylim=(0, None))
        ax.legend(frameon=False, fontsize=8)
        bare(ax)


@dataclass(eq=False)
class DecisionRegionDisplay(Display):
    """Which class is answered where, for rows of two numbers.

    Parameters
    ----------
    answers : class indices on a grid, from bottom to top, shape (grid, grid); -1 stays white.
    extent : smallest and largest value of both features: left, right, bottom, top.
    classes : names of the classes.
    X, target : rows to draw on top, shape (n, 2), and their class indices.
    size : of these dots.
    names : of the two features.
    """

    answers: IntArray
    extent: tuple[float, float, float, float]
    classes: Sequence[Any]
    X: Any = None
    target: Any = None
    size: float = 7
    names: Sequence[str] = ()

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, *, grid: int = GRID, ax: Any = None) -> Self:
        """Ask a fitted classifier about a grid around the rows X; rows with labels are drawn on top."""
        answers, extent = answer_grid(model, X, grid)
        index = {label: k for k, label in enumerate(model.classes_.tolist())}
        target = None if y is None else np.array([index[label] for label in np.asarray(y).tolist()])
        names = [str(name) for name in getattr(X, "columns", ())]
        return cls(answers, extent, model.classes_.tolist(), np.asarray(X), target, names=names).plot(ax)

    def _size(self) -> tuple[float, float]:
        return 5.4, 4.4

    def _draw(self, ax: Any) -> None:
        from matplotlib.colors import ListedColormap

        n = len(COLOURS)
        shown = np.where(self.answers < 0, 0, self.answers % n + 1)
        palette = ListedColormap(["#FFFFFF", *COLOURS])
        options = {"cmap": palette, "vmin": 0, "vmax": n, "alpha": 0.5, "aspect": "auto"}
        ax.imshow(shown, origin="lower", extent=self.extent, interpolation="nearest", **options)
        left, right, bottom, top = self.extent
        ax.set(xlim=(left, right), ylim=(bottom, top))
        self.plot_dots(ax)
        if len(self.names) == 2:
            ax.set(xlabel=as_text(self.names[0]), ylabel=as_text(self.names[1]))

    def plot_dots(self, ax: Any) -> None:
        """Draw the rows alone, on axes that have regions already."""
        for k in [] if self.target is None else np.unique(self.target).tolist():
            dots, colour = np.asarray(self.X)[self.target == k], COLOURS[k % len(COLOURS)]
            style = {"s": self.size, "color": colour, "edgecolors": "black", "linewidths": 0.2}
            ax.scatter(dots[:, 0], dots[:, 1], label=as_text(self.classes[k]), **style)


@dataclass(eq=False)
class RiskCoverageDisplay(Display):
    """Risk of the worst class and of all rows against the share of rows that is answered.

    Parameters
    ----------
    curve : a ``RiskCurve``: coverage and risks from the strictest threshold to the freest.
    """

    curve: RiskCurve

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Ask a fitted ``AbstainingClassifier``, or any classifier with a margin, about rows with labels."""
        return cls(risk_curve(model, X, y)).plot(ax)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import PercentFormatter

        curve = self.curve
        ax.plot(curve.coverage, curve.worst, color=COLOURS[4], label="worst class")
        ax.plot(curve.coverage, curve.plain, "--", color=COLOURS[0], label="all rows")
        if curve.used is not None:
            ax.axvline(curve.coverage[curve.used], color="0.5", linestyle=":", label="threshold in use")
        ax.set(xlabel="answered rows", ylabel="risk of the answered rows", xlim=(0, 1), ylim=(0, None))
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        ax.legend(frameon=False, fontsize=8)
        bare(ax)
