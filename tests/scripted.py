"""A learner whose answers are written down, so that what the booster makes of them can be worked by hand.

X has one column, the number of the row; a script gives, for each round and each pass, the answer for every row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from worstclass.learners.base import Epoch, Member, Training, WeakLearner
from worstclass.learners.sklearn_learner import ArrayInputs, SklearnEncoder


@dataclass(eq=False)
class ScriptedMember(Member):
    answers: np.ndarray

    def predict(self, inputs: ArrayInputs) -> np.ndarray:
        return self.answers[np.asarray(inputs.values)[:, 0].astype(int)]


class ScriptedTraining(Training):
    def __init__(self, script: list, X: Any) -> None:
        self.script = script
        self.encoder = SklearnEncoder(None)
        self.inputs = ArrayInputs(X)
        self.sample_weights: list[np.ndarray] = []

    def epochs(self, sample_weight, seed):
        passes = self.script[min(len(self.sample_weights), len(self.script) - 1)]
        self.sample_weights.append(sample_weight)
        for answers in passes:
            member = ScriptedMember(np.asarray(answers))
            yield Epoch(member.predict(self.inputs), member.predict, lambda member=member: member)


class ScriptedLearner(WeakLearner):
    """Plays ``script[t][pass]`` in round t; the last round is played again when the script is over."""

    def __init__(self, script: list) -> None:
        self.script = script

    def check_X(self, X: Any) -> Any:
        return np.asarray(X)

    def bind(self, X, y, n_classes, seed) -> ScriptedTraining:
        self.training_ = ScriptedTraining(self.script, X)
        return self.training_


def numbered_rows(n: int) -> np.ndarray:
    return np.arange(n, dtype=float).reshape(-1, 1)
