"""The certificate of a rule: whether the risk of every class is proven to be below its limit, and what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from worstclass.certificates.binomial import p_value, rows_at_least, rows_if_rate_stays
from worstclass.certificates.certificate import (
    CANNOT_BE_JUDGED,
    NO_ROWS,
    NOT_ALONE,
    NOT_PROVEN,
    PROVEN,
    TOO_FEW_ROWS,
    every_class,
)
from worstclass.wrappers.risk_report import ClassRisk, RiskReport, worst_first


@dataclass(frozen=True)
class RiskCertificate(RiskReport):
    """Whether the risk of every class is below its limit, with probability ``1 - delta``; coverage is only counted.

    ``str(certificate)`` is for people, ``certificate.to_dict()`` for files.

    Attributes
    ----------
    classes : one ``ClassRisk`` a class, the largest risk first.
    delta : probability with which the promise may fail.
    n_choosing : rows that chose the rule, besides those counted here, which prove it.
    n_reused : how many of both the classifier was trained on; None where that could not be checked.
    n_repeated : how many are copies of another row; None where that could not be checked.
    silent : whether the rule answers nothing, whatever the row.

    Examples
    --------
    >>> rows = (ClassRisk("a", 50, 40, 0, 0.1), ClassRisk("b", 40, 20, 1, 0.1), ClassRisk("c", 9, 0, 0))
    >>> print(certificate_of(rows, delta=0.05, n_reused=0, n_repeated=0))
    class     risk    wrong  answered     rows  coverage    limit  proven
    b         5.0%        1        20       40     50.0%    10.0%  NOT PROVEN
    a         0.0%        0        40       50     80.0%    10.0%  NOT ALONE
    c            -        0         0        9      0.0%        -  -
    worst risk 5.0% (b), least coverage 0.0% (c), 60.6% of all rows answered
    NOT PROVEN: without proof of 2 of 2 limits.
    - b: 1 of 20 answered rows wrong do not prove a risk below 0.1; at least 26 more rows needed, all of them \
answered and right; 192 if the shares of answers and errors stay.
    - a: enough once the other classes are proven; its own rows need not be more.
    """

    delta: float
    n_choosing: int = 0
    n_reused: int | None = None
    n_repeated: int | None = None
    silent: bool = False

    @property
    def verdict(self) -> str:
        """``"proven"``, ``"not proven"`` or ``"cannot be judged"``.

        It cannot be judged where nothing but a lack of rows is in the way: each class that is not proven has rows, but
        so few that they could not prove its limit even if all were answered and right. Nor can it by rows that trained
        the model, nor of a model that answers nothing.
        """
        if self.silent:
            return CANNOT_BE_JUDGED
        found = {row.status for row in self.classes}
        if found & {NOT_PROVEN, NO_ROWS}:
            return NOT_PROVEN
        return CANNOT_BE_JUDGED if TOO_FEW_ROWS in found else PROVEN

    @property
    def unproven(self) -> tuple[ClassRisk, ...]:
        """The classes whose limit is not proven."""
        return tuple(row for row in self.classes if row.proven is False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"verdict": self.verdict, **super().to_dict()}

    def missing(self) -> list[str]:
        """Say of each class without proof what it would take."""
        return [f"{row.name}: {_missing(row)}" for row in self.unproven]

    def __str__(self) -> str:
        return "\n".join([*self._table(with_status=True), self._summary(), *self._verdict_lines()])

    def _verdict_lines(self) -> list[str]:
        if self.verdict == PROVEN:
            confidence = f"{100 * (1 - self.delta):.4g}%"
            who = every_class([row.name for row in self.classes if row.limit is None], "limit")
            return [f"PROVEN with confidence {confidence}: of the rows answered, {who} errs on less than its limit."]
        if self.silent:
            return [
                "CANNOT BE JUDGED: the model answers nothing, because nothing was proven when it was made; no number "
                "of rows would change that. Make it anew, with more rows or larger limits."
            ]
        n_asked = sum(row.limit is not None for row in self.classes)
        head = f"{self.verdict.upper()}: without proof of {len(self.unproven)} of {n_asked} limits."
        return [head, *(f"- {line}" for line in self.missing())]


def certificate_of(
    rows: Iterable[ClassRisk],
    *,
    delta: float,
    n_reused: int | None,
    n_repeated: int | None,
    n_choosing: int = 0,
    silent: bool = False,
) -> RiskCertificate:
    """Judge the counts of one rule: all limits are proven where each class alone is, at ``delta``."""
    judged = [_judged(row, delta) for row in rows]
    together = all(row.p_value is None or row.p_value <= delta for row in judged)
    if not together:
        judged = [replace(row, status=NOT_ALONE) if row.proven else row for row in judged]
    return RiskCertificate(tuple(sorted(judged, key=worst_first)), delta, n_choosing, n_reused, n_repeated, silent)


def _judged(row: ClassRisk, delta: float) -> ClassRisk:
    """Test one class, and say what a proof would need."""
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
        return "enough once the other classes are proven; its own rows need not be more."
    needed = f"at least {row.more_rows_at_least:,} more rows needed, all of them answered and right"
    if row.status == NO_ROWS:
        return f"it has no rows; {needed}."
    start = f"{row.wrong} of {row.answered} answered rows wrong do not prove a risk below {row.limit:.4g}; {needed}"
    if row.status == TOO_FEW_ROWS:
        start = f"{row.total} rows cannot prove a risk below {row.limit:.4g}; {needed}"
    if row.answered == 0:
        return f"{start}. So far none is answered."
    if row.more_rows_if_shares_stay is None:
        return f"{start}. No number of rows is enough while the share of errors stays."
    if row.more_rows_if_shares_stay == row.more_rows_at_least:
        return f"{start}."
    return f"{start}; {row.more_rows_if_shares_stay:,} if the shares of answers and errors stay."
