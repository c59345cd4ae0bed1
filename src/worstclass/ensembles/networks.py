"""One network, or several independent ones, as a scikit-learn classifier."""

from __future__ import annotations

import copy
import sys
from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from worstclass._checks import check_choice, check_count, check_positive, is_count, suggests_options
from worstclass._progress import steps
from worstclass._state import Checkpoint
from worstclass._typing import FloatArray
from worstclass.boosting.callbacks import Callback, NetworkEpochInfo, check_callbacks, failures_told, tell
from worstclass.boosting.hedge import n_rounds_for, resolve_gamma
from worstclass.checkpoints import checkpoint_of, seeds_of
from worstclass.data.labels import Labels, training_labels
from worstclass.data.seen_rows import SeenRows
from worstclass.ensembles.epochs import LOSS, EpochChoice, EpochRecord
from worstclass.exceptions import ParameterError
from worstclass.learners import as_learner
from worstclass.learners.base import Inputs, Member, Training
from worstclass.learners.budget import Meter
from worstclass.learners.estimator import LearnerClassifier
from worstclass.learners.torch_learner import TorchLearner
from worstclass.metrics import SELECTION, ClassReport
from worstclass.randomness import SeedTree

#: epochs of each network of an ensemble where no budget is set
EPOCHS_EACH = 200


class _Networks(LearnerClassifier):
    """What one network and several have in common."""

    def __init__(
        self,
        learner: Any,
        *,
        max_epochs: int | None = 200,
        patience: int | None = None,
        max_seconds: float | None = None,
        select_on: str = "worst",
        snapshots: Sequence[int] = (),
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        self.learner = learner
        self.max_epochs = max_epochs
        self.patience = patience
        self.max_seconds = max_seconds
        self.select_on = select_on
        self.snapshots = snapshots
        self.random_state = random_state
        self.callbacks = callbacks

    def fit(
        self,
        X: Any,
        y: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight: Any = None,
        *,
        checkpoint: Any = None,
    ) -> Self:
        """Train; keep the epoch whose error (``select_on``) is least on the validation rows.

        Parameters
        ----------
        X : rows: an array, data frame or tensor, or a map-style torch ``Dataset``.
        y : labels, strings or numbers; may be left out where X is a data set that has them.
        X_val, y_val : validation rows. Without them the training rows choose.
        sample_weight : by what the loss of each training row is multiplied; their mean is brought to 1. The epoch is
            chosen by the errors of all rows alike.
        checkpoint : a folder in which the fit keeps finished networks, and from time to time where one stands. A fit
            that was killed goes on from there if it is called again with the same parameters and rows.
        """
        opened = checkpoint_of(self, checkpoint, X, y, X_val, y_val)
        with failures_told(self), self._unchanged_if_refused(), opened as kept:
            self._check_parameters()
            self.learner_ = as_learner(self.learner, owner=self._owner)
            if not isinstance(self.learner_, TorchLearner):
                raise ParameterError("learner", self._owner, allowed="a TorchLearner", got=self.learner)
            rows = self._check_X(X, reset=True)
            labels = training_labels(rows, y)
            seeds = seeds_of(self, kept)
            training = self.learner_.bind(rows, labels.index, labels.n_classes, seeds.seed(0))
            validation = self._validation(training.encoder, labels, X_val, y_val)
            weight = _row_weights(sample_weight, labels, self._owner)
            self._train(training, labels, weight, validation, seeds, kept)
            self.seen_rows_ = SeenRows.of(X, X_val)
        tell(self.callbacks, "on_fit_end", self)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, shape (n, K): the mean over the networks of the softmax."""
        check_is_fitted(self, "estimators_")
        inputs: Any = self.encoder_.encode(self._check_X(X, reset=False))
        n_members = len(self.estimators_)
        members = steps(self.estimators_, n_members)
        total = next(members).probabilities(inputs)
        for member in members:
            total += member.probabilities(inputs)
        return total / n_members

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        answers = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[answers])

    @abstractmethod
    def _shares(self, labels: Labels) -> list[int]:
        """Return the epochs of each network."""

    def _train(
        self,
        training: Training,
        labels: Labels,
        weight: FloatArray,
        validation: tuple[Inputs, Labels] | None,
        seeds: SeedTree,
        checkpoint: Checkpoint,
    ) -> None:
        meter = Meter(max_seconds=self.max_seconds)
        members: list[Member] = []
        history: list[EpochRecord] = []
        choices: list[EpochChoice] = []
        shares = self._shares(labels)
        for number, epochs in enumerate(shares, start=1):
            if members and meter.spent:
                break
            show = partial(self._show, labels.classes, meter, sum(shares))
            options = (number, self.snapshots, training.member, show)
            choice = EpochChoice(labels, validation, self.select_on, epochs, self.patience, meter, *options)
            seed, name = seeds.seed(1, number), f"network-{number:04d}"
            members.append(training.train(weight, choice, seed, checkpoint, name).member)
            history += choice.records
            choices.append(choice)
        self.classes_ = labels.classes
        self.encoder_ = training.encoder
        self.estimators_ = members
        self.history_: tuple[EpochRecord, ...] = tuple(history)
        self.n_epochs_ = meter.epochs
        self._conclude(choices)

    def _show(self, classes: npt.NDArray[Any], meter: Meter, total: int, record: EpochRecord) -> None:
        """Tell callbacks of an epoch."""
        if not self.callbacks:
            return
        errors, held = tuple(record.training.errors.tolist()), record.validation
        val_errors = None if held is None else tuple(held.errors.tolist())
        known = (meter.epochs, total if total < sys.maxsize else None, errors, val_errors, record.loss)
        info = NetworkEpochInfo(tuple(classes.tolist()), record.member, record.epoch, *known)
        tell(self.callbacks, "on_network_epoch_end", self, info)

    def _conclude(self, choices: list[EpochChoice]) -> None:
        """Set what only one kind of them has."""

    def _check_parameters(self) -> None:
        check_count(self.max_epochs, "max_epochs", self._owner, words=(None,))
        check_count(self.patience, "patience", self._owner, words=(None,))
        check_positive(self.max_seconds, "max_seconds", self._owner, words=(None,))
        check_choice(self.select_on, "select_on", self._owner, (*SELECTION, LOSS))
        check_callbacks(self.callbacks, self._owner)
        if not isinstance(self.snapshots, Sequence) or not all(is_count(epoch) for epoch in self.snapshots):
            allowed = "a list of epochs, each a positive whole number"
            raise ParameterError("snapshots", self._owner, allowed=allowed, got=self.snapshots)


@suggests_options
class NetworkClassifier(_Networks):
    """One network trained with any loss, the epoch chosen on validation rows.

    Parameters
    ----------
    learner : a ``TorchLearner``; its ``loss`` makes the method.
    max_epochs : epochs over the training sample; None is no limit, which ``max_seconds`` or ``patience`` must then set.
    patience : epochs without progress after which training ends; None trains to the end.
    max_seconds : time after which training ends with the best epoch so far; None is no limit.
    snapshots : epochs after which the network is kept in ``stages_``, besides the one that is chosen.
    select_on : the error by which the epoch is chosen, of the ``"worst"`` class or the ``"average"`` over all rows.
        Among equals the other one decides, then the earlier epoch. ``"loss"``: the epoch with the least training loss;
        validation rows then only have their errors counted.
    random_state : seed of everything random; the global generators are neither read nor changed.
    callbacks : ``Callback`` objects; ``on_network_epoch_end`` and ``on_fit_end`` are called.

    Attributes
    ----------
    classes_ : the classes, sorted.
    history_ : one ``EpochRecord`` an epoch.
    best_epoch_ : the epoch that is used.
    n_epochs_ : epochs over the training sample.
    training_report_, validation_report_ : class-wise errors of that epoch; the latter None without validation rows.
    stages_ : the network after each epoch of ``snapshots`` that training reached, as a classifier of its own; it is not
        stored with the model.

    Examples
    --------
    >>> from worstclass import TorchLearner, load_dataset
    >>> splits = load_dataset("artificial-balanced", n_test=100)
    >>> learner = TorchLearner("mlp", module_options={"hidden": (32,)}, loss="naive", lr=0.01)
    >>> model = NetworkClassifier(learner, max_epochs=60, random_state=0).fit(splits.train.X, splits.train.y)
    >>> model.n_epochs_, model.training_report_.worst_error < 0.5
    (60, True)
    """

    state_names = (*LearnerClassifier.state_names, "best_epoch_")

    def _shares(self, labels: Labels) -> list[int]:
        return [sys.maxsize if self.max_epochs is None else int(self.max_epochs)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_epochs is None and self.max_seconds is None and self.patience is None:
            allowed = "a positive whole number unless max_seconds or patience ends the training"
            raise ParameterError("max_epochs", self._owner, allowed=allowed, got=None)

    def _conclude(self, choices: list[EpochChoice]) -> None:
        (choice,) = choices
        assert choice.best is not None
        self.best_epoch_ = choice.best.epoch
        self._restored()
        self.stages_ = {epoch: self._stage(epoch, member) for epoch, member in choice.snapshots.items()}

    def _stage(self, epoch: int, member: Member) -> NetworkClassifier:
        """Return a classifier of the network as it was after an epoch."""
        stage = copy.copy(self)
        stage.estimators_, stage.best_epoch_ = [member], epoch
        stage._restored()
        return stage

    def _restored(self) -> None:
        """Set the reports, from the record of the epoch that is used."""
        record, names = self.history_[self.best_epoch_ - 1], self.classes_.tolist()
        validation = record.validation
        self.training_report_ = ClassReport.from_counts(record.training, names)
        self.validation_report_ = None if validation is None else ClassReport.from_counts(validation, names)


@suggests_options
class DeepEnsemble(_Networks):
    """Independent networks, each from its own random start; their mean probability answers.

    Parameters
    ----------
    learner : a ``TorchLearner`` with ``start="fresh"``.
    n_estimators : number of networks. ``"auto"``: as many as ``WorstClassBooster`` has rounds for the same classes and
        ``gamma``, and at most one for each epoch of the budget.
    gamma : what ``"auto"`` reckons with.
    max_epochs : epochs over the training sample of all networks together, shared out equally. None: 200 for each.
    patience, max_seconds, select_on, random_state, callbacks : as of ``NetworkClassifier``, the first and third for
        each network.

    Attributes
    ----------
    classes_, history_, n_epochs_ : as of ``NetworkClassifier``.
    estimators_ : the networks; fewer than ``n_estimators`` where ``max_seconds`` was spent before.

    References
    ----------
    Lakshminarayanan, Pritzel and Blundell, "Simple and Scalable Predictive Uncertainty Estimation using Deep
    Ensembles", NeurIPS 2017.
    """

    def __init__(
        self,
        learner: Any,
        *,
        n_estimators: int | str = "auto",
        gamma: float | str = "auto",
        max_epochs: int | None = None,
        patience: int | None = None,
        max_seconds: float | None = None,
        select_on: str = "worst",
        random_state: Any = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> None:
        super().__init__(
            learner,
            max_epochs=max_epochs,
            patience=patience,
            max_seconds=max_seconds,
            select_on=select_on,
            random_state=random_state,
            callbacks=callbacks,
        )
        self.n_estimators = n_estimators
        self.gamma = gamma

    def _shares(self, labels: Labels) -> list[int]:
        rounds = n_rounds_for(resolve_gamma(self.gamma, labels.n_classes, owner=self._owner), labels.n_classes)
        n_estimators = rounds if self.n_estimators == "auto" else int(self.n_estimators)
        if self.max_epochs is None:
            return [EPOCHS_EACH] * n_estimators
        if self.n_estimators == "auto":
            n_estimators = min(n_estimators, self.max_epochs)
        least, rest = divmod(self.max_epochs, n_estimators)
        return [least + (number < rest) for number in range(n_estimators)]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count(self.n_estimators, "n_estimators", self._owner, words=("auto",))
        if self.n_estimators != "auto" and self.max_epochs is not None and self.max_epochs < int(self.n_estimators):
            allowed = f"at least one epoch for each of the {self.n_estimators} networks"
            hint = "Raise it, or lower n_estimators."
            raise ParameterError("max_epochs", self._owner, allowed=allowed, got=self.max_epochs, hint=hint)
        if (start := getattr(self.learner, "start", "fresh")) != "fresh":
            allowed = "one with start='fresh': the networks are independent"
            raise ParameterError("learner", self._owner, allowed=allowed, got=start)


def _row_weights(sample_weight: Any, labels: Labels, owner: str) -> FloatArray:
    """Return weights with mean 1; refuse what is not one number per row, all at least 0 and one above it."""
    n_rows = len(labels.index)
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,) or not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        allowed = f"{n_rows} finite numbers, one per row, none negative and not all zero"
        raise ParameterError("sample_weight", owner, allowed=allowed, got=sample_weight)
    return np.asarray(weight / weight.mean())
