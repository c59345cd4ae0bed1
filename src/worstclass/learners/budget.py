"""What a fit may spend: epochs and seconds."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass(eq=False)
class Meter:
    """Counts epochs and seconds against a limit on either; None is no limit.

    Examples
    --------
    >>> meter = Meter(max_epochs=2)
    >>> meter.count(), meter.spent, meter.count(), meter.spent
    (None, None, None, '2 epochs')
    """

    max_epochs: int | None = None
    max_seconds: float | None = None
    epochs: int = field(default=0, init=False)
    _started: float = field(default_factory=lambda: time.perf_counter(), init=False)

    def count(self) -> None:
        """Count one epoch."""
        self.epochs += 1

    def credit(self, epochs: int, seconds: float) -> None:
        """Count epochs and seconds that were spent before the meter was made."""
        self.epochs += epochs
        self._started -= seconds

    @property
    def seconds(self) -> float:
        """Seconds since the meter was made."""
        return time.perf_counter() - self._started

    @property
    def spent(self) -> str | None:
        """The limit that is reached, in words; None where none is."""
        if self.max_epochs is not None and self.epochs >= self.max_epochs:
            return f"{self.max_epochs:,} epochs"
        return f"{self.max_seconds:g} seconds" if self.max_seconds and self.seconds >= self.max_seconds else None
