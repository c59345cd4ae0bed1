"""Live progress of a fit: rounds, edge, worst class and time left."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from worstclass.boosting.booster import WorstClassBooster
from worstclass.boosting.callbacks import Callback, EpochInfo, FitPlan
from worstclass.boosting.history import RoundRecord

#: epochs between two updates of the line within a round; drawing must not cost what training does
EVERY = 10
#: characters of a class's name that are shown in the line
LONGEST_NAME = 16


class RichProgress(Callback):
    """Shows one line that is updated in place; without a terminal, one line for every tenth of the rounds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
            transient=False,
        )
        self._plan: FitPlan | None = None
        self._task: Any = None
        self._vote = "-"

    def __enter__(self) -> RichProgress:
        if self._live:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._progress.stop()

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Show the plan."""
        self._plan = plan
        floors = sorted(set(plan.theta))
        theta = f"{floors[0]:g}" if len(floors) == 1 else f"{floors[0]:g} to {floors[-1]:g}"
        self._console.print(
            f"{len(plan.classes)} classes, floor {theta}, {plan.n_rounds} rounds, edge {plan.needed_edge:.4f} each"
        )
        self._task = self._progress.add_task("boosting", total=plan.n_rounds, state="")

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """Show the edge of this round."""
        if self._live and info.epoch % EVERY == 0:
            self._progress.update(self._task, state=f"epoch {info.epoch}, edge {info.edge:.3f}, {self._vote}")

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """Show the vote so far."""
        assert self._plan is not None
        worst = max(range(len(record.vote_errors)), key=lambda k: record.vote_errors[k])
        name = str(self._plan.classes[worst])
        name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        self._vote = f"worst class {name}: {record.vote_errors[worst]:.1%}"
        if record.phase == "extend" and record.round == self._plan.n_rounds + 1:
            self._progress.update(
                self._task, description="adding", total=self._plan.n_rounds + self._plan.max_extra_rounds
            )
        if self._live:
            self._progress.update(self._task, completed=record.round, state=f"edge {record.edge:.3f}, {self._vote}")
        elif record.round == 1 or record.round % max(1, self._plan.n_rounds // 10) == 0:
            added = f", {record.round - self._plan.n_rounds} added" if record.phase == "extend" else ""
            done = min(record.round, self._plan.n_rounds)
            self._console.print(
                f"round {done} of {self._plan.n_rounds}{added}: edge {record.edge:.3f}, vote's {self._vote}"
            )
