"""The paper's tables as text, Markdown, CSV and LaTeX: the paper's figure, ours, and the difference."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from worstclass._text import duration, text_table
from worstclass.experiments.cells import CellResult
from worstclass.experiments.paper_tables import Detail, Table, Value
from worstclass.experiments.reproduction import Reproduction
from worstclass.report.summary import inline, markdown_table

LEGEND = (
    "Errors in percent. Where the paper has a figure: paper / here ± standard error over the seeds (difference); "
    "elsewhere: here ± standard error."
)

#: heads of the table of details
DETAILS = (
    "data", "row", "seeds", "largest mean", "difference to Ours", "epochs", "members", "time", "bound met", "chosen",
)  # fmt: skip


def value_text(value: Value) -> str:
    """Write a value: paper / here ± standard error (difference).

    Examples
    --------
    >>> value_text(Value(28.1, {0: 29.0, 1: 31.0})), value_text(Value(None, {0: 29.0})), value_text(Value(28.1, {}))
    ('28.1 / 30.0 ± 1.0 (+1.9)', '29.0', '28.1 / -')
    """
    here = "-" if value.mean is None else f"{value.mean:.1f}"
    here += "" if value.error is None else f" ± {value.error:.1f}"
    if value.paper is None:
        return here
    difference = "" if value.difference is None else f" ({value.difference:+.1f})"
    return f"{value.paper:.1f} / {here}{difference}"


def table_lines(table: Table) -> list[str]:
    """Write a table for the terminal: one line a value where lines would be long, else one line a row."""
    groups = dict.fromkeys(column.group for column in table.columns)
    if len(groups) == 1 and len(table.columns) <= 4:
        head = ["", *(column.metric for column in table.columns)]
        return text_table(head, [[row.label, *map(value_text, row.values)] for row in table.rows])
    lines: list[str] = []
    for group in groups:
        chosen = [k for k, column in enumerate(table.columns) if column.group == group]
        head = [group, *(table.columns[k].metric for k in chosen)]
        cells = [[row.label, *(value_text(row.values[k]) for k in chosen)] for row in table.rows]
        lines += [*text_table(head, cells), ""]
    return lines[:-1]


def table_text(work: Reproduction, tables: Sequence[Table]) -> str:
    """Write the tables of a target for the terminal, with what differs from the paper."""
    lines: list[str] = []
    for table in tables:
        lines += [f"{table.name}: {table.title}", "", *table_lines(table), ""]
    return "\n".join([*lines, LEGEND, *differences(work)])


def table_markdown(
    work: Reproduction, tables: Sequence[Table], results: Sequence[CellResult] = (), refused: Sequence[str] = ()
) -> str:
    """Write the tables of a target as Markdown: in the paper's layout, then what else is known of every row.

    ``results`` say which versions made them; ``refused`` are lines on files that were left out.
    """
    lines: list[str] = [f"# {work.target.name}: {work.target.title}", ""]
    for table in tables:
        if len(tables) > 1:
            lines += [f"## {table.title}", ""]
        heads = [f"{column.group}: {column.metric}" for column in table.columns]
        rows = [
            [f"**{inline(row.label)}**" if row.ours else inline(row.label), *map(value_text, row.values)]
            for row in table.rows
        ]
        lines += [*markdown_table(["", *heads], rows), ""]
    lines += [LEGEND, ""]
    details = [detail for table in tables for detail in table.details]
    if details:
        lines += [
            "## Rows in detail",
            "",
            "Largest mean: the largest of the class errors after each was averaged over the seeds, which the paper may "
            "have printed as the worst-class error. Difference: worst-class error minus that of Ours, same seeds. "
            "Bound met: seeds on which every class met its floor on the training rows.",
            "",
            *markdown_table(
                [*DETAILS],
                [_detail_cells(detail) for detail in details],
            ),
            "",
        ]
    made = dict.fromkeys(f"Made by {result.provenance}." for result in results)
    lines += ["## Settings", "", *(f"- {line}" for line in [*differences(work), *made, *refused])]
    return "\n".join(lines) + "\n"


def differences(work: Reproduction) -> list[str]:
    """Say what was changed from the paper's settings, and what could not be had."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for problem in work.problems:
        changed = work.reductions(problem)
        alike.setdefault(tuple(changed), []).append(problem.name)
    lines = []
    for changes, names in alike.items():
        text = "; ".join(changes) or "the settings of the paper"
        lines.append(f"Scale {work.scale}, {', '.join(names)}: {text}.")
    shown = {problem.title for problem in work.problems}
    lines += [f"{title} is not here: {why}" for title, why in work.absent.items() if title not in shown]
    lines += [f"{title} is shown from finished cells. {why}" for title, why in work.absent.items() if title in shown]
    return lines


def table_csv(tables: Sequence[Table]) -> str:
    """Write one line a value, with all digits."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["table", "row", "group", "metric", "paper", "here", "standard_error", "seeds", "difference"])
    for table in tables:
        for row in table.rows:
            for column, value in zip(table.columns, row.values, strict=True):
                numbers = [value.paper, value.mean, value.error, len(value.by_seed), value.difference]
                shown = ["" if number is None else repr(number) for number in numbers]
                writer.writerow([table.name, row.label, column.group, column.metric, *shown])
    return file.getvalue()


def table_latex(tables: Sequence[Table]) -> str:
    """Write the tables in the paper's layout for LaTeX; the least value of every column is bold."""
    return "\n".join(_latex(table) for table in tables)


def write_tables(
    work: Reproduction, tables: Sequence[Table], results: Sequence[CellResult], refused: Sequence[str] = ()
) -> list[Path]:
    """Write the files of a target's tables; return their paths."""
    texts: Mapping[str, str] = {
        ".md": table_markdown(work, tables, results, refused),
        ".csv": table_csv(tables),
        ".tex": table_latex(tables),
    }
    files = []
    for ending, text in texts.items():
        file = work.folder / f"{work.target.name}{ending}"
        file.write_text(text, encoding="utf-8")
        files.append(file)
    return files


def _detail_cells(detail: Detail) -> list[str]:
    error = "" if detail.difference_error is None else f" ± {detail.difference_error:.1f}"
    difference = "-" if detail.difference is None else f"{detail.difference:+.1f}{error}"
    amounts = ["-" if value is None else f"{value:,.0f}" for value in (detail.epochs, detail.n_members)]
    time = "-" if detail.seconds is None else duration(detail.seconds)
    met = "-" if detail.bound_met is None else "{} of {}".format(*detail.bound_met)
    chosen = ", ".join(f"{name} ({n})" for name, n in detail.chosen.items()) or "-"
    known = [detail.problem, detail.row, str(detail.n), f"{detail.largest_mean:.1f}", difference]
    return [*known, *amounts, time, met, chosen]


def _latex(table: Table) -> str:
    groups = [(group, len(list(columns))) for group, columns in itertools.groupby(c.group for c in table.columns)]
    best = [
        min((v.mean for row in table.rows if (v := row.values[k]).mean is not None), default=None)
        for k in range(len(table.columns))
    ]
    spans = " & ".join(rf"\multicolumn{{{n}}}{{c}}{{{_escaped(group)}}}" for group, n in groups)
    metrics = " & ".join(_escaped(column.metric) for column in table.columns)
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_escaped(table.title[0].upper() + table.title[1:])}. Paper / here, errors in \%.}}",
        rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
        r"\hline",
        rf" & {spans} \\ \hline",
        rf" & {metrics} \\ \hline",
    ]
    for row in table.rows:
        cells = []
        for value, least in zip(row.values, best, strict=True):
            paper = "--" if value.paper is None else f"{value.paper:.1f}"
            here = "--" if value.mean is None else f"{value.mean:.1f}"
            cells.append(f"{paper} / " + (rf"\textbf{{{here}}}" if least is not None and value.mean == least else here))
        lines.append(rf"{_escaped(row.label)} & {' & '.join(cells)} \\")
    return "\n".join([*lines, r"\hline", r"\end{tabular}", r"\end{table}", ""])


def _escaped(text: str) -> str:
    r"""Write text that LaTeX shows as it is.

    Examples
    --------
    >>> print(_escaped("my_model: 50% & more"))
    my\_model: 50\% \& more
    """
    for character in "\\&%$#_{}":
        text = text.replace(character, r"\textbackslash " if character == "\\" else f"\\{character}")
    return text
