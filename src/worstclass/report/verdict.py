"""The verdict on a model in sentences for everybody: what holds, whether it is proven or only observed, what to do."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from worstclass._text import n_of
from worstclass.certificates.certificate import CANNOT_BE_JUDGED, PROVEN, WAITS, Certificate
from worstclass.metrics import ClassReport, ClassRow
from worstclass.wrappers.risk_report import RiskCertificate

#: classes that a sentence names
MOST_NAMED = 5


class Conclusion(NamedTuple):
    """What a page says first.

    Attributes
    ----------
    level : ``"good"``, ``"fair"``, ``"bad"`` or ``"open"``, for the colour.
    label : one or two words.
    headline, basis : what holds, and what that rests on.
    steps : what to do next.
    command : a command that does it; empty if there is none.
    """

    level: str
    label: str
    headline: str
    basis: str
    steps: Sequence[str]
    command: str = ""


def names_of(names: Sequence[str]) -> str:
    """List names, at most a few.

    Examples
    --------
    >>> names_of(["a", "b"]), names_of(list("abcdefg"))
    ('a and b', 'a, b, c, d, e and 2 more')
    """
    shown, more = list(names[:MOST_NAMED]), len(names) - MOST_NAMED
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def certificate_verdict(found: Certificate | RiskCertificate) -> Conclusion:
    """Say what a certificate proves."""
    abstains = isinstance(found, RiskCertificate)
    wanted = [row.name for row in found.classes if row.proven is not None]
    rows = n_of(found.n_rows, "row")
    basis = f"By {rows} that neither trained the model nor chose anything for it, with confidence {found.confidence}."
    if found.verdict == PROVEN:
        some = "" if len(wanted) == len(found.classes) else f" with a {'limit' if abstains else 'floor'}"
        what = "keeps its risk limit" if abstains else "meets its floor"
        headline = f"Every class{some} {what}, and that is proven."
        if isinstance(found, RiskCertificate):
            headline += f" The model answers {found.coverage or 0:.1%} of the rows."
        step = "Use the model on data like these rows. Certify again, on fresh rows, when the data change."
        return Conclusion("good", "Proven", headline, basis, [step])
    lacking = [row.name for row in found.unproven]
    headline = f"{len(lacking)} of {n_of(len(wanted), found.noun)} are not proven: {names_of(lacking)}."
    headline += " The model answers nothing." if abstains else ""
    first = [row for row in found.unproven if row.status != WAITS] or found.unproven
    steps = [f"{row.name}: {row.missing()}" for row in first[:MOST_NAMED]]
    if found.verdict == CANNOT_BE_JUDGED:
        return Conclusion("open", "Cannot be judged", f"Too few rows to judge. {headline}", basis, steps)
    return Conclusion("bad", "Not proven", headline, basis, steps)


def report_verdict(report: ClassReport, rows: str, *, seen: str, basis: str, certify: str) -> Conclusion:
    """Say what a class report shows; ``certify`` is the start of a command that could prove it.

    Parameters
    ----------
    report, rows : class errors, and which rows they were counted on.
    seen : what these rows did for the model, such as "trained the model"; empty for fresh rows.
    basis : what is known besides.
    """
    known = [row for row in report.rows if row.total]
    floors = {row.name: row.floor for row in known if row.floor is not None}
    caution = f" These rows {seen}, so new rows may show more errors." if seen else ""
    if not floors:
        headline = f"The worst class, {report.worst_class}, is wrong in {report.worst_error:.1%} of its {rows}."
        step = "Decide which accuracy every class needs, and prove it on rows that the model has not seen."
        known_basis = f"Over all rows the error is {report.plain_error:.1%}. No floor was set.{caution}"
        return Conclusion("open", "No floor set", headline, known_basis, [step], f"{certify} --require 0.8")
    missed = [row for row in known if row.meets_floor is False]
    basis = f"{basis}{caution}".strip()
    if missed:
        share = f"{len(missed)} of {len(floors)} classes miss their floor" if len(floors) > 1 else "The floor is missed"
        share = share.replace("miss their", "misses its") if len(missed) == 1 else share
        headline = f"{share} on the {rows}: {names_of([_missed(row) for row in missed])}."
        step = (
            "Collect more rows of these classes, or lower their floors: worstclass theta --way goal finds the nearest"
        )
        return Conclusion("bad", "Missed", headline, basis, [f"{step} floors that can be met."])
    every = f"All {len(floors)} classes meet their floor" if len(floors) > 1 else "The class meets its floor"
    headline = f"{every} on the {rows}. This is observed, not proven."
    step = "Prove it on rows that the model has not seen, before you rely on it."
    require = " ".join(f"--require {shlex.quote(text)}" for text in _required(floors))
    return Conclusion("fair", "Observed", headline, basis, [step], f"{certify} {require}")


def _missed(row: ClassRow) -> str:
    assert row.error is not None
    assert row.floor is not None
    return f"{row.name} ({row.error:.1%} wrong, allowed below {1 - row.floor:.1%})"


def _required(floors: Mapping[str, Any]) -> list[str]:
    """Write floors as options: the most frequent one for all others."""
    values = list(floors.values())
    common = max(values, key=values.count)
    return [*(f"{name}={floor:g}" for name, floor in floors.items() if floor != common), f"{common:g}"]
