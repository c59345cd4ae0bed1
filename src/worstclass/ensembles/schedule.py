"""What a portfolio costs, and what of it fits into a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

#: folds that keep every row held out once; one fold is a single held-out part
FOLDS = (5, 3, 1)
#: rows up to which each number of folds is the default
MOST_ROWS = (20_000, 100_000)
#: share of the time limit that is planned with; the rest is for what is not foreseen
PLANNED = 0.8


def default_folds(n_rows: int) -> int:
    """Return the number of folds: fewer for many rows, where one held-out part tells enough."""
    return next((folds for folds, most in zip(FOLDS, MOST_ROWS, strict=False) if n_rows <= most), FOLDS[-1])


@dataclass
class Schedule:
    """Which members are trained, on how many folds, and what was left out for lack of time."""

    time_limit: float | None
    folds: int
    members: list[str]

    def __post_init__(self) -> None:
        self._started = time.perf_counter()
        self._costs: dict[str, float] = {}
        self._spent: dict[str, float] = {}
        self.notes: list[str] = []
        self.failures: list[str] = []
        self.interrupted = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def fit_into_limit(self, probe: Callable[[str], float], *, keep_folds: bool) -> None:
        """Estimate what each member costs; take fewer folds, then fewer members, until all fit.

        Parameters
        ----------
        probe : the seconds that one fold of a member will take, estimated on few rows.
        keep_folds : the number of folds is given; only members can go.
        """
        assert self.time_limit is not None
        for name in list(self.members):
            if self._costs and self.seconds > 0.2 * self.time_limit:
                self._drop(name, "its cost could not be estimated in time")
            else:
                self._costs[name] = probe(name)
        allowed = PLANNED * self.time_limit - self.seconds
        for folds in (self.folds,) if keep_folds else [n for n in FOLDS if n <= self.folds]:
            if folds * sum(self._costs.values()) <= allowed or folds == 1:
                break
        if folds < self.folds:
            self.notes.append(f"{_folds(folds)} instead of {_folds(self.folds)}, to stay within the time limit")
            self.folds = folds
        for name in sorted(self.members, key=lambda name: -self._costs[name]):
            if len(self.members) > 1 and self.folds * sum(self._costs[name] for name in self.members) > allowed:
                self._drop(name, f"about {self.folds * self._costs[name]:.0f} s would not fit into the time limit")

    def affords(self, name: str) -> bool:
        """Tell whether a member still fits, by how long the others took compared with their estimates."""
        if self.time_limit is None or not self._spent:
            return True
        estimated = self.folds * sum(self._costs[done] for done in self._spent)
        slower = max(1.0, sum(self._spent.values()) / max(estimated, 1e-9))
        if self.seconds + slower * self.folds * self._costs[name] <= self.time_limit:
            return True
        self._drop(name, "no time was left")
        return False

    def took(self, name: str, seconds: float) -> None:
        """Note how long a member took."""
        self._spent[name] = seconds

    def seconds_left(self) -> float:
        """Estimate the time that the members to come will take."""
        to_come = [name for name in self.members if name not in self._spent]
        if self._costs:
            return self.folds * sum(self._costs[name] for name in to_come)
        return len(to_come) * sum(self._spent.values()) / max(len(self._spent), 1)

    def failed(self, name: str, error: Exception) -> None:
        """Note that a member could not be trained."""
        self._drop(name, f"{type(error).__name__}: {error}".rstrip("."))
        self.failures.append(self.notes[-1])

    def _drop(self, name: str, why: str) -> None:
        self.members.remove(name)
        self.notes.append(f"{name} was left out: {why}")


def _folds(n: int) -> str:
    return "one held-out part" if n == 1 else f"{n} folds"
