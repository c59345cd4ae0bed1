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

from worstclass._checks import optional_packages
from worstclass._typing import FloatArray, IntArray
from worstclass.certificates.binomial import error_interval
from worstclass.exceptions import DataError
from worstclass.experiments.details import confusion_counts
from worstclass.metrics import ClassReport, class_report
from worstclass.report.figures import COLOURS, as_text, save_figure
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
            with optional_packages(type(self).__name__):
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


def bare(ax: Any, *sides: str) -> None:
    """Hide the frame at the top and on the right."""
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
        bare(ax)


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
