"""What a fit may spend: epochs and seconds."""

from __future__ import annotations

import time

from worstclass._checks import check_count, check_positive


class Meter:
    """Counts epochs and seconds against a limit on either; None is no limit.

    Examples
    --------
    >>> meter = Meter(max_epochs=2)
    >>> meter.count(), meter.spent, meter.count(), meter.spent
    (None, False, None, True)
    """

    def __init__(self, max_epochs: int | None = None, max_seconds: float | None = None) -> None:
        self.max_epochs = max_epochs
        self.max_seconds = max_seconds
        self.epochs = 0
        self._started = time.perf_counter()

    def count(self) -> None:
        """Count one epoch."""
        self.epochs += 1

    @property
    def seconds(self) -> float:
        """Seconds since the meter was made."""
        return time.perf_counter() - self._started

    @property
    def spent(self) -> bool:
        """Whether a limit is reached."""
        return self._epochs_spent or (self.max_seconds is not None and self.seconds >= self.max_seconds)

    @property
    def _epochs_spent(self) -> bool:
        return self.max_epochs is not None and self.epochs >= self.max_epochs

    def __str__(self) -> str:
        """Name the limit that was reached, or the one there is."""
        if self.max_seconds is not None and not self._epochs_spent:
            return f"{self.max_seconds:g} seconds"
        return "any size" if self.max_epochs is None else f"{self.max_epochs:,} epochs"


def check_limits(max_epochs: object, max_seconds: object, *, owner: str, epochs_name: str = "max_epochs") -> None:
    """Refuse limits that are neither positive numbers nor None."""
    check_count(max_epochs, epochs_name, owner, words=(None,))
    check_positive(max_seconds, "max_seconds", owner, words=(None,))
