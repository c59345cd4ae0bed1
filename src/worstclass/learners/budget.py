"""What a fit may spend: passes over the training sample, and seconds."""

from __future__ import annotations

import math
import numbers
import time

from worstclass.exceptions import ParameterError


class Meter:
    """Counts passes and time against a limit on either; None is no limit. Its clock can be stopped for a while.

    Examples
    --------
    >>> meter = Meter(max_passes=2)
    >>> meter.count(), meter.spent, meter.count(), meter.spent
    (None, False, None, True)
    """

    def __init__(self, max_passes: int | None = None, max_seconds: float | None = None) -> None:
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.passes = 0
        self._before = 0.0
        self._started: float | None = time.perf_counter()

    def pause(self) -> None:
        """Stop the clock."""
        self._before, self._started = self.seconds, None

    def go_on(self) -> None:
        """Let a clock that was stopped run again."""
        if self._started is None:
            self._started = time.perf_counter()

    def set_back(self, passes: int, seconds: float) -> None:
        """Take back what was counted since some moment, of which passes and seconds are given."""
        self.passes, self._before = passes, seconds
        self._started = None if self._started is None else time.perf_counter()

    def count(self) -> None:
        """Count one pass."""
        self.passes += 1

    @property
    def seconds(self) -> float:
        """Time since the meter was made, without that for which its clock was stopped."""
        return self._before + (0.0 if self._started is None else time.perf_counter() - self._started)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._passes_spent or (self.max_seconds is not None and self.seconds >= self.max_seconds)

    @property
    def _passes_spent(self) -> bool:
        return self.max_passes is not None and self.passes >= self.max_passes

    def __str__(self) -> str:
        """Name the limit that was reached, or the one there is."""
        if self.max_seconds is not None and not self._passes_spent:
            return f"{self.max_seconds:g} seconds"
        return "any size" if self.max_passes is None else f"{self.max_passes:,} passes"


def check_limits(max_passes: object, max_seconds: object, *, owner: str, passes_name: str = "max_total_epochs") -> None:
    """Refuse limits that are not positive numbers or None."""
    whole = isinstance(max_passes, numbers.Integral) and not isinstance(max_passes, bool)
    if max_passes is not None and not (whole and int(max_passes) >= 1):  # type: ignore[call-overload]
        raise ParameterError(passes_name, owner, allowed="a positive whole number or None", got=max_passes)
    real = isinstance(max_seconds, numbers.Real) and not isinstance(max_seconds, bool)
    if max_seconds is not None and not (real and 0 < float(max_seconds) < math.inf):  # type: ignore[arg-type]
        raise ParameterError("max_seconds", owner, allowed="a positive number or None", got=max_seconds)
