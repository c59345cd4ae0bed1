"""``worstclass reproduce``: the paper's tables and figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worstclass.cli import complete
from worstclass.cli import options as opt
from worstclass.cli.console import OptionError, note, refuse_given, say, tell
from worstclass.cli.resume import remember
from worstclass.cli.settings import write_settings
from worstclass.exceptions import UnknownNameError

if TYPE_CHECKING:
    from worstclass.experiments.paper import Target
    from worstclass.experiments.reproduction import Reproduction

TargetName = Annotated[
    str | None,
    typer.Argument(
        metavar="TARGET",
        help="Name of a table or figure, or all.",
        show_default=False,
        autocompletion=complete.targets,
    ),
]
Scale = Annotated[
    Literal["paper", "cpu", "smoke"],
    typer.Option(help="The paper's settings, a night on 2 cores, or seconds."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for results, tables and figures.")]
Seeds = Annotated[int | None, typer.Option(help="Number of draws or splits [that of the scale].", min=1)]
Data = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Data sets to train on, such as discs-10,squares [all of TARGET]."),
]
Methods = Annotated[str | None, typer.Option(metavar="LIST", help="Rows of your own: +file.py:factory.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Train again what has other settings.")]
ReportOnly = Annotated[bool, typer.Option("--report-only", help="Train nothing; show what is finished.")]


def reproduce(
    target: TargetName = None,
    *,
    scale: Scale = "cpu",
    out: Out = Path("reproduction"),
    root: opt.Root = None,
    data: Data = None,
    seeds: Seeds = None,
    methods: Methods = None,
    jobs: opt.Jobs = None,
    cluster: opt.Cluster = None,
    overwrite: Overwrite = False,
    report_only: ReportOnly = False,
    quiet: opt.Quiet = False,
) -> int:
    """Make the paper's tables and figures.

    Without TARGET, list them with their cost and what is finished. The same command continues an interrupted run.

    Exit code 0: done. 1: done, but a training failed. 2: bad input. 130: interrupted, results so far are kept.

    Example: worstclass reproduce table1 --scale cpu --jobs 2
    """
    from worstclass.cli.model import own_methods
    from worstclass.experiments.paper import TARGETS, find_target
    from worstclass.experiments.reproduction import Reproduction
    from worstclass.report.page import write_page

    own, others = own_methods(methods or "")
    if others:
        raise OptionError(f"--methods must be +path/to/file.py:factory. Got {', '.join(others)}.")

    def work_of(chosen: Target) -> Reproduction:
        return Reproduction(chosen, scale, out / scale, root, seeds, own if chosen.takes_rows else ())

    if target is None:
        refuse_given(["data"] if data else [], "it names data sets of TARGET, which is missing.")
        found = [progress_of(work_of(one)) for one in TARGETS.values()]
        tell({"targets": found})
        say("\n".join(listing(found)))
        return 0
    chosen = list(TARGETS.values()) if target == "all" else [find_target(target)]
    trained = None if data is None else _data_names(data, chosen)
    _refuse_absent([] if report_only else map(work_of, chosen), trained or ())
    remember(out)
    write_settings(out)
    made = []
    for one in chosen:
        work = work_of(one)
        if not work.problems:
            reasons = "\n".join(f"{title}: {why}" for title, why in work.absent.items())
            if len(chosen) == 1:
                raise OptionError(f"{one.name}: none of its data sets is here (--root).\n{reasons}")
            note(f"{one.name} is left out: none of its data sets is here.", quiet=quiet)
            continue
        if own and not work.own:
            note(f"{one.name} has no place for a row of --methods.", quiet=quiet)
        options = {"data": trained, "n_jobs": jobs, "cluster": cluster, "overwrite": overwrite}
        try:
            made.append(_make(work, None if report_only else options, quiet=quiet))
        except KeyboardInterrupt:
            kept = f"The finished cells are kept in {work.cells_folder}; the same command continues from there"
            note(f"{kept}, and --report-only makes a table of them.")
            return 130
    page = write_page(out) if any(one["files"] for one in made) else None
    tell({"targets": made, "report": page})
    if page is not None:
        say(f"report: {page}")
    return 1 if any(one["failed"] for one in made) else 0


def _data_names(text: str, targets: list[Target]) -> list[str]:
    """Return the names of data sets in a list with commas; a name that no target has is refused."""
    known = list(dict.fromkeys(name for target in targets for name in target.problems))
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            raise UnknownNameError("--data", "reproduce", name, known)
    return names


def _refuse_absent(works: Iterable[Reproduction], names: Sequence[str]) -> None:
    """Refuse to train on named data sets that are not here."""
    from worstclass.experiments.paper_problems import PROBLEMS

    asked = [PROBLEMS[name].title for name in names]
    for work in works:
        if gone := [f"{title}: {why}" for title, why in work.absent.items() if title in asked]:
            raise OptionError("\n".join([f"{work.target.name}: data sets of --data are not here (--root).", *gone]))


def _make(work: Reproduction, options: dict[str, Any] | None, *, quiet: bool) -> dict[str, Any]:
    """Train what is missing of a target, unless the options are None, and write its tables or figure.

    Return its name, the number of trainings that failed, and the files.
    """
    from worstclass._checks import optional_packages
    from worstclass.cli.progress import training_lines
    from worstclass.report.paper import differences, table_text, write_tables

    if work.target.is_figure:  # before hours of training
        with optional_packages(work.target.name):
            from worstclass.report.paper_figures import write_figure
    work.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    if options is not None:
        with training_lines(quiet) as show:
            failed = sum(result.error is not None for result in work.run(show, **options))
    results, refused = work.results()
    if work.target.is_figure:
        files = write_figure(work, results)
        lines = [f"{work.target.name}: {work.target.title}", *differences(work)]
        lines += [] if files else ["Nothing is drawn: the results that it needs are missing."]
    else:
        tables = work.tables(results)
        files = write_tables(work, tables, results, refused)
        lines = [table_text(work, tables)]
    say("\n".join([*lines, *refused, *(f"written: {file}" for file in files)]))
    return {"target": work.target.name, "failed": failed, "files": list(map(str, files))}


def progress_of(work: Reproduction) -> dict[str, Any]:
    """Return what a target shows, how many of its cells are finished, and the seconds for the rest, ready for JSON."""
    from worstclass.experiments.cells import seconds_left

    target, cells, (results, _) = work.target, work.cells(), work.results()
    facts = {"target": target.name, "alias": target.alias, "shows": target.title, "absent_data": list(work.absent)}
    left = seconds_left(work.cells(trainable=True), results)
    return {**facts, "cells": len(cells), "finished": len(results), "seconds_left": left}


def listing(found: list[dict[str, Any]]) -> list[str]:
    """Return one line a target: what it shows, how many cells are finished, and the time for the rest."""
    from worstclass._text import duration, text_table

    rows = []
    for one in found:
        finished, cells, left = one["finished"], one["cells"], one["seconds_left"]
        done = f"{finished} of {cells}" if cells else "-"
        rest = "-" if finished == cells else "not measured" if left is None else duration(left)
        absent = f" ({len(one['absent_data'])} of its data sets not found)" if one["absent_data"] else ""
        rows.append([one["target"], one["alias"], f"{one['shows']}{absent}", done, rest])
    head = ["target", "or", "shows", "finished", "time left"]
    note = "Time left: on one core, by the cells of the same kind that are finished."
    return [*text_table(head, rows, left=(0, 1, 2)), "", note]
