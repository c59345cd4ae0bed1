"""``worstclass datasets``: list the named data sets, check one, get one.

Exit codes of ``check``: 0 the files are the official ones; 1 something differs or is damaged; 2 files are missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from worstclass.cli import complete
from worstclass.cli.console import bars, say, say_table, tell
from worstclass.cli.help import OneScreenCommand
from worstclass.cli.options import Quiet, Root, expanded
from worstclass.exceptions import DatasetError

if TYPE_CHECKING:
    from worstclass.data.files import DatasetCheck

datasets_app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(help="Name of a data set.", autocompletion=complete.datasets)]
Size = Annotated[int | None, typer.Option(help="Pixels of a MedMNIST set: 28, 64, 128 or 224.")]
Split = Annotated[str | None, typer.Option(help="EMNIST: byclass, bymerge, balanced, letters, digits or mnist.")]
Mirror = Annotated[
    str | None, typer.Option("--from", metavar="URL", help="Folder that has the files by their official names.")
]


def list_datasets(context: typer.Context, root: Root = None) -> None:
    """List the named data sets; check or get one.

    Their classes, the rows of each part, and where their files are.

    Example: worstclass datasets
    """
    if context.invoked_subcommand is not None:
        if root is not None:
            raise typer.BadParameter("write it behind the command: worstclass datasets check NAME --root DIR")
        return
    from worstclass.data.facts import data_root, find
    from worstclass.data.registry import DATASETS

    rows, facts = [], []
    for dataset in DATASETS.values():
        try:
            found = find(dataset, root)
            where = "built in" if found is None else str(found.path)
        except DatasetError:
            where = "-"
        parts = (f"{dataset.rows[part]:,}" if part in dataset.rows else "-" for part in ("train", "val", "test"))
        rows.append((dataset.name, str(dataset.n_classes), " / ".join(parts), where))
        known = {"name": dataset.name, "classes": dataset.n_classes, "rows": dict(dataset.rows)}
        facts.append({**known, "where": None if where == "-" else where, "summary": dataset.summary})
    tell({"root": str(data_root(root)), "datasets": facts})
    say_table(("name", "classes", "train / val / test", "where"), rows, left=(0, 3))
    say(f"\nfiles are looked for in {data_root(root)}; get those of a set with: worstclass datasets get NAME")


def check(name: Name, root: Root = None, size: Size = None, split: Split = None) -> int:
    """Compare the files of a data set with the official ones: checksums, and rows of each class and part.

    Exit code 0: as published. 1: something differs or is damaged. 2: files are missing.

    Example: worstclass datasets check cifar10
    """
    from worstclass.data.files import UNKNOWN, check_dataset

    result = check_dataset(name, root, **_variant(size, split))
    dataset, counts = result.dataset, {part: count.tolist() for part, count in result.counts.items()}
    files = {str(path): verdict for path, verdict in result.files.items()}
    tell({"name": dataset.name, "files": files, "counts": counts, "problems": list(map(str, result.problems))})
    facts = {"licence": dataset.licence, "cite": dataset.citation}
    lines = [f"{dataset.name}: {dataset.summary}", *(f"{title}: {text}" for title, text in facts.items() if text)]
    say("\n".join([*lines, *(f"{path}: {verdict}" for path, verdict in result.files.items())]))
    _show_counts(result)
    if result.problems:
        say("\n".join(f"differs: {problem}" for problem in result.problems))
        return 1
    unknown = list(result.files.values()).count(UNKNOWN)
    say(f"rows as published; no checksum is known of {unknown} file(s)" if unknown else "all as published")
    return 0


def get(
    name: Name,
    root: Root = None,
    size: Size = None,
    split: Split = None,
    mirror: Mirror = None,
    quiet: Quiet = False,
) -> None:
    """Download the files of a data set and check them; an interrupted download is continued.

    Example: worstclass datasets get fashion-mnist
    """
    from worstclass.data.files import get_dataset
    from worstclass.data.registry import named_dataset

    dataset = named_dataset(name, **_variant(size, split))
    if dataset.built_in:
        tell({"files": []})
        say(f"{name} needs no files: it is drawn, or comes with scikit-learn")
        return
    say(f"licence: {dataset.licence}")
    with bars(quiet, lines=True) as show:
        paths = get_dataset(dataset, root, mirror=mirror, progress=show)
    tell({"files": list(map(str, paths)), "licence": dataset.licence})
    for path in paths:
        say(str(path))


datasets_app.callback(invoke_without_command=True)(expanded(list_datasets, config=False))
for function in (check, get):
    datasets_app.command(cls=OneScreenCommand)(expanded(function))


def _variant(size: int | None, split: str | None) -> dict[str, Any]:
    return {key: value for key, value in (("size", size), ("split", split)) if value is not None}


def _show_counts(result: DatasetCheck) -> None:
    dataset, counts = result.dataset, list(result.counts.values())
    names = dataset.class_names or tuple(str(label) for label in range(dataset.n_classes))
    rows = [[name, *(f"{count[label]:,}" for count in counts)] for label, name in enumerate(names)]
    rows.append(["all", *(f"{int(count.sum()):,}" for count in counts)])
    say_table(["class", *result.counts], rows)
