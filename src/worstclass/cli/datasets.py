"""``worstclass datasets``: list the named data sets, check one, get one.

Exit codes of ``check``: 0 the files are the official ones; 1 something differs or is damaged; 2 files are missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from worstclass.data.check import DatasetCheck
    from worstclass.data.facts import NamedDataset

datasets_app = typer.Typer(help="List the named data sets, check one, get one.", pretty_exceptions_enable=False)

Name = Annotated[str, typer.Argument(help="A data set's name.")]
Root = Annotated[
    Path | None, typer.Option(help="Folder of the data sets (WORSTCLASS_DATA, or a folder in the user's cache).")
]
Size = Annotated[int | None, typer.Option(help="Pixels of a MedMNIST set: 28, 64, 128 or 224.")]
Split = Annotated[
    str | None, typer.Option(help="Grouping of EMNIST: byclass, bymerge, balanced, letters, digits or mnist.")
]


@datasets_app.callback(invoke_without_command=True)
def list_datasets(context: typer.Context, root: Root = None) -> None:
    """List the named data sets: classes, rows of train / val / test, and where their files are."""
    if context.invoked_subcommand is not None:
        if root is not None:
            raise typer.BadParameter("write it behind the command: worstclass datasets check NAME --root DIR")
        return
    from worstclass.data.locate import data_root, locate
    from worstclass.data.registry import DATASETS

    rows = [("name", "classes", "train / val / test", "where")]
    for dataset in DATASETS.values():
        found = None if dataset.built_in else locate(dataset, root)
        where = "built in" if dataset.built_in else "-" if found is None else str(found.tree.path)
        rows.append((dataset.name, str(dataset.n_classes), _counts(dataset), where))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, classes, counts, where in rows:
        typer.echo(f"{name:<{widths[0]}}  {classes:>{widths[1]}}  {counts:>{widths[2]}}  {where}")
    typer.echo(f"\nfiles are looked for in {data_root(root)}; get those of a set with: worstclass datasets get NAME")


@datasets_app.command()
def check(name: Name, root: Root = None, size: Size = None, split: Split = None) -> None:
    """Compare the files of a data set with the official ones: checksums, and rows of each class and part."""
    from worstclass.data.check import UNKNOWN, check_dataset

    result = check_dataset(name, root, **_variant(size, split))
    dataset = result.dataset
    typer.echo(f"{dataset.name}: {dataset.summary}")
    for title, text in (("licence", dataset.licence), ("cite", dataset.citation), ("home", dataset.homepage)):
        if text:
            typer.echo(f"{title}: {text}")
    for file in result.files:
        typer.echo(f"{file.path}: {file.verdict}")
    _show_counts(result)
    for problem in result.problems:
        typer.echo(f"differs: {problem}")
    if result.problems:
        raise typer.Exit(1)
    unknown = sum(file.verdict == UNKNOWN for file in result.files)
    typer.echo(f"rows as published; no checksum is known of {unknown} file(s)" if unknown else "all as published")


@datasets_app.command()
def get(
    name: Name,
    root: Root = None,
    size: Size = None,
    split: Split = None,
    mirror: Annotated[
        str | None, typer.Option("--from", help="Address of a folder that has the files under their official names.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
) -> None:
    """Download the files of a data set, going on where an earlier try ended, and check what came."""
    from worstclass.data.download import get_dataset
    from worstclass.data.registry import named_dataset

    dataset = named_dataset(name, **_variant(size, split))
    if dataset.built_in:
        typer.echo(f"{name} needs no files: it is drawn, or comes with scikit-learn")
        return
    typer.echo(f"licence: {dataset.licence}")
    with _Bars(quiet) as bars:
        paths = get_dataset(dataset, root, mirror=mirror, progress=bars.show)
    for path in paths:
        typer.echo(str(path))


def _variant(size: int | None, split: str | None) -> dict[str, Any]:
    return {key: value for key, value in (("size", size), ("split", split)) if value is not None}


def _counts(dataset: NamedDataset) -> str:
    return " / ".join(f"{dataset.rows[part]:,}" if part in dataset.rows else "-" for part in ("train", "val", "test"))


def _show_counts(result: DatasetCheck) -> None:
    names = result.dataset.class_names or tuple(str(label) for label in range(result.dataset.n_classes))
    parts = list(result.counts)
    width = max(len(name) for name in ("class", *names))
    typer.echo(f"{'class':<{width}}" + "".join(f"{part:>10}" for part in parts))
    for label, name in enumerate(names):
        counts = [result.counts[part] for part in parts]
        shown = [f"{count[label]:>10,}" if label < len(count) else f"{'-':>10}" for count in counts]
        typer.echo(f"{name:<{width}}" + "".join(shown))
    typer.echo(f"{'all':<{width}}" + "".join(f"{int(result.counts[part].sum()):>10,}" for part in parts))


class _Bars:
    """A bar for each file, on the standard error stream."""

    def __init__(self, quiet: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            console=Console(stderr=True, quiet=quiet),
        )
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def show(self, name: str, done: int, total: int | None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total)
        self._progress.update(self._tasks[name], completed=done, total=total)
