"""Rows that a model has seen: one record on every fitted estimator, and one policy.

``check_unseen`` is the policy: rows that a model was trained on, or that chose something, prove nothing about it. New
rows may equal seen rows because they are the same rows, used again, or because the table has few different rows. One
statistic tells: how evenly the copies of each row are divided between the seen and the new rows. Reuse makes the
division too even.

- *Reused*: the division is more even than 999 random divisions of the same rows. Two independent samples are a random
  division, so independent rows are called reused with a probability of at most 0.001.
- *Chance*: otherwise, if the division is less even than in nearly all of 199 simulated samples in which half of the new
  rows are seen rows, used again. Up to 1% of equal rows pass in any case.
- *Undecided*: anything else, and rows that could all be seen rows, each used once.

docs/theory.md has the error rates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from worstclass._typing import FloatArray, IntArray
from worstclass.data.fingerprints import Hashes, row_hashes
from worstclass.data.splits import count_rows
from worstclass.exceptions import DataError

#: what rows can have been used for
ROLES = ("training", "validation", "calibration")

NONE, CHANCE, UNDECIDED, REUSED, UNKNOWN = "none", "chance", "undecided", "reused", "unknown"

#: share of equal rows that passes in any case
HANDFUL = 0.01
#: random divisions, and samples with half of the rows reused
DIVISIONS, HALF_REUSED = 999, 199
#: share of the latter that may be as uneven as rows that pass
HALF_LEVEL = 0.01
#: share of repeated new rows from which on seen rows without any repetition count as cleaned of copies
MANY_REPEATS = 0.1
#: different rows that are tried; of more, these are a random part, because fingerprints are random
MOST_VALUES = 500


@dataclass(frozen=True, eq=False)
class SeenRows:
    """Fingerprints of the rows that a model has seen, by what they were used for.

    Attributes
    ----------
    training : of the rows that trained it, sorted, repeated rows as often as they occur; None where not known.
    validation, calibration : of the rows that chose something (an epoch, theta, offsets), and that proved something.
    complete : whether these are all the rows it has seen.
    """

    training: Hashes | None = None
    validation: Hashes | None = None
    calibration: Hashes | None = None
    complete: bool = True

    @classmethod
    def of(cls, training: Any = None, validation: Any = None, calibration: Any = None) -> SeenRows:
        """Hash the rows of each role; None stands for no rows."""
        given = (training, validation, calibration)
        hashed = [None if X is None else row_hashes(X) for X in given]
        complete = all(X is None or found is not None for X, found in zip(given, hashed, strict=True))
        trained, chose, proved = (None if found is None else np.sort(found) for found in hashed)
        return cls(trained, chose, proved, complete)

    def also(self, other: SeenRows) -> SeenRows:
        """Return the rows of both records; a part that the other record contains is kept once."""
        both = {name: _joined(getattr(self, name), getattr(other, name)) for name in ROLES}
        return SeenRows(**both, complete=self.complete and other.complete)

    def rows_of(self, roles: Iterable[str] = ROLES) -> Hashes:
        """Return the fingerprints of all rows in some roles, sorted; rows with several roles once."""
        joined = _joined(*(getattr(self, role) for role in roles))
        return np.empty(0, dtype=np.uint64) if joined is None else joined


@dataclass(frozen=True)
class RowOverlap:
    """How many of some rows equal rows that a model has seen, and what was made of it.

    Attributes
    ----------
    n_rows : the rows.
    n_equal : rows that equal a seen row; None where that is unknown.
    n_expected : rows of which this is expected by chance; None likewise.
    n_repeated : rows that are copies of another of these rows; None where they cannot be hashed.
    verdict : ``"none"`` (no equal rows), ``"chance"`` (chance explains them), ``"undecided"`` (chance or reuse),
        ``"reused"`` or ``"unknown"`` (nothing is known about the seen rows, or the rows cannot be hashed).
    allowed : whether the rows were undecided and the user allowed them.
    """

    n_rows: int
    n_equal: int | None = None
    n_expected: float | None = None
    n_repeated: int | None = None
    verdict: str = UNKNOWN
    allowed: bool = False

    @property
    def n_reused(self) -> int:
        """The rows that equal a seen row, if chance cannot explain so many; otherwise 0."""
        return self.n_equal or 0 if self.verdict == REUSED else 0

    def __str__(self) -> str:
        copies = f" {self.n_repeated} rows are copies of others among these rows." if self.n_repeated else ""
        if self.n_equal is None or self.n_expected is None:
            return f"Not checked: whether the model has seen any of these {self.n_rows} rows.{copies}"
        if self.n_equal == 0:
            return f"The model has seen none of these {self.n_rows} rows.{copies}"
        allowed = (
            "; coincidence and reuse cannot be told apart, and the user allowed equal rows" if self.allowed else ""
        )
        text = f"{self.n_equal} of these {self.n_rows} rows equal rows that the model has seen"
        return f"{text}, about {self.n_expected:.0f} expected by chance{allowed}.{copies}"


def check_unseen(
    X: Any, seen: SeenRows | None, *, owner: str, roles: Iterable[str] = ROLES, allow_equal_rows: bool = False
) -> RowOverlap:
    """Refuse rows that were used before with a ``DataError``; ``equal_rows`` says how they are told from equal ones.

    Parameters
    ----------
    X : the rows, in a form that ``row_hashes`` reads.
    seen : the record of the model, its ``seen_rows_``; None where it has none.
    owner : the function that needs unseen rows, for the message.
    roles : the roles in which rows must not have been used: a part of ``ROLES``.
    allow_equal_rows : accept rows of which it cannot be decided; rows clearly used before are refused all the same.

    Examples
    --------
    >>> rows = np.arange(40.0).reshape(20, 2)
    >>> check_unseen(rows[15:], SeenRows.of(rows[:15]), owner="certify").verdict
    'none'
    >>> check_unseen(rows, SeenRows.of(rows), owner="certify")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    worstclass.exceptions.DataError: certify needs rows that the model has not seen. Of the 20 rows, 20 equal rows...
    """
    found = row_overlap(X, seen, roles)
    if found.verdict == REUSED or (found.verdict == UNDECIDED and not allow_equal_rows):
        advice = (
            "Pass rows that were used for nothing else. To count errors on any rows, use evaluate."
            if found.verdict == REUSED
            else "Whether these rows were used before cannot be decided. If you know that they were not, pass "
            "allow_equal_rows=True (--allow-equal-rows); the result records it."
        )
        raise DataError(
            f"{owner} needs rows that the model has not seen. Of the {found.n_rows} rows, {found.n_equal} equal rows "
            f"that trained the model or chose something for it; about {found.n_expected:.0f} would by chance. {advice}"
        )
    if found.verdict == UNDECIDED:
        return replace(found, allowed=True)
    is_known = seen is not None and seen.complete
    return found if is_known else RowOverlap(found.n_rows, n_repeated=found.n_repeated)


def row_overlap(X: Any, seen: SeenRows | None, roles: Iterable[str] = ROLES) -> RowOverlap:
    """Compare rows with those that a model has seen in some roles; nothing is refused.

    Examples
    --------
    >>> rows = np.arange(40.0).reshape(20, 2)
    >>> [row_overlap(new, SeenRows.of(rows[:15])).n_reused for new in (rows, rows[15:])]
    [15, 0]
    """
    hashes = row_hashes(X, read_items=seen is not None)
    if hashes is None:
        return RowOverlap(count_rows(X))
    if seen is None:
        return RowOverlap(len(hashes), n_repeated=len(hashes) - len(np.unique(hashes)))
    return compare_hashes(hashes, seen.rows_of(roles))


def compare_hashes(new: Hashes, seen: Hashes) -> RowOverlap:
    """Compare new rows with seen rows by their fingerprints.

    Rows are expected to equal a seen row by chance as often as seen rows equal another seen row.
    """
    values, places = np.unique(np.concatenate([seen, new]), return_inverse=True)
    in_seen = np.bincount(places[: len(seen)], minlength=len(values))
    in_new = np.bincount(places[len(seen) :], minlength=len(values))
    n_equal = int(in_new[in_seen > 0].sum())
    n_expected = len(new) * float(in_seen[in_seen > 1].sum()) / max(len(seen), 1)
    n_repeated = len(new) - int(np.count_nonzero(in_new))
    return RowOverlap(len(new), n_equal, n_expected, n_repeated, _verdict(n_equal, in_new, in_seen))


def _joined(*parts: Hashes | None) -> Hashes | None:
    """Join fingerprints. A part that a longer one contains is the same rows, in another role or record."""
    known = sorted((part for part in parts if part is not None), key=len, reverse=True)
    if len(known) < 2:
        return known[0] if known else None
    joined: Counter[int] = Counter()
    for counts in (Counter(part.tolist()) for part in known):
        joined += Counter() if counts <= joined else counts
    return np.sort(np.fromiter(joined.elements(), dtype=np.uint64))


def _verdict(n_equal: int, new: IntArray, seen: IntArray) -> str:
    if n_equal <= HANDFUL * new.sum():
        return CHANCE if n_equal else NONE
    if seen.max() == 1 and new.sum() - np.count_nonzero(new) > MANY_REPEATS * new.sum():
        return UNDECIDED  # without its copies a sample is no random division
    rng = np.random.default_rng(0)
    if _more_even_than_chance(new, seen, rng):
        return REUSED
    may_be_copy = bool((new <= seen).all())
    return CHANCE if not may_be_copy and _less_than_half(new[:MOST_VALUES], seen[:MOST_VALUES], rng) else UNDECIDED


def _more_even_than_chance(new: IntArray, seen: IntArray, rng: np.random.Generator) -> bool:
    """Compare the division of the rows that occur more than once with random divisions of all rows."""
    repeated = np.flatnonzero(new + seen > 1)[:MOST_VALUES]
    copies = (new + seen)[repeated]
    colours = np.append(copies, (new + seen).sum() - copies.sum())
    drawn = rng.multivariate_hypergeometric(colours, new.sum(), size=DIVISIONS, method="marginals")[:, :-1]
    return bool(_evenness(new[repeated], seen[repeated]) > _evenness(drawn, copies - drawn).max() + 1e-9)


def _less_than_half(new: IntArray, seen: IntArray, rng: np.random.Generator) -> bool:
    """Compare the division with samples in which half of the new rows were reused; True if it is less even."""
    half, at_most = int(new.sum()) // 2, np.minimum(new, seen)
    if at_most.sum() < half:
        return True
    simulated = []
    for reused in rng.multivariate_hypergeometric(at_most, half, size=HALF_REUSED, method="marginals"):
        records = new + seen - reused
        seen_then = rng.multivariate_hypergeometric(records, seen.sum(), method="marginals")
        reused_then = rng.multivariate_hypergeometric(seen_then, half, method="marginals")
        simulated.append(_evenness(records - seen_then + reused_then, seen_then))
    return bool(np.mean(np.array(simulated) <= _evenness(new, seen) + 1e-9) <= HALF_LEVEL)


def _evenness(new: IntArray, seen: IntArray) -> FloatArray:
    return np.asarray((new * seen / np.maximum(new + seen, 1)).sum(axis=-1))
