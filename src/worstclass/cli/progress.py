"""Live progress of a fit: rounds of boosting with edge and worst class, members of a portfolio, and the time left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from worstclass._text import duration, n_of
from worstclass.boosting.callbacks import Callback, EpochInfo, FitPlan, StepInfo

if TYPE_CHECKING:
    from rich.console import Console

    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.boosting.history import RoundRecord

#: epochs between two updates of the line within a round; drawing must not cost what training does
EVERY = 10


class FitProgress(Callback):
    """Shows a line that is updated in place (``with progress.bar:``); without a terminal, one for each tenth."""

    def __init__(self, console: Console) -> None:
        columns = (BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
        times = (TimeElapsedColumn(), TextColumn("left {task.fields[left]}"))
        self.bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self._console = console
        self._vote = ""
        self._task: Any = None

    def on_fit_start(self, booster: WorstClassBooster, plan: FitPlan) -> None:
        """Show the plan."""
        self._plan = plan
        floors = dict.fromkeys([f"{min(plan.theta):g}", f"{max(plan.theta):g}"]) if plan.theta else ()
        floor = f", floor {' to '.join(floors)}" if floors else ""
        rounds = f"{n_of(plan.n_rounds, 'round')}, edge {plan.needed_edge:.4f} each"
        self._console.print(f"{len(plan.classes)} classes{floor}, {rounds}")
        self._task = self.bar.add_task("", total=plan.n_rounds, left="-")

    def on_epoch_end(self, booster: WorstClassBooster, info: EpochInfo) -> None:
        """Show the edge of this round."""
        if info.epoch % EVERY == 0:
            self.bar.update(self._task, description=f"epoch {info.epoch}, edge {info.edge:.3f}{self._vote}")

    def on_round_end(self, booster: WorstClassBooster, record: RoundRecord) -> None:
        """Show the vote so far."""
        plan, errors = self._plan, record.vote_errors
        worst = max(range(len(errors)), key=lambda k: errors[k])
        self._vote = f", worst class of the vote {str(plan.classes[worst])[:16]}: {errors[worst]:.1%}"
        state = f"edge {record.edge:.3f}{self._vote}"
        added = max(0, record.round - plan.n_rounds)
        total = plan.n_rounds + (plan.max_extra_rounds if added else 0)
        left = duration((self.bar.tasks[0].elapsed or 0.0) * (total - record.round) / record.round)
        self.bar.update(self._task, description=state, completed=record.round, total=total, left=left)
        if self.bar.disable and (record.round == 1 or record.round % max(1, plan.n_rounds // 10) == 0):
            done = f"round {record.round - added} of {plan.n_rounds}" + (f", {added} added" if added else "")
            self._console.print(f"{done}: {state}")

    def on_step_end(self, estimator: Any, info: StepInfo) -> None:
        """Show the member that was trained, and how long the others will take."""
        if self._task is None:
            self._task = self.bar.add_task("", total=info.total, left="-")
        state = f"{info.name} could not be trained" if info.failed else info.name
        left = duration(info.seconds_left)
        self.bar.update(self._task, description=state, completed=info.done, total=info.total, left=left)
        if self.bar.disable:
            expected = f", about {left} left" if info.done < info.total else ""
            done = f"{info.done} of {info.total} members trained"
            self._console.print(f"{done}: {state}, {duration(info.seconds)}{expected}")
