"""What is answered and how often it is wrong, class by class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass
from typing import Any, Self

from worstclass.certificates.certificate import NOTHING_WANTED, PROVEN


@dataclass(frozen=True)
class ClassRisk:
    """One class: its rows, those answered, and the wrong ones among them.

    Attributes
    ----------
    name : the class.
    total, answered, wrong : its rows, those of them answered, and those answered wrongly.
    limit : the risk that is to be kept below; None where nothing is asked of the class.
    p_value : probability of so few wrong rows if the risk were ``limit`` or more, at the most. None in a report that
        proves nothing, as for all that follows.
    status : ``"proven"``, ``"not proven"``, ``"no rows"``, ``"too few rows"`` (even if all were answered and right they
        could not prove the limit), ``"not alone"`` (will be proven once the other classes are, without further rows of
        this one) or ``"nothing wanted"``.
    more_rows_at_least : further rows that would prove the limit under this rule if all were answered and right.
    more_rows_if_shares_stay : further rows that would prove it if the shares of answers and errors stay; None where no
        number would, or where there is no answered row to know the share from.
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
        """Share of the answered rows that are wrong; None where none is answered, which is not a risk of 0."""
        return None if self.answered == 0 else self.wrong / self.answered

    @property
    def proven(self) -> bool | None:
        """Whether the limit is proven; None where none is asked for, or nothing was to be proven."""
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
        """The smallest coverage of a class that has rows; None where none has."""
        return min((row.coverage for row in self.classes if row.coverage is not None), default=None)

    @property
    def worst_risk(self) -> float | None:
        """The largest risk of a class that is answered at all; None where none is."""
        return max((row.risk for row in self.classes if row.risk is not None), default=None)

    @property
    def never_answered(self) -> tuple[str, ...]:
        """Names of the classes of which no row is answered."""
        return tuple(row.name for row in self.classes if row.answered == 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "classes"}
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
        """Rebuild a report from what ``to_dict`` gave; what a file of an earlier version lacks has its default."""
        own = {
            name: values[name]
            for name, field in cls.__dataclass_fields__.items()
            if name != "classes" and (name in values or field.default is MISSING)
        }
        rows = [{key: row[key] for key in ClassRisk.__dataclass_fields__} for row in values["classes"]]
        return cls(classes=tuple(ClassRisk(**row) for row in rows), **own)

    def __str__(self) -> str:
        return "\n".join([*self._table(), self._summary()])

    def _table(self, *, with_status: bool = False) -> list[str]:
        width = max(5, *(len(row.name) for row in self.classes))
        columns = ("risk", "wrong", "answered", "rows", "coverage", "limit")
        head = "  ".join([f"{'class':<{width}}", *(f"{name:>{max(7, len(name))}}" for name in columns)])
        lines = [_line(row, width) for row in self.classes]
        if not with_status:
            return [head, *lines]
        shown = ["-" if row.proven is None else "yes" if row.proven else row.status.upper() for row in self.classes]
        return [f"{head}  proven", *(f"{line}  {status}" for line, status in zip(lines, shown, strict=True))]

    def _summary(self) -> str:
        risky = max(
            (row for row in self.classes if row.risk is not None), key=lambda row: row.risk or 0.0, default=None
        )
        parts = ["worst risk unknown" if risky is None else f"worst risk {risky.risk:.1%} ({risky.name})"]
        seen = [row for row in self.classes if row.coverage is not None]
        if seen:
            least = min(seen, key=lambda row: row.coverage or 0.0)
            parts += [f"least coverage {least.coverage:.1%} ({least.name})"]
            parts += [f"{self.coverage:.1%} of all rows answered"]
        return ", ".join(parts)


def worst_first(row: ClassRisk) -> tuple[bool, float]:
    """Sort key: the largest risk first, classes never answered last."""
    return row.risk is None, -(row.risk or 0.0)


def _line(row: ClassRisk, width: int) -> str:
    risk = "-" if row.risk is None else f"{row.risk:.1%}"
    coverage = "absent" if row.coverage is None else f"{row.coverage:.1%}"
    limit = "-" if row.limit is None else f"{row.limit:.1%}"
    return (
        f"{row.name:<{width}}  {risk:>7}  {row.wrong:>7}  {row.answered:>8}  {row.total:>7}  {coverage:>8}  {limit:>7}"
    )
