"""Which epoch of a network's training is kept: the one early-stopping rule of all single networks."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worstclass._typing import IntArray
from worstclass.data.labels import Labels
from worstclass.learners.base import Epoch, Inputs, Member, Verdict
from worstclass.learners.budget import Meter
from worstclass.metrics import SELECTION, ClassCounts, count_correct

#: chooses the epoch by the training loss
LOSS = "loss"


@dataclass(frozen=True)
class EpochRecord:
    """What is known after one epoch. Counts are in the order of ``classes_``.

    Attributes
    ----------
    member : number of the network, from 1.
    epoch : number of the epoch, from 1.
    seconds : time since training of this network began.
    correct, class_totals : training rows that the network has right, and all, by class.
    val_correct, val_totals : the same for the validation rows; None where none were given.
    loss : mean training loss of the epoch.
    """

    member: int
    epoch: int
    seconds: float
    correct: tuple[int, ...]
    class_totals: tuple[int, ...]
    val_correct: tuple[int, ...] | None = None
    val_totals: tuple[int, ...] | None = None
    loss: float | None = None

    @property
    def training(self) -> ClassCounts:
        """Counts on the training rows."""
        return ClassCounts(np.array(self.correct), np.array(self.class_totals))

    @property
    def validation(self) -> ClassCounts | None:
        """Counts on the validation rows."""
        if self.val_correct is None or self.val_totals is None:
            return None
        return ClassCounts(np.array(self.val_correct), np.array(self.val_totals))


@dataclass(eq=False)
class EpochChoice:
    """Keeps the first of the best epochs by validation error, or by training error where there are no validation rows.

    ``select_on="loss"`` keeps the first of the epochs with the least training loss instead.

    Parameters
    ----------
    labels : of the training rows.
    validation : inputs and labels of the validation rows.
    select_on : ``"worst"`` class or ``"average"``, where among equals the other of the two decides, or ``"loss"``.
    max_epochs : epochs at the most.
    patience : epochs without progress after which training ends; None trains to the end.
    meter : a budget that several networks may share.
    number : of the network, in the records.
    keep_at : epochs after which the network is kept in ``snapshots``, whatever is chosen.
    member : function from the state of a network to the network; only a checkpoint needs it.
    show : called with the record of every epoch.
    """

    labels: Labels
    validation: tuple[Inputs, Labels] | None
    select_on: str
    max_epochs: int
    patience: int | None
    meter: Meter
    number: int = 1
    keep_at: Collection[int] = ()
    member: Callable[[Any], Member] = lambda state: state
    show: Callable[[EpochRecord], None] = lambda record: None
    snapshots: dict[int, Member] = field(default_factory=dict, init=False)
    records: list[EpochRecord] = field(default_factory=list, init=False)
    best: EpochRecord | None = field(default=None, init=False)
    _time: Meter = field(default_factory=Meter, init=False)

    def __call__(self, done: Epoch) -> Verdict:
        """Write an epoch down, and say whether it is kept and whether training goes on."""
        self.meter.count()
        record = self._record(done)
        self.records.append(record)
        self.show(record)
        if record.epoch in self.keep_at:
            self.snapshots[record.epoch] = done.snapshot()
        better = self.best is None or self._rank(record) < self._rank(self.best)
        if better:
            self.best = record
        if self._over:
            return Verdict.DONE if better else Verdict.GIVE_UP
        return Verdict.KEEP if better else Verdict.GO_ON

    def state(self) -> dict[str, Any]:
        """Return what was written down, and the networks that are kept."""
        best = None if self.best is None else self.best.epoch
        snapshots = {epoch: member.state for epoch, member in self.snapshots.items()}
        return {"records": self.records, "best": best, "snapshots": snapshots, "seconds": self._time.seconds}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what another one wrote down."""
        self.records = list(state["records"])
        self.best = None if state["best"] is None else self.records[state["best"] - 1]
        self.snapshots = {epoch: self.member(kept) for epoch, kept in state["snapshots"].items()}
        self._time.credit(0, state["seconds"])
        self.meter.credit(len(self.records), state["seconds"])

    @property
    def _over(self) -> bool:
        assert self.best is not None
        epoch = len(self.records)
        stuck = self.patience is not None and epoch - self.best.epoch >= self.patience
        return stuck or epoch >= self.max_epochs or bool(self.meter.spent)

    def _rank(self, record: EpochRecord) -> tuple[float, ...]:
        if self.select_on == LOSS:
            return (math.inf if record.loss is None else record.loss,)
        counts = record.training if record.validation is None else record.validation
        return tuple(SELECTION[name](counts) for name in sorted(SELECTION, key=lambda name: name != self.select_on))

    def _record(self, done: Epoch) -> EpochRecord:
        validation: tuple[Any, Any] = None, None
        if self.validation is not None:
            inputs, labels = self.validation
            validation = self._counts(done.ask(inputs), labels)
        correct, totals = self._counts(done.predictions, self.labels)
        number, seconds = len(self.records) + 1, self._time.seconds
        return EpochRecord(self.number, number, seconds, correct, totals, *validation, loss=done.loss)

    @staticmethod
    def _counts(predictions: IntArray, labels: Labels) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the rows that are right, and all, by class."""
        correct = count_correct(labels.index, predictions, labels.n_classes)
        return tuple(correct.tolist()), tuple(labels.totals.tolist())
