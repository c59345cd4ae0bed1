"""CIFAR-10 and CIFAR-100, pickled batches of 32 x 32 colour images; whole or thinned to a long tail."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.facts import Download, NamedDataset, as_labels
from worstclass.data.pickled import read_pickle
from worstclass.data.splits import Part
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError

IMAGE_SHAPE = (3, 32, 32)
N_VALUES = 3072


def read_batch(content: bytes, where: str, *, labels: str, n_classes: int) -> tuple[npt.NDArray[np.uint8], IntArray]:
    """Read one batch: pixels of shape (n, 3072), and labels."""
    batch = read_pickle(content, where)
    pixels: Any = batch.get("data")
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[1:] != (N_VALUES,):
        raise DatasetError(
            f"{where} is no batch of CIFAR images: 'data' must be unsigned bytes of shape (n, {N_VALUES})."
        )
    if labels not in batch:
        raise DatasetError(f"{where} is no batch of this set: it has no {labels!r}, but {sorted(map(str, batch))}.")
    return pixels, as_labels(batch[labels], n_classes, n_images=len(pixels), where=f"{where}: {labels}")


_TEN = "airplane automobile bird cat deer dog frog horse ship truck"
_HUNDRED = (
    "apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel can castle "
    "caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur dolphin elephant "
    "flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion lizard lobster man "
    "maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree pear pickup_truck pine_tree "
    "plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea seal shark shrew skunk skyscraper "
    "snail snake spider squirrel streetcar sunflower sweet_pepper table tank telephone television tiger tractor train "
    "trout tulip turtle wardrobe whale willow_tree wolf woman worm"
)

_TEN_FILES = {
    "data_batch_1": "c99cafc152244af753f735de768cd75f",
    "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
    "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
    "data_batch_4": "634d18415352ddfa80567beed471001a",
    "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    "test_batch": "40351d587109b95175f43aff81a1287e",
}
_HUNDRED_FILES = {"train": "16019d7e3df5f24257cddd939b257f8d", "test": "f0ef6b0ae62326f3e7ffdfab6717acfc"}


def _read(tree: FileTree, part: str, *, files: Iterable[str], labels: str, n_classes: int) -> Part:
    """Read the batches of an official part, one after the other."""
    names = [name for name in files if name.startswith("test") == (part == "test")]
    batches = [read_batch(tree.read(name), tree.where(name), labels=labels, n_classes=n_classes) for name in names]
    pixels, found = zip(*batches, strict=True)
    return Part(np.concatenate(pixels).reshape(-1, *IMAGE_SHAPE), np.concatenate(found))


def _sheet(name: str, summary: str, booster: dict[str, float] | None = None) -> NamedDataset:
    is_ten = name.endswith("10")
    folder = "cifar10" if is_ten else "cifar100"
    archive = "cifar-10-python.tar.gz" if is_ten else "cifar-100-python.tar.gz"
    md5 = "c58f30108f718f92721af3b95e74349a" if is_ten else "eb9058c3a382ffc7106e4002c42a8d85"
    classes = tuple((_TEN if is_ten else _HUNDRED).split())
    files = _TEN_FILES if is_ten else _HUNDRED_FILES
    labels = "labels" if is_ten else "fine_labels"
    learner = {"module": "resnet32", "batch_size": 512, "augment": "crop-flip"}
    return NamedDataset(
        name,
        summary,
        len(classes),
        {"train": 50_000, "test": 10_000},
        functools.partial(_read, files=files, labels=labels, n_classes=len(classes)),
        settings={**({"booster": booster} if booster else {}), "learner": learner},
        class_names=classes,
        balanced=True,
        long_tail=name.startswith("imbalanced"),
        files=files,
        downloads=(Download(archive, (f"https://www.cs.toronto.edu/~kriz/{archive}",), md5),),
        folder=folder,
        layouts=("cifar-10-batches-py" if is_ten else "cifar-100-python",),
        licence="not stated by the publisher",
        citation="Krizhevsky: Learning multiple layers of features from tiny images. 2009.",
    )


_TAIL = "with a long tail, rho = 10, test rows too"
_TEN_BOOSTER, _HUNDRED_BOOSTER = {"theta": 0.9, "gamma": 0.2995}, {"theta": 0.4, "gamma": 0.2995}

SHEETS = (
    _sheet("cifar10", "ten kinds of things, 32 x 32 colour", _TEN_BOOSTER),
    _sheet("cifar100", "a hundred kinds of things, 32 x 32 colour", _HUNDRED_BOOSTER),
    _sheet("imbalanced-cifar10", f"CIFAR-10 {_TAIL}", _TEN_BOOSTER),
    _sheet("imbalanced-cifar100", f"CIFAR-100 {_TAIL}"),
)
