"""The held-out certificate as a record: limits, verdicts, the rows that a proof still needs, and all of it as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from worstclass._text import percent, text_table
from worstclass.data.seen_rows import RowOverlap

#: verdicts on all wanted floors
PROVEN, NOT_PROVEN, CANNOT_BE_JUDGED = "proven", "not proven", "cannot be judged"

#: statuses of one class, besides "proven" and "not proven"
NO_ROWS, TOO_FEW_ROWS, NOT_ALONE, NOTHING_WANTED = "no rows", "too few rows", "not alone", "nothing wanted"


@dataclass(frozen=True)
class ClassLimit:
    """What the held-out rows say about one class.

    Attributes
    ----------
    name : the class.
    total, wrong : its rows, and those that the model gets wrong.
    limit : upper limit of its true error, valid together with the limits of all other classes; 1 without rows.
    floor : the accuracy wanted; None if nothing is.
    p_value : the largest probability of so few errors if the true error were ``1 - floor`` or more; None likewise.
    status : ``"proven"``, ``"not proven"``, ``"no rows"``, ``"too few rows"`` (they could not prove the floor even
        without an error), ``"not alone"`` (its rows are enough once the other classes are proven) or
        ``"nothing wanted"``.
    more_rows_at_least : further rows that would prove the floor if none of them were wrong.
    more_rows_if_rate_stays : further rows that would prove it at the observed error rate; None if no number would, or
        if there is no row to observe a rate on.
    """

    name: str
    total: int
    wrong: int
    limit: float
    floor: float | None = None
    p_value: float | None = None
    status: str = NOTHING_WANTED
    more_rows_at_least: int | None = None
    more_rows_if_rate_stays: int | None = None

    @property
    def error(self) -> float | None:
        """Observed error rate; None without rows."""
        return None if self.total == 0 else self.wrong / self.total

    @property
    def proven(self) -> bool | None:
        """Whether the floor is proven; None if none is wanted."""
        return None if self.floor is None else self.status == PROVEN


@dataclass(frozen=True)
class Certificate:
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

    @property
    def n_rows(self) -> int:
        """Number of held-out rows."""
        return self.overlap.n_rows

    @property
    def verdict(self) -> str | None:
        """``"proven"``, ``"not proven"`` or ``"cannot be judged"``; None if no floor was wanted.

        It cannot be judged if the only obstacle is a lack of rows: every class that is not proven has rows, but so few
        that they could not prove its floor even without an error.
        """
        found = {row.status for row in self.classes} - {NOTHING_WANTED}
        if not found:
            return None
        if found & {NOT_PROVEN, NO_ROWS}:
            return NOT_PROVEN
        return CANNOT_BE_JUDGED if TOO_FEW_ROWS in found else PROVEN

    @property
    def worst_limit(self) -> float:
        """Upper limit of the error of the worst class, together with all class limits: the largest of them."""
        return self.classes[0].limit

    @property
    def provable_floor(self) -> float:
        """The largest common floor that these rows prove for every class (if no other was asked for)."""
        return 1 - self.worst_limit_alone

    @property
    def unproven(self) -> tuple[ClassLimit, ...]:
        """The classes whose wanted floor is not proven."""
        return tuple(row for row in self.classes if row.proven is False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "verdict": self.verdict,
            "delta": self.delta,
            "n_rows": self.n_rows,
            "worst_limit": self.worst_limit,
            "worst_limit_alone": self.worst_limit_alone,
            "provable_floor": self.provable_floor,
            "overlap": asdict(self.overlap),
            "classes": [{**asdict(row), "error": row.error} for row in self.classes],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Rebuild a certificate from the result of ``to_dict``."""
        rows = [{key: value for key, value in row.items() if key != "error"} for row in values["classes"]]
        return cls(
            delta=values["delta"],
            classes=tuple(ClassLimit(**row) for row in rows),
            worst_limit_alone=values["worst_limit_alone"],
            overlap=RowOverlap(**values["overlap"]),
        )

    def __str__(self) -> str:
        head = ["class", "error", "wrong", "rows", "limit"]
        cells = [
            [row.name, percent(row.error), str(row.wrong), str(row.total), _limit(row.limit)] for row in self.classes
        ]
        if self.verdict is not None:
            head += ["floor", "proven"]
            cells = [[*line, *_floor_cells(row)] for line, row in zip(cells, self.classes, strict=True)]
        confidence = f"{100 * (1 - self.delta):.4g}%"
        promise = [
            f"With confidence {confidence} no class errs on more than its limit, so the worst class errs on at most "
            f"{_limit(self.worst_limit)}.",
            f"For the worst class alone, with the same confidence: at most {_limit(self.worst_limit_alone)}.",
        ]
        table = text_table(head, cells, left=(0, 6))
        return "\n".join([*table, *promise, *self._verdict_lines(confidence), str(self.overlap)])

    def _verdict_lines(self, confidence: str) -> list[str]:
        if self.verdict is None:
            return []
        if self.verdict == PROVEN:
            who = every_class([row.name for row in self.classes if row.floor is None], "floor")
            lines = [f"PROVEN with confidence {confidence}: {who} errs on less than 1 - floor."]
            if any(row.floor is not None and row.limit > 1 - row.floor for row in self.classes):
                lines += ["(A sharper rule than the limits proves all floors together: see docs/theory.md.)"]
            return lines
        n_wanted = sum(row.floor is not None for row in self.classes)
        head = f"{self.verdict.upper()}: {len(self.unproven)} of {n_wanted} floors lack a proof."
        return [head, *(f"- {row.name}: {_missing(row)}" for row in self.unproven)]


def every_class(not_asked: Sequence[str], noun: str) -> str:
    """Name the classes that a proof covers: every class, or every class except those without a floor or limit."""
    return f"every class with a {noun} (all but {', '.join(not_asked)})" if not_asked else "every class"


def _missing(row: ClassLimit) -> str:
    """Say what a proof of the floor of one class still needs."""
    if row.status == NOT_ALONE:
        return "proven as soon as the other classes are; it needs no further rows."
    least = f"at least {row.more_rows_at_least:,}"
    if row.status == NO_ROWS:
        return f"it has no rows; {least} needed, all of them right."
    start = f"{row.wrong} of {row.total} rows wrong do not prove {row.floor}; {least} more needed, "
    if row.status == TOO_FEW_ROWS:
        start = f"{row.total} rows cannot prove {row.floor}, even without an error; {least} more needed, "
    if row.more_rows_if_rate_stays is None:
        return f"{start}all of them right. At the observed error rate no number of rows is enough."
    if row.more_rows_if_rate_stays == row.more_rows_at_least:
        return f"{start}all of them right."
    return f"{start}all of them right; {row.more_rows_if_rate_stays:,} at the observed error rate."


def _floor_cells(row: ClassLimit) -> tuple[str, str]:
    if row.floor is None:
        return "-", "-"
    short = percent(row.floor)
    shown = short if short != "100.0%" else f"{100 * row.floor:.10g}%"  # 0.99999 is not 1
    return shown, "yes" if row.proven else row.status.upper()


def _limit(rate: float) -> str:
    """Show a limit rounded up: a limit that is rounded down would promise too much."""
    return f"{-(-rate * 1000 // 1) / 10:.1f}%"
