"""Live progress on the standard error stream: rounds of boosting with their class weights, members of a portfolio,
epochs of networks, cells of a comparison; each with the time left.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from worstclass._text import duration, n_of
from worstclass.boosting.callbacks import Callback, EpochInfo, FitPlan, NetworkEpochInfo, StepInfo
from worstclass.cli.console import console, is_live

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.boosting.history import RoundRecord

#: epochs between two updates of the line within a round; drawing must not cost what training does
EVERY = 10
#: heights of a small bar, and the same without Unicode
BLOCKS, ASCII_BLOCKS = "▁▂▃▄▅▆▇█", ".:-=+*%#"
#: classes whose bars have a name, and bars at the most
MOST_NAMED, MOST_BARS = 5, 60
#: characters of the name of a class
MAX_NAME = 16


class LiveBar(Progress):
    """A bar with the time left, and a second line below it; nothing where lines cannot be changed in place."""

    def __init__(self, shown: Console) -> None:
        columns = (BarColumn(bar_width=16), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        times = (TimeElapsedColumn(), TextColumn("left {task.fields[left]}"))
        self.below = ""
        super().__init__(*columns, *times, console=shown, disable=not is_live(shown))

    def get_renderables(self) -> Iterable[RenderableType]:
        """Yield what is drawn."""
        yield from super().get_renderables()
        if self.below:
            yield Text(self.below, no_wrap=True, overflow="ellipsis")

    def show(self, done: float, total: float | None, text: str, left: str | None = None) -> None:
        """Move the bar; without ``left``, the time left is reckoned from the time it took to come here."""
        if not self.tasks:
            self.add_task("", total=total, left="-")
        if left is None:
            left = duration((self.tasks[0].elapsed or 0.0) * (total - done) / done) if total and done else "-"
        self.update(self.tasks[0].id, description=text, completed=done, total=total, left=left)


class FitProgress(Callback):
    """Shows lines that are updated in place (``with progress.bar:``); without a terminal, one for each tenth."""

    def __init__(self, shown: Console) -> None:
        self.bar = LiveBar(shown)
        self._console = shown
        self._blocks = ASCII_BLOCKS if shown.options.ascii_only else BLOCKS
        self._tenth = -1

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Show the plan."""
        self._plan = plan
        floors = dict.fromkeys([f"{min(plan.theta):g}", f"{max(plan.theta):g}"]) if plan.theta else ()
        floor = f", floor {' to '.join(floors)}" if floors else ""
        rounds = f"{n_of(plan.n_rounds, 'round')}, edge {plan.needed_edge:.4f} each"
        self._console.print(f"{len(plan.classes)} classes{floor}, {rounds}")
        self.bar.show(0, plan.n_rounds, "")

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """Show the edge of this round."""
        if info.epoch % EVERY == 0:
            self.bar.update(self.bar.tasks[0].id, description=self._state(info.epoch, info.edge))

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """Show the vote so far, and the class weights."""
        plan = self._plan
        worst = f"worst class of the vote {worst_of(plan.classes, record.vote_errors)}"
        self.bar.below = f"{worst}; weights {weight_bars(plan.classes, record.class_weight, self._blocks)}"
        added = max(0, record.round - plan.n_rounds)
        total = plan.n_rounds + (plan.max_extra_rounds if added else 0)
        state = self._state(record.epochs, record.edge)
        self.bar.show(record.round, total, state)
        if self.bar.disable and (record.round == 1 or record.round % max(1, plan.n_rounds // 10) == 0):
            done = f"round {record.round - added} of {plan.n_rounds}" + (f", {added} added" if added else "")
            self._console.print(f"{done}: {state}, {self.bar.below}")

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """Show the member that was trained, and how long the others will take."""
        state = f"{info.name} could not be trained" if info.failed else info.name
        left = duration(info.seconds_left)
        self.bar.show(info.done, info.total, state, left)
        if self.bar.disable:
            expected = f", about {left} left" if info.done < info.total else ""
            done = f"{info.done} of {info.total} members trained"
            self._console.print(f"{done}: {state}, {duration(info.seconds)}{expected}")

    def on_network_epoch_end(self, estimator: Any, info: NetworkEpochInfo) -> None:
        """Show the worst class of the epoch."""
        rows, errors = ("validation", info.val_errors) if info.val_errors is not None else ("training", info.errors)
        state = f"network {info.member}, epoch {info.epoch}, worst class ({rows}) {worst_of(info.classes, errors)}"
        self.bar.show(info.done, info.total, state)
        tenth = info.done * 10 // info.total if info.total else 0
        if self.bar.disable and tenth != self._tenth:
            self._tenth = tenth
            self._console.print(f"epoch {info.done}{f' of {info.total}' if info.total else ''}: {state}")

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


@contextmanager
def training_lines(quiet: bool, total: int | None = None) -> Iterator[Callable[[object], None]]:
    """Show a line for each of several trainings, and a bar of those that are finished.

    A line that begins with "[3 of 20]" says how many there are, and one that ends with "about 10 s left" for how long.
    """
    shown = console(stderr=True, quiet=quiet)
    bar, finished = LiveBar(shown), set[str]()

    def show(text: object) -> None:
        line = str(text)
        shown.print(line)
        if not line.endswith(": started"):
            numbered, left = re.match(r"\[(\d+) of (\d+)\] ", line), re.search(r"about (.+) left$", line)
            finished.add(numbered[1] if numbered else str(len(finished)))
            bar.show(len(finished), int(numbered[2]) if numbered else total, "trained", left and left[1])

    with bar:
        bar.show(0, total, "training")
        yield show


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show that a command works, and for how long, where it cannot be known how long it will take."""
    with LiveBar(console(stderr=True)) as bar:
        bar.show(0, None, text)
        yield
