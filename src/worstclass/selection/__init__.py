"""How high the floor should be: the search for theta, and the nearest floors where it is too high."""

from worstclass.selection.nearest import FeasibleFloors, nearest_feasible_floors
from worstclass.selection.race import SelectionEvent
from worstclass.selection.result import ThetaSelection
from worstclass.selection.select import select_theta

__all__ = ["FeasibleFloors", "SelectionEvent", "ThetaSelection", "nearest_feasible_floors", "select_theta"]
