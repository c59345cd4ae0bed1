"""Notices early that a round gets nowhere."""

from __future__ import annotations

from collections.abc import Sequence


class Watch:
    """Says of a round whether it is stuck: neither its edge nor its nearness to the floors has risen for long.

    The edge rises in leaps, when a class reaches its floor; nearness, the sum over the classes of the share of the
    floor that is reached, rises with every row that a class below its floor gains. A round that is stuck in both is
    hopeless, long before the booster's ``patience`` gives it up.

    Parameters
    ----------
    floors : the floor of each class.
    after : epochs without progress; None never calls a round stuck.

    Examples
    --------
    >>> watch = Watch(floors=(0.8, 0.8), after=2)
    >>> [watch.stuck(0.5, errors) for errors in [(0.1, 0.6), (0.1, 0.5), (0.1, 0.5), (0.1, 0.6)]]
    [False, False, False, True]
    """

    def __init__(self, floors: Sequence[float], after: int | None) -> None:
        self._floors = floors
        self._after = after
        self._best = [-1.0, -1.0]
        self._since = 0
        self.is_stuck = False

    def stuck(self, edge: float, errors: Sequence[float]) -> bool:
        """Look at one epoch: its edge, and the error of each class on the training rows."""
        progress = False
        for place, value in enumerate((edge, self._nearness(errors))):
            if value > self._best[place]:
                self._best[place] = value
                progress = True
        self._since = 0 if progress else self._since + 1
        self.is_stuck = self._after is not None and self._since >= self._after
        return self.is_stuck

    def _nearness(self, errors: Sequence[float]) -> float:
        pairs = zip(errors, self._floors, strict=True)
        return sum(min(1 - error, floor) / floor if floor > 0 else 1.0 for error, floor in pairs)


def resolve_after(hopeless_after: int | str | None, patience: int) -> int | None:
    """Read ``hopeless_after``: a number of epochs, None, or ``"auto"``, a tenth of ``patience`` and at least 10.

    Examples
    --------
    >>> resolve_after("auto", 250), resolve_after("auto", 50), resolve_after(7, 250), resolve_after(None, 250)
    (25, 10, 7, None)
    """
    if isinstance(hopeless_after, str):
        return max(10, patience // 10)
    return hopeless_after
