"""Fact sheets: what is known of a named data set, apart from how its files are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from worstclass.data.decoded import Undecoded
from worstclass.data.splits import Splits
from worstclass.data.trees import FileTree


@dataclass(frozen=True)
class DataFile:
    """A file that must be there to read a set.

    Attributes
    ----------
    name : its official name below the set's folder, without ``.gz``; a name that ends in a slash is a folder.
    md5 : checksum of the official file as it is published (compressed, if it is published so); None if unknown.
    content_md5 : checksum of what is in it, whatever packs it: of the uncompressed bytes, or what ``content`` of the
        set's fact sheet makes of them; None if unknown. So a copy that was packed anew can be verified too.
    """

    name: str
    md5: str | None = None
    content_md5: str | None = None


@dataclass(frozen=True)
class Download:
    """A file as its publisher offers it.

    Attributes
    ----------
    name : what it is called on disk.
    addresses : where it is offered, the official place first.
    md5 : its checksum; None if unknown.
    """

    name: str
    addresses: tuple[str, ...]
    md5: str | None = None


@dataclass(frozen=True, eq=False)
class NamedDataset:
    """The facts of a data set, and the functions that read it.

    Attributes
    ----------
    name, summary : what it is called, and what it is in a line.
    n_classes : number of classes; labels are 0..n_classes-1 (1..n_classes for the artificial sets).
    load : function from (seed, options) to ``Splits``; None for sets whose official parts are read by ``read``.
    settings : those of the paper where it has the set: keyword arguments of ``WorstClassBooster`` under ``"booster"``
        and of ``TorchLearner`` under ``"learner"``. A set without ``"learner"`` is a table.
    class_names : names of the classes, by label; empty where the files tell them.
    counts : rows of each official part; for sets without official parts all rows, as ``"all"``.
    rows : rows of each split that ``load_dataset`` makes with the default options.
    balanced : every class has the same number of rows in each official part.
    image_shape : channels, height, width; None for a table.
    files : what must be there; none for sets that are drawn or come with scikit-learn.
    downloads : what the publisher offers.
    folder : name of the set's folder below the data root.
    layouts : folders below that, or below the root, in which archives or other libraries put the files.
    read : function from (files, official part) to the labels and the images yet to be decoded.
    content : function from what is in a file to the bytes that ``content_md5`` is of; None for the bytes themselves.
    variant : what tells this sheet from others of the same set, as ``"size=64"``; empty for the default.
    vary : function from options such as ``size`` or ``split`` to the fact sheet of that variant.
    licence, citation, homepage : as the publisher says.
    """

    name: str
    summary: str
    n_classes: int
    load: Callable[..., Splits] | None = None
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    class_names: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    balanced: bool = False
    image_shape: tuple[int, int, int] | None = None
    files: tuple[DataFile, ...] = ()
    downloads: tuple[Download, ...] = ()
    folder: str = ""
    layouts: tuple[str, ...] = ()
    read: Callable[[FileTree, str], Undecoded] | None = None
    content: Callable[[bytes], bytes] | None = None
    variant: str = ""
    vary: Callable[..., NamedDataset] | None = None
    licence: str = ""
    citation: str = ""
    homepage: str = ""

    @property
    def get_command(self) -> str:
        """The command that downloads the files."""
        option = f" --{self.variant.replace('=', ' ')}" if self.variant else ""
        return f"worstclass datasets get {self.name}{option}"

    @property
    def built_in(self) -> bool:
        """Whether the set needs no files."""
        return not self.files
