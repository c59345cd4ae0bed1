"""What is answered and how often it is wrong, class by class, and whether the risk is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ClassRisk:
    """One class: its rows, those answered, and the wrong ones among them.

    Attributes
    ----------
    name : the class.
    total, answered, wrong : its rows, those of them answered, and those answered wrongly.
    limit : the risk that is to be kept below; None where nothing is asked of the class.
    """

    name: str
    total: int
    answered: int
    wrong: int
    limit: float | None = None

    @property
    def coverage(self) -> float | None:
        """Share of the rows that are answered; None without rows."""
        return None if self.total == 0 else self.answered / self.total

    @property
    def risk(self) -> float | None:
        """Share of the answered rows that are wrong; None where none is answered, which is not a risk of 0."""
        return None if self.answered == 0 else self.wrong / self.answered


@dataclass(frozen=True)
class RiskReport:
    """Risk and coverage of every class, the largest risk first, classes never answered last.

    ``str(report)`` is a table for people, ``report.to_dict()`` the same for files.

    Attributes
    ----------
    classes : one ``ClassRisk`` a class.
    delta : probability with which the promise may fail; None for a report that promises nothing.
    proven : whether every risk is below its limit with probability ``1 - delta``; None likewise.

    Examples
    --------
    >>> print(RiskReport((ClassRisk("a", 50, 40, 1, 0.1), ClassRisk("b", 9, 0, 0, 0.1)), delta=0.05, proven=False))
    class     risk    wrong  answered     rows  coverage    limit
    a         2.5%        1        40       50     80.0%    10.0%
    b        never        0         0        9      0.0%    10.0%
    worst risk 2.5% (a), never answered: b, 67.8% of all rows answered
    NOT PROVEN with confidence 95%: this rule is not used, and nothing is answered.
    """

    classes: tuple[ClassRisk, ...]
    delta: float | None = None
    proven: bool | None = None

    @property
    def coverage(self) -> float:
        """Share of all rows that are answered; 0 without rows."""
        total = sum(row.total for row in self.classes)
        return sum(row.answered for row in self.classes) / total if total else 0.0

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
        return {
            "delta": self.delta,
            "proven": self.proven,
            "coverage": self.coverage,
            "worst_risk": self.worst_risk,
            "never_answered": list(self.never_answered),
            "classes": [{**asdict(row), "coverage": row.coverage, "risk": row.risk} for row in self.classes],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RiskReport:
        """Rebuild a report from what ``to_dict`` gave."""
        keys = ("name", "total", "answered", "wrong", "limit")
        rows = tuple(ClassRisk(**{key: row[key] for key in keys}) for row in values["classes"])
        return cls(rows, values["delta"], values["proven"])

    def __str__(self) -> str:
        width = max(5, *(len(row.name) for row in self.classes))
        columns = ("risk", "wrong", "answered", "rows", "coverage", "limit")
        head = "  ".join([f"{'class':<{width}}", *(f"{name:>{max(7, len(name))}}" for name in columns)])
        return "\n".join([head, *(_line(row, width) for row in self.classes), self._summary(), *self._promise()])

    def _summary(self) -> str:
        worst = next((row for row in self.classes if row.risk is not None), None)
        parts = [f"worst risk {worst.risk:.1%} ({worst.name})" if worst else "worst risk unknown"]
        parts += [f"never answered: {', '.join(self.never_answered)}"] if self.never_answered else []
        return ", ".join([*parts, f"{self.coverage:.1%} of all rows answered"])

    def _promise(self) -> list[str]:
        if self.delta is None:
            return []
        confidence = f"with confidence {100 * (1 - self.delta):.4g}%"
        if self.proven:
            return [f"PROVEN {confidence}: of the rows answered, every class errs on less than its limit."]
        return [f"NOT PROVEN {confidence}: this rule is not used, and nothing is answered."]


def worst_first(row: ClassRisk) -> tuple[bool, float]:
    """Sort key: the largest risk first, classes never answered last."""
    return row.risk is None, -(row.risk or 0.0)


def _line(row: ClassRisk, width: int) -> str:
    risk = "never" if row.risk is None else f"{row.risk:.1%}"
    coverage = "absent" if row.coverage is None else f"{row.coverage:.1%}"
    limit = "-" if row.limit is None else f"{row.limit:.1%}"
    return (
        f"{row.name:<{width}}  {risk:>7}  {row.wrong:>7}  {row.answered:>8}  {row.total:>7}  {coverage:>8}  {limit:>7}"
    )
