"""CIFAR-10 and CIFAR-100, pickled batches of 32 x 32 colour images; whole or thinned to a long tail."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass._typing import IntArray
from worstclass.data.decoded import Images, Labels, Undecoded, as_labels
from worstclass.data.facts import DataFile, Download, NamedDataset
from worstclass.data.official import THIN_TEST, THIN_TRAINING, load_official
from worstclass.data.pickled import read_pickle
from worstclass.data.splits import Splits
from worstclass.data.stratified import generator, profile_counts, thin
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError

IMAGE_SHAPE = (3, 32, 32)
N_VALUES = 3072


def read_batches(tree: FileTree, names: Sequence[str], *, labels: str, n_classes: int) -> Undecoded:
    """Read batches, one after the other.

    Parameters
    ----------
    tree : the files of the extracted folder or of the archive.
    names : the batches.
    labels : key of the labels in a batch: ``"labels"``, or ``"fine_labels"`` for the 100 classes.
    n_classes : number of classes.
    """
    batches = [read_batch(tree.read(name), tree.where(name), labels=labels, n_classes=n_classes) for name in names]

    def fill(images: Images) -> None:
        start = 0
        for pixels, _ in batches:
            images[start : start + len(pixels)] = pixels.reshape(-1, *IMAGE_SHAPE)
            start += len(pixels)

    return Undecoded(np.concatenate([found for _, found in batches]), IMAGE_SHAPE, fill)


def read_batch(content: bytes, where: str, *, labels: str, n_classes: int) -> tuple[npt.NDArray[np.uint8], Labels]:
    """Read one batch: pixels of shape (n, 3072), and labels."""
    batch = read_pickle(content, where)
    pixels: Any = batch.get("data")
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.shape[1:] != (N_VALUES,):
        raise DatasetError(
            f"{where} is no batch of CIFAR images: 'data' must be unsigned bytes of shape (n, {N_VALUES})."
        )
    if labels not in batch:
        raise DatasetError(f"{where} is no batch of this set: it has no {labels!r}, but {sorted(map(str, batch))}.")
    try:
        values = np.asarray(batch[labels], dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise DatasetError(f"{where}: {labels!r} must be whole numbers.") from None
    return pixels, as_labels(values, n_classes, n_images=len(pixels), where=where)


def binary_records(content: bytes) -> bytes:
    """Return a batch of CIFAR-10 as its publisher's other format has it: for each image its label, then its pixels.

    The checksums of those files are published too, so they verify a batch whatever pickled it.
    """
    pixels, labels = read_batch(content, "the batch", labels="labels", n_classes=10)
    return np.concatenate([labels[:, None].astype(np.uint8), pixels], axis=1).tobytes()


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

# md5 of the pickled batch, and of the same batch in the publisher's binary version
_TEN_FILES = (
    DataFile("data_batch_1", "c99cafc152244af753f735de768cd75f", "5dd7e06a14cb22eb9f671a540d1b7c25"),
    DataFile("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec", "5ea93a67294ea407fff1d09f752e9692"),
    DataFile("data_batch_3", "54ebc095f3ab1f0389bbae665268c751", "942cd6a4bcdd0dd3c604fbe906cb4421"),
    DataFile("data_batch_4", "634d18415352ddfa80567beed471001a", "ae636b3ba5c66a11e91e8cb52e771fcb"),
    DataFile("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb", "53f37980c15c3d472c316c40844f3f0d"),
    DataFile("test_batch", "40351d587109b95175f43aff81a1287e", "803d5f7f4d78ea53de84dbe85f74fb6d"),
)
_HUNDRED_FILES = (
    DataFile("train", "16019d7e3df5f24257cddd939b257f8d"),
    DataFile("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),
)
_BASES: dict[str, dict[str, Any]] = {
    "cifar10": {
        "n_classes": 10,
        "class_names": tuple(_TEN.split()),
        "files": _TEN_FILES,
        "downloads": (
            Download(
                "cifar-10-python.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",),
                "c58f30108f718f92721af3b95e74349a",
            ),
        ),
        "folder": "cifar10",
        "layouts": ("cifar-10-batches-py",),
        "content": binary_records,
    },
    "cifar100": {
        "n_classes": 100,
        "class_names": tuple(_HUNDRED.split()),
        "files": _HUNDRED_FILES,
        "downloads": (
            Download(
                "cifar-100-python.tar.gz",
                ("https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",),
                "eb9058c3a382ffc7106e4002c42a8d85",
            ),
        ),
        "folder": "cifar100",
        "layouts": ("cifar-100-python",),
    },
}
_BATCHES = {
    "cifar10": {"train": [file.name for file in _TEN_FILES[:5]], "test": ["test_batch"]},
    "cifar100": {"train": ["train"], "test": ["test"]},
}
_LEARNER = {"module": "resnet32", "batch_size": 512, "augment": "crop-flip"}


def _load_imbalanced(
    name: str,
    seed: int = 0,
    *,
    root: str | Path | None = None,
    rho: float = 10,
    profile: str = "exponential",
    thin_test: bool = True,
    val: float | None = None,
    cal: float = 0.0,
) -> Splits:
    """Load a thinned set.

    Parameters
    ----------
    rho : rows of the first class for one of the last.
    profile : ``"exponential"`` or ``"step"``.
    thin_test : thin the test images too, as the paper does; False leaves them whole.
    val : share of the thinned training images that validates; None for the paper's.
    cal : share of the rest that calibrates.
    """
    profile_counts([1], rho=rho, profile=profile)  # refuses bad values before anything is read

    def thinning(part: str, labels: Labels) -> IntArray:
        ratio = rho if part == "train" or thin_test else 1
        rng = generator(seed, THIN_TRAINING if part == "train" else THIN_TEST)
        return thin(labels, SHEETS[name].n_classes, rng, rho=ratio, profile=profile)

    return load_official(SHEETS[name], seed, root=root, val=val, cal=cal, thinning=thinning)


def _read(base: str, tree: FileTree, part: str) -> Undecoded:
    labels = "labels" if base == "cifar10" else "fine_labels"
    return read_batches(tree, _BATCHES[base][part], labels=labels, n_classes=_BASES[base]["n_classes"])


def _sheet(base: str, name: str, summary: str, booster: dict[str, float] | None, rows: dict[str, int]) -> NamedDataset:
    return NamedDataset(
        name=name,
        summary=summary,
        load=None if base == name else functools.partial(_load_imbalanced, name),
        settings={**({"booster": booster} if booster else {}), "learner": _LEARNER},
        counts={"train": 50_000, "test": 10_000},
        rows=rows,
        balanced=True,
        image_shape=IMAGE_SHAPE,
        read=functools.partial(_read, base),
        licence="not stated by the publisher",
        citation="Krizhevsky: Learning multiple layers of features from tiny images. 2009.",
        homepage="https://www.cs.toronto.edu/~kriz/cifar.html",
        **_BASES[base],
    )


_WHOLE = {"train": 35_000, "val": 15_000, "test": 10_000}

SHEETS = {
    sheet.name: sheet
    for sheet in (
        _sheet("cifar10", "cifar10", "ten kinds of things, 32 x 32 colour", {"theta": 0.9, "gamma": 0.2995}, _WHOLE),
        _sheet(
            "cifar100", "cifar100", "a hundred kinds of things, 32 x 32 colour", {"theta": 0.4, "gamma": 0.2995}, _WHOLE
        ),
        _sheet(
            "cifar10",
            "imbalanced-cifar10",
            "CIFAR-10 with a long tail, rho = 10, test rows too",
            {"theta": 0.9, "gamma": 0.2995},
            {"train": 14_301, "val": 6_130, "test": 4_084},
        ),
        _sheet(
            "cifar100",
            "imbalanced-cifar100",
            "CIFAR-100 with a long tail, rho = 10, test rows too",
            None,
            {"train": 13_701, "val": 5_872, "test": 3_876},
        ),
    )
}
