"""Progress of a fit, in a terminal, a notebook or a log: rounds of boosting with their class weights, members of a
portfolio, epochs of networks; each with the time left.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from worstclass._text import duration, n_of
from worstclass.boosting.callbacks import Callback, EpochInfo, FitPlan, NetworkEpochInfo, StepInfo

if TYPE_CHECKING:
    from rich.console import RenderableType

    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.boosting.history import RoundRecord

#: epochs between two updates of the line within a round, and seconds between two updates of a notebook; drawing must
#: not cost what training does
EVERY, SECONDS = 10, 0.2
#: heights of a small bar, and the same without Unicode
BLOCKS, ASCII_BLOCKS = "▁▂▃▄▅▆▇█", ".:-=+*%#"
#: classes whose bars have a name, and bars at the most
MOST_NAMED, MOST_BARS = 5, 60
#: characters of the name of a class
MAX_NAME = 16


def is_live(shown: Console) -> bool:
    """Whether what is shown can be changed: in a notebook, and on a terminal unless NO_COLOR asks for plain output."""
    return shown.is_jupyter or (shown.is_terminal and not shown.no_color)


class LiveBar(Progress):
    """A bar with the time left, and a second line below it; nothing where lines cannot be changed in place.

    Parameters
    ----------
    shown : where it is shown.
    percent : show the share that is done in place of counts.
    transient : remove the bar in the end.
    """

    def __init__(self, shown: Console, *, percent: bool = False, transient: bool = False) -> None:
        counts: ProgressColumn = TaskProgressColumn() if percent else MofNCompleteColumn()
        columns = (BarColumn(bar_width=16), counts, TextColumn("{task.description}", markup=False))
        times = (TimeElapsedColumn(), TextColumn("left {task.fields[left]}"))
        self.below = ""
        self._notebook: Any = None
        self._drawn = self._first = 0.0
        super().__init__(*columns, *times, console=shown, transient=transient, disable=not is_live(shown))

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield what is drawn."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below, no_wrap=True, overflow="ellipsis")

    def show(self, done: float, total: float | None, text: str, left: str | None = None) -> None:
        """Move the bar; without ``left``, it is reckoned from the time since the first call."""
        if not self.tasks:
            self.add_task("", total=total, left="-")
            self._first = done
        if left is None:
            came = done - self._first
            left = duration((self.tasks[0].elapsed or 0.0) * (total - done) / came) if total and came else "-"
        self.tasks[0].total = total  # update takes None for no change
        self.update(self.tasks[0].id, description=text, completed=done, left=left)

    # in a notebook rich needs ipywidgets, and warns without them; the display of IPython does it alone

    def start(self) -> None:
        """Begin to draw."""
        if not self.console.is_jupyter:
            super().start()

    def stop(self) -> None:
        """Draw for the last time."""
        if self.console.is_jupyter:
            self.refresh()
        elif self.live.is_started:
            super().stop()

    def update(self, *task: Any, **values: Any) -> None:
        """Change a bar."""
        super().update(*task, **values)
        if self.console.is_jupyter and time.monotonic() - self._drawn > SECONDS:
            self.refresh()

    def refresh(self) -> None:
        """Draw."""
        if not self.console.is_jupyter:
            super().refresh()
        elif self._notebook is not None:
            self._notebook.update(self)
        elif any(task.description for task in self.tasks):
            from IPython.display import display

            self._notebook = display(self, display_id=True)
        self._drawn = time.monotonic()


class ProgressCallback(Callback):
    """Shows how far a fit is, and the time left: a bar in a terminal or notebook, elsewhere a line for each tenth.

    Parameters
    ----------
    console : a ``rich.console.Console`` to show it on; None is the standard error stream.

    Examples
    --------
    >>> from worstclass import WorstClassClassifier
    >>> watched = WorstClassClassifier(callbacks=[ProgressCallback()])
    """

    def __init__(self, console: Console | None = None) -> None:
        self.console = console
        self._bar: LiveBar | None = None
        self._tenth = -1

    @property
    def bar(self) -> LiveBar:
        """The bar of the fit under way."""
        if self._bar is None:  # not before it is needed: estimators are copied with their callbacks
            shown = self.console or Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
            self._bar, self._tenth = LiveBar(shown), -1
        self._bar.start()
        return self._bar

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Show the plan."""
        self._plan = plan
        floors = dict.fromkeys([f"{min(plan.theta):g}", f"{max(plan.theta):g}"]) if plan.theta else ()
        floor = f", floor {' to '.join(floors)}" if floors else ""
        rounds = f"{n_of(plan.n_rounds, 'round')}, edge {plan.needed_edge:.4f} each"
        self.bar.console.print(f"{len(plan.classes)} classes{floor}, {rounds}")
        self.bar.show(0, plan.n_rounds, "")

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """Show the edge of this round."""
        if info.epoch % EVERY == 0:
            self.bar.update(self.bar.tasks[0].id, description=self._state(info.epoch, info.edge))

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """Show the vote so far, and the class weights."""
        plan, blocks = self._plan, ASCII_BLOCKS if self.bar.console.options.ascii_only else BLOCKS
        worst = f"worst class of the vote {worst_of(plan.classes, record.vote_errors)}"
        self.bar.below = f"{worst}; weights {weight_bars(plan.classes, record.class_weight, blocks)}"
        added = max(0, record.round - plan.n_rounds)
        total = plan.n_rounds + (plan.max_extra_rounds if added else 0)
        state = self._state(record.epochs, record.edge)
        self.bar.show(record.round, total, state)
        if self.bar.disable and (record.round == 1 or record.round % max(1, plan.n_rounds // 10) == 0):
            done = f"round {record.round - added} of {plan.n_rounds}" + (f", {added} added" if added else "")
            self.bar.console.print(f"{done}: {state}, {self.bar.below}")

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """Show the member that was trained, and how long the others will take."""
        state = f"{info.name} could not be trained" if info.failed else info.name
        left = "-" if info.seconds_left is None else duration(info.seconds_left)
        self.bar.show(info.done, info.total, state, left)
        if self.bar.disable:
            expected = f", about {left} left" if info.done < info.total and info.seconds_left is not None else ""
            done = f"{info.done} of {info.total} members trained"
            self.bar.console.print(f"{done}: {state}, {duration(info.seconds)}{expected}")

    def on_network_epoch_end(self, estimator: Any, info: NetworkEpochInfo) -> None:
        """Show the worst class of the epoch."""
        rows, errors = ("validation", info.val_errors) if info.val_errors is not None else ("training", info.errors)
        state = f"network {info.member}, epoch {info.epoch}, worst class ({rows}) {worst_of(info.classes, errors)}"
        self.bar.show(info.done, info.total, state)
        tenth = info.done * 10 // info.total if info.total else 0
        if self.bar.disable and tenth != self._tenth:
            self._tenth = tenth
            self.bar.console.print(f"epoch {info.done}{f' of {info.total}' if info.total else ''}: {state}")

    def on_fit_end(self, estimator: Any) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def on_fit_failed(self, estimator: Any) -> None:
        """Leave the bar as it is."""
        self.on_fit_end(estimator)

    def _state(self, epoch: int, edge: float) -> str:
        return f"epoch {epoch}, edge {edge:.3f} of {self._plan.needed_edge:.3f}"


def worst_of(classes: Sequence[Any], errors: Sequence[float]) -> str:
    """Return the class with the largest error, and the error."""
    worst = max(range(len(errors)), key=lambda k: errors[k])
    return f"{str(classes[worst])[:MAX_NAME]}: {errors[worst]:.1%}"


def weight_bars(classes: Sequence[Any], weights: Sequence[float], blocks: str = BLOCKS) -> str:
    """Return a small bar for each class, with names where they are few; else those of the heaviest, in their order.

    Examples
    --------
    >>> weight_bars(["a", "b", "c"], [0.1, 0.8, 0.4])
    'a ▁ b █ c ▄'
    >>> weight_bars(range(6), [1, 2, 3, 4, 8, 6])
    '▁▂▃▄█▆, most on 4'
    """
    largest = max(weights) or 1.0
    bars = [blocks[max(0, round(len(blocks) * weight / largest) - 1)] for weight in weights]
    if len(bars) <= MOST_NAMED:
        return " ".join(f"{str(name)[:MAX_NAME]} {bar}" for name, bar in zip(classes, bars, strict=True))
    heaviest = sorted(range(len(bars)), key=lambda k: weights[k], reverse=True)
    shown = "".join(bars[k] for k in sorted(heaviest[:MOST_BARS]))
    return f"{shown}, most on {str(classes[heaviest[0]])[:MAX_NAME]}"
