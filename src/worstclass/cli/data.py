"""DATA on the command line: a data set's name, or the path of a file or folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worstclass.cli.console import ConflictingOptions, MissingOption, option_of
from worstclass.cli.options import DataOptions, SplitOptions, numbers_by_class

if TYPE_CHECKING:
    import numpy.typing as npt

    from worstclass.data.sources import Source
    from worstclass.data.splits import Part, Splits

FLOOR = "a number in [0, 1)"
#: share of a file's rows that theta and compare hold out for validation where none is given
VAL_SHARE = 0.2


def is_named(data: str) -> bool:
    """Tell a data set's name from a path; refuse what is neither, with the nearest name."""
    from worstclass.data.registry import DATASETS
    from worstclass.data.sources import ARRAY_SUFFIX, TABLE_SUFFIXES
    from worstclass.exceptions import UnknownNameError

    if data in DATASETS:
        return True
    if Path(data).suffix.lower() in (*TABLE_SUFFIXES, ARRAY_SUFFIX) or Path(data).exists():
        return False
    raise UnknownNameError("DATA", "the command", data, [*DATASETS, "or the path of a file or folder"])


def paper_settings(data: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the paper's settings of a named data set; empty for files."""
    from worstclass.data.registry import named_dataset

    return named_dataset(data).settings if is_named(data) else {}


def class_names(data: str) -> tuple[str, ...]:
    """Return the class names of a named data set; empty for files."""
    from worstclass.data.registry import named_dataset

    return named_dataset(data).class_names if is_named(data) else ()


def floors_by_class(texts: Sequence[str], labels: Any, option: str = "--theta") -> float | dict[Any, float]:
    """Read accuracy floors, and refuse classes that are unknown or without a floor."""
    import numpy as np

    from worstclass.floors import Floors

    classes = np.unique(labels).tolist()
    floors = numbers_by_class(texts, classes, option, FLOOR)
    Floors.from_theta(floors, classes, owner="the command", parameter=option)
    return floors


def floors_given(texts: Sequence[str] | None, data: str, labels: Any) -> float | dict[Any, float]:
    """Return the floors of --theta for the classes of the labels, else the paper's floor of a named data set."""
    if texts:
        return floors_by_class(texts, labels)
    default = paper_settings(data).get("booster", {}).get("theta")
    if default is None:
        raise MissingOption("--theta", "Give the accuracy floor, for example --theta 0.8.")
    return float(default)


def read_rows(options: DataOptions) -> Source:
    """Read the rows of a file or folder."""
    from worstclass.data.sources import TABLE_SUFFIXES, read_source

    is_table = Path(options.data).suffix.lower() in TABLE_SUFFIXES
    if is_table and options.target is None:
        raise MissingOption("--target", "Name the column of the labels, for example --target diagnosis.")
    if options.target is not None and not is_table:
        raise ConflictingOptions("--target", f"{options.data} is not a table.")
    return read_source(
        options.data, target=options.target, image_size=options.image_size, skip_corrupt=options.skip_corrupt
    )


def load_splits(options: SplitOptions, seed: int, *, val_share: float = 0.0, source: Source | None = None) -> Splits:
    """Load a named data set as it is split, or split the rows of a file.

    The labels of a named data set are the names of its classes. ``val_share`` is used if the user gave none, and
    ``source`` if the file is read already. At most ``max_test_rows`` test rows are kept, where there is such an option.
    """
    if is_named(options.data):
        splits = _load_named(options, seed).with_names()
    else:
        share = val_share if options.val_share is None else options.val_share
        splits = (source or read_rows(options)).splits(val=share, test=options.test_share, seed=seed)
    limit = getattr(options, "max_test_rows", None)
    if splits.test is None or limit is None:
        return splits
    return replace(splits, test=at_most(splits.test, limit, seed))


def load_parts(options: DataOptions, classes: npt.NDArray[Any], seed: int) -> dict[str, Part]:
    """Load the parts of a data set for a model of the given classes; a file without parts has one, ``"all"``.

    The labels of a named data set are numbers where the model's are, and the names of its classes otherwise.
    """
    if not is_named(options.data):
        return dict(read_rows(options).parts)
    splits = _load_named(options, seed)
    if classes.dtype.kind not in "iu":
        splits = splits.with_names()
    parts = {name: getattr(splits, name) for name in ("train", "val", "cal", "test")}
    return {name: part for name, part in parts.items() if part is not None}


def _load_named(options: DataOptions, seed: int) -> Splits:
    from worstclass.data.registry import load_dataset

    refuse_for_named(options, "target", "image_size")
    return load_dataset(options.data, options.root, seed=seed)


def refuse_for_named(options: DataOptions, *names: str) -> None:
    """Refuse options that have no effect on a named data set."""
    given = [option_of(name) for name in names if getattr(options, name) is not None]
    if given and is_named(options.data):
        why = f"{options.data!r} is a named data set, with labels, splits and image sizes of its own."
        raise ConflictingOptions(", ".join(given), why)


@dataclass(frozen=True)
class Rows:
    """Rows that a command works on: the part, its name, and how many rows the part has."""

    name: str
    part: Part
    available: int

    def __str__(self) -> str:
        n_rows = len(self.part)
        return f"{n_rows:,} of {self.available:,} rows" if n_rows < self.available else f"{n_rows:,} rows"


def draw_rows(parts: Mapping[str, Part], wanted: Sequence[str], data: str, max_rows: int | None, seed: int) -> Rows:
    """Return the first of the wanted parts; of a named data set at most ``max_rows`` rows."""
    from worstclass.exceptions import DatasetError

    for name in wanted:
        if name in parts:
            part = parts[name]
            return Rows(name, at_most(part, max_rows if is_named(data) else None, seed), len(part))
    raise DatasetError(f"{data!r} has no {' or '.join(wanted)} part. Its parts are {list(parts)}.")


def at_most(part: Part, n_rows: int | None, seed: int) -> Part:
    """Return the part, or a draw of the same share of every class, with at least one row of each."""
    from worstclass.data.splits import make_splits

    if n_rows is None or len(part) <= n_rows:
        return part
    return make_splits(part.X, part.y, test=1 - n_rows / len(part), seed=seed).train
