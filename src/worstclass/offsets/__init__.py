"""Decision offsets: one number a class, added to the scores of any classifier, for the sake of the worst class."""

from __future__ import annotations

from worstclass.offsets.estimator import WorstClassOffsets
from worstclass.offsets.solve import Solution, best_offsets

__all__ = ["Solution", "WorstClassOffsets", "best_offsets"]
