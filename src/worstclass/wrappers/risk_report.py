"""Risk and coverage by class: counts as a report, and a certificate that says which limits are proven."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any, Self

from worstclass._text import percent, text_table
from worstclass.certificates.binomial import p_value, rows_at_least, rows_if_rate_stays
from worstclass.certificates.certificate import (
    CANNOT_BE_JUDGED,
    NO_ROWS,
    NOT_ALONE,
    NOT_PROVEN,
    NOTHING_WANTED,
    PROVEN,
    TOO_FEW_ROWS,
    every_class,
)
from worstclass.data.seen_rows import RowOverlap


@dataclass(frozen=True)
class ClassRisk:
    """One class: its rows, those answered, and the wrong ones among them.

    Attributes
    ----------
    name : the class.
    total, answered, wrong : its rows, those of them answered, and those answered wrongly.
    limit : the risk must be below it; None if the class has no limit.
    p_value : the largest probability of so few wrong rows if the risk were ``limit`` or more. None in a report that
        proves nothing, like all that follows.
    status : ``"proven"``, ``"not proven"``, ``"no rows"``, ``"too few rows"`` (they could not prove the limit even if
        all were answered and right), ``"not alone"`` (its rows are enough once the other classes are proven) or
        ``"nothing wanted"``.
    more_rows_at_least : further rows that would prove the limit under this threshold if all were answered and right.
    more_rows_if_shares_stay : further rows that would prove it at the observed shares of answers and errors; None if no
        number would, or if no row is answered.
    """

    name: str
    total: int
    answered: int
    wrong: int
    limit: float | None = None
    p_value: float | None = None
    status: str = NOTHING_WANTED
    more_rows_at_least: int | None = None
    more_rows_if_shares_stay: int | None = None

    @property
    def coverage(self) -> float | None:
        """Share of the rows that are answered; None without rows."""
        return None if self.total == 0 else self.answered / self.total

    @property
    def risk(self) -> float | None:
        """Share of the answered rows that are wrong; None if none is answered, which is not a risk of 0."""
        return None if self.answered == 0 else self.wrong / self.answered

    @property
    def proven(self) -> bool | None:
        """Whether the limit is proven; None without a limit, and in a report that proves nothing."""
        return None if self.status == NOTHING_WANTED else self.status == PROVEN


@dataclass(frozen=True)
class RiskReport:
    """Risk and coverage of every class, the largest risk first, classes never answered last: counts, no promise.

    ``str(report)`` is a table for people, ``report.to_dict()`` the same for files.

    Examples
    --------
    >>> print(RiskReport((ClassRisk("a", 50, 40, 1, 0.1), ClassRisk("b", 9, 0, 0, 0.1))))
    class     risk    wrong  answered     rows  coverage    limit
    a         2.5%        1        40       50     80.0%    10.0%
    b            -        0         0        9      0.0%    10.0%
    worst risk 2.5% (a), least coverage 0.0% (b), 67.8% of all rows answered
    """

    classes: tuple[ClassRisk, ...]

    @classmethod
    def of(cls, rows: Iterable[ClassRisk]) -> RiskReport:
        """Sort the classes."""
        return RiskReport(tuple(sorted(rows, key=_worst_first)))

    @property
    def n_rows(self) -> int:
        """Rows of all classes."""
        return sum(row.total for row in self.classes)

    @property
    def coverage(self) -> float | None:
        """Share of all rows that are answered; None without rows."""
        return sum(row.answered for row in self.classes) / self.n_rows if self.n_rows else None

    @property
    def least_coverage(self) -> float | None:
        """The smallest coverage of a class that has rows; None if none has."""
        return min((row.coverage for row in self.classes if row.coverage is not None), default=None)

    @property
    def worst_risk(self) -> float | None:
        """The largest risk of a class that is answered at all; None if none is."""
        return max((row.risk for row in self.classes if row.risk is not None), default=None)

    @property
    def never_answered(self) -> tuple[str, ...]:
        """Names of the classes of which no row is answered."""
        return tuple(row.name for row in self.classes if row.answered == 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own = asdict(self)
        return {
            **own,
            "n_rows": self.n_rows,
            "coverage": self.coverage,
            "least_coverage": self.least_coverage,
            "worst_risk": self.worst_risk,
            "never_answered": list(self.never_answered),
            "classes": [{**asdict(row), "coverage": row.coverage, "risk": row.risk} for row in self.classes],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a report from the result of ``to_dict``."""
        own = {field.name: values[field.name] for field in fields(cls) if field.name != "classes"}
        if "overlap" in own:
            own["overlap"] = RowOverlap(**own["overlap"])
        rows = [{field.name: row[field.name] for field in fields(ClassRisk)} for row in values["classes"]]
        return cls(classes=tuple(ClassRisk(**row) for row in rows), **own)

    def __str__(self) -> str:
        return "\n".join([*self._table(), self._summary()])

    def _table(self, *, with_status: bool = False) -> list[str]:
        head = ["class", "risk", "wrong", "answered", "rows", "coverage", "limit", *(["proven"] if with_status else [])]
        return text_table(head, [_cells(row, with_status) for row in self.classes], left=(0, 7))

    def _summary(self) -> str:
        risky = [row for row in self.classes if row.risk is not None]
        worst = min(risky, key=_worst_first, default=None)
        parts = ["worst risk unknown" if worst is None else f"worst risk {worst.risk:.1%} ({worst.name})"]
        counted = [row for row in self.classes if row.coverage is not None]
        if counted:
            least = min(counted, key=lambda row: row.coverage or 0.0)
            parts += [f"least coverage {least.coverage:.1%} ({least.name})"]
            parts += [f"{self.coverage:.1%} of all rows answered"]
        return ", ".join(parts)


@dataclass(frozen=True)
class RiskCertificate(RiskReport):
    """Whether the risk of every class is below its limit, with probability ``1 - delta``; coverage is only counted.

    ``str(certificate)`` is for people, ``certificate.to_dict()`` for files.

    Attributes
    ----------
    classes : one ``ClassRisk`` per class, the largest risk first.
    delta : probability with which the promise may fail.
    overlap : how many of the rows equal rows that the model has seen; the rows that chose are among them.
    n_choosing : rows that chose the threshold, besides those counted here, which prove it.
    silent : whether the model answers nothing, whatever the row.

    Examples
    --------
    >>> rows = (ClassRisk("a", 50, 40, 0, 0.1), ClassRisk("b", 40, 20, 1, 0.1), ClassRisk("c", 9, 0, 0))
    >>> print(RiskCertificate.judged(rows, delta=0.05, overlap=RowOverlap(99, 0, 0.0, 0, "none")))  # doctest: +ELLIPSIS
    class     risk    wrong  answered     rows  coverage    limit  proven
    b         5.0%        1        20       40     50.0%    10.0%  NOT PROVEN
    a         0.0%        0        40       50     80.0%    10.0%  NOT ALONE
    c            -        0         0        9      0.0%        -  -
    worst risk 5.0% (b), least coverage 0.0% (c), 60.6% of all rows answered
    NOT PROVEN: 2 of 2 limits lack a proof.
    - b: 1 of 20 answered rows wrong do not prove a risk below 0.1; at least 26 more rows needed, all of them \
answered and right; 192 at the observed shares of answers and errors.
    - a: proven as soon as the other classes are; it needs no further rows.
    ...
    """

    delta: float
    overlap: RowOverlap
    n_choosing: int = 0
    silent: bool = False

    @classmethod
    def judged(
        cls, rows: Iterable[ClassRisk], *, delta: float, overlap: RowOverlap, n_choosing: int = 0, silent: bool = False
    ) -> RiskCertificate:
        """Judge the counts of one threshold: all limits are proven if each class alone is, at ``delta``."""
        found = [_tested(row, delta) for row in rows]
        if not all(row.proven is None or row.proven for row in found):
            found = [replace(row, status=NOT_ALONE) if row.proven else row for row in found]
        return cls(tuple(sorted(found, key=_worst_first)), delta, overlap, n_choosing, silent)

    @property
    def verdict(self) -> str:
        """``"proven"``, ``"not proven"`` or ``"cannot be judged"``.

        It cannot be judged if the only obstacle is a lack of rows: every class that is not proven has rows, but so few
        that they could not prove its limit even if all were answered and right; nor if the model answers nothing.
        """
        found = {row.status for row in self.classes}
        if not self.silent and found & {NOT_PROVEN, NO_ROWS}:
            return NOT_PROVEN
        return CANNOT_BE_JUDGED if self.silent or TOO_FEW_ROWS in found else PROVEN

    @property
    def unproven(self) -> tuple[ClassRisk, ...]:
        """The classes whose limit is not proven."""
        return tuple(row for row in self.classes if row.proven is False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"verdict": self.verdict, **super().to_dict()}

    def missing(self) -> list[str]:
        """Say for each class without proof what a proof needs."""
        return [f"{row.name}: {_missing(row)}" for row in self.unproven]

    def __str__(self) -> str:
        lines = [*self._table(with_status=True), self._summary(), *self._verdict_lines(), str(self.overlap)]
        return "\n".join(lines)

    def _verdict_lines(self) -> list[str]:
        if self.verdict == PROVEN:
            who = every_class([row.name for row in self.classes if row.limit is None], "limit")
            confidence = f"{100 * (1 - self.delta):.4g}%"
            return [f"PROVEN with confidence {confidence}: of the rows answered, {who} errs on less than its limit."]
        if self.silent:
            return [
                "CANNOT BE JUDGED: the model answers nothing, because no threshold was proven when it was fitted. More "
                "rows do not change that. Fit it again, with more rows or larger limits."
            ]
        n_asked = sum(row.limit is not None for row in self.classes)
        head = f"{self.verdict.upper()}: {len(self.unproven)} of {n_asked} limits lack a proof."
        return [head, *(f"- {line}" for line in self.missing())]


def _worst_first(row: ClassRisk) -> tuple[bool, float]:
    return row.risk is None, -(row.risk or 0.0)


def _cells(row: ClassRisk, with_status: bool) -> list[str]:
    counts = [percent(row.risk), str(row.wrong), str(row.answered), str(row.total)]
    cells = [row.name, *counts, percent(row.coverage, absent="absent"), percent(row.limit)]
    status = "-" if row.proven is None else "yes" if row.proven else row.status.upper()
    return [*cells, status] if with_status else cells


def _tested(row: ClassRisk, delta: float) -> ClassRisk:
    """Test one class, and count the rows that a proof would need."""
    if row.limit is None:
        return row
    p, rate = float(p_value(row.wrong, row.answered, row.limit)), Fraction(str(row.limit))
    if p <= delta:
        status = PROVEN
    elif row.total == 0:
        status = NO_ROWS
    else:
        status = TOO_FEW_ROWS if p_value(0, row.total, row.limit) > delta else NOT_PROVEN
    answers = rows_if_rate_stays(row.wrong, row.answered, rate, delta)
    return replace(
        row,
        p_value=p,
        status=status,
        more_rows_at_least=rows_at_least(row.wrong, row.answered, rate, delta),
        more_rows_if_shares_stay=None if answers is None else math.ceil(Fraction(answers * row.total, row.answered)),
    )


def _missing(row: ClassRisk) -> str:
    """Say what a proof of the limit of one class still needs."""
    if row.status == NOT_ALONE:
        return "proven as soon as the other classes are; it needs no further rows."
    needed = f"at least {row.more_rows_at_least:,} more rows needed, all of them answered and right"
    if row.status == NO_ROWS:
        return f"it has no rows; {needed}."
    start = f"{row.wrong} of {row.answered} answered rows wrong do not prove a risk below {row.limit:.4g}; {needed}"
    if row.status == TOO_FEW_ROWS:
        start = f"{row.total} rows cannot prove a risk below {row.limit:.4g}; {needed}"
    if row.answered == 0:
        return f"{start}. So far none is answered."
    if row.more_rows_if_shares_stay is None:
        return f"{start}. At the observed error rate no number of rows is enough."
    if row.more_rows_if_shares_stay == row.more_rows_at_least:
        return f"{start}."
    return f"{start}; {row.more_rows_if_shares_stay:,} at the observed shares of answers and errors."
