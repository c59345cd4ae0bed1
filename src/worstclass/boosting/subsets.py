"""The search behind ``compact``, on plain arrays: few members whose vote keeps its counts and its shares.

For a given number of members it starts with those whose shares of the votes are nearest to the shares of all members,
chosen one at a time. Then it swaps one member at a time: first while a swap brings the shares nearer, then while a swap
mends counts, or brings the shares nearer without harm to the counts. The number is found
in growing steps and by bisection. Nothing is random.

The tie rule is that of ``VoteTally``: of the classes with the most votes, the one whose last vote came first leads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from worstclass._typing import FloatArray, IntArray
from worstclass.boosting.vote import VoteTally

#: rows that are compared at a time, and swaps whose counts are taken: those that keep the shares nearest
CHUNK, MOST_SWAPS = 4096, 5_000
#: a change of the distance that is only rounding
ROUNDING = 1e-9
#: numbers of members in a row that must fail before fewer are given up: the swaps get stuck now and then
TRIES = 3


@dataclass(frozen=True, eq=False)
class Ballots:
    """Answers of the members of a vote on some rows, and how many must stay right.

    Attributes
    ----------
    answers : class index that each member answers, shape (members, rows).
    target : class index of each row.
    part : number of the part of the data that each row belongs to.
    needed : right answers that a smaller vote must have, shape (parts, classes).
    """

    answers: npt.NDArray[np.integer]
    target: IntArray
    part: IntArray
    needed: IntArray

    @property
    def n_members(self) -> int:
        """Number of members of the whole vote."""
        return len(self.answers)

    @property
    def everyone(self) -> IntArray:
        """All members."""
        return np.arange(self.n_members)

    @cached_property
    def whole(self) -> VoteTally:
        """The whole vote."""
        return self.vote(self.everyone)

    @cached_property
    def group(self) -> IntArray:
        """Number of the class and part of each row."""
        return np.asarray(self.part * self.needed.shape[1] + self.target)

    @cached_property
    def totals(self) -> IntArray:
        """Rows, shape (parts, classes)."""
        return np.bincount(self.group, minlength=self.needed.size).reshape(self.needed.shape)

    @cached_property
    def row_weight(self) -> FloatArray:
        """Weight of each row: within a part, classes count alike, and all rows together 1."""
        n_present = np.count_nonzero(self.totals, axis=1)
        return np.asarray(1 / self.totals.ravel()[self.group] / n_present[self.part])

    @cached_property
    def agreement(self) -> FloatArray:
        """Weight of the rows on which two members agree, shape (members, members)."""
        total = np.zeros((self.n_members, self.n_members))
        rows = np.argsort(self.target, kind="stable")  # the rows of a class have few different answers
        for chunk in np.split(rows, range(CHUNK, len(rows), CHUNK)):
            answers, weight = self.answers[:, chunk], self.row_weight[chunk].astype(np.float32)
            for k in np.unique(answers):
                gave_k = (answers == k).astype(np.float32)
                total += (gave_k * weight) @ gave_k.T
        return (total + total.T) / 2  # exactly symmetric: a swap and its reverse cancel

    def vote(self, members: IntArray) -> VoteTally:
        """Let members vote, in the order given."""
        tally = VoteTally(len(self.target), self.needed.shape[1])
        for answers in self.answers[members]:
            tally.add(answers)
        return tally

    def correct(self, winners: IntArray) -> IntArray:
        """Count right answers, shape (parts, classes)."""
        found = np.bincount(self.group[winners == self.target], minlength=self.needed.size)
        return found.reshape(self.needed.shape)

    def drift(self, vote: VoteTally) -> float:
        """Return how far the shares of a vote are from those of the whole vote: the largest over the parts.

        It is a root mean square over rows; if one class loses a share s of the votes to another, a row counts s.
        """
        moved = vote.counts / vote.n_votes - self.whole.counts / self.n_members
        return float(np.sqrt(np.bincount(self.part, self.row_weight * (moved**2).sum(axis=1) / 2).max()))

    def missing(self, members: IntArray) -> int:
        """Count the right answers that members lack."""
        return int(np.maximum(self.needed - self.correct(self.vote(members).winners), 0).sum())

    def missing_after(self, members: IntArray, leaving: IntArray, joining: IntArray) -> IntArray:
        """Count the right answers that members, in ascending order, lack after each of some swaps.

        Parameters
        ----------
        leaving, joining : the member that leaves and the one that joins in its place, of each swap.
        """
        vote = self.vote(members)
        rows = np.flatnonzero(vote.leads <= 2)  # a swap changes a lead by two votes at most
        settled = vote.winners
        settled[rows] = -1
        right, target = self.correct(settled).ravel(), self.target[rows]
        is_group = (self.group[rows, None] == np.arange(self.needed.size)).astype(np.float32)
        last, before = self._last_votes(members, rows)
        places, missing = np.arange(len(rows)), np.empty(len(leaving), dtype=np.int64)
        for member in np.unique(leaving):
            swaps, gone = np.flatnonzero(leaving == member), self.answers[member, rows]
            votes, latest = vote.counts[rows].astype(np.int64), last.copy()
            votes[places, gone] -= 1
            latest[places, gone] = np.where(last[places, gone] == member, before[places, gone], last[places, gone])
            rank = votes * (self.n_members + 1) - latest  # most votes, then the earliest last vote
            given, number = self.answers[np.ix_(joining[swaps], rows)], joining[swaps, None]
            raised = (votes[places, given] + 1) * (self.n_members + 1) - np.maximum(latest[places, given], number)
            leader = rank.argmax(axis=1)
            winners = np.where(raised > rank[places, leader], given, leader)
            found = (winners == target).astype(np.float32) @ is_group + right
            missing[swaps] = np.maximum(self.needed.ravel() - found, 0).sum(axis=1)
        return missing

    def _last_votes(self, members: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Return the last and the last but one of the members that vote for each class, shape (rows, classes)."""
        last, before = np.full((2, len(rows), self.needed.shape[1]), -1)
        places = np.arange(len(rows))
        for member in members.tolist():
            given = self.answers[member, rows]
            before[places, given] = last[places, given]
            last[places, given] = member
        return last, before


def fewest_members(ballots: Ballots, drift: float) -> IntArray:
    """Return the fewest members found whose vote has the right answers needed and drifts at most so far, ascending."""
    best, failed, size = ballots.everyone, 0, 1
    while len(best) - failed > 1:
        sizes = range(size, min(size + TRIES, len(best)))
        found = next((found for n in sizes if (found := members_near(ballots, n, drift)) is not None), None)
        if found is None:
            failed = sizes[-1]
            size = min(failed + 1 + failed // 4, (failed + len(best) + 1) // 2)
        else:
            best = found
            size = (failed + len(best)) // 2
    return best


def members_near(ballots: Ballots, size: int, drift: float) -> IntArray | None:
    """Return members, as many as asked for, that do what ``fewest_members`` asks; None if none are found."""
    members = _swapped(ballots, _herded(ballots, size))
    if ballots.drift(ballots.vote(members)) > drift:
        return None
    members = _mended(ballots, members)
    if ballots.missing(members) or ballots.drift(ballots.vote(members)) > drift:
        return None
    return members


def _herded(ballots: Ballots, size: int) -> IntArray:
    """Choose members one at a time, each so that the shares are as near as can be to those of the whole vote."""
    agreement, chosen = ballots.agreement, np.zeros(ballots.n_members, dtype=np.bool_)
    with_all, with_chosen = agreement.mean(axis=1), np.zeros(ballots.n_members)
    for number in range(1, size + 1):
        distance = agreement.diagonal() + 2 * with_chosen - 2 * number * with_all
        nearest = int(np.where(chosen, np.inf, distance).argmin())
        chosen[nearest] = True
        with_chosen += agreement[nearest]
    return np.flatnonzero(chosen)


def _swapped(ballots: Ballots, members: IntArray) -> IntArray:
    """Swap members while the shares come nearer."""
    while True:
        change, leaving, joining = _swaps(ballots, members)
        if not len(change) or change[0] > -ROUNDING:
            return members
        members = _swap(members, leaving[0], joining[0])


def _mended(ballots: Ballots, members: IntArray) -> IntArray:
    """Swap members while fewer right answers are missing, or the shares come nearer and no more are missing."""
    missing = ballots.missing(members)
    while True:
        change, leaving, joining = _swaps(ballots, members)
        if not missing:
            nearer = change < -ROUNDING
            change, leaving, joining = change[nearer], leaving[nearer], joining[nearer]
        if not len(change):
            return members
        after = ballots.missing_after(members, leaving, joining)
        best = int(after.argmin())  # of equals the first, which has the nearest shares
        if after[best] > missing or (after[best] == missing and change[best] > -ROUNDING):
            return members
        members, missing = _swap(members, leaving[best], joining[best]), int(after[best])


def _swaps(ballots: Ballots, members: IntArray) -> tuple[FloatArray, IntArray, IntArray]:
    """Return the swaps that keep the shares nearest, best first: change of the distance, who leaves and who joins."""
    agreement, others = ballots.agreement, np.setdiff1d(ballots.everyone, members)
    pull = agreement[:, members].sum(axis=1) - len(members) * agreement.mean(axis=1)
    alone = agreement.diagonal()
    joins, leaves = alone[others] + 2 * pull[others], alone[members] - 2 * pull[members]
    change = (joins[:, None] + leaves - 2 * agreement[np.ix_(others, members)]).ravel()
    best = np.argsort(change, kind="stable")[:MOST_SWAPS]
    into, out = np.divmod(best, len(members))
    return change[best], members[out], others[into]


def _swap(members: IntArray, leaving: int, joining: int) -> IntArray:
    return np.sort(np.append(members[members != leaving], joining))
