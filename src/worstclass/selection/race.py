"""The grid, at the price of a few fits: candidates run side by side, and not all of them to their end.

All candidates make their rounds in step, the largest theta first, and share the epochs that they have in common
(``shared.py``). A candidate's score is the least validation error of its prefixes so far, so it can only fall (that of
a first member whose round was dropped is provisional). Then:

- *Stuck rounds wait.* A round in which neither the edge nor the nearness to the floors rises any more is dropped, and
  its candidate is set aside with the rounds it has. So is a candidate whose epochs run to four times those of the
  next smaller theta: it is about to become infeasible, and would eat up what the others need.
- *The clearly worse go.* From three eighths of T on, a candidate goes whose score is worse than the best by more than
  three standard errors of its own.
- *The budget is kept.* Scores say more the more rounds they rest on, so all go on for as long as can be paid for.
  Where ``cost_limit`` fits at the largest theta still running would not pay for all until the next look, and for the
  best two of all from there to their end, the candidate of the worst score is set aside, but never these two.
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
#: a candidate waits when its epochs are this many times those of the next smaller theta
SLOW = 4.0
#: candidates whose way to the end is paid for before others go on
FINALISTS = 2
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
    epochs : made so far, by all candidates together.
    n_running : candidates that are still running.
    """

    kind: str
    record: CandidateRecord
    epochs: int
    n_running: int


Tell = Callable[[SelectionEvent], None]


class Race:
    """Runs candidates until the best is known.

    Parameters
    ----------
    candidates : one for each theta.
    work : what counts their epochs.
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
        self._every = max(1, self._planned_rounds // LOOKS)

    def run(self) -> Candidate:
        """Run the race; return the best candidate, whose fit has been run to its end."""
        while self._running:
            self._run_a_round()
            if self._limit is not None:
                self._let_slow_ones_wait()
            if self._round % self._every == 0 and self._round > 1 and self._running:
                self._tell("leading", self._best)
                if self._limit is not None:
                    self._cut(self._round // self._every, self._limit)
        return self._settle()

    def _run_a_round(self) -> None:
        self._round += 1
        running = self._running
        self._work.prepare([candidate.request for candidate in running])
        for candidate in running:
            self._advance(candidate)

    def _advance(self, candidate: Candidate) -> None:
        """Run a candidate's next round, and tell of what came of it; raise where no network is left that works."""
        candidate.advance()
        if candidate.ended or candidate.aside:
            self._tell("ended" if candidate.ended else "set aside", candidate)
        if candidate.broken is not None:
            self._tell("abandoned", candidate)
            if not self._standing:
                raise candidate.broken

    def _let_slow_ones_wait(self) -> None:
        """Set the largest theta aside where it has become far more costly than the next."""
        running = self._running
        if len(running) < 2 or self._round < 3:
            return
        slow, other = running[0], running[1]
        if slow.epochs > SLOW * other.epochs and slow.epochs > self._planned_rounds / 2:
            self._set_aside(slow, f"its {slow.epochs} epochs are more than {SLOW:g} times those of the next theta")

    def _cut(self, look: int, limit: float) -> None:
        best = self._best
        others = [candidate for candidate in self._running if candidate is not best]
        if look >= FIRST_CUT:
            for candidate in others:
                gap = candidate.errors[0] - best.errors[0]
                if gap > CLEARLY * candidate.standard_error:
                    self._abandon(candidate, f"worse than theta {best.theta:g} by {gap:.1%} after {self._round} rounds")
        if not self._running:
            return
        allowed = limit * self._one_fit
        running = sorted(self._running, key=lambda candidate: candidate.rank)
        n_kept = FINALISTS if best in running else FINALISTS - 1
        while len(running) > n_kept and self._needed(running, n_kept, best) > allowed:
            self._set_aside(running.pop(), f"no budget for it after {self._round} rounds, and others were better")

    def _needed(self, running: Sequence[Candidate], n_kept: int, best: Candidate) -> float:
        """Estimate what it costs to run all to the next look, and from there the best of them to their end."""
        soon = [min(self._every * self._pace(candidate), self._to_come(candidate)) for candidate in running]
        later = [self._to_come(candidate) - first for candidate, first in zip(running[:n_kept], soon, strict=False)]
        shared = self._work.epochs / sum(candidate.epochs for candidate in self._candidates)
        return self._work.epochs + shared * (sum(soon) + sum(later)) + (self._to_come(best) if best.aside else 0)

    @property
    def _one_fit(self) -> float:
        """Estimate the epochs of one fit at the largest theta that is feasible or may still turn out to be."""
        hardest = self._running[0]
        return max(hardest.epochs + self._to_come(hardest), self._reference)

    def _settle(self) -> Candidate:
        """Run the best to its end, and those set aside as far as the budget goes."""
        while True:
            waiting = sorted((c for c in self._standing if c.aside), key=lambda candidate: candidate.rank)
            if not waiting:
                return self._best
            first = waiting[0]
            if first is self._best or self._affordable(first):
                self._go_on([candidate for candidate in waiting if _same_round(candidate, first)])
            else:
                self._abandon(first, first.aside)

    def _go_on(self, candidates: Sequence[Candidate]) -> None:
        """Let candidates go on together that wait before the same round, each for as long as it can be paid for."""
        why = {candidate.theta: candidate.aside for candidate in candidates}
        for candidate in candidates:
            candidate.resume()
            self._tell("resumed", candidate)
        while running := self._running:
            self._work.prepare([candidate.request for candidate in running])
            for candidate in running:
                self._advance(candidate)
            for candidate in self._running:
                if candidate is not self._best and not self._affordable(candidate):
                    self._abandon(candidate, why[candidate.theta])

    def _affordable(self, candidate: Candidate) -> bool:
        return self._limit is None or self._work.epochs + self._to_come(candidate) <= self._limit * self._reference

    @property
    def _reference(self) -> float:
        """Passes of the fit at the largest theta known to be feasible, in all of its rounds; 0 where none is."""
        feasible = [candidate for candidate in self._candidates if candidate.ended and candidate.feasible]
        whole = [candidate.epochs for candidate in feasible if candidate.n_rounds >= self._planned_rounds]
        return whole[0] if whole else max((candidate.epochs for candidate in feasible), default=0)

    def _to_come(self, candidate: Candidate) -> float:
        """Estimate the epochs that a candidate still has to make."""
        if candidate.stuck:  # most likely its round fails once more, after all of its patience
            return candidate.run.patience + candidate.lost_passes
        return self._pace(candidate) * max(0, self._planned_rounds - candidate.n_rounds)

    def _pace(self, candidate: Candidate) -> float:
        """Passes a round: of all rounds so far, or of the last where those are slower."""
        epochs = [record.epochs for record in candidate.run.history]
        recent = epochs[-self._every :]
        return max(sum(part) / len(part) for part in (epochs, recent)) if epochs else float(candidate.epochs)

    @property
    def _running(self) -> list[Candidate]:
        return [candidate for candidate in self._standing if not candidate.ended and not candidate.aside]

    @property
    def _standing(self) -> list[Candidate]:
        return [candidate for candidate in self._candidates if not candidate.abandoned]

    @property
    def _best(self) -> Candidate:
        return min(self._standing, key=lambda candidate: candidate.rank)

    def _set_aside(self, candidate: Candidate, why: str) -> None:
        candidate.aside = why
        self._tell("set aside", candidate)

    def _abandon(self, candidate: Candidate, why: str) -> None:
        candidate.abandon(why)
        self._tell("abandoned", candidate)

    def _tell(self, kind: str, candidate: Candidate) -> None:
        if self._tell_of is not None:
            self._tell_of(SelectionEvent(kind, candidate.record, self._work.epochs, len(self._running)))


def _same_round(one: Candidate, other: Candidate) -> bool:
    """Tell whether two candidates wait before the same training, or are one and the same."""
    mine, theirs = one.request, other.request
    return one is other or (mine is not None and theirs is not None and mine.key == theirs.key)
