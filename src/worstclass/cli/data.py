"""DATA on the command line: a data set's name, or the path of a file or folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from worstclass._text import n_of
from worstclass.cli.console import OptionError, refuse_given, warn
from worstclass.cli.options import DataOptions, numbers_by_class
from worstclass.cli.progress import busy
from worstclass.data.chunks import columns_by_name
from worstclass.data.facts import NamedDataset
from worstclass.data.labels import known_labels
from worstclass.data.registry import DATASETS, load_dataset
from worstclass.data.sources import ARRAY_SUFFIX, TABLE_SUFFIXES, Source, id_columns, read_source, refuse_other_targets
from worstclass.data.splits import ALL, Part, Splits, at_most
from worstclass.exceptions import DatasetError, UnknownNameError

#: share of a file's rows that theta and compare hold out for validation where none is given
VAL_SHARE = 0.2
#: options that have no effect on a named data set
UNUSED = ("target", "ignore", "image_size", "val_share")


def find_named(data: str) -> NamedDataset | None:
    """Return the facts of a named data set, None for a path; refuse what is neither, with the nearest name."""
    if data in DATASETS:
        return DATASETS[data]
    if Path(data).suffix.lower() in (*TABLE_SUFFIXES, ARRAY_SUFFIX) or Path(data).exists():
        return None
    raise UnknownNameError("DATA", "the command", data, [*DATASETS, "or the path of a file or folder"])


@dataclass(frozen=True, eq=False)
class Rows(Part):
    """Rows that a command works on, the name of their part, and how many rows the part has."""

    name: str
    available: int

    def __str__(self) -> str:
        n_rows = len(self)
        return f"{n_rows:,} of {self.available:,} rows" if n_rows < self.available else n_of(n_rows, "row")


@dataclass(frozen=True)
class Data:
    """DATA, opened: the facts of a named data set, or the rows of a file or folder.

    Attributes
    ----------
    options : what the user gave.
    source : the facts, or the rows; the rows of a named data set are loaded when they are asked for.
    val_share : share of a file's rows that is held out for validation.
    """

    options: Any
    source: NamedDataset | Source
    val_share: float

    @classmethod
    def open(cls, options: DataOptions, *, val_share: float = 0.0, unused: Sequence[str] = UNUSED) -> Data:
        """Open DATA; ``val_share`` is used if the user gave none, ``unused`` options are refused for a named set."""
        named, given = find_named(options.data), getattr(options, "val_share", None)
        if named is not None:
            why = f"{options.data!r} is a named data set, with labels, splits and image sizes of its own."
            refuse_given((name for name in unused if getattr(options, name, None) is not None), why)
        return cls(options, named or _read_rows(options), val_share if given is None else given)

    @property
    def is_named(self) -> bool:
        """Whether this is a named data set."""
        return isinstance(self.source, NamedDataset)

    @property
    def settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The paper's settings of a named data set; empty for files."""
        return getattr(self.source, "settings", {})

    def splits(self, seed: int, model: Any = None) -> Splits:
        """Load a named data set as it is split, its classes by name, or split the rows of a file.

        At most ``max_test_rows`` test rows are kept, where there is such an option. For a model that is there, columns
        and labels are made to suit it.
        """
        if isinstance(self.source, Source):
            splits = self.source.splits(val=self.val_share, test=self.options.test_share, seed=seed)
        else:
            splits = self._load_named(seed, model)
        limit = getattr(self.options, "max_test_rows", None)
        if splits.test is not None:
            splits = replace(splits, test=at_most(splits.test, limit, seed))
        if model is None:
            return splits
        suited: dict[str, Any] = {name: _suited(part, model) for name, part in splits.parts.items()}
        return replace(splits, **suited)

    def rows(self, model: Any, wanted: Sequence[str]) -> Rows:
        """Return the first of the wanted parts for a model; of a named data set at most ``max_rows`` rows.

        A file without parts has one, ``"all"``, unless it is divided by --val-share.
        """
        seed, limit = self.options.seed, None
        if isinstance(self.source, NamedDataset):
            parts, limit = self._load_named(seed, model).parts, getattr(self.options, "max_rows", None)
        else:
            parts = self.splits(seed).parts if self.val_share else dict(self.source.parts)
        for name in wanted:
            if name in parts:
                part = _suited(at_most(parts[name], limit, seed), model)
                return Rows(part.X, part.y, name, len(parts[name]))
        raise DatasetError(f"{self.options.data!r} has no {' or '.join(wanted)} part. Its parts are {list(parts)}.")

    def floors(self, texts: Sequence[str] | None, labels: Any) -> float | dict[Any, float]:
        """Return the floors of --theta for the classes of the labels, else the paper's floor of a named data set."""
        if texts:
            return numbers_by_class(texts, np.unique(labels).tolist(), "--theta")
        default = self.settings.get("booster", {}).get("theta")
        if default is None:
            raise OptionError("Missing option --theta. Give the accuracy floor, for example --theta 0.8.")
        return float(default)

    def _load_named(self, seed: int, model: Any) -> Splits:
        """Load a named data set; its labels are numbers for a model whose classes are, else names."""
        with busy(f"reading {self.options.data}"):
            splits = load_dataset(self.options.data, self.options.root, seed=seed)
        return splits if model is not None and model.classes_.dtype.kind in "iu" else splits.with_names()


def _suited(part: Part, model: Any) -> Part:
    """Bring columns into the model's order, and check that every label is a class of the model."""
    y = part.y
    if y.dtype.kind in "iu" and all(isinstance(label, str) for label in model.classes_.tolist()):
        y = y.astype(str)  # labels such as 10 and 11, of a model that also knows 01
    labels = known_labels(part.X, y, model.classes_, "the target column")
    X = columns_by_name(part.X, getattr(model, "feature_names_in_", None))
    return Part(X, model.classes_[labels.index])


def _read_rows(options: DataOptions) -> Source:
    is_table = Path(options.data).suffix.lower() in TABLE_SUFFIXES
    if is_table and options.target is None:
        raise OptionError("Missing option --target. Name the column of the labels, for example --target diagnosis.")
    ignore = getattr(options, "ignore", None) or ()
    if not is_table:
        given = {"target": options.target, "ignore": ignore}
        refuse_given((name for name, value in given.items() if value), f"{options.data} is not a table.")
    with busy(f"reading {Path(options.data).name}"):
        source = read_source(
            options.data,
            target=options.target,
            ignore=ignore,
            image_size=options.image_size,
            skip_corrupt=options.skip_corrupt,
        )
    if hasattr(options, "ignore"):  # the rows train
        if options.target is not None:
            refuse_other_targets(source.parts[ALL].y, options.target)
        for name in id_columns(source.parts.get(ALL)):
            warn(f"column {name!r} differs in every row. If it only identifies rows, use --ignore {shlex.quote(name)}")
    return source
