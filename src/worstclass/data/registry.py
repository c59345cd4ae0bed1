"""Data sets by name: what is known of each, and how it is loaded."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np

from worstclass._checks import check_choice, require_known_options
from worstclass.data import named
from worstclass.data.facts import NamedDataset, find
from worstclass.data.splits import (
    ALL,
    RHO,
    THIN_TEST,
    THIN_TRAINING,
    Splits,
    check_shares,
    cut_parts,
    draw,
    generator,
    long_tail_counts,
)

#: each file of ``named`` has the facts and the parser of a family of sets
_FAMILIES = [
    importlib.import_module(f"{named.__name__}.{module.name}") for module in pkgutil.iter_modules(named.__path__)
]
DATASETS: dict[str, NamedDataset] = {sheet.name: sheet for family in _FAMILIES for sheet in family.SHEETS}


def named_dataset(name: str, **variant: Any) -> NamedDataset:
    """Return the facts of a data set, or of a variant of it.

    Parameters
    ----------
    name : one of ``DATASETS``.
    variant : ``size`` of a MedMNIST set, ``split`` of EMNIST.

    Examples
    --------
    >>> named_dataset("emnist").n_classes, named_dataset("emnist", split="letters").n_classes
    (62, 26)
    >>> list(named_dataset("tissuemnist", size=64).files)
    ['tissuemnist_64.npz']
    """
    check_choice(name, "name", "load_dataset", DATASETS)
    dataset = DATASETS[name]
    require_known_options(variant, _variants(dataset), owner=f"The data set {name!r}")
    return dataset.vary(**variant) if dataset.vary is not None and variant else dataset


def load_dataset(name: str, root: str | Path | None = None, seed: int = 0, **options: Any) -> Splits:
    """Load a data set by its name, split for training and testing.

    Images are unsigned bytes, shape (n, channels, height, width), until a batch is formed. Sets with an official
    training part and no official validation part are split as in the paper: 7:3 of the training rows, each class in
    its proportion (see ``worstclass.data.splits`` for the rounding), and the official test rows.

    Parameters
    ----------
    name : one of ``worstclass.data.registry.DATASETS``.
    root : folder with the files, which may lie in it, in a folder of the set's name below it, or in the folders that
        the publisher's archive or torchvision makes. Default: the environment variable WORSTCLASS_DATA, else
        ``~/.cache/worstclass/data``. Artificial sets and those of scikit-learn have no files.
    seed : fixes the draw or the split.
    options : further options of the data set, such as ``val`` and ``cal`` (shares of the training rows that validate
        and calibrate), ``n_min``, ``size`` (MedMNIST), ``split`` (EMNIST), ``rho`` and ``thin_test`` (imbalanced sets).

    Examples
    --------
    >>> splits = load_dataset("artificial-balanced", n_test=200)
    >>> len(splits.train), len(splits.test), splits.val
    (500, 1000, None)
    >>> iris = load_dataset("iris", cal=0.1)
    >>> len(iris.train), len(iris.val), len(iris.cal), len(iris.test), iris.class_names[0]
    (81, 30, 9, 30, 'setosa')
    """
    variants = _variants(named_dataset(name))
    dataset = named_dataset(name, **{option: options.pop(option) for option in variants if option in options})
    require_known_options(options, [*_options(dataset), *variants], owner=f"The data set {name!r}")
    return _load_parts(dataset, root, seed, **options) if dataset.draw is None else dataset.draw(seed, **options)


def _load_parts(
    dataset: NamedDataset,
    root: str | Path | None,
    seed: int,
    *,
    cal: float = 0.0,
    rho: float = RHO,
    thin_test: bool = True,
    **shares: float | None,
) -> Splits:
    """Read the official parts of a set, thin them if it has a long tail, and cut those that are missing."""
    assert dataset.read is not None, "a set that is not drawn has a reader"
    wanted = {**dataset.shares, **{part: share for part, share in shares.items() if share is not None}}
    generator(seed)  # refuses bad values before anything is read
    long_tail_counts([1], rho)
    check_shares(wanted, "load_dataset")
    check_shares({"cal": cal}, "load_dataset")
    tree = find(dataset, root)
    parts = {part: dataset.read(tree, part) for part in dataset.counts}
    if dataset.long_tail:
        for name, use, ratio in (("train", THIN_TRAINING, rho), ("test", THIN_TEST, rho if thin_test else 1)):
            labels = parts[name].y
            kept = long_tail_counts(np.bincount(labels, minlength=dataset.n_classes), ratio)
            parts[name] = parts[name].rows(draw(labels, kept, generator(seed, use)))
    whole = parts.pop(ALL if ALL in parts else "train")
    rows = cut_parts(whole.y, seed=seed, cal=cal, **wanted)
    cut = {name: whole.rows(index) for name, index in rows.items()} if len(rows) > 1 else {"train": whole}
    names = dataset.class_names if dataset.read_class_names is None or tree is None else dataset.read_class_names(tree)
    return Splits(**parts, **cut, class_names=names)


def _variants(dataset: NamedDataset) -> list[str]:
    return [] if dataset.vary is None else list(inspect.signature(dataset.vary).parameters)


def _options(dataset: NamedDataset) -> list[str]:
    """Return the options of loading a set, apart from those that make another variant of it."""
    if dataset.draw is not None:
        return [name for name in inspect.signature(dataset.draw).parameters if name != "seed"]
    return [*dataset.shares, "cal", *(["rho", "thin_test"] if dataset.long_tail else [])]
