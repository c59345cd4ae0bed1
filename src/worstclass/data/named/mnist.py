"""MNIST and Fashion-MNIST: four idx files each, under the same names, plain or compressed by gzip."""

from __future__ import annotations

import functools
import hashlib
import math

import numpy as np
import numpy.typing as npt

from worstclass.data.facts import DataFile, Download, NamedDataset, as_labels, present_name
from worstclass.data.splits import Part
from worstclass.data.trees import FileTree, unpacked
from worstclass.exceptions import DatasetError

UNSIGNED_BYTES = 0x08

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"
_NAMES = {"train": (TRAIN_IMAGES, TRAIN_LABELS), "test": (TEST_IMAGES, TEST_LABELS)}

_FILES = {
    "mnist": (
        DataFile(TRAIN_IMAGES, "f68b3c2dcbeaaa9fbdd348bbdeb94873", "6bbc9ace898e44ae57da46a324031adb"),
        DataFile(TRAIN_LABELS, "d53e105ee54ea40749a09fcbcd1e9432", "a25bea736e30d166cdddb491f175f624"),
        DataFile(TEST_IMAGES, "9fb629c4189551a2d022fa330f9573f3", "2646ac647ad5339dbf082846283269ea"),
        DataFile(TEST_LABELS, "ec29112dd5afa0611ce80d1b7f02629c", "27ae3e4e09519cfbb04c329615203637"),
    ),
    "fashion-mnist": (
        DataFile(TRAIN_IMAGES, "8d4fb7e6c68d591d4c3dfef9ec88bf0d", "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
        DataFile(TRAIN_LABELS, "25c81989df183df01b3e8a0aad5dffbe", "9018921c3c673c538a1fc5bad174d6f9"),
        DataFile(TEST_IMAGES, "bef4ecab320f06d8554ea6380940ec79", "8181f5470baa50b63fa0f6fddb340f0a"),
        DataFile(TEST_LABELS, "bb300cfdad3c16e7a12a480ee83cd310", "15d484375f8d13e6eb1aabb0c3f46965"),
    ),
}
_ADDRESSES = {
    "mnist": ("http://yann.lecun.com/exdb/mnist/", "https://ossci-datasets.s3.amazonaws.com/mnist/"),
    "fashion-mnist": ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",),
}


def read_idx(content: bytes, n_dimensions: int, where: str) -> npt.NDArray[np.uint8]:
    """Parse an idx file of unsigned bytes.

    Parameters
    ----------
    content : the bytes of the file, compressed or not.
    n_dimensions : what the file must have: 3 for images, 1 for labels.
    where : what an error calls the file.

    Examples
    --------
    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]), 1, "labels").tolist()
    [5, 0, 4]
    """
    plain = unpacked(content, where)
    header = 4 + 4 * n_dimensions
    expected = bytes([0, 0, UNSIGNED_BYTES, n_dimensions])
    if plain[:4] != expected:
        raise DatasetError(
            f"{where} is not an idx file of unsigned bytes in {n_dimensions} dimension(s): it must begin with "
            f"{expected.hex(' ')}. Got {plain[:4].hex(' ') or 'nothing'}."
        )
    if len(plain) < header:
        raise DatasetError(f"{where} is cut short: its header has {len(plain)} of {header} bytes.")
    shape = tuple(int(size) for size in np.frombuffer(plain, dtype=">u4", count=n_dimensions, offset=4))
    if len(plain) - header != math.prod(shape):
        raise DatasetError(
            f"{where} is damaged or cut short: its header tells of {math.prod(shape):,} bytes {shape}, and "
            f"{len(plain) - header:,} follow."
        )
    return np.frombuffer(plain, dtype=np.uint8, offset=header).reshape(shape)


def read_idx_pair(
    tree: FileTree, images: str, labels: str, *, n_classes: int, first: int = 0, transposed: bool = False
) -> Part:
    """Read a file of images and a file of labels.

    Parameters
    ----------
    tree : the files.
    images, labels : names of the two, without ``.gz``.
    n_classes : number of classes.
    first : the smallest label in the file.
    transposed : the file has columns as rows, as EMNIST does; the images are set upright.
    """
    pixels = read_idx(_content(tree, images), 3, tree.where(images))
    values, where = read_idx(_content(tree, labels), 1, tree.where(labels)), tree.where(labels)
    found = as_labels(values, n_classes, n_images=len(pixels), where=where, first=first)
    return Part((pixels.transpose(0, 2, 1) if transposed else pixels)[:, None], found)


def _read(name: str, tree: FileTree, part: str) -> Part:
    images, labels = _NAMES[part]
    _refuse_other_set(name, tree, labels)
    return read_idx_pair(tree, images, labels, n_classes=10)


def _refuse_other_set(name: str, tree: FileTree, labels: str) -> None:
    """Refuse the files of the other set, which have the same names and shapes."""
    found = hashlib.md5(unpacked(_content(tree, labels), tree.where(labels)), usedforsecurity=False).hexdigest()
    for other, files in _FILES.items():
        if other != name and any(file.name == labels and file.content_md5 == found for file in files):
            raise DatasetError(f"{tree.where(labels)} is a file of the data set {other!r}, not of {name!r}.")


def _content(tree: FileTree, name: str) -> bytes:
    return tree.read(present_name(tree, name) or name)


def _sheet(name: str, summary: str, class_names: tuple[str, ...], **facts: object) -> NamedDataset:
    files = _FILES[name]
    return NamedDataset(
        name=name,
        summary=summary,
        n_classes=10,
        settings={"learner": {"module": "resnet18", "batch_size": 512}},
        class_names=class_names,
        counts={"train": 60_000, "test": 10_000},
        rows={"train": 42_000, "val": 18_000, "test": 10_000},
        image_shape=(1, 28, 28),
        files=files,
        downloads=tuple(
            Download(
                f"{file.name}.gz", tuple(f"{address}{file.name}.gz" for address in _ADDRESSES[name]), file.md5 or ""
            )
            for file in files
        ),
        folder=name,
        read=functools.partial(_read, name),
        **facts,  # type: ignore[arg-type]
    )


SHEETS = {
    "mnist": _sheet(
        "mnist",
        "handwritten digits, 28 x 28 grey",
        tuple("0123456789"),
        layouts=("MNIST/raw", "raw"),
        licence="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner: Gradient-based learning applied to document recognition. 1998.",
        homepage="http://yann.lecun.com/exdb/mnist/",
    ),
    "fashion-mnist": _sheet(
        "fashion-mnist",
        "articles of clothing, 28 x 28 grey",
        ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
        balanced=True,
        layouts=("FashionMNIST/raw", "raw"),
        licence="MIT",
        citation="Xiao, Rasul, Vollgraf: Fashion-MNIST: a novel image dataset for benchmarking machine learning "
        "algorithms. 2017. arXiv:1708.07747",
        homepage="https://github.com/zalandoresearch/fashion-mnist",
    ),
}
