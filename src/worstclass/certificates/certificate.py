"""Certificates as records: verdicts, the rows that a proof still needs, and all of it as text and as plain values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import KW_ONLY, asdict, dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

from worstclass._text import Shown, TextTable, n_of, percent
from worstclass.certificates.binomial import p_value, rows_at_least, rows_if_rate_stays
from worstclass.data.seen_rows import RowOverlap

#: verdicts on all that is wanted
PROVEN, NOT_PROVEN, CANNOT_BE_JUDGED = "proven", "not proven", "cannot be judged"

#: statuses of one class, besides "proven" and "not proven"
NO_ROWS, TOO_FEW_ROWS, WAITS, NOTHING_WANTED = "no rows", "too few rows", "waits for others", "nothing wanted"


@dataclass(frozen=True)
class ClassProof(ABC):
    """The counts of one class, and whether they prove what is wanted of it.

    Attributes
    ----------
    name : the class.
    total, wrong : its rows, and those that are wrong.
    p_value : the largest probability of so few errors if the true rate were not below the wanted one; None if nothing
        is wanted, like all that follows.
    status : ``"proven"``, ``"not proven"``, ``"no rows"``, ``"too few rows"`` (they would prove nothing even if all
        were right), ``"waits for others"`` (its own rows are enough, but the other classes are not proven yet) or
        ``"nothing wanted"``.
    more_rows_at_least : further rows that would be a proof if all of them were right.
    more_rows_if_rate_stays : further rows that would be a proof at the observed rate; None if no number would, or if no
        rate is observed.
    """

    name: str
    total: int
    wrong: int
    _: KW_ONLY
    p_value: float | None = None
    status: str = NOTHING_WANTED
    more_rows_at_least: int | None = None
    more_rows_if_rate_stays: int | None = None

    #: what the texts call the rows on which errors are counted, and rows that are right
    rows_word: ClassVar[str] = "rows"
    right_word: ClassVar[str] = "right"
    #: properties that ``to_dict`` adds
    derived: ClassVar[tuple[str, ...]] = ()

    @property
    def proven(self) -> bool | None:
        """Whether it is proven; None if nothing is wanted."""
        return None if self.status == NOTHING_WANTED else self.status == PROVEN

    @property
    def tested(self) -> int:
        """Rows on which errors are counted."""
        return self.total

    @property
    @abstractmethod
    def wanted(self) -> str:
        """What is to be proven, as text."""

    def judged(self, rate: Fraction, delta: float, *, proven: bool) -> Self:
        """Say what the rows prove about an error below ``rate``; ``proven`` is the verdict of the rule for all."""
        p = float(p_value(self.wrong, self.tested, float(rate)))
        if p <= delta:
            status = PROVEN if proven else WAITS
        elif self.total == 0:
            status = NO_ROWS
        else:
            status = TOO_FEW_ROWS if p_value(0, self.total, float(rate)) > delta else NOT_PROVEN
        more = rows_if_rate_stays(self.wrong, self.tested, rate, delta)
        return replace(
            self,
            p_value=p,
            status=status,
            more_rows_at_least=rows_at_least(self.wrong, self.tested, rate, delta),
            more_rows_if_rate_stays=None if more is None else math.ceil(Fraction(more * self.total, self.tested)),
        )

    def missing(self) -> str:
        """Say what a proof still needs."""
        if self.status == WAITS:
            return "its own rows are enough; it is proven as soon as the other classes are."
        least = f"at least {n_of(self.more_rows_at_least or 0, 'more row')} needed, all of them {self.right_word}"
        if self.status == NO_ROWS:
            return f"it has no rows; {least}."
        start = f"{self.wrong} of {self.tested} {self.rows_word} wrong do not prove {self.wanted}; {least}"
        if self.status == TOO_FEW_ROWS:
            start = f"{self.total} rows cannot prove {self.wanted}; {least}"
        if self.tested == 0:
            return f"{start}. So far none is answered."
        if self.more_rows_if_rate_stays is None:
            return f"{start}. At the observed error rate no number of rows is enough."
        if self.more_rows_if_rate_stays == self.more_rows_at_least:
            return f"{start}."
        return f"{start}; {self.more_rows_if_rate_stays:,} at the observed rates."


class ClassRecord:
    """Mixin of records with one row per class in ``classes``: plain values, and back."""

    derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        own: Any = self
        rows = [{**asdict(row), **{name: getattr(row, name) for name in row.derived}} for row in own.classes]
        return {**{name: getattr(self, name) for name in self.derived}, **asdict(own), "classes": rows}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a record from the result of ``to_dict``."""
        from pydantic import TypeAdapter

        return TypeAdapter(cls).validate_python(values)


class Proof(ClassRecord):
    """Mixin of certificates: the verdict on all classes together, with probability ``1 - delta``."""

    classes: tuple[Any, ...]
    delta: float
    noun: ClassVar[str]

    @property
    def verdict(self) -> str | None:
        """``"proven"``, ``"not proven"`` or ``"cannot be judged"``; None if nothing was wanted.

        It cannot be judged if the only obstacle is a lack of rows: every class that is not proven has rows, but so few
        that they would prove nothing even if all were right.
        """
        found = {row.status for row in self.classes} - {NOTHING_WANTED}
        if not found:
            return None
        if found & {NOT_PROVEN, NO_ROWS}:
            return NOT_PROVEN
        return CANNOT_BE_JUDGED if TOO_FEW_ROWS in found else PROVEN

    @property
    def confidence(self) -> str:
        """The probability of the promise, as text."""
        return f"{100 * (1 - self.delta):.4g}%"

    @property
    def unproven(self) -> tuple[Any, ...]:
        """The classes of which something is wanted that is not proven."""
        return tuple(row for row in self.classes if row.proven is False)

    def missing(self) -> list[str]:
        """Say for each class without proof what a proof needs."""
        return [f"{row.name}: {row.missing()}" for row in self.unproven]

    def verdict_lines(self, claim: str) -> list[str]:
        """Write the verdict; ``claim`` is what is proven, with ``{who}`` for the classes."""
        if self.verdict == PROVEN:
            others = [row.name for row in self.classes if row.proven is None]
            who = f"every class with a {self.noun} (all but {', '.join(others)})" if others else "every class"
            return [f"PROVEN with confidence {self.confidence}: {claim.format(who=who)}."]
        n_wanted = sum(row.proven is not None for row in self.classes)
        head = f"{str(self.verdict).upper()}: {len(self.unproven)} of {n_wanted} {self.noun}s lack a proof."
        return [head, *(f"- {line}" for line in self.missing())]


def status_cell(row: ClassProof) -> str:
    """Write whether a class is proven."""
    return "-" if row.proven is None else "yes" if row.proven else row.status.upper()


@dataclass(frozen=True)
class ClassLimit(ClassProof):
    """What the held-out rows say about one class: a ``ClassProof`` of its floor.

    Attributes
    ----------
    limit : upper limit of its true error, valid together with the limits of all other classes; 1 without rows.
    floor : the accuracy wanted; None if nothing is.
    """

    limit: float
    floor: float | None = None

    derived: ClassVar[tuple[str, ...]] = ("error",)

    @property
    def error(self) -> float | None:
        """Observed error rate; None without rows."""
        return None if self.total == 0 else self.wrong / self.total

    @property
    def wanted(self) -> str:
        """The floor, as text."""
        return str(self.floor)


@dataclass(frozen=True, repr=False)
class Certificate(Shown, Proof):
    """Limits of the class errors of a fitted classifier, and whether they prove the wanted floors.

    ``str(certificate)`` is for people, ``certificate.to_dict()`` for files.

    Attributes
    ----------
    delta : probability with which a promise may fail.
    classes : one ``ClassLimit`` per class, the largest limit first.
    worst_limit_alone : upper limit of the error of the worst class, as a promise by itself; 1 if a class has no rows.
    overlap : how many of the rows equal rows that the model has seen, and what was made of it.

    Notes
    -----
    Each of these holds with probability ``1 - delta``: all limits together; all classes called proven; the limit of the
    worst class alone; and, if the verdict is "proven", floors and limits together.
    """

    delta: float
    classes: tuple[ClassLimit, ...]
    worst_limit_alone: float
    overlap: RowOverlap

    derived: ClassVar[tuple[str, ...]] = ("verdict", "n_rows", "worst_limit", "provable_floor")
    noun: ClassVar[str] = "floor"

    @property
    def n_rows(self) -> int:
        """Number of held-out rows."""
        return self.overlap.n_rows

    @property
    def worst_limit(self) -> float:
        """Upper limit of the error of the worst class, together with all class limits: the largest of them."""
        return self.classes[0].limit

    @property
    def provable_floor(self) -> float:
        """The largest common floor that these rows prove for every class (if no other was asked for)."""
        return 1 - self.worst_limit_alone

    def _headline(self) -> str:
        worst = f"worst class at most {limit_text(self.worst_limit)} wrong"
        return worst if self.verdict is None else f"{self.verdict}, {worst}"

    def _table(self) -> TextTable:
        head = ["class", "error", "wrong", "rows", "limit"]
        cells = [
            [row.name, percent(row.error), str(row.wrong), str(row.total), limit_text(row.limit)]
            for row in self.classes
        ]
        lines = [
            f"With confidence {self.confidence} no class errs on more than its limit, so the worst class errs on at "
            f"most {limit_text(self.worst_limit)}.",
            f"For the worst class alone, with the same confidence: at most {limit_text(self.worst_limit_alone)}.",
        ]
        if self.verdict is not None:
            head += ["floor", "proven"]
            cells = [
                [*line, _floor(row.floor), status_cell(row)] for line, row in zip(cells, self.classes, strict=True)
            ]
            lines += self.verdict_lines("{who} errs on less than 1 - floor")
            if self.verdict == PROVEN and any(row.floor and row.limit > 1 - row.floor for row in self.classes):
                lines += ["(A sharper rule than the limits proves all floors together: see docs/theory.md.)"]
        return TextTable(head, cells, (0, 6), [*lines, str(self.overlap)])


def _floor(floor: float | None) -> str:
    short = percent(floor)
    return short if floor is None or short != "100.0%" else f"{100 * floor:.10g}%"  # 0.99999 is not 1


def limit_text(rate: float) -> str:
    """Show a limit rounded up: a limit that is rounded down would promise too much."""
    return f"{-(-rate * 1000 // 1) / 10:.1f}%"
