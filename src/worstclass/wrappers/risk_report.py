"""Risk and coverage by class: counts as a report, and a certificate that says which limits are proven."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from worstclass._text import Shown, TextTable, percent
from worstclass.certificates.binomial import p_value
from worstclass.certificates.certificate import ClassProof, ClassRecord, Proof, status_cell
from worstclass.data.seen_rows import RowOverlap


@dataclass(frozen=True)
class ClassRisk(ClassProof):
    """One class: its rows, those answered, and the wrong ones among them; a ``ClassProof`` of its limit.

    Attributes
    ----------
    wrong, answered : its rows that are answered wrongly, and that are answered at all.
    limit : the risk must be below it; None if the class has no limit.
    """

    answered: int
    limit: float | None = None

    rows_word: ClassVar[str] = "answered rows"
    right_word: ClassVar[str] = "answered and right"
    derived: ClassVar[tuple[str, ...]] = ("coverage", "risk")

    @property
    def coverage(self) -> float | None:
        """Share of the rows that are answered; None without rows."""
        return None if self.total == 0 else self.answered / self.total

    @property
    def risk(self) -> float | None:
        """Share of the answered rows that are wrong; None if none is answered, which is not a risk of 0."""
        return None if self.answered == 0 else self.wrong / self.answered

    @property
    def tested(self) -> int:
        """Rows on which errors are counted: those answered."""
        return self.answered

    @property
    def wanted(self) -> str:
        """The limit, as text."""
        return f"a risk below {self.limit:.4g}"


@dataclass(frozen=True, repr=False)
class RiskReport(Shown, ClassRecord):
    """Risk and coverage of every class, the largest risk first, classes never answered last: counts, no promise.

    ``str(report)`` is a table for people, ``report.to_dict()`` the same for files.

    Examples
    --------
    >>> print(RiskReport((ClassRisk("a", 50, 1, 40, 0.1), ClassRisk("b", 9, 0, 0, 0.1))))
    class     risk    wrong  answered     rows  coverage    limit
    a         2.5%        1        40       50     80.0%    10.0%
    b            -        0         0        9      0.0%    10.0%
    worst risk 2.5% (a), least coverage 0.0% (b), 67.8% of all rows answered
    """

    classes: tuple[ClassRisk, ...]

    derived: ClassVar[tuple[str, ...]] = ("n_rows", "coverage", "least_coverage", "worst_risk")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return sum(row.total for row in self.classes)

    @property
    def coverage(self) -> float | None:
        """Share of all rows that are answered; None without rows."""
        return None if self.n_rows == 0 else sum(row.answered for row in self.classes) / self.n_rows

    @property
    def least_coverage(self) -> float | None:
        """The smallest coverage of a class that has rows; None if none has."""
        return min((row.coverage for row in self.classes if row.coverage is not None), default=None)

    @property
    def worst_risk(self) -> float | None:
        """The largest risk of a class that is answered at all; None if none is."""
        return max((row.risk for row in self.classes if row.risk is not None), default=None)

    def _table(self) -> TextTable:
        return self._with_summary()

    def _with_summary(self, *, with_status: bool = False) -> TextTable:
        head = ["class", "risk", "wrong", "answered", "rows", "coverage", "limit", *(["proven"] if with_status else [])]
        worst = min(self.classes, key=worst_first)
        parts = [
            "worst risk unknown"
            if worst.risk is None
            else f"worst risk {worst.risk:.1%}{f' ({worst.name})' if worst.wrong else ''}"
        ]
        if self.n_rows:
            least = min((row for row in self.classes if row.total), key=lambda row: row.answered / row.total)
            parts += [
                f"least coverage {least.coverage:.1%} ({least.name})",
                f"{self.coverage:.1%} of all rows answered",
            ]
        return TextTable(head, [_cells(row, with_status) for row in self.classes], (0, 7), [", ".join(parts)])


@dataclass(frozen=True, repr=False)
class RiskCertificate(RiskReport, Proof):
    """Whether the risk of every class is below its limit, with probability ``1 - delta``; coverage is only counted.

    ``str(certificate)`` is for people, ``certificate.to_dict()`` for files.

    Attributes
    ----------
    classes : one ``ClassRisk`` per class, the largest risk first.
    delta : probability with which the promise may fail.
    overlap : how many of the rows equal rows that the model has seen; the rows that chose are among them.
    n_choosing : rows that chose the threshold, besides those counted here, which prove it.

    Examples
    --------
    >>> rows = (ClassRisk("a", 50, 0, 40, 0.1), ClassRisk("b", 40, 1, 20, 0.1), ClassRisk("c", 9, 0, 0))
    >>> print(RiskCertificate.judged(rows, delta=0.05, overlap=RowOverlap(99, 0, 0.0, 0, "none")))  # doctest: +ELLIPSIS
    class     risk    wrong  answered     rows  coverage    limit  proven
    b         5.0%        1        20       40     50.0%    10.0%  NOT PROVEN
    a         0.0%        0        40       50     80.0%    10.0%  WAITS FOR OTHERS
    c            -        0         0        9      0.0%        -  -
    worst risk 5.0% (b), least coverage 0.0% (c), 60.6% of all rows answered
    NOT PROVEN: 2 of 2 limits lack a proof.
    - b: 1 of 20 answered rows wrong do not prove a risk below 0.1; at least 26 more rows needed, all of them \
answered and right; 192 at the observed rates.
    - a: its own rows are enough; it is proven as soon as the other classes are.
    ...
    """

    delta: float
    overlap: RowOverlap
    n_choosing: int = 0

    derived: ClassVar[tuple[str, ...]] = ("verdict", *RiskReport.derived)
    noun: ClassVar[str] = "limit"

    @classmethod
    def judged(cls, rows: Iterable[ClassRisk], *, delta: float, overlap: RowOverlap, n_choosing: int = 0) -> Self:
        """Judge the counts of one threshold: all limits are proven if each class alone is, at ``delta``."""
        found = sorted(rows, key=worst_first)
        proven = all(row.limit is None or p_value(row.wrong, row.answered, row.limit) <= delta for row in found)
        classes = tuple(
            row if row.limit is None else row.judged(Fraction(str(row.limit)), delta, proven=proven) for row in found
        )
        return cls(classes, delta, overlap, n_choosing)

    def _table(self) -> TextTable:
        verdict = self.verdict_lines("of the rows answered, {who} errs on less than its limit")
        table = self._with_summary(with_status=True)
        return table._replace(lines=[*table.lines, *verdict, str(self.overlap)])


def worst_first(row: ClassRisk) -> tuple[bool, float]:
    """Order classes by their risk, those never answered last."""
    return row.risk is None, -(row.risk or 0.0)


def _cells(row: ClassRisk, with_status: bool) -> list[str]:
    counts = [percent(row.risk), str(row.wrong), str(row.answered), str(row.total)]
    cells = [row.name, *counts, percent(row.coverage, absent="absent"), percent(row.limit)]
    return [*cells, status_cell(row)] if with_status else cells
