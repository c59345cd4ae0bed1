"""What fitted classifiers compute, written once for every kind of file.

A *part* is a fitted classifier as values of a backend, which are symbolic tensors of ONNX, or tensors of torch. Its
methods are named like those of classifiers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.boosting.voting import MajorityVote
from worstclass.ensembles.portfolio import OWNER
from worstclass.ensembles.worst_class import WorstClassClassifier
from worstclass.exceptions import ExportError
from worstclass.export.backend import Ops, ProgramRows, Value
from worstclass.learners.estimator import LearnerClassifier
from worstclass.learners.sklearn_learner import SklearnMember
from worstclass.wrappers.abstention import AbstainingClassifier
from worstclass.wrappers.offsets import WorstClassOffsets
from worstclass.wrappers.scores import LEAST_PROBABILITY, METHODS, resolve_kind


class ModelPart(ABC):
    """A fitted classifier as values. What it computes is asked for by the name of a method, and made once.

    Attributes
    ----------
    classes : the classes, in the order of columns and indices.
    """

    def __init__(self, ops: Ops, classes: npt.NDArray[Any]) -> None:
        self.ops = ops
        self.classes = np.asarray(classes)
        self._made: dict[str, Value] = {}

    def value(self, method: str) -> Value:
        """Return what a method computes: ``answers``, ``predict_proba`` and so on."""
        if method not in self._made:
            if not hasattr(self, method):
                raise ExportError(f"{method} of this kind of classifier cannot be exported ({type(self).__name__}).")
            self._made[method] = getattr(self, method)()
        return self._made[method]

    @abstractmethod
    def answers(self) -> Value:
        """Return the index of the class of each row, shape (n,)."""

    def scores(self, kind: str) -> Value:
        """Return scores by their kind, as ``wrappers.scores.class_scores``, shape (n, K)."""
        values = self.value(METHODS[kind])
        return self.log_probabilities(values) if kind in ("mean-proba", "log-proba") else values

    def log_probabilities(self, values: Value) -> Value:
        """Return logarithms of probabilities, as ``wrappers.scores.log_probabilities``."""
        return self.ops.log(self.ops.at_least(values, LEAST_PROBABILITY))

    def lead(self, scores: Value, answers: Value) -> Value:
        """Return the score of the answer minus the largest score of the other classes, shape (n,)."""
        own = self.ops.one_hot(answers, len(self.classes))
        others = self.ops.largest(self.ops.where(own, -np.inf, scores))
        return self.ops.largest(self.ops.where(own, scores, -np.inf)) - others

    def difference(self, scores: Value) -> Value:
        """Return scores as those of a ``decision_function``: of two classes 0, and the second minus the first."""
        return scores @ self.ops.array([[0.0, -1.0], [0.0, 1.0]]) if len(self.classes) == 2 else scores


@singledispatch
def part_of(model: Any, rows: ProgramRows) -> ModelPart:
    """Return the part of a fitted classifier: of ours by its kind, of others as scikit-learn's."""
    return rows.classifier(model)


class NetworkPart(ModelPart):
    """One network: its logits are float32, its probabilities their softmax in float64."""

    def __init__(self, ops: Ops, n_classes: int, logits: Value) -> None:
        super().__init__(ops, np.arange(n_classes))
        self._logits = logits

    def answers(self) -> Value:
        """Return the class of the largest logit."""
        return self.ops.argmax(self._logits)

    def predict_proba(self) -> Value:
        """Return the softmax of the logits."""
        return self.ops.softmax(self._logits)


class MembersPart(ModelPart):
    """The members of a classifier that has a learner, and the mean of their probabilities, which answers."""

    def __init__(self, model: LearnerClassifier, rows: ProgramRows) -> None:
        super().__init__(rows.ops, model.classes_)
        members = model.estimators_[: getattr(model, "n_members_used_", None)]
        if isinstance(members[0], SklearnMember):
            inside = rows.transformed(model.encoder_.steps)
            self.members = [part_of(member.estimator, inside) for member in members]
        elif hasattr(members[0], "runtime"):
            inputs, K = rows.network_inputs(model), len(self.classes)
            self.members = [NetworkPart(rows.ops, K, rows.logits(model, member, inputs)) for member in members]
        else:
            raise ExportError(
                f"Members of {type(model.learner_).__name__} cannot be exported; those of TorchLearner and "
                "SklearnLearner can."
            )

    def answers(self) -> Value:
        """Return the most probable class."""
        return self.ops.argmax(self.value("predict_proba"))

    def predict_proba(self) -> Value:
        """Return the mean of the members' probabilities."""
        return self.value("mean_proba")

    def mean_proba(self) -> Value:
        """Return the mean of the members' probabilities."""
        total, *others = [member.value("predict_proba") for member in self.members]
        for given in others:
            total = total + given
        return total / float(len(self.members))


class VotePart(MembersPart):
    """The majority vote of ``boosting.vote``: a tie goes to the class that led first."""

    def answers(self) -> Value:
        """Return the class with the most votes; of equals the one whose last vote came first, for it led first."""
        counts, last = self.value("tally")
        return self.ops.argmax(counts * float(len(self.members) + 1) - last)

    def predict_proba(self) -> Value:
        """Return the shares of the votes; in a tie that of the winner is the next larger number."""
        (counts, _), T, K = self.value("tally"), len(self.members), len(self.classes)
        shares = np.arange(T + 1) / T
        tied = self.ops.where(self.value("votes_ahead") > 0.0, K, self.value("answers"))  # K where there is no tie
        raised = self.ops.take(np.nextafter(shares, 2.0), counts)
        return self.ops.where(self.ops.one_hot(tied, K), raised, self.ops.take(shares, counts))

    def decision_margin(self) -> Value:
        """Return the lead of the winner as a share of the votes."""
        return self.value("votes_ahead") / float(len(self.members))

    def votes_ahead(self) -> Value:
        """Return the votes of the winner beyond those of the runner-up."""
        return self.lead(self.value("tally")[0], self.value("answers"))

    def tally(self) -> tuple[Value, Value]:
        """Return the votes of each class and the number of the last member that voted for it, shape (n, K)."""
        counts = last = self.ops.array(np.zeros((1, len(self.classes))))
        for number, member in enumerate(self.members, start=1):
            answers = member.value("answers")
            if len(member.classes) < len(self.classes):  # trained without some of the classes
                answers = self.ops.take(member.classes, answers)
            chosen = self.ops.one_hot(answers, len(self.classes))
            counts, last = self.ops.where(chosen, counts + 1.0, counts), self.ops.where(chosen, float(number), last)
        return counts, last


class PortfolioPart(ModelPart):
    """The weighted mean of the probabilities of fitted models, their logarithms, and offsets."""

    def __init__(self, model: WorstClassClassifier, rows: ProgramRows) -> None:
        super().__init__(rows.ops, model.classes_)
        inside = rows if model.encoder_ is None else rows.encoded(model.encoder_, "float64")
        self.weights, self.offsets = model.weights_, model.offsets_
        self.models = [(part_of(member, inside), _kind(member)) for member in model.estimators_]

    def answers(self) -> Value:
        """Return the class with the largest sum of log-probability and offset."""
        return self.ops.argmax(self.value("sums"))

    def predict_proba(self) -> Value:
        """Return the softmax of log-probabilities plus offsets."""
        return self.ops.softmax(self.value("sums"))

    def decision_function(self) -> Value:
        """Return log-probabilities plus offsets."""
        return self.difference(self.value("sums"))

    def sums(self) -> Value:
        """Return log-probabilities plus offsets, shape (n, K)."""
        total = self.ops.array(np.zeros((1, len(self.classes))))
        for weight, (part, kind) in zip(self.weights, self.models, strict=True):
            weights = self.ops.array(np.full(len(self.classes), weight))  # runtimes round a single one to float32
            total = total + self._by_class(part, self.ops.exp(part.scores(kind))) * weights
        return self.log_probabilities(total) + self.ops.array(self.offsets)

    def _by_class(self, part: ModelPart, values: Value) -> Value:
        """Put columns to the classes of a member, which are indices; a class unknown to it has 0."""
        if len(part.classes) == len(self.classes):
            return values
        return values @ self.ops.array(np.eye(len(self.classes))[part.classes])


class OffsetsPart(ModelPart):
    """Offsets on the scores of another part, whose probabilities stay as they are."""

    def __init__(self, model: WorstClassOffsets, rows: ProgramRows) -> None:
        super().__init__(rows.ops, model.classes_)
        self.inner, self.kind, self.offsets = part_of(model.estimator_, rows), model.scores_, model.offsets_

    def answers(self) -> Value:
        """Return the class with the largest sum of score and offset."""
        return self.ops.argmax(self.value("sums"))

    def predict_proba(self) -> Value:
        """Return the probabilities of the classifier inside."""
        return self.inner.value("predict_proba")

    def decision_function(self) -> Value:
        """Return scores plus offsets."""
        return self.difference(self.value("sums"))

    def decision_margin(self) -> Value:
        """Return the largest sum minus the second largest."""
        return self.lead(self.value("sums"), self.value("answers"))

    def sums(self) -> Value:
        """Return scores plus offsets, shape (n, K)."""
        return self.inner.scores(self.kind) + self.ops.array(self.offsets)


class AbstainingPart(ModelPart):
    """Answers of another part where their margin exceeds a threshold."""

    def __init__(self, model: AbstainingClassifier, rows: ProgramRows) -> None:
        super().__init__(rows.ops, model.classes_)
        self.inner, self.kind, self.threshold = part_of(model.estimator_, rows), model.margin_, model.threshold_

    def answers(self) -> Value:
        """Return the answers of the classifier inside, also of rows that are not answered."""
        return self.inner.value("answers")

    def predict_proba(self) -> Value:
        """Return the probabilities of the classifier inside."""
        return self.inner.value("predict_proba")

    def decision_margin(self) -> Value:
        """Return the margin of each answer."""
        if self.kind == "own":
            return self.inner.value("decision_margin")
        return self.lead(self.inner.scores(self.kind), self.value("answers"))

    def answered(self) -> Value:
        """Return which rows are answered."""
        return self.value("decision_margin") > float(self.threshold)


part_of.register(LearnerClassifier, MembersPart)
part_of.register(MajorityVote, VotePart)
part_of.register(WorstClassClassifier, PortfolioPart)
part_of.register(WorstClassOffsets, OffsetsPart)
part_of.register(AbstainingClassifier, AbstainingPart)


def _kind(member: Any) -> str:
    """Return which scores of a member a portfolio takes."""
    return resolve_kind(member, "auto", "scores", owner=OWNER)
