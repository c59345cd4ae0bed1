"""Plots in the style of scikit-learn's displays: made from a fitted model or from results, drawn by ``plot``.

``from_...`` computes and draws, ``plot`` draws again, on axes of yours or on a new figure. ``ax_`` and ``figure_`` are
what was drawn on. matplotlib is imported when something is drawn; pyplot is not used, so no figure stays open.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray, IntArray
from worstclass.certificates.binomial import error_interval
from worstclass.exceptions import DataError, ParameterError
from worstclass.experiments.details import GRID, RiskCurve, answer_grid, confusion_counts, risk_curve
from worstclass.metrics import ClassReport, class_report
from worstclass.report.figures import COLOURS, LINES, as_text, save_figure
from worstclass.wrappers.base import floors_of

#: classes whose names and counts a confusion matrix shows, and names along its sides where there are more
MOST_CELLS, MOST_TICKS = 20, 40
#: names, and names of one or two letters, around a radar chart; of more classes, only some are named
MOST_NAMES, MOST_LETTERS = 25, 70
LONGEST_NAME = 24


class Display:
    """What all displays share: their axes, and a picture in notebooks."""

    projection: ClassVar[str | None] = None
    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on axes of matplotlib, or on a new figure."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=self._size(), layout="constrained").subplots(
                subplot_kw={"projection": self.projection} if self.projection else {}
            )
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        return self

    def _size(self) -> tuple[float, float]:
        return 6.4, 4.0

    def _draw(self, ax: Any) -> None:
        raise NotImplementedError

    def _repr_png_(self) -> bytes | None:
        """Show the figure in a notebook, where it is not that of axes of the user."""
        if not hasattr(self, "figure_"):
            return None
        picture = io.BytesIO()
        save_figure(self.figure_, picture)
        return picture.getvalue()


def _bare(ax: Any, *sides: str) -> None:
    ax.spines[["top", "right", *sides]].set_visible(False)


def _of_model(model: Any, X: Any, y: Any, theta: Any = None) -> ClassReport:
    floors = floors_of(model) if theta is None else theta
    return class_report(y, model.predict(X), labels=model.classes_, theta=floors)


def _in_order(report: ClassReport) -> list[str]:
    """Return the names of the classes, numbers by their value."""
    names = [row.name for row in report.rows]
    return sorted(names, key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0, name))


@dataclass(eq=False)
class ClassErrorDisplay(Display):
    """The error of every class with its interval, worst first, and its floor.

    Parameters
    ----------
    report : a ``ClassReport``.
    delta : the intervals (Clopper-Pearson) hold with probability ``1 - delta``, each by itself.
    most : classes that are drawn, the worst of them.

    Examples
    --------
    >>> from worstclass import ClassErrorDisplay
    >>> display = ClassErrorDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"], theta=0.8)
    >>> display.ax_.get_xlabel()
    'error'
    """

    report: ClassReport
    delta: float = 0.05
    most: int = 40

    @classmethod
    def from_report(cls, report: ClassReport, *, ax: Any = None, **options: Any) -> Self:
        """Draw a report."""
        return cls(report, **options).plot(ax)

    @classmethod
    def from_predictions(
        cls, y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, theta: Any = None, ax: Any = None, **options: Any
    ) -> Self:
        """Count errors, with floors where ``theta`` is given, and draw them."""
        return cls.from_report(class_report(y_true, y_pred, theta=theta), ax=ax, **options)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, theta: Any = None, ax: Any = None, **options: Any) -> Self:
        """Ask a fitted classifier; the floors are its own where ``theta`` is None."""
        return cls.from_report(_of_model(model, X, y, theta), ax=ax, **options)

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.0 + 0.3 * min(len(self.report.rows), self.most)

    def _draw(self, ax: Any) -> None:
        from matplotlib.ticker import PercentFormatter

        rows = [row for row in self.report.rows if row.total][: self.most]
        errors = np.array([row.error for row in rows])
        low, high = error_interval([r.total - r.correct for r in rows], [r.total for r in rows], self.delta)
        missed = [row.meets_floor is False for row in rows]
        places = np.arange(len(rows))
        ax.barh(places, errors, height=0.6, color=[COLOURS[4] if miss else COLOURS[0] for miss in missed])
        # an interval of all wrong rows ends at 1, up to rounding
        ends = np.maximum([errors - low, high - errors], 0)
        ax.errorbar(errors, places, xerr=ends, fmt="none", ecolor="0.25", elinewidth=1, capsize=3)
        limits = [(place, 1 - row.floor) for place, row in zip(places, rows, strict=True) if row.floor is not None]
        if limits:
            at, limit = np.array(limits).T
            ax.vlines(limit, at - 0.45, at + 0.45, color="black", linestyle="--", linewidth=1.2, label="1 - floor")
            ax.legend(frameon=False, fontsize=8, loc="lower right")
        ax.set_yticks(places, [as_text(row.name, LONGEST_NAME) for row in rows])
        ax.set(xlabel="error", ylim=(len(rows) - 0.4, -0.6), xlim=(0, None))
        ax.xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0))
        _bare(ax)


@dataclass(eq=False)
class RadarDisplay(Display):
    """Class-wise accuracy around a circle, one line for each model.

    Parameters
    ----------
    accuracies : name of each model -> accuracy of each class, shape (K,).
    classes : names of the classes.
    """

    accuracies: Mapping[str, FloatArray]
    classes: Sequence[Any]

    projection: ClassVar[str | None] = "polar"

    @classmethod
    def from_reports(cls, reports: Mapping[str, ClassReport], *, ax: Any = None) -> Self:
        """Draw reports on the same classes; an absent class has accuracy 0."""
        names = _in_order(next(iter(reports.values())))
        found = {}
        for label, report in reports.items():
            by_name = {row.name: 0.0 if row.error is None else 1 - row.error for row in report.rows}
            if set(by_name) != set(names):
                raise DataError(f"All reports must have the same classes. Got {names} and {_in_order(report)}.")
            found[label] = np.array([by_name[name] for name in names])
        return cls(found, names).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Ask a fitted classifier."""
        return cls.from_reports({type(model).__name__: _of_model(model, X, y)}, ax=ax)

    def _size(self) -> tuple[float, float]:
        return 5.5, 5.0

    def _draw(self, ax: Any) -> None:
        n_classes = len(self.classes)
        names = [as_text(name, 16) for name in self.classes]
        angles = 2 * np.pi * np.arange(n_classes + 1) / n_classes
        for number, (label, accuracies) in enumerate(self.accuracies.items()):
            values, colour = 100 * np.asarray(accuracies), COLOURS[(4, 0, 2, 3, 1, 5, 6, 7)[number % 8]]
            ax.plot(angles, [*values, values[0]], color=colour, linewidth=1.5, label=as_text(label))
            ax.fill(angles, [*values, values[0]], color=colour, alpha=0.12)
        every = math.ceil(n_classes / (MOST_LETTERS if max(map(len, names)) <= 2 else MOST_NAMES))
        ax.set_xticks(angles[:-1][::every], names[::every], fontsize=9 if n_classes <= 12 else 7)
        for angle, name in zip(angles[:-1][::every], ax.get_xticklabels(), strict=True):
            name.set_horizontalalignment(("center", "left", "right")[round(math.sin(angle) * 0.9)])
        ax.set_theta_zero_location("N")
        ax.set_theta_direction(-1)
        ax.tick_params(axis="x", pad=2)
        ax.set_ylim(0, 100)
        ax.set_yticks([25, 50, 75, 100], ["25", "50", "75", "100%"], fontsize=6)
        ax.legend(loc="upper left", bbox_to_anchor=(-0.2, 1.15), frameon=False, fontsize=9)


@dataclass(eq=False)
class ConfusionDisplay(Display):
    """Which class is taken for which: shares of the rows of each true class; readable from 2 to 200 classes.

    Parameters
    ----------
    counts : rows by true class and by answer, shape (K, K), or (K, K + 1) with the rows that are not answered last.
    classes : names of the classes.
    """

    counts: IntArray
    classes: Sequence[Any]

    @classmethod
    def from_predictions(
        cls, y_true: npt.ArrayLike, y_pred: npt.ArrayLike, *, labels: Any = None, ax: Any = None
    ) -> Self:
        """Count answers; one that is not among the ``labels`` counts as not answered."""
        names = np.unique(np.concatenate([np.asarray(y_true), np.asarray(y_pred)])) if labels is None else labels
        return cls(confusion_counts(y_true, y_pred, np.asarray(names)), np.asarray(names).tolist()).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Ask a fitted classifier."""
        return cls.from_predictions(y, model.predict(X), labels=model.classes_, ax=ax)

    def _size(self) -> tuple[float, float]:
        side = 2.2 + 0.45 * min(len(self.classes), MOST_CELLS)
        return side, side

    def _draw(self, ax: Any) -> None:
        counts = np.asarray(self.counts)
        K, n_answers = counts.shape
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        shade = np.sqrt(shares) if K > MOST_CELLS else shares  # single cells of many are to be seen
        ax.imshow(shade, cmap="Blues", vmin=0, vmax=1, aspect="auto" if n_answers != K else "equal")
        names = [as_text(name, LONGEST_NAME) for name in self.classes]
        every = 1 if K <= MOST_CELLS else math.ceil(K / MOST_TICKS)
        answers = [*names, *["no answer"] * (n_answers - K)]
        ax.set_xticks(range(0, n_answers, every), answers[::every], rotation=90, fontsize=9 if K <= MOST_CELLS else 5)
        ax.set_yticks(range(0, K, every), names[::every], fontsize=9 if K <= MOST_CELLS else 5)
        if K <= MOST_CELLS:
            for (i, j), count in np.ndenumerate(counts):
                colour = "white" if shares[i, j] > 0.6 else "black" if count else "0.75"
                ax.text(j, i, f"{count:,}", ha="center", va="center", fontsize=8, color=colour)
        ax.set(xlabel="answer", ylabel="true class")


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
        _bare(ax)


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
        _bare(ax)


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
        _bare(ax)
