"""The held-out certificate as a record: limits, verdicts, what is missing for a proof, and all of it as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

#: what is said of a floor as a whole
PROVEN, NOT_PROVEN, CANNOT_BE_JUDGED = "proven", "not proven", "cannot be judged"

#: what is said of one class besides "proven" and "not proven"
NO_ROWS, TOO_FEW_ROWS, NOT_ALONE, NOTHING_WANTED = "no rows", "too few rows", "not alone", "nothing wanted"
USED_BEFORE = "used before"


#: the verdict where rows were used before
REUSED = "CANNOT BE JUDGED by rows that were used before."


@dataclass(frozen=True)
class ClassLimit:
    """What the calibration rows say of one class.

    Attributes
    ----------
    name : the class.
    total, wrong : its calibration rows, and those that the model gets wrong.
    limit : upper limit of its true error, together with the limits of all other classes; 1 without rows.
    floor : the accuracy wanted; None where nothing is.
    p_value : probability of so few errors if the true error were ``1 - floor`` or more, at the most; None likewise.
    status : ``"proven"``, ``"not proven"``, ``"no rows"``, ``"too few rows"`` (even without an error they could not
        prove the floor), ``"not alone"`` (will be proven once the other classes are, without further rows of this one),
        ``"used before"`` (the model has seen some of the rows, so that none proves anything) or ``"nothing wanted"``.
    more_rows_at_least : further rows that would prove the floor if none of them were wrong.
    more_rows_if_rate_stays : further rows that would prove it if the share of errors stays; None where no number would,
        or where there is no row to know the share from.
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
        """Whether the floor is proven; None where none is wanted."""
        return None if self.floor is None else self.status == PROVEN


@dataclass(frozen=True)
class Certificate:
    """Limits of the class errors of a fitted classifier, and whether they prove the wanted floors.

    ``str(certificate)`` is for people, ``certificate.to_dict()`` for files.

    Attributes
    ----------
    delta : probability with which a promise may fail.
    classes : one ``ClassLimit`` a class, the largest limit first.
    worst_limit_alone : upper limit of the error of the worst class, as a promise by itself; 1 where a class has no
        rows.
    n_rows : calibration rows.
    n_reused : how many of them the model was trained or validated on; None where that could not be checked.
    n_repeated : how many are copies of another calibration row; None where that could not be checked.

    Notes
    -----
    Each of these holds with probability ``1 - delta``: all limits together; all classes called proven; the limit of the
    worst class alone; and, where the verdict is "proven", floors and limits together.
    """

    delta: float
    classes: tuple[ClassLimit, ...]
    worst_limit_alone: float
    n_rows: int
    n_reused: int | None = None
    n_repeated: int | None = None

    @property
    def verdict(self) -> str | None:
        """``"proven"``, ``"not proven"`` or ``"cannot be judged"``; None where no floor was wanted.

        It cannot be judged where nothing but a lack of rows is in the way: each class that is not proven has rows, but
        so few that even without an error they could not prove its floor. Nor can it by rows that trained the model.
        """
        found = {row.status for row in self.classes} - {NOTHING_WANTED}
        if not found:
            return None
        if self.n_reused:
            return CANNOT_BE_JUDGED
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
        return 0.0 if self.n_reused else 1 - self.worst_limit_alone

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
            "n_reused": self.n_reused,
            "n_repeated": self.n_repeated,
            "worst_limit": self.worst_limit,
            "worst_limit_alone": self.worst_limit_alone,
            "provable_floor": self.provable_floor,
            "classes": [{**asdict(row), "error": row.error} for row in self.classes],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Certificate:
        """Rebuild a certificate from what ``to_dict`` gave."""
        keys = ("delta", "worst_limit_alone", "n_rows", "n_reused", "n_repeated")
        rows = [{key: value for key, value in row.items() if key != "error"} for row in values["classes"]]
        return cls(classes=tuple(ClassLimit(**row) for row in rows), **{key: values[key] for key in keys})

    def __str__(self) -> str:
        width = max(5, *(len(row.name) for row in self.classes))
        head = f"{'class':<{width}}  {'error':>7}  {'wrong':>7}  {'rows':>7}  {'limit':>7}"
        lines = [head + ("    floor  proven" if self.verdict else "")]
        lines += [_line(row, width, with_floor=self.verdict is not None) for row in self.classes]
        warned = reuse_lines(self.n_rows, self.n_reused, self.n_repeated)
        return "\n".join([*lines, *self._promise(), *self._verdict_lines(), *warned])

    @property
    def _confidence(self) -> str:
        return f"{100 * (1 - self.delta):.4g}%"

    def _promise(self) -> list[str]:
        if self.n_reused:
            return []
        return [
            f"With confidence {self._confidence} no class errs on more than its limit; the worst class thus on at most "
            f"{_percent(self.worst_limit)}.",
            f"Of the worst class alone, with the same confidence: at most {_percent(self.worst_limit_alone)}.",
        ]

    def _verdict_lines(self) -> list[str]:
        if self.verdict is None:
            return []
        if self.verdict == PROVEN:
            who = every_class([row.name for row in self.classes if row.floor is None], "floor")
            lines = [f"PROVEN with confidence {self._confidence}: {who} errs on less than 1 - floor."]
            if any(row.floor is not None and row.limit > 1 - row.floor for row in self.classes):
                lines += ["(All floors together are proven by a sharper rule than the limits: see docs/theory.md.)"]
            return lines
        if self.n_reused:
            return [REUSED]
        n_wanted = sum(row.floor is not None for row in self.classes)
        head = f"{self.verdict.upper()}: without proof of {len(self.unproven)} of {n_wanted} floors."
        return [head, *(f"- {row.name}: {_missing(row)}" for row in self.unproven)]


def every_class(not_asked: list[str], noun: str) -> str:
    """Say of whom something is proven: of every class, or of every class but those of which nothing was asked."""
    return f"every class with a {noun} (all but {', '.join(not_asked)})" if not_asked else "every class"


def reuse_lines(n_rows: int, n_reused: int | None, n_repeated: int | None) -> list[str]:
    """Say in the text of a certificate what speaks against its rows: use before, and copies."""
    lines = []
    if n_reused is None:
        lines += ["Not checked: whether the model was trained or validated on any of these rows."]
    elif n_reused:
        lines += [
            f"FORCED: the model was trained or validated on {n_reused} of the {n_rows} rows, so nothing above is a "
            "promise, the limits included."
        ]
    if n_repeated:
        lines += [
            f"{n_repeated} rows are copies of other rows. If they were copied, and not drawn so, leave them out: "
            "copies prove nothing."
        ]
    return lines


def _line(row: ClassLimit, width: int, *, with_floor: bool) -> str:
    error = "-" if row.error is None else f"{row.error:.1%}"
    line = f"{row.name:<{width}}  {error:>7}  {row.wrong:>7}  {row.total:>7}  {_percent(row.limit):>7}"
    if not with_floor:
        return line
    if row.floor is None:
        return f"{line}  {'-':>7}  -"
    return f"{line}  {_shown_percent(row.floor):>7}  {'yes' if row.proven else row.status.upper()}"


def _missing(row: ClassLimit) -> str:
    """Say what a proof of the floor of one class still needs."""
    if row.status == NOT_ALONE:
        return "enough once the other classes are proven; its own rows need not be more."
    least = f"at least {row.more_rows_at_least:,}"
    if row.status == NO_ROWS:
        return f"it has no calibration rows; {least} needed, all of them right."
    start = f"{row.wrong} of {row.total} rows wrong do not prove {_shown(row.floor)}; {least} more needed, "
    if row.status == TOO_FEW_ROWS:
        start = f"{row.total} rows cannot prove {_shown(row.floor)}, even without an error; {least} more needed, "
    if row.more_rows_if_rate_stays is None:
        return f"{start}all of them right. No number of rows is enough while the share of errors stays."
    if row.more_rows_if_rate_stays == row.more_rows_at_least:
        return f"{start}all of them right."
    return f"{start}all of them right; {row.more_rows_if_rate_stays:,} if the share of errors stays."


def _shown(floor: float | None) -> str:
    """Show a floor as it was written; rounded, 0.99999 would be 1."""
    return f"{floor}" if floor is not None else "-"


def _shown_percent(floor: float) -> str:
    short = f"{floor:.1%}"
    return short if short != "100.0%" else f"{100 * floor:.10g}%"


def _percent(rate: float) -> str:
    """Show a limit rounded up: a rounded-down limit would promise too much."""
    tenths = -(-rate * 1000 // 1)
    return f"{tenths / 10:.1f}%"
