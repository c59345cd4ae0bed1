"""MNIST, Fashion-MNIST and EMNIST: idx files of images and labels, plain or compressed by gzip.

MNIST and Fashion-MNIST have files of the same names. EMNIST has letters and digits in six official groupings.
"""

from __future__ import annotations

import functools
import hashlib
import math
import string
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.facts import Download, NamedDataset, as_labels
from worstclass.data.splits import Part
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError, UnknownNameError

UNSIGNED_BYTES = 0x08

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"

#: checksum of each file as it is published, compressed, and of its content
_SUMS = {
    "mnist": {
        TRAIN_IMAGES: ("f68b3c2dcbeaaa9fbdd348bbdeb94873", "6bbc9ace898e44ae57da46a324031adb"),
        TRAIN_LABELS: ("d53e105ee54ea40749a09fcbcd1e9432", "a25bea736e30d166cdddb491f175f624"),
        TEST_IMAGES: ("9fb629c4189551a2d022fa330f9573f3", "2646ac647ad5339dbf082846283269ea"),
        TEST_LABELS: ("ec29112dd5afa0611ce80d1b7f02629c", "27ae3e4e09519cfbb04c329615203637"),
    },
    "fashion-mnist": {
        TRAIN_IMAGES: ("8d4fb7e6c68d591d4c3dfef9ec88bf0d", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        TRAIN_LABELS: ("25c81989df183df01b3e8a0aad5dffbe", "9018921c3c673c538a1fc5bad174d6f9"),
        TEST_IMAGES: ("bef4ecab320f06d8554ea6380940ec79", "8181f5470baa50b63fa0f6fddb340f0a"),
        TEST_LABELS: ("bb300cfdad3c16e7a12a480ee83cd310", "15d484375f8d13e6eb1aabb0c3f46965"),
    },
}
_ADDRESSES = {
    "mnist": ("http://yann.lecun.com/exdb/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"),
    "fashion-mnist": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
}

_LEARNER = {"module": "resnet18", "batch_size": 512}

#: lower-case letters whose shape is unlike the capital's; the others are merged with it
_APART = "abdefghnqrt"
_ALL = string.digits + string.ascii_uppercase + string.ascii_lowercase
_MERGED = string.digits + string.ascii_uppercase + _APART

#: grouping of EMNIST -> classes, training rows, test rows, the smallest label in its files
_GROUPINGS = {
    "byclass": (_ALL, 697_932, 116_323, 0),
    "bymerge": (_MERGED, 697_932, 116_323, 0),
    "balanced": (_MERGED, 112_800, 18_800, 0),
    "letters": (string.ascii_lowercase, 124_800, 20_800, 1),
    "digits": (string.digits, 240_000, 40_000, 0),
    "mnist": (string.digits, 60_000, 10_000, 0),
}


def read_idx(content: bytes, n_dimensions: int, where: str) -> npt.NDArray[np.uint8]:
    """Parse an idx file of unsigned bytes.

    Parameters
    ----------
    content : the bytes of the file, uncompressed.
    n_dimensions : what the file must have: 3 for images, 1 for labels.
    where : what an error calls the file.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]), 1, "labels").tolist()
    [5, 0, 4]
    """
    header = 4 + 4 * n_dimensions
    expected = bytes([0, 0, UNSIGNED_BYTES, n_dimensions])
    if content[:4] != expected:
        raise DatasetError(
            f"{where} is not an idx file of unsigned bytes in {n_dimensions} dimension(s): it must begin with "
            f"{expected.hex(' ')}. Got {content[:4].hex(' ') or 'nothing'}."
        )
    if len(content) < header:
        raise DatasetError(f"{where} is cut short: its header has {len(content)} of {header} bytes.")
    shape = tuple(int(size) for size in np.frombuffer(content, dtype=">u4", count=n_dimensions, offset=4))
    if len(content) - header != math.prod(shape):
        raise DatasetError(
            f"{where} is damaged or cut short: its header tells of {math.prod(shape):,} bytes {shape}, and "
            f"{len(content) - header:,} follow."
        )
    return np.frombuffer(content, dtype=np.uint8, offset=header).reshape(shape)


def _read_pair(tree: FileTree, images: str, labels: str, n_classes: int, first: int = 0) -> Part:
    """Read a file of images and a file of labels, which are counted from ``first``."""
    pixels = read_idx(tree.read_plain(images), 3, tree.where(images))
    values, where = read_idx(tree.read_plain(labels), 1, tree.where(labels)), tree.where(labels)
    return Part(pixels[:, None], as_labels(values, n_classes, n_images=len(pixels), where=where, first=first))


def _read_mnist(name: str, tree: FileTree, part: str) -> Part:
    images, labels = (TRAIN_IMAGES, TRAIN_LABELS) if part == "train" else (TEST_IMAGES, TEST_LABELS)
    found = hashlib.md5(tree.read_plain(labels), usedforsecurity=False).hexdigest()
    for other, sums in _SUMS.items():
        if other != name and sums[labels][1] == found:
            raise DatasetError(f"{tree.where(labels)} is a file of the data set {other!r}, not of {name!r}.")
    return _read_pair(tree, images, labels, n_classes=10)


def _read_emnist(split: str, tree: FileTree, part: str) -> Part:
    classes, _, _, first = _GROUPINGS[split]
    upright = _read_pair(tree, *_emnist_files(split, part), len(classes), first)
    return Part(upright.X.transpose(0, 1, 3, 2), upright.y)  # the files have columns as rows


def _emnist_files(split: str, part: str) -> tuple[str, str]:
    return f"emnist-{split}-{part}-images-idx3-ubyte", f"emnist-{split}-{part}-labels-idx1-ubyte"


def _mnist(name: str, summary: str, class_names: tuple[str, ...], **facts: Any) -> NamedDataset:
    sums = _SUMS[name].items()
    return NamedDataset(
        name,
        summary,
        10,
        {"train": 60_000, "test": 10_000},
        functools.partial(_read_mnist, name),
        settings={"learner": _LEARNER},
        class_names=class_names,
        files={file: content for file, (_, content) in sums},
        downloads=tuple(
            Download(f"{file}.gz", tuple(f"{address}{file}.gz" for address in _ADDRESSES[name]), packed)
            for file, (packed, _) in sums
        ),
        folder=name,
        **facts,
    )


def emnist(split: str = "byclass") -> NamedDataset:
    """Return the facts of one grouping of EMNIST."""
    if split not in _GROUPINGS:
        raise UnknownNameError("split", "the data set 'emnist'", split, _GROUPINGS)
    classes, n_train, n_test, _ = _GROUPINGS[split]
    addresses = ("https://biometrics.nist.gov/cs_links", "https://www.itl.nist.gov/iaui/vip/cs_links")
    booster = {"theta": 0.4, "gamma": 0.2898}
    return NamedDataset(
        "emnist",
        f"handwritten letters and digits, 28 x 28 grey ({split})",
        len(classes),
        {"train": n_train, "test": n_test},
        functools.partial(_read_emnist, split),
        settings={**({"booster": booster} if split == "byclass" else {}), "learner": _LEARNER},
        class_names=tuple(classes),
        balanced=split not in ("byclass", "bymerge"),
        files=dict.fromkeys([*_emnist_files(split, "train"), *_emnist_files(split, "test")]),
        downloads=(
            Download(
                "gzip.zip",
                tuple(f"{address}/EMNIST/gzip.zip" for address in addresses),
                "58c8d27c78d21e728a6bc7b3cc06412e",
            ),
        ),
        folder="emnist",
        layouts=("EMNIST/raw", "gzip", "raw", "EMNIST/raw/gzip"),
        variant="" if split == "byclass" else f"--split {split}",
        vary=emnist,
        licence="not stated; made from NIST Special Database 19",
        citation="Cohen, Afshar, Tapson, van Schaik: EMNIST: an extension of MNIST to handwritten letters. 2017. "
        "arXiv:1702.05373",
    )


SHEETS = (
    _mnist(
        "mnist",
        "handwritten digits, 28 x 28 grey",
        tuple("0123456789"),
        layouts=("MNIST/raw", "raw"),
        licence="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. 1998.",
    ),
    _mnist(
        "fashion-mnist",
        "articles of clothing, 28 x 28 grey",
        ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        balanced=True,
        layouts=("FashionMNIST/raw", "raw"),
        licence="MIT",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning "
        "algorithms. 2017. arXiv:1708.07747",
    ),
    emnist(),
)
