"""Data sets by name: what is known of each, and how it is loaded."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from worstclass._checks import check_choice, require_known_options
from worstclass.data.facts import NamedDataset, find
from worstclass.data.named import all_sheets
from worstclass.data.splits import (
    THIN_TEST,
    THIN_TRAINING,
    VALIDATION_SHARE,
    Splits,
    check_shares,
    cut_parts,
    generator,
    profile_counts,
    thin,
)

DATASETS = all_sheets()


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
    >>> named_dataset("tissuemnist", size=64).files[0].name
    'tissuemnist_64.npz'
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
        and calibrate), ``n_min``, ``size`` (MedMNIST), ``split`` (EMNIST), ``rho``, ``profile`` and ``thin_test``
        (imbalanced sets).

    Examples
    --------
    >>> splits = load_dataset("artificial-balanced", n_test=200)
    >>> len(splits.train), len(splits.test), splits.val
    (500, 1000, None)
    >>> iris = load_dataset("iris", cal=0.1)
    >>> len(iris.train), len(iris.val), len(iris.cal), len(iris.test), iris.class_names[0]
    (81, 30, 9, 30, 'setosa')
    """
    dataset = named_dataset(name)
    variants = _variants(dataset)
    require_known_options(options, [*_options(dataset), *variants], owner=f"The data set {name!r}")
    dataset = named_dataset(name, **{option: options.pop(option) for option in variants if option in options})
    return _load_official(dataset, root, seed, **options) if dataset.load is None else dataset.load(seed, **options)


def _load_official(
    dataset: NamedDataset,
    root: str | Path | None,
    seed: int,
    *,
    val: float | None = None,
    cal: float = 0.0,
    rho: float = 10,
    profile: str = "exponential",
    thin_test: bool = True,
) -> Splits:
    """Read the official parts of a set, thin them if the set has a long tail, and split the training rows."""
    generator(seed)  # refuses bad values before anything is read
    profile_counts([1], rho=rho, profile=profile)
    if val is None:
        val = 0.0 if "val" in dataset.counts else VALIDATION_SHARE
    check_shares({"val": val}, "load_dataset")
    check_shares({"cal": cal}, "load_dataset")
    tree = find(dataset, root)
    parts = {part: dataset.read_part(tree, part) for part in dataset.counts}
    if dataset.long_tail:
        for name, use, ratio in (("train", THIN_TRAINING, rho), ("test", THIN_TEST, rho if thin_test else 1)):
            labels = parts[name].y
            kept = thin(labels, dataset.n_classes, generator(seed, use), rho=ratio, profile=profile)
            parts[name] = parts[name].rows(kept)
    rows = cut_parts(parts["train"].y, seed=seed, val=val, cal=cal)
    parts |= {name: parts["train"].rows(index) for name, index in rows.items() if len(rows) > 1}
    names = dataset.class_names or (dataset.read_class_names(tree) if dataset.read_class_names else ())
    return Splits(**parts, class_names=names)


def _variants(dataset: NamedDataset) -> list[str]:
    return [] if dataset.vary is None else list(inspect.signature(dataset.vary).parameters)


def _options(dataset: NamedDataset) -> list[str]:
    """Return the options of loading a set, apart from those that make another variant of it."""
    if dataset.load is not None:
        return [name for name in inspect.signature(dataset.load).parameters if name != "seed"]
    shares = ["cal"] if "val" in dataset.counts else ["val", "cal"]
    return ["rho", "profile", "thin_test", *shares] if dataset.long_tail else shares
