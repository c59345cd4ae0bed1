"""The majority vote: one tally, the only place where members' answers meet.

Tie rule: **the class that reached the winning number of votes first keeps it**; another class takes over only by
strictly more votes. The rule depends on the order of the members alone, not on how the classes are numbered, so
renaming classes renames answers and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from worstclass._progress import steps
from worstclass._typing import BoolArray, IntArray
from worstclass.learners.base import Inputs, Member


class VoteTally:
    """Votes of a growing list of members on a fixed set of rows, for two classes or more.

    Examples
    --------
    >>> tally = VoteTally(n_rows=2, n_classes=3)
    >>> for answers in ([0, 1], [2, 1], [2, 0]):
    ...     tally.add(np.array(answers))
    >>> tally.winners, tally.counts.tolist(), tally.margins.round(3).tolist()
    (array([2, 1]), [[1, 0, 2], [1, 2, 0]], [0.333, 0.333])
    """

    def __init__(self, n_rows: int, n_classes: int) -> None:
        self.n_votes = 0
        self.counts: npt.NDArray[np.int32] = np.zeros((n_rows, n_classes), dtype=np.int32)
        self._rows = np.arange(n_rows)
        self._winners = np.zeros(n_rows, dtype=np.int64)

    def add(self, answers: npt.NDArray[np.integer], rows: IntArray | None = None) -> None:
        """Add one member's answers (class indices), for all rows or for ``rows`` alone."""
        where = self._rows if rows is None else rows
        self.counts[where, answers] += 1
        self.n_votes += 1
        ahead = self.counts[where, answers] > self.counts[where, self._winners[where]]
        self._winners[where] = np.where(ahead, answers, self._winners[where])

    @property
    def winners(self) -> IntArray:
        """The class each row would be given now."""
        return self._winners.copy()

    @property
    def leads(self) -> IntArray:
        """Votes of the winner beyond the runner-up."""
        return self._lead(self._rows)

    @property
    def margins(self) -> npt.NDArray[np.float64]:
        """The lead as a share of all votes, in [0, 1]."""
        return self.leads / max(self.n_votes, 1)

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Share of the votes of each class.

        In a tie the winner's share is raised to the next larger number, so that ``argmax`` of the shares is
        always the winner.
        """
        shares = self.counts / max(self.n_votes, 1)
        tied = np.flatnonzero(self.leads == 0)
        winners = self._winners[tied]
        shares[tied, winners] = np.nextafter(shares[tied, winners], 2.0)
        return np.asarray(shares, dtype=np.float64)

    def decided(self, n_left: int, rows: IntArray | None = None) -> BoolArray:
        """Tell which rows keep their winner whatever the ``n_left`` members to come may say.

        A runner-up that draws level does not take over, so a lead of ``n_left`` is enough.
        """
        return self._lead(self._rows if rows is None else rows) >= n_left

    def _lead(self, rows: IntArray) -> IntArray:
        n_classes = self.counts.shape[1]
        top_two = np.partition(self.counts[rows], n_classes - 2, axis=1)[:, -2:]
        return np.asarray(top_two[:, 1] - top_two[:, 0], dtype=np.int64)


def early_vote(members: Sequence[Member], inputs: Inputs, n_classes: int) -> IntArray:
    """Vote with one member at a time, asking only about the rows that are still open.

    A member that is in the list several times is asked once.

    Returns
    -------
    The winners: exactly those of the full vote, since a row leaves only when no answer still to come can
    change its winner.
    """
    tally = VoteTally(len(inputs), n_classes)
    rows, rest = np.arange(len(inputs)), inputs
    times, known = Counter(map(id, members)), dict[int, IntArray]()
    for asked, member in enumerate(steps(members, len(members)), start=1):
        answers = known.get(id(member))
        if answers is None:
            answers = member.predict(rest)
            if times[id(member)] > 1:
                known[id(member)] = answers
        tally.add(answers, rows)
        still_open = ~tally.decided(len(members) - asked, rows)
        if not still_open.any():
            break
        if still_open.mean() <= 0.9:  # gathering rows costs about as much as a tenth of asking about them
            rows = rows[still_open]
            rest = inputs.take(rows)
            known = {key: answers[still_open] for key, answers in known.items()}
    return tally.winners
