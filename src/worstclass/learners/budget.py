"""What a fit may spend: epochs over the training sample, and seconds."""

from __future__ import annotations

import math
import numbers
import time

from worstclass.exceptions import ParameterError


class Meter:
    """Counts epochs and time against a limit on either; None is no limit. Its clock can be stopped for a while.

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
        self._before = 0.0
        self._started: float | None = time.perf_counter()

    def pause(self) -> None:
        """Stop the clock."""
        self._before, self._started = self.seconds, None

    def go_on(self) -> None:
        """Let a clock that was stopped run again."""
        if self._started is None:
            self._started = time.perf_counter()

    def set_back(self, epochs: int, seconds: float) -> None:
        """Take back what was counted since some moment, of which epochs and seconds are given."""
        self.epochs, self._before = epochs, seconds
        self._started = None if self._started is None else time.perf_counter()

    def count(self) -> None:
        """Count one epoch."""
        self.epochs += 1

    @property
    def seconds(self) -> float:
        """Time since the meter was made, without that for which its clock was stopped."""
        return self._before + (0.0 if self._started is None else time.perf_counter() - self._started)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
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
    """Refuse limits that are not positive numbers or None."""
    whole = isinstance(max_epochs, numbers.Integral) and not isinstance(max_epochs, bool)
    if max_epochs is not None and not (whole and int(max_epochs) >= 1):  # type: ignore[call-overload]
        raise ParameterError(epochs_name, owner, allowed="a positive whole number or None", got=max_epochs)
    real = isinstance(max_seconds, numbers.Real) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (real and 0 < float(max_seconds) < math.inf):  # type: ignore[arg-type]
        raise ParameterError("max_seconds", owner, allowed="a positive number or None", got=max_seconds)
