"""Which prefixes of the members meet which floors, counted on the training rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worstclass.boosting.history import RoundRecord
from worstclass.boosting.outcome import best_prefix
from worstclass.floors import Floors


def meets(record: RoundRecord, floors: Floors) -> bool:
    """Tell whether the vote after a round meets every floor on the training rows."""
    return bool((np.array(record.vote_correct) >= floors.vote_quota(record.class_totals)).all())


def prefix_meeting(history: Sequence[RoundRecord], floors: Floors, select_on: str) -> int | None:
    """Return how many members vote best on the validation rows and meet every floor; None where no prefix does.

    Where the prefix that is best of all meets the floors, it is that one.
    """
    numbers = [number for number, record in enumerate(history, start=1) if meets(record, floors)]
    if not numbers:
        return None
    return numbers[best_prefix([history[number - 1] for number in numbers], select_on) - 1]
