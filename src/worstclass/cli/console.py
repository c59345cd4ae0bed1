"""Everything the command line prints goes through here: text as it is, without markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from worstclass._text import text_table

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False, quiet: bool = False) -> Console:
    """Return a console; class names that look like markup, emoji or numbers are printed as they are."""
    from rich.console import Console

    return Console(stderr=stderr, quiet=quiet, highlight=False, markup=False, emoji=False, soft_wrap=True)


def say(text: str, style: str | None = None) -> None:
    """Print text."""
    console().print(text, style=style)


def say_json(values: Any) -> None:
    """Print JSON."""
    typer.echo(json.dumps(values, indent=1))


def say_table(head: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[int] = (0,)) -> None:
    """Print a table."""
    say("\n".join(text_table(head, rows, left=left)))


def warn(message: object) -> None:
    """Print a warning in one line on the standard error stream."""
    from worstclass.cli.errors import in_options

    console(stderr=True).print(f"warning: {in_options(' '.join(str(message).split()))}", style="yellow")


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print Python's warnings in one line each, without the place in the source."""
    import warnings

    from worstclass.exceptions import WorstClassWarning

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        warn(message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", WorstClassWarning)
        warnings.showwarning = show
        yield
