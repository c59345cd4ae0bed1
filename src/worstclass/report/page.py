"""The report page: one HTML file that opens offline, made of the files in a folder of results alone."""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from worstclass._text import duration, n_of
from worstclass.certificates.binomial import error_interval
from worstclass.certificates.certificate import Certificate, limit_text, status_cell
from worstclass.exceptions import ModelFormatError
from worstclass.experiments.details import Details
from worstclass.experiments.ranking import Comparison
from worstclass.experiments.run import RunResult
from worstclass.metrics import ClassReport
from worstclass.report.ranking import captions, difference_cells, note_text
from worstclass.report.summary import PARTS, verdict
from worstclass.report.verdict import Conclusion, certificate_verdict, names_of, report_verdict
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
    ArithmeticError, AttributeError, LookupError, TypeError, ValueError, StopIteration, RecursionError,
    jinja2.TemplateError,
)  # fmt: skip
TEMPLATES = Path(__file__).parent / "templates"


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
        text, place = _render("reproduction.html", title="The paper, reproduced", targets=tables), folder
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
        """Class reports by which rows they are on, new rows first."""
        found: dict[str, Any] = {}
        source = self.run or self.theta
        for part, title in PARTS.items():
            found[title] = source.get(part) if isinstance(source, Mapping) else getattr(source, part, None)
        if self.run is not None and self.run.portfolio is not None:
            found[HELD_OUT] = self.run.portfolio.held_out
        if self.offsets is not None:
            found[CHOSE_OFFSETS] = self.offsets["after"]
        if self.details is not None and not any(found.values()):
            found[self.details.part] = self.details.report
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
    return _render(
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


def comparison_page(folder: Path) -> str:
    """Make the page of a folder of ``compare``."""
    try:
        found = Comparison.model_validate_json((folder / "comparison.json").read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFormatError(f"{folder / 'comparison.json'} cannot be read: {error}") from None
    best = next((row for row in found.rows if row.method == found.best), None)
    seeds = n_of(len(found.seeds), "seed")
    if best is None or best.worst is None:
        said = Conclusion("bad", "No result", "No method finished.", "", [])
    else:
        better = [test.b if test.a == best.method else test.a for test in found.against_best if test.significant]
        sure = (
            f"better than {n_of(len(better), 'other method')} beyond chance"
            if better
            else "no difference is beyond chance"
        )
        first = names_of([row.method for row in found.rows if row.rank == 1])
        headline = (
            f"The worst class fares best with {first}: {best.worst.mean:.1%} of it is wrong on average over {seeds}."
        )
        basis = f"Of {sum(row.rank is not None for row in found.rows)} ranked methods on {found.data}; {sure}."
        step = "Fit the winner with worstclass fit, and prove its floors on fresh rows with worstclass certify."
        said = Conclusion("open", "Comparison", headline, basis, [step])
    largest = max((max(row.worst.by_seed.values()) for row in found.rows if row.worst), default=1.0) or 1.0
    facts = {
        "seeds": ", ".join(map(str, found.seeds)),
        **{f"settings of {name}": _plain(values) for name, values in found.settings.items()},
    }
    facts |= {f"made by ({n})": str(made) for n, made in enumerate(found.provenance, 1)}
    return _render(
        "comparison.html",
        title=found.data,
        subtitle=f"comparison of {n_of(len(found.rows), 'method')}, {seeds}",
        verdict=said,
        rows=found.rows,
        n_seeds=len(found.seeds),
        largest=largest,
        captions=captions(found),
        tests=[difference_cells(test) for test in found.against_reference],
        failures=[note_text(note) for note in found.failures],
        notes=[note_text(note) for note in found.notes],
        facts=facts,
    )


def reproduced(folder: Path) -> list[dict[str, Any]]:
    """Return the tables and figures that ``reproduce`` has written to a folder, or to those of its scales."""
    targets = []
    for file in sorted(
        [*folder.glob("*.csv"), *folder.glob("*/*.csv"), *folder.glob("*.png"), *folder.glob("*/*.png")]
    ):
        scale = "" if file.parent == folder else f" ({file.parent.name})"
        target: dict[str, Any] = {"title": f"{file.stem}{scale}", "tables": [], "png": ""}
        if file.suffix == ".png":
            target["png"] = base64.b64encode(file.read_bytes()).decode()
        else:
            target["tables"] = _paper_tables(file)
        targets.append(target)
    return [target for target in targets if target["png"] or target["tables"]]


def _paper_tables(file: Path) -> list[dict[str, Any]]:
    """Turn one line a value into rows and columns: paper, here, standard error."""
    tables: dict[str, dict[str, Any]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            if not {"table", "row", "group", "metric", "paper", "here"} <= set(line):
                return []
            table = tables.setdefault(line["table"], {"name": line["table"], "columns": {}, "rows": {}})
            column = f"{line['group']}: {line['metric']}"
            table["columns"][column] = None
            table["rows"].setdefault(line["row"], {})[column] = line
    return list(tables.values())


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
    facts = {name: _plain(value) for name, value in named.items() if value is not None}
    if made.get("seconds") is not None:
        facts["training time"] = duration(float(made["seconds"]))
    origin = made.get("provenance") or {}
    facts |= (
        {"versions": _plain(origin.get("versions")), "commit": str(origin.get("commit") or "unknown")} if origin else {}
    )
    return facts | ({"machine": f"Python {origin.get('python')}, {origin.get('machine')}"} if origin else {})


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(entry)}" for key, entry in value.items() if entry is not None)
    return ", ".join(map(_plain, value)) if isinstance(value, list | tuple) else str(value)


# drawing


def polyline(xs: Sequence[float], ys: Sequence[float], top: float, width: int = 640, height: int = 200) -> str:
    """Return the points of a line in a chart, 0 at the bottom left.

    Examples
    --------
    >>> polyline([1, 2, 3], [0, 1, 0.5], 1.0)
    '0.0,200.0 320.0,0.0 640.0,100.0'
    """
    first, last = xs[0], xs[-1]
    span = (last - first) or 1
    pairs = zip(xs, ys, strict=True)
    return " ".join(f"{width * (x - first) / span:.1f},{height * (1 - min(y / (top or 1), 1)):.1f}" for x, y in pairs)


def nice(top: float) -> float:
    """Return a round number for the top of a chart, not below a value.

    Examples
    --------
    >>> nice(0.31), nice(0.99), nice(0.0)
    (0.4, 1.0, 0.02)
    """
    steps = (0.02, 0.04, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
    return next((step for step in steps if top <= step), top)


def runs(line: Sequence[int]) -> list[tuple[int, int, int]]:
    """Return start, length and value of the runs of equal values in a line.

    Examples
    --------
    >>> runs([2, 2, 0])
    [(0, 2, 2), (2, 1, 0)]
    """
    found: list[tuple[int, int, int]] = []
    for place, value in enumerate(line):
        if found and found[-1][2] == value:
            start, length, _ = found[-1]
            found[-1] = start, length + 1, value
        else:
            found.append((place, 1, value))
    return found


@functools.cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    made.filters["percent"] = lambda rate: "-" if rate is None else f"{rate:.1%}"
    made.filters["number"] = lambda value: "-" if value is None else f"{value:,}"
    made.filters["limit"] = limit_text
    made.globals.update(polyline=polyline, runs=runs, nice=nice)
    return made


def _render(template: str, **facts: Any) -> str:
    """Fill a template; style and script are inside the page, and no other script can run in it."""
    script = (TEMPLATES / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "css": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),
        "script": Markup(script),
        "digest": digest,
    }
    return _environment().get_template(template).render(**parts, **facts)
