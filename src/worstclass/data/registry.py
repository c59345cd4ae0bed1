"""Data sets by name: what is known of each, and how it is loaded."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from worstclass._checks import require_known_options
from worstclass.data.artificial import artificial_balanced, artificial_imbalanced
from worstclass.data.facts import NamedDataset
from worstclass.data.named import bundled, cifar, emnist, medmnist, mnist, tiny_imagenet
from worstclass.data.splits import Splits
from worstclass.exceptions import UnknownNameError

_MLP = {"module": "mlp", "lr": 0.01}
_COMPARE = {"epochs": 4000}  # about what the rounds of the paper's boosting take, one step each
_PAPER = "Saito, Matsuo, Uchida, Suehiro: Bounding the worst-class error: a boosting approach."

ARTIFICIAL = (
    NamedDataset(
        "artificial-balanced",
        "five overlapping squares in the plane, 100 rows a class",
        5,
        artificial_balanced,
        {"booster": {"theta": 0.75, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        class_names=tuple("12345"),
        counts={"train": 500, "test": 500_000},
        rows={"train": 500, "test": 500_000},
        balanced=True,
        citation=_PAPER,
    ),
    NamedDataset(
        "artificial-imbalanced",
        "four overlapping discs in the plane, one with a tenth of the rows",
        4,
        artificial_imbalanced,
        {"booster": {"theta": 0.5, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        class_names=tuple("1234"),
        counts={"train": 3_100, "test": 310_000},
        rows={"train": 3_100, "test": 310_000},
        citation=_PAPER,
    ),
)

DATASETS = {
    dataset.name: dataset
    for dataset in (
        *ARTIFICIAL,
        *cifar.SHEETS.values(),
        tiny_imagenet.SHEET,
        emnist.sheet(),
        *medmnist.SHEETS.values(),
        mnist.SHEETS["fashion-mnist"],
        mnist.SHEETS["mnist"],
        *bundled.SHEETS.values(),
    )
}


def named_dataset(name: str, **variant: Any) -> NamedDataset:
    """Return the facts of a data set, or of a variant of it.

    Parameters
    ----------
    name : one of ``DATASETS``.
    variant : what a set comes in: ``size`` of a MedMNIST set, ``split`` of EMNIST.

    Examples
    --------
    >>> named_dataset("emnist").n_classes, named_dataset("emnist", split="letters").n_classes
    (62, 26)
    >>> named_dataset("tissuemnist", size=64).files[0].name
    'tissuemnist_64.npz'
    """
    if name not in DATASETS:
        raise UnknownNameError("name", "load_dataset", name, DATASETS)
    dataset = DATASETS[name]
    known = [] if dataset.vary is None else list(inspect.signature(dataset.vary).parameters)
    require_known_options(variant, known, owner=f"The data set {name!r}")
    return dataset.vary(**variant) if dataset.vary is not None and variant else dataset


def load_dataset(name: str, root: str | Path | None = None, seed: int = 0, **options: Any) -> Splits:
    """Load a data set by its name, split for training and testing.

    Images come as unsigned bytes, shape (n, channels, height, width), and stay so until the batch. Sets with an
    official training part and no official validation part are split as in the paper: 7:3 of the training rows, each
    class in its proportion (see ``worstclass.data.stratified`` for the rounding), and the official test rows.

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
    known = list(inspect.signature(dataset.load).parameters)
    require_known_options(
        options, [option for option in known if option not in ("seed", "root")], owner=f"The data set {name!r}"
    )
    place = {"root": root} if "root" in known else {}
    return dataset.load(seed, **place, **options)
