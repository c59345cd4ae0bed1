"""How high the accuracy floor should be: fit at several thetas, and compare them on validation rows."""

from __future__ import annotations

from worstclass.selection.records import CandidateRecord, FeasibleFloors, ThetaSelection
from worstclass.selection.search import nearest_feasible_floors
from worstclass.selection.theta import select_theta

__all__ = ["CandidateRecord", "FeasibleFloors", "ThetaSelection", "nearest_feasible_floors", "select_theta"]
