"""The ranking of methods as Markdown, CSV, text for a terminal, and a figure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from worstclass._checks import is_installed
from worstclass._text import n_of, text_table
from worstclass.experiments.ranking import Comparison, MethodRow, Note, Spread
from worstclass.experiments.significance import ALPHA, CLAIMS, MIN_SEEDS, PairedTest
from worstclass.report.figures import COLOURS, as_text, save_figure
from worstclass.report.summary import inline, markdown_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: the errors of a row, and their titles
TITLES = {"worst": "worst class", "class_mean": "class mean", "plain": "all rows"}

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


def comparison_markdown(comparison: Comparison) -> str:
    """Write the whole comparison: table, tests, failures, notes, and where it comes from."""
    n_methods, n_seeds = n_of(len(comparison.rows), "method"), n_of(len(comparison.seeds), "seed")
    rows = [[inline(cell) for cell in _cells(row, comparison)] for row in comparison.rows]
    for row, cells in zip(comparison.rows, rows, strict=True):
        if row.rank == 1:
            cells[1] = f"**{cells[1]}**"
    lines = [f"# {inline(comparison.data)}: {n_methods}, {n_seeds}", "", *markdown_table(HEAD, rows), ""]
    lines += [" ".join(inline(line) for line in captions(comparison)), ""]
    tests = (*comparison.against_reference, *_tests_against_best(comparison))
    if tests:
        heads = ["method", "against", "seeds", "difference", "p", "corrected p"]
        tested = [[inline(cell) for cell in difference_cells(test)] for test in tests]
        units = "In percentage points, method minus the one it is compared with, on the seeds that both finished."
        lines += ["## Differences", "", *markdown_table(heads, tested), "", units, ""]
    for title, notes in (("Trainings that failed", comparison.failures), ("Notes", comparison.notes)):
        listed = [f"- {inline(note_text(note))}" for note in notes]
        lines += [f"## {title}", "", *listed, ""] if listed else []
    return "\n".join([*lines, "## How it was made", "", *_facts(comparison)]) + "\n"


def comparison_text(comparison: Comparison) -> str:
    """Write the table, how to read it, and the failures, for a terminal."""
    lines = text_table(HEAD, [_cells(row, comparison) for row in comparison.rows], left=(0, 1))
    width = max(80, *(len(line) for line in lines))
    lines += [textwrap.fill(line, width, break_on_hyphens=False) for line in captions(comparison)]
    lines += [f"failed: {note_text(note)}" for note in comparison.failures]
    return "\n".join(lines) + "\n"


def comparison_csv(comparison: Comparison) -> str:
    """Write one line for each method, with a header; rates are in [0, 1], missing values empty."""
    families = {"reference": comparison.against_reference, "best": comparison.against_best}
    records = []
    for row in comparison.rows:
        record: dict[str, Any] = {"rank": row.rank, "method": row.method, "data": comparison.data}
        record |= {"seeds_done": row.n_done, "seeds_failed": row.n_failed}
        for error in TITLES:
            record |= {f"{error}_{name}": getattr(getattr(row, error), name, None) for name in ("mean", "sd")}
        record |= {"epochs": row.epochs, "seconds": row.seconds, "members": row.n_members}
        for family, tests in families.items():
            test = next((test for test in tests if test.a == row.method), None)
            values = {"": "b", "_seeds": "n", "_difference": "mean_difference", "_p": "p"}
            values |= {"_p_corrected": "p_corrected", "_significant": "significant"}
            record |= {f"{family}{name}": getattr(test, value, None) for name, value in values.items()}
        records.append(record)
    return str(pd.DataFrame(records).convert_dtypes().to_csv(index=False, lineterminator="\n"))


def comparison_figure(comparison: Comparison) -> Figure:
    """Draw the worst-class error of each method, by seed and on average, with its error over all rows.

    Methods are in the order of the table, best at the top; the reference has a colour of its own.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import MaxNLocator, PercentFormatter

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
    largest = max((max(row.worst.by_seed.values()) for row in rows if row.worst is not None), default=1.0) or 1.0
    axes.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.03 * largest))
    axes.set_yticks(range(len(rows)), names)
    which = "" if reference is None else f"; in orange: {_name(reference)}"
    axes.set_xlabel(f"test error on {_name(comparison.data)}{which}")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(PercentFormatter(xmax=1, decimals=0 if largest >= 0.08 else 1))
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    marks = {"worst class, mean": MEAN_MARK, "worst class, each seed": SEED_MARK, "all rows, mean": PLAIN_MARK}
    handles = [Line2D([], [], color=COLOURS[0], label=label, **mark) for label, mark in marks.items()]
    figure.legend(handles=handles, frameon=False, fontsize=8, loc="outside upper center", ncols=3, labelspacing=1.2)
    return figure


def write_comparison(comparison: Comparison, folder: Path) -> list[Path]:
    """Write the comparison to a folder as Markdown, CSV, JSON and a figure; return the files.

    Without matplotlib there is no figure; the page of a comparison has a chart of its own.
    """
    texts = {
        "comparison.md": comparison_markdown(comparison),
        "comparison.csv": comparison_csv(comparison),
        "comparison.json": comparison.model_dump_json(indent=1) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    files = [folder / name for name in texts]
    if is_installed("matplotlib"):
        files.append(save_figure(comparison_figure(comparison), folder / "comparison.png"))
    return files


def _name(text: str) -> str:
    """Return a name that fits beside the figure, as matplotlib shows it."""
    return as_text(_one_line(text, MAX_NAME))


def _cells(row: MethodRow, comparison: Comparison) -> list[str]:
    """Return one row of the table; the tested errors have room for marks, so that numbers stay aligned."""
    n_seeds = len(comparison.seeds)
    seeds = str(n_seeds) if row.n_done == n_seeds else f"{row.n_done} of {n_seeds}"
    errors = [_percent(getattr(row, error)) for error in TITLES]
    errors[0] += marks_of(row.method, comparison)
    compute = [_amount(value) for value in (row.epochs, row.seconds, row.n_members)]
    return ["-" if row.rank is None else str(row.rank), _one_line(row.method), seeds, *errors, *compute]


def marks_of(method: str, comparison: Comparison) -> str:
    """Return the marks of significant differences of a method, as wide as the widest."""
    marks = {FROM_REFERENCE: comparison.against_reference, FROM_BEST: _tests_against_best(comparison)}
    found = [mark for mark, tests in marks.items() if any(test.a == method and test.significant for test in tests)]
    room = sum(any(test.significant for test in tests) for tests in marks.values())
    return f" {''.join(found):<{room}}" if room else ""


def _tests_against_best(comparison: Comparison) -> tuple[PairedTest, ...]:
    """Return the tests against the best, none where the best is the reference."""
    return () if comparison.best == comparison.reference else comparison.against_best


def captions(comparison: Comparison) -> list[str]:
    """Say how to read the table, and what a significant difference is a claim about."""
    n_seeds, rows = len(comparison.seeds), comparison.rows
    finished = "" if all(row.n_done == n_seeds for row in rows) else "the finished ones of "
    spread = f"mean ± standard deviation over {finished}{n_seeds} seeds" if n_seeds > 1 else "of one seed"
    lines = [f"Test errors in percent, {spread}, ranked by the error of the worst class."]
    if any(row.n_done and row.rank is None for row in rows):
        lines.append("A method with fewer finished seeds than others is not ranked: its mean is over other seeds.")
    marks = []
    if n_tests := sum(test.p is not None for test in comparison.against_reference):
        marks.append(f"{FROM_REFERENCE} from {comparison.reference} (corrected for {n_of(n_tests, 'test')})")
    if any(test.p is not None for test in _tests_against_best(comparison)):
        n_pairs = sum(test.p is not None for test in comparison.pairs)
        marks.append(f"{FROM_BEST} from {comparison.best}, the best here (corrected for {n_of(n_pairs, 'pair')})")
    if marks:
        ratio = comparison.test_to_train
        test = "t-test" if ratio is None else f"corrected resampled t-test with n_test/n_train = {ratio:.3g}"
        lines.append(f"Marks of a significant difference of the worst-class error: {', '.join(marks)}.")
        lines.append(f"Two-sided {test}, paired over seeds; p at most {ALPHA:g} after Holm's correction.")
        lines.append(f"The claim holds {CLAIMS[comparison.seeds_change]}.")
    elif comparison.pairs:
        lines.append(f"No difference could be tested: that needs {MIN_SEEDS} seeds and differences that vary.")
    return lines


def note_text(note: Note) -> str:
    """Write a note with its method and seeds."""
    return f"{note.method}, {_seeds(note.seeds)}: {_one_line(note.text, MAX_MESSAGE)}"


def difference_cells(test: PairedTest) -> list[str]:
    """Write a test: method, against which, seeds, difference in points, p, corrected p."""
    difference = "-" if test.mean_difference is None else f"{100 * test.mean_difference:+.1f}"
    if test.p is None or test.p_corrected is None:
        return [test.a, test.b, str(test.n), difference, "not testable", "-"]
    p, corrected = ("<0.0001" if p < 0.0001 else f"{p:.3g}" for p in (test.p, test.p_corrected))
    return [test.a, test.b, str(test.n), difference, p, corrected + (" (significant)" if test.significant else "")]


def _facts(comparison: Comparison) -> list[str]:
    lines = [f"- data: {inline(comparison.data)}, {_seeds(comparison.seeds)}"]
    alike: dict[str, list[str]] = {}
    for method, values in comparison.settings.items():
        alike.setdefault(json.dumps(values), []).append(method)
    for settings, methods in alike.items():
        code = _one_line(settings).replace("`", "'")
        lines += [f"- settings of {inline(', '.join(methods))}: `{code}`"]
    if len(comparison.provenance) > 1:
        lines += ["- the cells were not all made by the same versions, commit or machine:"]
    return [*lines, *(f"- {made}" for made in comparison.provenance)]


def _percent(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    sd = "" if spread.sd is None else f" ± {100 * spread.sd:.1f}"
    return f"{100 * spread.mean:.1f}{sd}"


def _amount(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _seeds(seeds: Sequence[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(str(seed) for seed in seeds)}"


def _one_line(text: str, most: int | None = None) -> str:
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else f"{line[: most - 1]}…"
