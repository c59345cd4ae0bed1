"""``worstclass reproduce``: the paper's tables and figures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worstclass.cli import options as opt
from worstclass.cli.console import OptionError, say
from worstclass.cli.resume import remember

if TYPE_CHECKING:
    from worstclass.experiments.paper import Target
    from worstclass.experiments.reproduction import Reproduction

TargetName = Annotated[
    str | None, typer.Argument(metavar="TARGET", help="Name of a table or figure, or all.", show_default=False)
]
Scale = Annotated[
    Literal["paper", "cpu", "smoke"],
    typer.Option(help="paper: its settings; cpu: what 2 cores finish overnight; smoke: seconds, to try it."),
]
Out = Annotated[Path, typer.Option(help="Folder for results, tables and figures; each scale has a folder in it.")]
Root = Annotated[Path | None, typer.Option(help="Folder of the data sets (default: see worstclass datasets).")]
Seeds = Annotated[int | None, typer.Option(help="Number of draws or splits, instead of that of the scale.", min=1)]
Methods = Annotated[str | None, typer.Option(help="Rows of your own: +path/to/file.py:factory, with commas between.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Train again what was made with other settings.")]
ReportOnly = Annotated[bool, typer.Option("--report-only", help="Train nothing; write tables of what is finished.")]


def reproduce(
    target: TargetName = None,
    *,
    scale: Scale = "cpu",
    out: Out = Path("reproduction"),
    root: Root = None,
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

    own, others = own_methods(methods or "")
    if others:
        raise OptionError(f"--methods must be +path/to/file.py:factory. Got {', '.join(others)}.")

    def work_of(chosen: Target) -> Reproduction:
        return Reproduction(chosen, scale, out / scale, root, seeds, own if chosen.takes_rows else ())

    if target is None:
        say("\n".join(listing([work_of(one) for one in TARGETS.values()])))
        return 0
    chosen = list(TARGETS.values()) if target == "all" else [find_target(target)]
    remember(out)
    codes = []
    for one in chosen:
        work = work_of(one)
        if not work.problems:
            reasons = "\n".join(f"{title}: {why}" for title, why in work.absent.items())
            if len(chosen) == 1:
                raise OptionError(f"{one.name}: none of its data sets is here (--root).\n{reasons}")
            say(f"{one.name} is left out: none of its data sets is here.")
            continue
        if own and not work.own:
            say(f"{one.name} has no place for a row of --methods.", quiet=quiet)
        options = {"n_jobs": jobs, "cluster": cluster, "overwrite": overwrite}
        codes.append(_make(work, None if report_only else options, quiet=quiet))
        if codes[-1] == 130:
            break
    return max(codes, default=0)


def _make(work: Reproduction, options: dict[str, Any] | None, *, quiet: bool) -> int:
    """Train what is missing of a target, unless the options are None, and write its tables or figure."""
    from worstclass.report.paper import differences, table_text, write_tables

    work.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    if options is not None:
        try:
            made = work.run(partial(say, quiet=quiet), **options)
        except KeyboardInterrupt:
            say(
                f"The finished cells are kept in {work.cells_folder}; the same command continues from there, and "
                "--report-only makes a table of them."
            )
            return 130
        failed = sum(result.error is not None for result in made)
    results, refused = work.results()
    if work.target.is_figure:
        from worstclass.report.paper_figures import write_figure

        files = write_figure(work, results)
        lines = [f"{work.target.name}: {work.target.title}", *differences(work)]
        lines += [] if files else ["Nothing is drawn: the results that it needs are missing."]
    else:
        tables = work.tables(results)
        files = write_tables(work, tables, results, refused)
        lines = [table_text(work, tables)]
    say("\n".join([*lines, *refused, *(f"written: {file}" for file in files)]))
    return 1 if failed else 0


def listing(works: list[Reproduction]) -> list[str]:
    """Return one line a target: what it shows, how many cells are finished, and the time for the rest."""
    from worstclass._text import duration, text_table
    from worstclass.experiments.cells import seconds_left

    rows = []
    for work in works:
        cells, (results, _) = work.cells(), work.results()
        left = seconds_left(cells, results)
        done = f"{len(results)} of {len(cells)}" if cells else "-"
        rest = "-" if len(results) == len(cells) else "not measured" if left is None else duration(left)
        absent = f" (without {len(work.absent)} data sets that are not here)" if work.absent else ""
        rows.append([work.target.name, work.target.alias, f"{work.target.title}{absent}", done, rest])
    head = ["target", "or", "shows", "finished", "time left"]
    note = "Time left: on one core, by the cells of the same kind that are finished."
    return [*text_table(head, rows, left=(0, 1, 2)), "", note]
