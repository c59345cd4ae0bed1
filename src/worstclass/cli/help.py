"""Help that fits one screen of 80 by 40: options in groups, one line each, and those rarely needed only by name."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand
from typer.models import OptionInfo

#: title -> parameters; others are options of the command itself
GROUPS = {
    "Data": (
        "model", "data", "file", "name", "target", "ignore", "id_", "root", "image_size", "skip_corrupt", "val_share",
        "test_share", "max_rows", "max_test_rows", "chunk_rows", "size", "split",
    ),
    "Training": (
        "network", "lr", "batch_size", "start", "optimizer_state", "gamma", "n_rounds", "extend",
        "max_epochs_per_round", "patience", "weighting", "max_epochs", "max_seconds", "budget", "jobs", "cluster",
        "seed",
    ),
    "Other": ("config", "json", "quiet", "overwrite", "help"),
}  # fmt: skip
#: the title of the others, which comes after the first
OWN = "Options"
#: parameters of which a long help shows only the names
RARE = frozenset(
    {
        "root", "image_size", "skip_corrupt", "max_rows", "max_test_rows", "chunk_rows", "lr", "batch_size", "start",
        "optimizer_state", "gamma", "extend", "max_epochs_per_round", "patience", "weighting", "select_on", "cluster",
        "allow_equal_rows", "resolution", "proving", "margin", "input_type", "certificate",
    }
)  # fmt: skip
#: lines and columns of the screen, and of the names of options
LINES, COLUMNS, NAMES = 40, 80, 24
#: what stands for the value of an option, by its type
METAVARS = {int: "N", float: "X", Path: "PATH"}
#: under which the context says that all options are wanted
ALL = "worstclass.help_all"


class OneScreenCommand(TyperCommand):
    """A command whose ``--help`` fits one screen; ``--help-all`` explains every option."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options in groups; if that is too long, those that are rarely needed only by name."""
        params = [param for param in self.get_params(ctx) if not getattr(param, "hidden", False)]
        written = formatter.getvalue().count("\n")
        rare = [param for param in params if param.name in RARE]
        lines = list(_lines(params))
        if not ctx.meta.get(ALL) and written + 1 + len(lines) > LINES and rare:
            lines = list(_lines([param for param in params if param not in rare]))
            names = " ".join(max(param.opts, key=len) for param in rare)
            more = f"More, explained by --help-all: {names}"
            lines += textwrap.wrap(more, COLUMNS, subsequent_indent="  ", break_on_hyphens=False)
        formatter.write("\n".join(["", *lines, ""]))


def show_all(context: typer.Context, wanted: bool) -> None:
    """Show help with every option, and end."""
    if wanted and not context.resilient_parsing:
        context.meta[ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _lines(params: list[Any]) -> Iterator[str]:
    """Yield titles and one line or more for each parameter."""
    by_title: dict[str, list[Any]] = {title: [] for title in ("Data", OWN, *GROUPS)}
    titles = {name: title for title, names in GROUPS.items() for name in names}
    for param in params:
        by_title[titles.get(param.name, OWN)].append(param)
    if {param.name for param in by_title["Training"]} <= {"network", "seed"}:  # of a command that trains nothing
        by_title["Other"] = [*by_title.pop("Training"), *by_title["Other"]]
    for title, found in by_title.items():
        if found:
            yield f"{title}:"
        for param in found:
            yield from _entry(param)


def _entry(param: Any) -> list[str]:
    """Return a parameter as names and help, in two columns."""
    name, text = _names(param), param.help or ""
    if param.required and param.param_type_name == "option":
        text += " [required]"
    elif isinstance(param.default, str | int | float) and not isinstance(param.default, bool) and param.show_default:
        text += f" [{param.default}]"
    width = COLUMNS - NAMES - 3
    wrapped = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
    indent = " " * (NAMES + 3)
    first = [f"  {name:<{NAMES}} {wrapped[0]}"] if len(name) <= NAMES else [f"  {name}", indent + wrapped[0]]
    return [*first, *(indent + line for line in wrapped[1:])]


def _names(param: Any) -> str:
    """Return what one types: the option with what stands for its value, or the argument."""
    if param.param_type_name == "argument":
        return str(param.metavar or param.name.upper())
    names = ", ".join(sorted(param.opts, key=len))
    return names if param.is_flag else f"{names} {param.metavar or 'TEXT'}"


def with_metavar(annotation: Any) -> Any:
    """Return the annotation of an option; what stands for its value in help is set by its type where none is given."""
    kind, *more = get_args(annotation) or (annotation,)
    for option in more:
        if isinstance(option, OptionInfo) and option.metavar is None:
            option.metavar = _metavar(kind)
    return annotation


def _metavar(kind: Any) -> str | None:
    """Return what stands for a value of a type, or of the first known type of a union; None for text."""
    if get_origin(kind) is Literal:
        return "|".join(map(str, get_args(kind)))
    return METAVARS.get(kind) or next((text for one in get_args(kind) if (text := _metavar(one))), None)
