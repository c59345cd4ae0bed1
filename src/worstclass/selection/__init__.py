"""How high the accuracy floor should be: fit at several thetas, and compare them on validation rows."""

from worstclass.selection.result import CandidateRecord, FeasibleFloors, ThetaSelection, short_theta
from worstclass.selection.select import nearest_feasible_floors, select_theta

__all__ = [
    "CandidateRecord",
    "FeasibleFloors",
    "ThetaSelection",
    "nearest_feasible_floors",
    "select_theta",
    "short_theta",
]
