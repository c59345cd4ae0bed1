"""Trainings that several candidates have in common are made once.

A member depends on the weights of the rows and on the seed of its round, not on theta: theta only says after which
epoch the round ends. So candidates whose next round has the same weights and the same seed, as all have in round 1, and
many have for longer, look at the epochs of one training. Each gets the member that it would have got alone, bit for
bit.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray
from worstclass.boosting.rounds import Judge
from worstclass.exceptions import ModuleError
from worstclass.learners.base import Epoch, Member, Stop, Trained, Training, Verdict
from worstclass.selection.watch import Watch


class Work:
    """Counts the epochs that are really made, and makes those that candidates share."""

    def __init__(self) -> None:
        self.epochs = 0

    def prepare(self, requests: Iterable[Request | None]) -> None:
        """Train once for every group of requests that ask for the same; None asks for nothing that can be shared."""
        groups: dict[tuple[int, bytes], list[Request]] = {}
        for request in requests:
            if request is not None:
                groups.setdefault(request.key, []).append(request)
        for group in groups.values():
            if len(group) > 1:
                self._train_together(group)

    def _train_together(self, group: list[Request]) -> None:
        shown: list[npt.NDArray[np.int16]] = []
        looking = list(group)

        def stop(done: Epoch) -> Verdict:
            self.epochs += 1
            shown.append(done.predictions.astype(np.int16))
            for request in list(looking):
                if request.look(done, len(shown)):
                    looking.remove(request)
            return Verdict.GO_ON if looking else Verdict.GIVE_UP

        started = time.perf_counter()
        first = group[0]
        with suppress(ModuleError):  # who still looked trains alone, and finds out for itself
            first.training.inner.train(first.weight, stop, first.seed)
            looking.clear()
        for request in group:
            if request not in looking:
                request.training.prepared = Prepared(request, shown)
        first.training.seconds += time.perf_counter() - started


@dataclass(eq=False)
class Request:
    """The next round of a candidate: what it trains with, and who judges its epochs."""

    training: CountedTraining
    weight: FloatArray
    seed: int
    judge: Judge
    watch: Watch
    n_passes: int = field(default=0, init=False)
    best: int = field(default=0, init=False)
    member: Member | None = field(default=None, init=False)

    @property
    def key(self) -> tuple[int, bytes]:
        """What decides the epochs: the seed and the weights."""
        return self.seed, self.weight.tobytes()

    def look(self, done: Epoch, number: int) -> bool:
        """Judge an epoch; remember it where it is the best so far; return True when no more are wanted."""
        verdict = self.judge(done)
        self.n_passes = number
        if verdict in (Verdict.KEEP, Verdict.DONE):
            self.best, self.member = number, done.member
        return verdict in (Verdict.DONE, Verdict.GIVE_UP) or self.watch.is_stuck


@dataclass(frozen=True, eq=False)
class Prepared:
    """Passes that were made for a request, to be shown to the judge of the round itself."""

    request: Request
    shown: list[npt.NDArray[np.int16]]

    def replay(self, stop: Stop) -> Trained:
        """Show the epochs; return the member that the judge's verdicts ask for."""
        member, best = self.request.member, 0
        assert member is not None
        for number, predictions in enumerate(self.shown[: self.request.n_passes], start=1):
            verdict = stop(Epoch(predictions.astype(np.int64), member.predict, lambda: member))
            if verdict in (Verdict.KEEP, Verdict.DONE):
                best = number
        assert best == self.request.best, "the judge of a round and the one that was asked before must agree"
        return Trained(member, self.shown[best - 1].astype(np.int64), self.request.n_passes)


class CountedTraining(Training):
    """A training whose epochs are counted, and which takes those that were prepared for it.

    Attributes
    ----------
    best_member : the member remembered in the round that is being trained, or was trained last.
    seconds : time that shared trainings took, where this one made them.
    """

    def __init__(self, inner: Training, work: Work) -> None:
        self.inner = inner
        self.inputs = inner.inputs
        self.encoder = inner.encoder
        self.prepared: Prepared | None = None
        self.best_member: Member | None = None
        self.seconds = 0.0
        self._work = work

    @property
    def steps_per_epoch(self) -> int:
        """Steps of an optimizer in one epoch over the sample."""
        return self.inner.steps_per_epoch

    @property
    def forgets(self) -> bool:
        """Whether a member depends on its weights and seed alone."""
        return self.inner.forgets

    def train(self, sample_weight: FloatArray, stop: Stop, seed: int) -> Trained:
        """Train one member, or take the epochs that were made already."""
        prepared, self.prepared = self.prepared, None
        if prepared is not None and prepared.request.key == (seed, sample_weight.tobytes()):
            self.best_member = prepared.request.member
            return prepared.replay(stop)
        self.best_member = None

        def counted(done: Epoch) -> Verdict:
            self._work.epochs += 1
            verdict = stop(done)
            if verdict in (Verdict.KEEP, Verdict.DONE):
                self.best_member = done.member
            return verdict

        return self.inner.train(sample_weight, counted, seed)
