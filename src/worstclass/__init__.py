"""Classifiers in which no class is sacrificed.

The names below are loaded when first used, so that importing worstclass costs nothing: scikit-learn, pandas and torch
come in only with what needs them. What needs torch says so where it is not installed (the extra ``torch``).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from worstclass._version import __version__

if TYPE_CHECKING:
    from worstclass.boosting.booster import WorstClassBooster as WorstClassBooster
    from worstclass.boosting.callbacks import Callback as Callback
    from worstclass.boosting.compaction import compact as compact
    from worstclass.boosting.history import RoundRecord as RoundRecord
    from worstclass.boosting.oco import InstanceBooster as InstanceBooster
    from worstclass.certificates.certificate import Certificate as Certificate
    from worstclass.certificates.held_out import certify as certify
    from worstclass.data.registry import load_dataset as load_dataset
    from worstclass.data.splits import Splits as Splits
    from worstclass.data.splits import make_splits as make_splits
    from worstclass.ensembles.networks import DeepEnsemble as DeepEnsemble
    from worstclass.ensembles.networks import NetworkClassifier as NetworkClassifier
    from worstclass.ensembles.worst_class import PortfolioRecord as PortfolioRecord
    from worstclass.ensembles.worst_class import WorstClassClassifier as WorstClassClassifier
    from worstclass.export.answers import ExportReport as ExportReport
    from worstclass.export.onnx_file import export_onnx as export_onnx
    from worstclass.export.torch_file import export_torch as export_torch
    from worstclass.learners.sklearn_learner import SklearnLearner as SklearnLearner
    from worstclass.learners.torch_learner import TorchLearner as TorchLearner
    from worstclass.methods import build_method as build_method
    from worstclass.methods import list_methods as list_methods
    from worstclass.metrics import ClassReport as ClassReport
    from worstclass.metrics import class_report as class_report
    from worstclass.metrics import worst_class_error as worst_class_error
    from worstclass.metrics import worst_class_scorer as worst_class_scorer
    from worstclass.progress import ProgressCallback as ProgressCallback
    from worstclass.report.displays import ClassErrorDisplay as ClassErrorDisplay
    from worstclass.report.displays import ConfusionDisplay as ConfusionDisplay
    from worstclass.report.displays import RadarDisplay as RadarDisplay
    from worstclass.report.training_displays import ClassWeightDisplay as ClassWeightDisplay
    from worstclass.report.training_displays import DecisionRegionDisplay as DecisionRegionDisplay
    from worstclass.report.training_displays import RiskCoverageDisplay as RiskCoverageDisplay
    from worstclass.report.training_displays import ThetaDisplay as ThetaDisplay
    from worstclass.selection import ThetaSelection as ThetaSelection
    from worstclass.selection import nearest_feasible_floors as nearest_feasible_floors
    from worstclass.selection import select_theta as select_theta
    from worstclass.storage import load_model as load_model
    from worstclass.storage import save_model as save_model
    from worstclass.tracking import MLflowCallback as MLflowCallback
    from worstclass.tracking import TensorBoardCallback as TensorBoardCallback
    from worstclass.wrappers.abstention import AbstainingClassifier as AbstainingClassifier
    from worstclass.wrappers.offsets import WorstClassOffsets as WorstClassOffsets

#: where each public name lives
_NAMES = {
    "boosting.booster": ("WorstClassBooster",),
    "boosting.callbacks": ("Callback",),
    "boosting.compaction": ("compact",),
    "boosting.history": ("RoundRecord",),
    "boosting.oco": ("InstanceBooster",),
    "certificates.certificate": ("Certificate",),
    "certificates.held_out": ("certify",),
    "data.registry": ("load_dataset",),
    "data.splits": ("Splits", "make_splits"),
    "ensembles.networks": ("DeepEnsemble", "NetworkClassifier"),
    "ensembles.worst_class": ("PortfolioRecord", "WorstClassClassifier"),
    "export.answers": ("ExportReport",),
    "export.onnx_file": ("export_onnx",),
    "export.torch_file": ("export_torch",),
    "learners.sklearn_learner": ("SklearnLearner",),
    "learners.torch_learner": ("TorchLearner",),
    "methods": ("build_method", "list_methods"),
    "metrics": ("ClassReport", "class_report", "worst_class_error", "worst_class_scorer"),
    "progress": ("ProgressCallback",),
    "report.displays": (
        "ClassErrorDisplay",
        "ConfusionDisplay",
        "RadarDisplay",
    ),
    "report.training_displays": (
        "ClassWeightDisplay",
        "DecisionRegionDisplay",
        "RiskCoverageDisplay",
        "ThetaDisplay",
    ),
    "selection": ("ThetaSelection", "nearest_feasible_floors", "select_theta"),
    "storage": ("load_model", "save_model"),
    "tracking": ("MLflowCallback", "TensorBoardCallback"),
    "wrappers.abstention": ("AbstainingClassifier",),
    "wrappers.offsets": ("WorstClassOffsets",),
}
_HOME = {name: f"worstclass.{module}" for module, names in _NAMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        from worstclass._checks import optional_packages

        with optional_packages(name):
            return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'worstclass' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
