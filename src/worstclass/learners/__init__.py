"""Weak learners: how one member is trained."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from worstclass.exceptions import ParameterError
from worstclass.learners.base import WeakLearner


def as_learner(learner: Any, *, owner: str = "WorstClassBooster") -> WeakLearner:
    """Return a copy of a learner; a bare scikit-learn classifier is wrapped."""
    if isinstance(learner, WeakLearner):
        copied: WeakLearner = clone(learner)
        return copied
    if hasattr(learner, "fit") and hasattr(learner, "get_params") and not isinstance(learner, type):
        from worstclass.learners.sklearn_learner import SklearnLearner

        return SklearnLearner(clone(learner))
    raise ParameterError(
        "learner",
        owner,
        allowed="a TorchLearner, a SklearnLearner or a scikit-learn classifier",
        got=learner,
        hint="Wrap a torch network as TorchLearner(factory).",
    )
