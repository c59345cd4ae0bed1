"""What boosters have in common: a fit that keeps what it finished, a vote that answers, and their checks."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worstclass._typing import FloatArray
from worstclass.boosting.callbacks import Callback, FitPlan
from worstclass.boosting.history import RoundRecord
from worstclass.boosting.outcome import best_prefix
from worstclass.boosting.rounds import BoostingRun, EdgeOf, Mending, RoundResult
from worstclass.boosting.vote import VoteTally, early_vote, staged_winners
from worstclass.data.labels import Labels, training_labels
from worstclass.data.seen_rows import seen_hashes
from worstclass.exceptions import BudgetSpentWarning, DataError, ModuleError, ParameterError, UnknownNameError
from worstclass.floors import Floors
from worstclass.learners import as_learner
from worstclass.learners.base import Encoder, Inputs, Member, Training, WeakLearner
from worstclass.learners.budget import Meter, check_limits
from worstclass.learners.estimator import LearnerClassifier
from worstclass.metrics import SELECTION, ClassCounts, ClassReport
from worstclass.randomness import SeedTree


@dataclass(frozen=True, eq=False)
class Bound:
    """A learner bound to the training rows, with the labels and validation rows read, and the seeds of the rounds."""

    training: Training
    labels: Labels
    validation: tuple[Inputs, Labels] | None
    seeds: SeedTree


class VotingBooster(LearnerClassifier):
    """Base of the boosters: rounds of a weak learner, whose members vote by majority."""

    state_names: ClassVar[tuple[str, ...]] = (
        *LearnerClassifier.state_names,
        "gamma_",
        "n_rounds_",
        "eta_",
        "n_members_used_",
    )

    n_rounds: int | str
    max_epochs_per_round: int
    patience: int | str
    max_epochs: int | None
    max_seconds: float | None
    select_on: str
    random_state: Any
    callbacks: Sequence[Callback] | None
    #: how class weights become row weights, for boosters that have any
    weighting: str = "per-class-mean"

    def fit(self, X: Any, y: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Boost; keep every finished round, whatever happens.

        Parameters
        ----------
        X : rows: an array, sparse matrix, data frame or tensor, as the learner takes them, or a map-style torch
            ``Dataset``.
        y : labels, strings or numbers; may be left out where X is a data set that has them.
        X_val, y_val : validation rows. With them, the vote uses the prefix of the members whose validation error
            (``select_on``) is least, the longest of equals.

        Returns
        -------
        The fitted booster.
        """
        with self._unchanged_if_refused() as undo:
            run = self._begin(X, y, X_val, y_val)
        try:
            for record in self._rounds(run):
                self._tell("on_round_end", record)
        except BaseException:
            if run.members:  # an interrupted fit keeps its finished rounds
                self._conclude(run)
            else:
                undo()
            raise
        self._conclude(run)
        self._tell("on_fit_end")
        self._warn()
        return self

    @abstractmethod
    def _rounds(self, run: BoostingRun) -> Iterator[RoundRecord]:
        """Run round after round, and yield the record of each; who iterates may stop between two rounds."""

    @abstractmethod
    def _plan(self, labels: Labels) -> FitPlan:
        """Work out rounds, rate and edge."""

    def _floors(self, classes: npt.NDArray[Any]) -> Floors | None:
        """Return the floors that members and vote are judged by; None where there are none."""
        return None

    def _warn(self) -> None:
        """Tell of what was missed, once all is fitted."""

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class that most members answer; a tie goes to the class that led first.

        Members are asked one at a time, and only about rows whose winner can still change.
        """
        inputs = self._inputs(X)
        voters = [member.predict for member in self._voters]
        take = lambda rows: inputs if len(rows) == len(inputs) else inputs.take(rows)  # noqa: E731 - no copy of all
        winners = early_vote(voters, len(voters), len(inputs), len(self.classes_), take)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes of each class, shape (n, K)."""
        return self._tally(X).shares

    def mean_proba(self, X: Any) -> FloatArray:
        """Return the mean of the probabilities that the members used give each class, shape (n, K).

        Finer than the share of the votes, above all with few members: a member that is nearly sure and one that is
        quite sure cast the same vote. Meant for decision offsets: by itself its largest entry can be a worse answer
        than the vote, for which alone the training bound is counted, since each member leans to the classes that
        weighed most in its round. Every member is asked about every row.
        """
        inputs = self._inputs(X)
        if not self.gives_probabilities:
            raise ParameterError(
                "learner",
                f"{self._owner}.mean_proba",
                allowed="a TorchLearner, or a scikit-learn classifier with predict_proba",
                got=self.learner,
                hint="predict_proba gives the shares of the votes, for any learner.",
            )
        total = np.zeros((len(inputs), len(self.classes_)))
        for member in self._voters:
            total += self._probabilities(member, inputs)
        return total / len(self._voters)

    @property
    def gives_probabilities(self) -> bool:
        """Whether members give probabilities of their own, so that there is a ``mean_proba``."""
        learner = self.learner_ if hasattr(self, "learner_") else as_learner(self.learner, owner=self._owner)
        return learner.gives_probabilities

    def decision_margin(self, X: Any) -> FloatArray:
        """Return the winner's lead over the runner-up as a share of the votes: 1 unanimous, 0 a tie."""
        return self._tally(X).margins

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[Any]]:
        """Yield the answers of the vote after 1, 2, ... members, up to those used."""
        inputs = self._inputs(X)
        answers = (member.predict(inputs) for member in self._voters)
        for winners in staged_winners(answers, len(inputs), len(self.classes_)):
            yield self.classes_[winners]

    def _begin(self, X: Any, y: Any, X_val: Any, y_val: Any) -> BoostingRun:
        """Check everything that can be checked before training, and set the stage."""
        return self._start(self._bind(X, y, X_val, y_val))

    def _bind(self, X: Any, y: Any, X_val: Any, y_val: Any) -> Bound:
        """Read the rows, and bind the learner to them: all that does not depend on the floors."""
        self._check_parameters()
        self.learner_: WeakLearner = as_learner(self.learner, owner=self._owner)
        rows = self._check_X(X, reset=True)
        labels = training_labels(rows, y)
        self._plan(labels)  # floors and gamma that are not allowed are refused before rows are moved about
        seeds = SeedTree.from_random_state(self.random_state, owner=self._owner)
        training = self.learner_.bind(rows, labels.index, labels.n_classes, seeds.seed(0))
        validation = self._validation(training.encoder, labels, X_val, y_val)
        self.row_hashes_ = seen_hashes(X, X_val)
        return Bound(training, labels, validation, seeds)

    def _start(self, bound: Bound) -> BoostingRun:
        """Begin a run on rows that the learner is bound to."""
        labels, training = bound.labels, bound.training
        plan = self._plan(labels)
        self._tell("on_fit_start", plan)
        patience = max(50, -(-1000 // training.steps_per_epoch)) if self.patience == "auto" else int(self.patience)
        return BoostingRun(
            training=training,
            labels=labels,
            floors=self._floors(labels.classes) or Floors.from_theta(0.0, labels.classes),
            plan=plan,
            weighting=self.weighting,
            max_epochs=self.max_epochs_per_round,
            patience=patience,
            seeds=bound.seeds,
            meter=Meter(self.max_epochs, self.max_seconds),
            validation=bound.validation,
            on_epoch_end=(lambda info: self._tell("on_epoch_end", info)) if self.callbacks else None,
        )

    def _weak_learn(
        self, run: BoostingRun, edge_of: EdgeOf, row_weight: FloatArray, phase: str, to_mend: Mending | None = None
    ) -> RoundResult | None:
        """Train one member; None where the budget is spent, or its network breaks down, after a finished round."""
        if run.members and run.meter.spent:
            return None
        try:
            return run.weak_learn(edge_of, row_weight, phase, to_mend)
        except ModuleError:
            if not run.members:
                raise
            return None

    def _keep_first(self, run: BoostingRun, h: RoundResult | None, class_weight: FloatArray) -> Iterator[RoundRecord]:
        """Keep the member of a first round that was not finished, since there is no other."""
        if h is not None and not run.members:
            yield run.enlist(h, class_weight, "unmet")

    def _warn_of_spent_budget(self, run: BoostingRun, number: int, *, stacklevel: int) -> None:
        """Tell that the budget was spent before round ``number`` was finished; ``stacklevel`` is the caller's own."""
        which = f"{number} of {run.plan.n_rounds}" if number <= run.plan.n_rounds else f"{number}, an added one,"
        kept = f"The {number - 1} finished rounds are kept." if number > 1 else "Its member alone is kept, as it is."
        message = f"The budget of {run.meter} was spent before round {which} was finished. {kept}"
        warnings.warn(message, BudgetSpentWarning, stacklevel=stacklevel + 1)

    def _conclude(self, run: BoostingRun) -> None:
        """Choose the prefix, and set what a fitted booster has."""
        self.classes_ = run.labels.classes
        self.gamma_, self.n_rounds_, self.eta_ = run.plan.gamma, run.plan.n_rounds, run.plan.eta
        self.encoder_: Encoder = run.training.encoder
        self.estimators_: list[Member] = run.members
        self.history_: tuple[RoundRecord, ...] = tuple(run.history)
        self.n_epochs_ = run.meter.epochs
        self.n_members_used_ = best_prefix(self.history_, self.select_on)
        self._report()

    def _restored(self) -> None:
        self._report()

    def _report(self) -> None:
        """Set the reports, from the record of the last member used."""
        record = self.history_[self.n_members_used_ - 1]
        floors = self._floors(self.classes_)
        names = self.classes_.tolist()
        totals, correct = np.array(record.class_totals), np.array(record.vote_correct)
        self.training_report_ = ClassReport.from_counts(ClassCounts(correct, totals), names, floors)
        self.validation_report_: ClassReport | None = None
        if record.val_totals is not None and record.vote_val_correct is not None:
            counts = ClassCounts(np.array(record.vote_val_correct), np.array(record.val_totals))
            self.validation_report_ = ClassReport.from_counts(counts, names, floors)

    @property
    def _voters(self) -> list[Member]:
        return self.estimators_[: self.n_members_used_]

    def _inputs(self, X: Any) -> Inputs:
        check_is_fitted(self, "estimators_")
        return self.encoder_.encode(self._check_X(X, reset=False))

    def _probabilities(self, member: Member, inputs: Inputs) -> FloatArray:
        given = member.probabilities(inputs)
        if given.shape != (len(inputs), len(self.classes_)):
            raise DataError(
                f"Members must give one probability a class, shape {(len(inputs), len(self.classes_))}. "
                f"Got shape {given.shape}."
            )
        return given

    def _tally(self, X: Any) -> VoteTally:
        inputs = self._inputs(X)
        tally = VoteTally(len(inputs), len(self.classes_))
        for member in self._voters:
            tally.add(member.predict(inputs))
        return tally

    def _check_parameters(self) -> None:
        for name, word in (("n_rounds", "auto"), ("max_epochs_per_round", None), ("patience", "auto")):
            value = getattr(self, name)
            if word is not None and isinstance(value, str) and value == word:
                continue
            if not is_count(value, least=1):
                allowed = "a positive whole number" + (f" or {word!r}" if word else "")
                raise ParameterError(name, self._owner, allowed=allowed, got=value)
        check_limits(self.max_epochs, self.max_seconds, owner=self._owner)
        if self.select_on not in SELECTION:
            raise UnknownNameError("select_on", self._owner, self.select_on, SELECTION)
        for callback in self.callbacks or ():
            if not isinstance(callback, Callback):
                raise ParameterError("callbacks", self._owner, allowed="a list of Callback objects", got=callback)

    def _tell(self, event: str, *news: Any) -> None:
        for callback in self.callbacks or ():
            getattr(callback, event)(self, *news)


def is_count(value: Any, *, least: int) -> bool:
    """Tell whether a parameter is a whole number that is large enough."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least
