"""Classifiers in which no class is sacrificed.

The names below are loaded when first used, so that importing worstclass costs nothing: torch, scikit-learn and
pandas come in only with what needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from worstclass._version import __version__

if TYPE_CHECKING:
    from worstclass.boosting.booster import WorstClassBooster
    from worstclass.boosting.callbacks import Callback
    from worstclass.boosting.history import RoundRecord
    from worstclass.certificates.certificate import Certificate
    from worstclass.certificates.held_out import certify
    from worstclass.data.registry import load_dataset
    from worstclass.data.splits import Splits, make_splits
    from worstclass.learners.sklearn_learner import SklearnLearner
    from worstclass.learners.torch_learner import TorchLearner
    from worstclass.methods import build_method, list_methods
    from worstclass.metrics import ClassReport, class_report, worst_class_error, worst_class_scorer
    from worstclass.selection import ThetaSelection, nearest_feasible_floors, select_theta
    from worstclass.storage import load_model, save_model
    from worstclass.wrappers.abstention import AbstainingClassifier
    from worstclass.wrappers.offsets import WorstClassOffsets

_HOME = {
    "AbstainingClassifier": "worstclass.wrappers.abstention",
    "WorstClassBooster": "worstclass.boosting.booster",
    "Callback": "worstclass.boosting.callbacks",
    "RoundRecord": "worstclass.boosting.history",
    "Certificate": "worstclass.certificates.certificate",
    "certify": "worstclass.certificates.held_out",
    "load_dataset": "worstclass.data.registry",
    "Splits": "worstclass.data.splits",
    "make_splits": "worstclass.data.splits",
    "SklearnLearner": "worstclass.learners.sklearn_learner",
    "TorchLearner": "worstclass.learners.torch_learner",
    "build_method": "worstclass.methods",
    "list_methods": "worstclass.methods",
    "ClassReport": "worstclass.metrics",
    "class_report": "worstclass.metrics",
    "worst_class_error": "worstclass.metrics",
    "worst_class_scorer": "worstclass.metrics",
    "WorstClassOffsets": "worstclass.wrappers.offsets",
    "load_model": "worstclass.storage",
    "save_model": "worstclass.storage",
    "nearest_feasible_floors": "worstclass.selection",
    "select_theta": "worstclass.selection",
    "ThetaSelection": "worstclass.selection",
}

__all__ = [
    "AbstainingClassifier",
    "Callback",
    "Certificate",
    "ClassReport",
    "RoundRecord",
    "SklearnLearner",
    "Splits",
    "ThetaSelection",
    "TorchLearner",
    "WorstClassBooster",
    "WorstClassOffsets",
    "__version__",
    "build_method",
    "certify",
    "class_report",
    "list_methods",
    "load_dataset",
    "load_model",
    "make_splits",
    "nearest_feasible_floors",
    "save_model",
    "select_theta",
    "worst_class_error",
    "worst_class_scorer",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'worstclass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
