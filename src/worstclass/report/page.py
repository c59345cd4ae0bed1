"""The report page: one HTML file that opens offline, made of the files in a folder of results alone."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2

from worstclass._text import duration
from worstclass.certificates.binomial import error_interval
from worstclass.certificates.certificate import Certificate, status_cell
from worstclass.exceptions import ModelFormatError
from worstclass.experiments.details import Details
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport
from worstclass.report.comparison_page import comparison_page, reproduced
from worstclass.report.rendering import plain_text, render
from worstclass.report.summary import PARTS, verdict
from worstclass.report.verdict import Conclusion, certificate_verdict, report_verdict
from worstclass.storage.files import read_json
from worstclass.storage.folder import results_folder
from worstclass.wrappers.risk_report import RiskCertificate

PAGE = "report.html"
#: records that a command leaves among the results of a model
RUN, OFFSETS, THETA, CERTIFICATE, COMPACT = "run.json", "tuning.json", "theta.json", "certificate.json", "compact.json"
#: of more classes, a confusion matrix is a picture; most confusions that are listed, and columns
MOST_CELLS, MOST_LISTED, MOST_COLUMNS = 12, 10, 15
CHOSE_OFFSETS, HELD_OUT = "rows that chose the offsets", "held-out rows"
#: what rows did for the model, where they did anything
SEEN = {PARTS["training"]: "trained the model", CHOSE_OFFSETS: "chose the offsets"}
#: what records raise that no command has written
DAMAGED = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, StopIteration, RecursionError,
    jinja2.TemplateError,
)  # fmt: skip


def write_page(folder: Path) -> Path:
    """Write the page of a folder of a model, of ``compare`` or of ``reproduce``; return the file."""
    try:
        return _write_page(folder)
    except DAMAGED as error:
        why = f"{type(error).__name__}: {error}"
        raise ModelFormatError(f"The results in {folder} cannot be shown, because they are damaged: {why}.") from None


def _write_page(folder: Path) -> Path:
    results = results_folder(folder)
    if (folder / "comparison.json").is_file():
        text, place = comparison_page(folder), folder
    elif any((results / name).is_file() for name in (RUN, OFFSETS, THETA, CERTIFICATE)):
        text, place = model_page(folder), results
    elif tables := reproduced(folder):
        text, place = render("reproduction.html", title="The paper, reproduced", targets=tables), folder
    else:
        made = "fit, offsets, abstain, theta, compact, compare and reproduce"
        raise ModelFormatError(f"{folder} has no results to show. Pass the --out folder of one of: {made}.")
    (place / PAGE).write_text(text, encoding="utf-8")
    return place / PAGE


@dataclass
class Records:
    """What the commands left among the results of a model; None where there is none."""

    folder: Path
    run: RunResult | None
    offsets: dict[str, Any] | None
    theta: dict[str, Any] | None
    compact: dict[str, Any] | None
    certificate: Certificate | RiskCertificate | None
    details: Details | None
    made: dict[str, Any]

    @classmethod
    def read(cls, folder: Path) -> Records:
        """Read all records of a model folder."""
        place = results_folder(folder)
        read = {
            name: read_json(place / name) for name in (OFFSETS, THETA, COMPACT, CERTIFICATE) if (place / name).is_file()
        }
        run = RunResult.read(place) if (place / RUN).is_file() else None
        proof = read.get(CERTIFICATE)
        made = run.model_dump() if run else read.get(OFFSETS) or read.get(THETA) or proof or {}
        return cls(
            folder,
            run,
            read.get(OFFSETS),
            read.get(THETA),
            read.get(COMPACT),
            _certificate(proof),
            Details.read(place),
            made,
        )

    @functools.cached_property
    def reports(self) -> dict[str, ClassReport]:
        """Class reports by which rows they are on, new rows first, and before all others those passed for the page."""
        found: dict[str, Any] = {}
        source = self.run or self.theta
        for part, title in PARTS.items():
            found[title] = source.get(part) if isinstance(source, Mapping) else getattr(source, part, None)
        if self.run is not None and self.run.portfolio is not None:
            found[HELD_OUT] = self.run.portfolio.held_out
        if self.offsets is not None:
            found[CHOSE_OFFSETS] = self.offsets["after"]
        found = {title: report for title, report in found.items() if report is not None}
        if self.details is not None and (self.details.fresh or not found):
            found = {self.details.part: self.details.report} | found
        order = [title for title in found if title != PARTS["training"]] + [PARTS["training"]]
        return {title: ClassReport.from_dict(found[title]) for title in order if found.get(title) is not None}

    @property
    def verdict(self) -> Conclusion:
        """The verdict: on the certificate if there is one, else on the reports."""
        if self.certificate is not None and self.certificate.verdict is not None:
            return certificate_verdict(self.certificate)
        if not self.reports:
            return Conclusion(
                "open", "No rows", "No rows were counted.", "", ["Pass rows: worstclass report DIR DATA."]
            )
        rows, report = next(iter(self.reports.items()))
        data = self.made.get("data")
        target = data.get("target") if isinstance(data, Mapping) else None
        words = [
            "worstclass",
            "certify",
            self.folder.name,
            *(["fresh.csv", "--target", target] if target else ["FRESH_ROWS"]),
        ]
        basis = verdict(self.run) if self.run is not None and self.run.floors_met is not None else ""
        held_out = self.reports.get(HELD_OUT)
        if held_out is not None and held_out.missed and not report.missed:
            basis = f"The {rows} show no class below its floor."
            rows, report = HELD_OUT, held_out
        return report_verdict(report, rows, seen=SEEN.get(rows, ""), basis=basis, certify=shlex.join(words))


def model_page(folder: Path) -> str:
    """Make the page of a model."""
    found = Records.read(folder)
    details, run = found.details, found.run
    data = found.made.get("data")
    name = data.get("name", "model") if isinstance(data, Mapping) else str(data or "model")
    return render(
        "model.html",
        title=name,
        subtitle=run.model if run else f"model {folder.name}",
        verdict=found.verdict,
        reports={title: (report, class_rows(report)) for title, report in found.reports.items()},
        certificate=found.certificate,
        risks=isinstance(found.certificate, RiskCertificate),
        proofs=[] if found.certificate is None else [(row, status_cell(row)) for row in found.certificate.classes],
        details=details,
        confusion=None if details is None or not _answers(details) else Confusion.of(details),
        changes=_changes(found),
        portfolio=run.portfolio if run else None,
        theta=found.theta,
        facts=_facts(found.made),
        most_columns=MOST_COLUMNS,
    )


def _answers(details: Details) -> bool:
    """Tell whether any row is answered."""
    return any(answer < len(details.classes) for _, answer, _ in details.confusion)


def class_rows(report: ClassReport) -> list[dict[str, Any]]:
    """Return the rows of a report with the 95% interval of every error, each class by itself."""
    low, high = error_interval(report.counts.total - report.counts.correct, report.counts.total)
    marks = {True: ("good", "met"), False: ("bad", "missed"), None: ("", "")}
    return [
        {"row": row, "low": float(a), "high": float(b), "mark": marks[row.meets_floor]}
        for row, a, b in zip(report.rows, low, high, strict=True)
    ]


@dataclass
class Confusion:
    """A confusion matrix for the page: all cells of few classes, else those with rows; and the largest confusions."""

    classes: list[str]
    cells: list[list[tuple[int, float]]]
    marked: list[tuple[int, int, int, float]]
    worst: list[tuple[str, str, int, float]]
    abstains: bool

    @classmethod
    def of(cls, details: Details) -> Confusion:
        """Turn counts into shares of the rows of each class."""
        K = len(details.classes)
        totals = [0] * K
        for true, _, rows in details.confusion:
            totals[true] += rows
        shared = [(true, answer, rows, rows / totals[true]) for true, answer, rows in details.confusion]
        abstains = any(answer == K for _, answer, _, _ in shared)
        answers = [*details.classes, "no answer"]
        wrong = sorted((cell for cell in shared if cell[1] not in (cell[0], K)), key=lambda cell: (-cell[2], cell))
        listed = [(details.classes[true], answers[answer], rows, share) for true, answer, rows, share in wrong]
        cells = []
        if K <= MOST_CELLS:
            cells = [[(0, 0.0)] * (K + abstains) for _ in range(K)]
            for true, answer, rows, share in shared:
                cells[true][answer] = rows, share
        return cls(details.classes, cells, shared, listed[:MOST_LISTED], abstains)


def _certificate(record: Mapping[str, Any] | None) -> Certificate | RiskCertificate | None:
    if record is None:
        return None
    kind = RiskCertificate if "n_choosing" in record or "least_coverage" in record else Certificate
    try:
        return kind.from_dict(record)
    except (ValueError, TypeError) as error:
        raise ModelFormatError(f"{CERTIFICATE} cannot be read: {error}") from None


def _changes(found: Records) -> list[dict[str, Any]]:
    """Say what each step changed, with the price in average error."""
    steps = {"prefix": "Only the first members vote", "offsets": "Decision offsets", "abstaining": "Abstaining"}
    changes = [] if found.details is None else found.details.changes
    listed = [{**change.model_dump(), "step": steps.get(change.step, change.step)} for change in changes]
    if found.compact is not None:
        before, after = (found.compact[when] for when in ("before", "after"))
        part = next(part for part in ("test", "validation", "training") if before.get(part) and after.get(part))
        pairs = {name: (before[part][f"{name}_error"], after[part][f"{name}_error"]) for name in ("worst", "plain")}
        step = f"Smaller vote: {after['members']} of {before['members']} members"
        listed.append({"step": step, "rows": f"{part} rows", **pairs, "coverage": 1.0})
    return listed


def _facts(made: Mapping[str, Any]) -> dict[str, str]:
    """Return settings and versions as text."""
    named = {name: made.get(name) for name in ("model", "method", "data", "part", "settings", "seed", "epochs")}
    facts = {name: plain_text(value) for name, value in named.items() if value is not None}
    if made.get("seconds") is not None:
        facts["training time"] = duration(float(made["seconds"]))
    origin = made.get("provenance") or {}
    facts |= (
        {"versions": plain_text(origin.get("versions")), "commit": str(origin.get("commit") or "unknown")}
        if origin
        else {}
    )
    return facts | ({"machine": f"Python {origin.get('python')}, {origin.get('machine')}"} if origin else {})
