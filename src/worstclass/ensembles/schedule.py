"""What a portfolio costs, and what of it fits into a time limit."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from worstclass._typing import IntArray

#: numbers of folds, and the rows or images up to which each is the default; one fold is a single held-out part, for
#: which the smallest class needs so many rows
FOLDS, MOST_ROWS, MOST_IMAGES = (5, 3, 1), (20_000, 100_000), (5_000, 10_000)
LEAST_OF_CLASS = 500
#: share of the time limit in which members may be tried on few rows, and in which the first fold of every member must
#: be trained; combining them takes time, too
TRY, FIRST_FOLD = 0.5, 0.7
#: share of the time limit that is planned with; the rest is for what is not foreseen
PLANNED = 0.9


def default_folds(class_sizes: IntArray, *, images: bool = False) -> int:
    """Return the number of folds: fewer for many rows, where one held-out part has enough of every class.

    Networks of images are better trained once for long than several times briefly, so they have fewer folds.
    """
    n_rows, limits = class_sizes.sum(), MOST_IMAGES if images else MOST_ROWS
    folds = next((folds for folds, most in zip(FOLDS, limits, strict=False) if n_rows <= most), FOLDS[-1])
    return max(folds, FOLDS[1]) if class_sizes.min() < LEAST_OF_CLASS else folds


def extrapolate(rows: tuple[int, int], seconds: tuple[float, float], n_rows: int) -> float:
    """Return the seconds for ``n_rows``, given those for two smaller numbers of rows.

    Costs may be a constant and a part in proportion to the rows, or a power of the rows; the larger of both counts.

    Examples
    --------
    A second and a millisecond per row; then the square of the rows:

    >>> round(extrapolate((100, 400), (1.1, 1.4), 10_000), 2), round(extrapolate((100, 400), (0.01, 0.16), 10_000), 2)
    (11.0, 100.0)
    """
    (few, more), (short, long) = rows, (max(t, 1e-6) for t in seconds)
    if more <= few or long <= short:
        return long
    straight = long + (long - short) / (more - few) * (n_rows - more)
    power = math.log(long / short) / math.log(more / few)
    return max(straight, long * math.pow(n_rows / more, min(power, 2.0)))


@dataclass
class Schedule:
    """Which members are trained, on how many folds, and what was left out for lack of time."""

    time_limit: float | None
    folds: int
    members: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    @property
    def left_to_try(self) -> float:
        """Seconds that are left to find out what members cost."""
        assert self.time_limit is not None
        return TRY * self.time_limit - self.seconds

    def allows(self, name: str, probe: Callable[[], float]) -> bool:
        """Tell whether there is time for the first fold of a member; the first member is trained anyway.

        ``probe`` returns the seconds that it will take; infinity if there is no time to find out.
        """
        if self.time_limit is None or name == self.members[0]:
            return True
        needed = probe()
        if self.seconds + needed <= FIRST_FOLD * self.time_limit:
            return True
        spent = self.seconds > FIRST_FOLD * self.time_limit
        about = "no time was left for it" if spent else f"about {needed:.0f} s would not fit into the time limit"
        self._drop(name, "there was no time to try it on enough rows" if math.isinf(needed) else about)
        return False

    def plan_folds(
        self, costs: Mapping[str, float], combining: Callable[[int], float], n_jobs: int, *, keep: bool
    ) -> None:
        """Decide how many folds there is time for; if their number is given, which members.

        Parameters
        ----------
        costs : the seconds that the first fold of each member took.
        combining : the seconds that it takes to combine members, by the number of folds.
        n_jobs : folds that run in parallel.
        keep : the number of folds is given.
        """
        assert self.time_limit is not None
        left = PLANNED * self.time_limit - self.seconds

        def training(folds: int) -> float:
            return math.ceil((folds - 1) / n_jobs) * sum(costs[name] for name in self.members)

        if keep:
            allowed = max(left - combining(self.folds), 0.1 * left)  # members that cost next to nothing stay
            for name in sorted(self.members[1:], key=lambda name: -costs[name]):
                if training(self.folds) > allowed:
                    self._drop(name, f"about {self.folds * costs[name]:.0f} s would not fit into the time limit")
            if training(self.folds) > allowed:
                self.notes.append(f"{self.folds} folds take longer than the time limit")
            return
        fitting = (n for n in range(self.folds, 1, -1) if training(n) + combining(n) <= left)
        if (affordable := next(fitting, 1)) < self.folds:
            self.notes.append(f"{affordable} of {self.folds} folds, to stay within the time limit")
            self.folds = affordable

    def failed(self, name: str, error: Exception) -> None:
        """Note that a member could not be trained."""
        self._drop(name, f"{type(error).__name__}: {error}".rstrip("."))
        self.failures.append(self.notes[-1])

    def _drop(self, name: str, why: str) -> None:
        self.members.remove(name)
        self.notes.append(f"{name} was left out: {why}")
