"""The ranking of methods as Markdown, CSV, text for a terminal, and a figure."""

from __future__ import annotations

import csv
import io
import json
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, PercentFormatter

from worstclass._text import text_table
from worstclass.experiments.ranking import Comparison, MethodRow, Note, Spread
from worstclass.experiments.significance import CLAIMS, PairedTest
from worstclass.report.figures import COLOURS, as_text, save_figure
from worstclass.report.summary import markdown_table

#: names of the metrics in a table, and in a sentence
TITLES = {"worst": "worst class", "class_mean": "class mean", "plain": "all rows"}
ERRORS = {"worst": "worst-class error", "class_mean": "class-mean error", "plain": "plain error"}

#: columns of the table
HEAD = ["rank", "method", "seeds", *TITLES.values(), "epochs", "seconds", "members"]

#: longest message, and longest name of a method beside the figure, in characters
MAX_MESSAGE, MAX_NAME = 300, 36

#: marks of a significant difference from the reference and from the best
FROM_REFERENCE, FROM_BEST = "*", "†"

#: marks of the figure
MEAN_MARK: dict[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 13, "markeredgewidth": 2.2}
SEED_MARK: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3.6, "markeredgewidth": 0, "alpha": 0.6}
PLAIN_MARK: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 6, "mfc": "white", "mec": "0.25"}

#: columns of the CSV about one test: end of the column's name, value of the test
TEST_COLUMNS = {
    "": "b",
    "_seeds": "n",
    "_difference": "mean_difference",
    "_test": "test",
    "_p": "p",
    "_p_corrected": "p_corrected",
    "_p_sign_flip": "p_sign_flip",
    "_significant": "significant",
}


def comparison_markdown(comparison: Comparison) -> str:
    """Write the whole comparison: table, tests, failures, notes, and where it comes from."""
    n_methods, n_seeds = _count(len(comparison.rows), "method"), _count(len(comparison.seeds), "seed")
    lines = [f"# {_inline(comparison.data)}: {n_methods}, {n_seeds}", ""]
    rows = [[_inline(cell) for cell in _cells(row, comparison)] for row in comparison.rows]
    for row, cells in zip(comparison.rows, rows, strict=True):
        if row.rank == 1:
            _embolden(cells, HEAD.index("method"), HEAD.index(TITLES[comparison.metric]))
    lines += [*markdown_table(HEAD, rows), "", " ".join(_inline(line) for line in _captions(comparison)), ""]
    tests = _shown_tests(comparison)
    if tests:
        heads = ["method", "against", "seeds", "difference", "p", "corrected p", "sign-flip p"]
        tested = [[_inline(cell) for cell in _test_cells(test)] for test in tests]
        lines += ["## Differences", "", *markdown_table(heads, tested), "", _on_tests(comparison, tests), ""]
    failures = [f"- {_inline(_who(note))}: {_code(_message(note))}" for note in comparison.failures]
    lines += ["## Failed cells", "", *failures, ""] if failures else []
    notes = [f"- {_inline(_who(note))}: {_inline(_message(note))}" for note in comparison.notes]
    lines += ["## Notes", "", *notes, ""] if notes else []
    return "\n".join([*lines, "## How it was made", "", *_facts(comparison)]) + "\n"


def comparison_text(comparison: Comparison) -> str:
    """Write the table, how to read it, and the failures, for a terminal."""
    lines = text_table(HEAD, [_cells(row, comparison) for row in comparison.rows], left=(0, 1))
    width = max(80, *(len(line) for line in lines))
    lines += [textwrap.fill(line, width, break_on_hyphens=False) for line in _captions(comparison)]
    lines += [f"failed: {_who(note)}: {_message(note)}" for note in comparison.failures]
    return "\n".join(lines) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """Write one line for each method, with a header; rates are in [0, 1], missing values empty."""
    families = {
        "reference": {test.a: test for test in comparison.against_reference},
        "best": {test.a: test for test in comparison.against_best},
    }
    records = []
    for row in comparison.rows:
        record: dict[str, Any] = {"rank": row.rank, "method": row.method, "data": comparison.data}
        record |= {"seeds_done": row.n_done, "seeds_failed": row.n_failed}
        for metric in TITLES:
            spread = row.spread(metric)
            for name, value in {"mean": "mean", "sd": "sd", "min": "minimum", "max": "maximum"}.items():
                record[f"{metric}_{name}"] = getattr(spread, value, None)
        record |= {"epochs": row.epochs, "seconds": row.seconds, "members": row.n_members}
        for prefix, tests in families.items():
            test = tests.get(row.method)
            record |= {f"{prefix}{name}": getattr(test, value, None) for name, value in TEST_COLUMNS.items()}
        records.append(record)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw the worst-class error of each method, by seed and on average, with its error over all rows.

    Methods are in the order of the table, best at the top; the reference has a colour of its own.
    """
    rows, n_seeds, reference = comparison.rows, len(comparison.seeds), comparison.reference
    figure = Figure(figsize=(7.5, 1.4 + 0.3 * max(len(rows), 3)), layout="constrained")
    axes = figure.subplots()
    names = []
    for place, row in enumerate(rows):
        names.append(_name(row.method) + ("" if row.n_done == n_seeds else f" ({row.n_done} of {n_seeds})"))
        if row.worst is None or row.plain is None:
            text: dict[str, Any] = {"color": "0.4", "size": 8, "va": "center", "backgroundcolor": "white"}
            axes.text(0.01, place, "no result", transform=axes.get_yaxis_transform(), **text)
            continue
        colour = COLOURS[4] if row.method == reference else COLOURS[0]
        seeds = list(row.worst.by_seed.values())
        around = place + 0.2 * np.linspace(-1, 1, len(seeds)) * (len(seeds) > 1)
        axes.plot(row.plain.mean, place, zorder=2, clip_on=False, **PLAIN_MARK)
        axes.plot(row.worst.mean, place, color=colour, zorder=3, clip_on=False, **MEAN_MARK)
        axes.plot(seeds, around, color=colour, zorder=4, clip_on=False, **SEED_MARK)
    largest = max((row.worst.maximum for row in rows if row.worst is not None), default=1.0) or 1.0
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.03 * largest))
    axes.set_yticks(range(len(rows)), names)
    axes.set_xlabel(f"test error on {_name(comparison.data)}")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0 if largest >= 0.08 else 1))
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    marks = [("worst class, mean", COLOURS[0], MEAN_MARK), ("worst class, each seed", COLOURS[0], SEED_MARK)]
    marks += [("all rows, mean", "0.25", PLAIN_MARK)]
    if reference is not None:
        marks.insert(1, (f"the same of {_name(reference)}", COLOURS[4], MEAN_MARK))
    columns = 4 if len(reference or "") <= MAX_NAME // 2 else 2
    layout: dict[str, Any] = {"loc": "outside upper center", "ncols": columns, "labelspacing": 1.2}
    handles = [Line2D([], [], color=colour, label=label, **mark) for label, colour, mark in marks]
    figure.legend(handles=handles, frameon=False, fontsize=8, **layout)
    return figure


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the comparison to a folder as Markdown, CSV, JSON and a figure; return the files."""
    texts = {
        "comparison.md": comparison_markdown(comparison),
        "comparison.csv": comparison_csv(comparison),
        "comparison.json": comparison.model_dump_json(indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [*(folder / name for name in texts), save_figure(comparison_figure(comparison), folder / "comparison.png")]


def _name(text: str) -> str:
    """Return a name that fits beside the figure, as matplotlib shows it."""
    return as_text(_shortened(_one_line(text), MAX_NAME))


def _cells(row: MethodRow, comparison: Comparison) -> list[str]:
    """Return one row of the table; the tested errors have room for marks, so that numbers stay aligned."""
    n_seeds = len(comparison.seeds)
    seeds = str(n_seeds) if row.n_done == n_seeds else f"{row.n_done} of {n_seeds}"
    errors = [
        _percent(row.spread(metric)) + (_marks(row.method, comparison) if metric == comparison.metric else "")
        for metric in TITLES
    ]
    compute = [_amount(value) for value in (row.epochs, row.seconds, row.n_members)]
    return ["-" if row.rank is None else str(row.rank), _one_line(row.method), seeds, *errors, *compute]


def _marks(method: str, comparison: Comparison) -> str:
    marks = {FROM_REFERENCE: comparison.against_reference, FROM_BEST: _tests_against_best(comparison)}
    found = [mark for mark, tests in marks.items() if any(test.a == method and test.significant for test in tests)]
    room = sum(any(test.significant for test in tests) for tests in marks.values())
    return f" {''.join(found):<{room}}" if room else ""


def _tests_against_best(comparison: Comparison) -> tuple[PairedTest, ...]:
    """Return the tests against the best, none where the best is the reference."""
    return () if comparison.best == comparison.reference else comparison.against_best


def _shown_tests(comparison: Comparison) -> tuple[PairedTest, ...]:
    return (*comparison.against_reference, *_tests_against_best(comparison))


def _captions(comparison: Comparison) -> list[str]:
    """Say how to read the table, and what a significant difference is a claim about."""
    n_seeds, metric = len(comparison.seeds), ERRORS[comparison.metric]
    finished = "" if all(row.n_done == n_seeds for row in comparison.rows) else "the finished ones of "
    spread = f"mean ± standard deviation over {finished}{n_seeds} seeds" if n_seeds > 1 else "of one seed"
    lines = [
        f"Test errors in percent, {spread}, ranked by {metric}; epochs, seconds and members are means over the same "
        "seeds."
    ]
    if any(row.n_done and row.rank is None for row in comparison.rows):
        lines.append("A method with fewer finished seeds than others is not ranked: its mean is over other seeds.")
    reading = []
    level = f"p at most {comparison.alpha:g}"
    test = "t-test" if comparison.test_to_train is None else "corrected resampled t-test"
    n_tests = _n_tested(comparison.against_reference)
    if n_tests:
        reading.append(
            f"{FROM_REFERENCE} marks a {metric} that differs significantly from that of {comparison.reference} "
            f"({level} after Holm's correction for {_count(n_tests, 'test')})"
        )
    if _n_tested(_tests_against_best(comparison)):
        reading.append(
            f"{FROM_BEST} marks a {metric} that differs significantly from that of {comparison.best}, the best "
            f"({level} after correction for all {_count(_n_tested(comparison.pairs), 'pair')}, since the results "
            "chose the best)"
        )
    if reading:
        lines.append(f"{'; '.join(reading)}.")
        lines.append(f"Two-sided {test}, paired over seeds. The claim holds {CLAIMS[comparison.seeds_change]}.")
    elif _shown_tests(comparison):
        needed = "two seeds" if comparison.test_to_train is None else "three seeds"
        lines.append(f"No difference could be tested: a test needs {needed} that both methods finished.")
    return lines


def _who(note: Note) -> str:
    return f"{_one_line(note.method)}, {_seeds(note.seeds)}"


def _message(note: Note) -> str:
    return _shortened(_one_line(note.text), MAX_MESSAGE)


def _n_tested(tests: Sequence[PairedTest]) -> int:
    return sum(test.p is not None for test in tests)


def _test_cells(test: PairedTest) -> list[str]:
    difference = "-" if test.mean_difference is None else f"{100 * test.mean_difference:+.1f}"
    if test.p is None or test.p_corrected is None:
        return [test.a, test.b, str(test.n), difference, "not testable", "-", "-"]
    p = _probability(test.p) + (" (sign-flip)" if test.test == "sign-flip" else "")
    corrected = _probability(test.p_corrected) + (" (significant)" if test.significant else "")
    return [test.a, test.b, str(test.n), difference, p, corrected, _probability(test.p_sign_flip)]


def _on_tests(comparison: Comparison, tests: Sequence[PairedTest]) -> str:
    """Explain the table of tests."""
    text = (
        f"Differences of the {ERRORS[comparison.metric]} are in percentage points, method minus the one it is compared "
        "with, on the seeds that both finished."
    )
    if comparison.test_to_train is not None:
        return (
            f"{text} p is that of the corrected resampled t-test (Nadeau and Bengio, 2003). The splits share rows, so "
            "the variance factor of the mean difference is 1/n + n_test/n_train instead of 1/n, with n_test/n_train = "
            f"{comparison.test_to_train:.3g}. The test takes the differences to be about normally distributed. The "
            "sign-flip test needs independent draws and is not made."
        )
    text += (
        " p is that of the paired t-test, which takes the differences to be about normally distributed, or of the "
        "sign-flip test if it says so (two seeds, or differences that are all the same). The sign-flip test assumes "
        "only that equal methods differ as often in one direction as in the other"
    )
    most = max(test.n for test in tests)
    if most >= 2 and 2 / 2**most > comparison.alpha:
        return f"{text}, but with {most} seeds its p is at least {2 / 2**most:g}, so it cannot show a difference."
    return f"{text}."


def _facts(comparison: Comparison) -> list[str]:
    lines = [f"- data: {_inline(comparison.data)}, {_seeds(comparison.seeds)}"]
    if comparison.settings:
        lines += [f"- settings of all methods: {_code(json.dumps(comparison.settings))}"]
    alike: dict[str, list[str]] = {}
    for method, values in comparison.method_settings.items():
        alike.setdefault(json.dumps(values), []).append(method)
    lines += [f"- settings of {_inline(', '.join(methods))}: {_code(values)}" for values, methods in alike.items()]
    if len(comparison.provenance) > 1:
        lines += ["- the cells were not all made by the same versions, commit or machine:"]
    for made in comparison.provenance:
        versions = ", ".join(f"{name} {version}" for name, version in made.versions.items())
        lines += [f"- Python {made.python} on {made.machine}, {versions}, commit {made.commit or 'unknown'}"]
    return lines


def _embolden(cells: list[str], *places: int) -> None:
    for place in places:
        mark = r" \*" if cells[place].endswith(r" \*") else ""
        cells[place] = f"**{cells[place].removesuffix(mark)}**{mark}"


def _percent(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    sd = "" if spread.sd is None else f" ± {100 * spread.sd:.1f}"
    return f"{100 * spread.mean:.1f}{sd}"


def _amount(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _probability(p: float | None) -> str:
    return "-" if p is None else "<0.0001" if p < 0.0001 else f"{p:.3g}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(str(seed) for seed in seeds)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _inline(text: str) -> str:
    """Return text that Markdown shows as it is, on one line."""
    return re.sub(r"([\\|*_`<\[])", r"\\\1", _one_line(text))


def _code(text: str) -> str:
    plain = _one_line(text).replace("`", "'")
    return f"`{plain}`"
