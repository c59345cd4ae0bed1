"""Text tables, also as HTML for notebooks, percentages and numbers with nouns, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from html import escape
from typing import NamedTuple


class TextTable(NamedTuple):
    """A table with lines of text below it.

    Attributes
    ----------
    head, rows, left : as in ``text_table``.
    lines : what follows the table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)
    lines: Sequence[str] = ()


class Shown:
    """Mixin of records that are a table with lines below it: text for terminals, HTML for notebooks, a short repr."""

    def _table(self) -> TextTable:
        raise NotImplementedError

    def _headline(self) -> str:
        """Return what the short representation says."""
        return self._table().lines[0]

    def __str__(self) -> str:
        table = self._table()
        return "\n".join([*text_table(table.head, table.rows, left=table.left), *table.lines])

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._headline()}>"

    def _repr_html_(self) -> str:
        table = self._table()

        def line(tag: str, cells: Sequence[str]) -> str:
            sides = ("left" if column in table.left else "right" for column in range(len(cells)))
            shown = zip(cells, sides, strict=True)
            return "".join(f'<{tag} style="text-align:{side}">{escape(cell.strip())}</{tag}>' for cell, side in shown)

        body = "".join(f"<tr>{line('td', row)}</tr>" for row in table.rows)
        below = "<br>".join(escape(text) for text in "\n".join(table.lines).strip().splitlines())
        return f"<table><thead><tr>{line('th', table.head)}</tr></thead><tbody>{body}</tbody></table><p>{below}</p>"


def text_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (0,)) -> list[str]:
    r"""Align cells in columns, two spaces apart; return one line for the head and one per row.

    Parameters
    ----------
    head : titles of the columns.
    rows : cells, as many in each row as there are titles.
    left : columns that are aligned to the left; the others are aligned to the right and at least 7 wide.

    Examples
    --------
    >>> print("\n".join(text_table(["class", "error"], [["benign", "1.5%"], ["malignant", "40.0%"]])))
    class        error
    benign        1.5%
    malignant    40.0%
    """
    lines = [list(head), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    widths = [width if column in left else max(width, 7) for column, width in enumerate(widths)]

    def aligned(line: list[str]) -> str:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [aligned(line) for line in lines]


def percent(rate: float | None, *, absent: str = "-") -> str:
    """Write a rate in [0, 1] as a percentage with one decimal."""
    return absent if rate is None else f"{rate:.1%}"


def n_of(count: int, noun: str) -> str:
    """Write a number with its noun.

    Examples
    --------
    >>> n_of(1, "row"), n_of(1200, "more row")
    ('1 row', '1,200 more rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def duration(seconds: float) -> str:
    """Write a time as seconds, or as hours, minutes and seconds.

    Examples
    --------
    >>> duration(3.21), duration(75), duration(3605.4)
    ('3.2 s', '0:01:15', '1:00:05')
    """
    return f"{seconds:.1f} s" if seconds < 60 else str(timedelta(seconds=round(seconds)))
