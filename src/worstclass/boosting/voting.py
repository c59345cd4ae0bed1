"""What boosters share: how a fit starts and ends, and the majority vote of the members that it leaves."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_choice, check_count, check_positive
from worstclass._progress import steps
from worstclass._state import Checkpoint
from worstclass._typing import FloatArray
from worstclass.boosting.callbacks import Callback, FitPlan, check_callbacks, failures_told, tell
from worstclass.boosting.history import Compaction, RoundRecord, UnmetEdge, best_prefix
from worstclass.boosting.rounds import BoostingRun
from worstclass.boosting.vote import VoteTally, early_vote
from worstclass.checkpoints import checkpoint_of, seeds_of
from worstclass.data.labels import Labels, training_labels
from worstclass.data.seen_rows import SeenRows
from worstclass.exceptions import DataError, ParameterError
from worstclass.floors import Floors
from worstclass.learners import as_learner
from worstclass.learners.base import Inputs, Member
from worstclass.learners.budget import Meter
from worstclass.learners.estimator import LearnerClassifier
from worstclass.metrics import SELECTION, ClassReport


class MajorityVote(LearnerClassifier):
    """Members that vote by majority, after a fit that trained them round by round."""

    state_names = (
        *LearnerClassifier.state_names, "gamma_", "n_rounds_", "eta_", "n_members_used_", "unmet_edge_", "compaction_"
    )  # fmt: skip
    unmet_edge_: UnmetEdge | None = None
    compaction_: Compaction | None = None

    def __init__(
        self,
        learner: Any,
        *,
        gamma: float | str = "auto",
        n_rounds: int | str = "auto",
        max_epochs_per_round: int = 10_000,
        patience: int | str = "auto",
        max_epochs: int | None = None,
        max_seconds: float | None = None,
        select_on: str = "worst",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.learner = learner
        self.gamma = gamma
        self.n_rounds = n_rounds
        self.max_epochs_per_round = max_epochs_per_round
        self.patience = patience
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.select_on = select_on
        self.random_state = random_state
        self.callbacks = callbacks

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class that most members answer; a tie goes to the class that led first.

        Members are asked one at a time, and only about rows whose winner can still change.
        """
        inputs = self._inputs(X)
        return np.asarray(self.classes_[early_vote(self._voters, inputs, len(self.classes_))])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes of each class, shape (n, K)."""
        *_, tally = self._tallies(X)
        return tally.shares

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the winner's lead over the runner-up as a share of the votes: 1 unanimous, 0 a tie."""
        *_, tally = self._tallies(X)
        return tally.margins

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the answers of the vote after 1, 2, ... members, up to those used."""
        for tally in self._tallies(X):
            yield self.classes_[tally.winners]

    def mean_proba(self, X: Any) -> FloatArray:
        """Return the mean of the members' own probabilities, shape (n, K); every member is asked about every row.

        It is finer than the share of the votes, above all with few members, and is meant for decision offsets. By
        itself its largest entry can be a worse answer than the vote: each member leans to the classes that weighed most
        in its round. The training bound is counted for the vote alone.
        """
        inputs = self._inputs(X)
        if not self.gives_probabilities:
            allowed = "a TorchLearner, or a scikit-learn classifier with predict_proba"
            hint = "predict_proba gives the shares of the votes, for any learner."
            raise ParameterError("learner", f"{self._owner}.mean_proba", allowed=allowed, got=self.learner, hint=hint)
        shape = (len(inputs), len(self.classes_))
        total = np.zeros(shape)
        for member in steps(self._voters, self.n_members_used_):
            given = member.probabilities(inputs)
            if given.shape != shape:
                raise DataError(f"Members must give one probability per class, shape {shape}. Got shape {given.shape}.")
            total += given
        return total / len(self._voters)

    @property
    def gives_probabilities(self) -> bool:
        """Whether members give probabilities of their own, so that there is a ``mean_proba``."""
        learner = self.learner_ if hasattr(self, "learner_") else as_learner(self.learner, owner=self._owner)
        return learner.gives_probabilities

    @property
    def _voters(self) -> list[Member]:
        return self.estimators_[: self.n_members_used_]

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self, "estimators_")
        return self.encoder_.encode(self._check_X(X, reset=False))

    def _tallies(self, X: Any) -> Iterator[VoteTally]:
        """Yield the votes after each member; it is one tally that grows."""
        inputs = self._inputs(X)
        tally = VoteTally(len(inputs), len(self.classes_))
        for member in steps(self._voters, self.n_members_used_):
            tally.add(member.predict(inputs))
            yield tally

    @contextmanager
    def _boosting(self, X: Any, y: Any, X_val: Any, y_val: Any, checkpoint: Any) -> Iterator[BoostingRun]:
        """Start a run, let the caller add rounds to it, and keep every finished round, whatever happens."""
        before, run = dict(vars(self)), None
        try:
            with failures_told(self), checkpoint_of(self, checkpoint, X, y, X_val, y_val) as kept:
                run = self._start(X, y, X_val, y_val, kept)
                self._tell("on_fit_start", run.plan)
                yield run
        except BaseException:
            if run is not None and run.members:  # an interrupted fit keeps its finished rounds
                self._conclude(run)
            else:
                self.__dict__ = before
            raise
        self._conclude(run)
        self._tell("on_fit_end")
        if run.ended_by is not None:
            warnings.warn(run.ended_by, stacklevel=4)

    def _start(self, X: Any, y: Any, X_val: Any, y_val: Any, checkpoint: Checkpoint) -> BoostingRun:
        """Check everything that can be checked before training, and bind the learner to the rows."""
        self._check_parameters()
        self.learner_ = as_learner(self.learner, owner=self._owner)
        rows = self._check_X(X, reset=True)
        labels = training_labels(rows, y)
        plan = self._plan(labels)
        seeds = seeds_of(self, checkpoint)
        training = self.learner_.bind(rows, labels.index, labels.n_classes, seeds.seed(0))
        enough_steps = max(50, -(-1000 // training.steps_per_epoch))
        self.seen_rows_ = SeenRows.of(X, X_val)
        return BoostingRun(
            training=training,
            labels=labels,
            floors=self._floors(labels.classes) or Floors.from_theta(0.0, labels.classes),
            plan=plan,
            max_epochs_per_round=self.max_epochs_per_round,
            patience=enough_steps if self.patience == "auto" else int(self.patience),
            seeds=seeds,
            meter=Meter(self.max_epochs, self.max_seconds),
            validation=self._validation(training.encoder, labels, X_val, y_val),
            tell=self._tell,
            checkpoint=checkpoint,
        )

    @abstractmethod
    def _plan(self, labels: Labels) -> FitPlan:
        """Work out rounds, rate and edge."""

    def _floors(self, classes: npt.NDArray[Any]) -> Floors | None:
        """Return the floors of the classes; None where there are none."""
        return None

    def _conclude(self, run: BoostingRun) -> None:
        """Choose the prefix, and set what a fitted booster has."""
        self.classes_ = run.labels.classes
        self.gamma_, self.n_rounds_, self.eta_ = run.plan.gamma, run.plan.n_rounds, run.plan.eta
        self.encoder_ = run.training.encoder
        self.estimators_: list[Member] = run.members
        self.history_: tuple[RoundRecord, ...] = tuple(run.history)
        self.n_epochs_ = run.meter.epochs
        self.unmet_edge_, self.compaction_ = run.unmet, None
        self.n_members_used_ = best_prefix(self.history_, self.select_on)
        self._report()

    def _report(self) -> None:
        """Set the reports, from the record of the last member used."""
        record, floors = self.history_[self.n_members_used_ - 1], self._floors(self.classes_)
        names = self.classes_.tolist()
        self.training_report_ = ClassReport.from_counts(record.training, names, floors)
        held = record.validation
        self.validation_report_ = None if held is None else ClassReport.from_counts(held, names, floors)

    def _restored(self) -> None:
        self._report()

    def _check_parameters(self) -> None:
        check_count(self.n_rounds, "n_rounds", self._owner, words=("auto",))
        check_count(self.max_epochs_per_round, "max_epochs_per_round", self._owner)
        check_count(self.patience, "patience", self._owner, words=("auto",))
        check_count(self.max_epochs, "max_epochs", self._owner, words=(None,))
        check_positive(self.max_seconds, "max_seconds", self._owner, words=(None,))
        check_choice(self.select_on, "select_on", self._owner, SELECTION)
        check_callbacks(self.callbacks, self._owner)

    def _tell(self, event: str, *news: Any) -> None:
        tell(self.callbacks, event, self, *news)
