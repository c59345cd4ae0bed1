"""Abstaining: answers only where the margin is wide enough to keep a risk promised for every class."""

from __future__ import annotations

from worstclass.abstention.certificate import RiskCertificate
from worstclass.abstention.estimator import AbstainingClassifier
from worstclass.abstention.report import ClassRisk, RiskReport

__all__ = ["AbstainingClassifier", "ClassRisk", "RiskCertificate", "RiskReport"]
