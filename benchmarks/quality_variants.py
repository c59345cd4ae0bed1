"""Variants of the paper's booster and of `auto-networks`, on the artificial data, at the same epochs in all.

**Boosters**: `booster` is `WorstClassBooster` as it is (gamma by default), with a new random start in every round and a
majority vote. The others change one thing: all rounds start from the same weights (`booster-same`, as in the paper), or
from those at the end of the round before, so that the members are snapshots of one training (`booster-snapshots`); the
loss of the rounds is logit adjustment (`booster-la`); the mean probability of the members answers (`booster-soft`).
`booster-folds` is the booster as the member of a `WorstClassClassifier`: one for each fold, mean probability, and
offsets.

**Networks that hear from each other**: `auto-networks` trains one network per fold, all with the same class weights.
Here the folds are trained one after the other, and Hedge raises the weight of a class by its error after each network:
its error on the rows that the network did not see (`hedge-held-out`), or on those it was trained on (`hedge-training`),
as in the paper. `balanced` gives all classes the same total in every network; `auto-networks` weighs rows by the square
root of class sizes. The mean probability and offsets answer, as in `auto-networks`, at the same epochs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from worstclass import TorchLearner, WorstClassBooster, WorstClassClassifier
from worstclass.data.labels import Labels, training_labels
from worstclass.ensembles.combination import combine, stratified_folds
from worstclass.ensembles.epochs import EpochChoice
from worstclass.ensembles.members import class_probabilities
from worstclass.learners.budget import Meter
from worstclass.metrics import ClassCounts, count_correct

N_FOLDS = 5
FEEDBACK = ("balanced", "hedge-held-out", "hedge-training")
#: variant of the booster -> what it changes of the learner
BOOSTERS: dict[str, dict[str, Any]] = {
    "booster": {},
    "booster-same": {"start": "same"},
    "booster-snapshots": {"start": "warm"},
    "booster-la": {"loss": "logit-adjustment"},
    "booster-soft": {},
    "booster-folds": {},
}


@dataclass
class BoosterVariant:
    """``WorstClassBooster`` with the floor of the paper, and one thing changed."""

    learner: TorchLearner
    theta: float
    epochs: int
    variant: str
    seed: int

    def fit(self, X: Any, y: Any) -> Self:
        """Boost, within the epochs; rows are trained on as class indices."""
        self.classes_, index = np.unique(y, return_inverse=True)
        learner = self.learner.set_params(**BOOSTERS[self.variant])
        self.model_: Any = WorstClassBooster(learner, self.theta, max_epochs=self.epochs, random_state=self.seed)
        if self.variant == "booster-folds":
            self.model_ = WorstClassClassifier([self.model_], max_epochs=self.epochs, random_state=self.seed)
        self.model_.fit(X, index)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the answers of the vote, or of the mean probability."""
        if self.variant == "booster-soft":
            return self.classes_[class_probabilities(self.model_, X, len(self.classes_)).argmax(axis=1)]
        return self.classes_[self.model_.predict(X)]


@dataclass
class FeedbackNetworks:
    """One network per fold, each with class weights that the networks before it decide."""

    learner: TorchLearner
    epochs: int
    feedback: str
    seed: int

    def fit(self, X: Any, y: Any) -> Self:
        """Train the folds one after the other; choose offsets on the rows that were held out."""
        labels = training_labels(X, y)
        X, target, K = np.asarray(X), labels.index, labels.n_classes
        rate = math.sqrt(8 * math.log(K) / N_FOLDS)  # Hedge's own, for as many rounds
        penalty, self.classes_, self.members_ = np.zeros(K), labels.classes, []
        folds = stratified_folds(target, N_FOLDS, self.seed)
        probability = np.zeros((len(target), K))
        for number, (train, held) in enumerate(folds):
            own = target[train]
            weight = np.exp(rate * penalty) / np.bincount(own, minlength=K)  # equal in total, then by Hedge
            fold = Labels(labels.classes, own)
            training = self.learner.bind(X[train], own, K, self.seed)
            choice = EpochChoice(fold, None, "worst", self.epochs // N_FOLDS, None, Meter())
            row_weight = weight[own] / weight[own].mean()
            member = training.train(row_weight, choice, 1000 * self.seed + number).member
            self.members_.append((training.encoder, member))
            probability[held] = self._ask(number, X[held])
            told = held if self.feedback == "hedge-held-out" else train
            if self.feedback != "balanced":
                answers = self._ask(number, X[told]).argmax(axis=1)
                totals = np.bincount(target[told], minlength=K)
                penalty = penalty + np.nan_to_num(ClassCounts(count_correct(target[told], answers, K), totals).errors)
        self.offsets_ = combine([probability], target, None, 1)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class whose mean log-probability plus offset is largest."""
        mean = np.mean([self._ask(number, np.asarray(X)) for number in range(len(self.members_))], axis=0)
        return self.classes_[self.offsets_.scores([mean]).argmax(axis=1)]

    def _ask(self, number: int, X: Any) -> np.ndarray:
        encoder, member = self.members_[number]
        return member.probabilities(encoder.encode(X))
