"""The grid, at the price of a few fits: candidates run side by side, and not all of them to their end.

All candidates make their rounds in step, the largest theta first, and share the passes that they have in common
(``shared.py``). A candidate's score is the least validation error of its prefixes so far, so it can only fall. Then:

- *Stuck rounds wait.* A round in which neither the edge nor the nearness to the floors rises any more is dropped, and
  its candidate is set aside with the rounds it has. So is a candidate whose passes run to four times those of the
  next smaller theta: it is about to become infeasible, and would eat up what the others need.
- *The clearly worse go.* From three eighths of T on, a candidate goes whose score is worse than the best by more than
  three standard errors of its own.
- *The budget is kept.* Where the passes that all would need exceed ``cost_limit`` fits at the largest theta still
  running, the candidate of the worst score goes, never the best.
- *What is left is spent on those set aside*, the best score first, with the booster's own patience. The best of all
  is always run to its end: what is returned is what a plain fit at its theta gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from worstclass.selection.candidate import Candidate, CandidateRecord
from worstclass.selection.shared import Work

#: looks at the scores in T rounds
LOOKS = 8
#: the look from which on the clearly worse are abandoned
FIRST_CUT = 3
#: standard errors that make a candidate clearly worse
CLEARLY = 3.0
#: a candidate waits when its passes are this many times those of the next smaller theta
SLOW = 4.0
#: share of the budget that is planned with, since costs to come are only estimated
PLANNED = 0.93


@dataclass(frozen=True)
class SelectionEvent:
    """News of a search.

    Attributes
    ----------
    kind : ``"leading"`` (a look at the scores; the record is the best candidate's), ``"ended"``, ``"set aside"``,
        ``"resumed"`` or ``"abandoned"``.
    record : the candidate, as it stands.
    passes : made so far, by all candidates together.
    n_running : candidates that are still running.
    """

    kind: str
    record: CandidateRecord
    passes: int
    n_running: int


Tell = Callable[[SelectionEvent], None]


class Race:
    """Runs candidates until the best is known.

    Parameters
    ----------
    candidates : one for each theta.
    work : what counts their passes.
    cost_limit : what all may cost together, in fits at the largest feasible theta; None runs all to their end.
    tell : is told of what happens.
    """

    def __init__(
        self, candidates: Sequence[Candidate], work: Work, cost_limit: float | None, tell: Tell | None = None
    ) -> None:
        self._candidates = sorted(candidates, key=lambda candidate: -candidate.theta)
        self._work = work
        self._limit = None if cost_limit is None else PLANNED * cost_limit
        self._tell_of = tell
        self._round = 0
        self._planned_rounds = self._candidates[0].run.plan.n_rounds

    def run(self) -> Candidate:
        """Run the race; return the best candidate, whose fit has been run to its end."""
        every = max(1, self._planned_rounds // LOOKS)
        while self._running:
            self._run_a_round()
            if self._limit is not None:
                self._let_slow_ones_wait()
            if self._round % every == 0 and self._round > 1 and self._running:
                self._tell("leading", self._best)
                if self._limit is not None:
                    self._cut(self._round // every, self._limit)
        return self._settle()

    def _run_a_round(self) -> None:
        self._round += 1
        running = self._running
        self._work.prepare([candidate.request for candidate in running])
        for candidate in running:
            candidate.advance()
            if candidate.ended or candidate.aside:
                self._tell("ended" if candidate.ended else "set aside", candidate)

    def _let_slow_ones_wait(self) -> None:
        """Set the largest theta aside where it has become far more costly than the next."""
        running = self._running
        if len(running) < 2 or self._round < 3:
            return
        slow, other = running[0], running[1]
        if slow.passes > SLOW * other.passes and slow.passes > self._planned_rounds / 2:
            slow.aside = f"its {slow.passes} passes are more than {SLOW:g} times those of the next theta"
            self._tell("set aside", slow)

    def _cut(self, look: int, limit: float) -> None:
        best = self._best
        others = [candidate for candidate in self._running if candidate is not best]
        if look >= FIRST_CUT:
            for candidate in others:
                gap = candidate.errors[0] - best.errors[0]
                if gap > CLEARLY * candidate.standard_error:
                    self._abandon(candidate, f"worse than theta {best.theta:g} by {gap:.1%} after {self._round} rounds")
        running = self._running
        if not running:
            return
        allowed = limit * max(self._whole_cost(running[0]), self._reference)
        for candidate in sorted(others, key=lambda candidate: candidate.rank, reverse=True):
            if self._work.passes + sum(self._cost_to_come(still) for still in self._running) <= allowed:
                return
            if not candidate.abandoned:
                self._abandon(candidate, f"no budget for it after {self._round} rounds, and others were better")

    def _settle(self) -> Candidate:
        """Run the best to its end, and those set aside as far as the budget goes."""
        while True:
            best = self._best
            if not best.ended:
                self._tell("resumed", best)
                best.finish()
                self._tell("ended", best)
                continue
            waiting = [candidate for candidate in self._standing if candidate.aside]
            if not waiting:
                return best
            self._go_on_within_budget(min(waiting, key=lambda candidate: candidate.rank))

    def _go_on_within_budget(self, candidate: Candidate) -> None:
        why = candidate.aside
        if not self._affordable(candidate):
            self._abandon(candidate, why)
            return
        self._tell("resumed", candidate)
        candidate.resume()
        while not candidate.ended:
            candidate.advance()
            if not candidate.ended and not self._affordable(candidate) and candidate is not self._best:
                self._abandon(candidate, why)
                return
        self._tell("ended", candidate)

    def _affordable(self, candidate: Candidate) -> bool:
        if self._limit is None:
            return True
        to_come = self._cost_to_come(candidate)
        if candidate.aside and candidate.lost_passes:  # most likely its round fails once more, after more passes
            to_come = candidate.run.patience + candidate.lost_passes
        return self._work.passes + to_come <= self._limit * self._reference

    @property
    def _reference(self) -> float:
        """Passes of the fit at the largest theta known to be feasible; 0 where none is."""
        feasible = [candidate for candidate in self._candidates if candidate.ended and candidate.feasible]
        return feasible[0].passes if feasible else 0

    def _whole_cost(self, candidate: Candidate) -> float:
        return candidate.passes + self._cost_to_come(candidate)

    def _cost_to_come(self, candidate: Candidate) -> float:
        done = max(candidate.n_rounds, 1)
        return candidate.passes / done * max(0, self._planned_rounds - done)

    @property
    def _running(self) -> list[Candidate]:
        return [candidate for candidate in self._standing if not candidate.ended and not candidate.aside]

    @property
    def _standing(self) -> list[Candidate]:
        return [candidate for candidate in self._candidates if not candidate.abandoned]

    @property
    def _best(self) -> Candidate:
        return min(self._standing, key=lambda candidate: candidate.rank)

    def _abandon(self, candidate: Candidate, why: str) -> None:
        candidate.abandon(why)
        self._tell("abandoned", candidate)

    def _tell(self, kind: str, candidate: Candidate) -> None:
        if self._tell_of is not None:
            self._tell_of(SelectionEvent(kind, candidate.record, self._work.passes, len(self._running)))
