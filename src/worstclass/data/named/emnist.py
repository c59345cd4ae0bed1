"""EMNIST: handwritten letters and digits in six official groupings, as idx files inside one zip archive."""

from __future__ import annotations

import functools
import string

from worstclass.data.facts import DataFile, Download, NamedDataset
from worstclass.data.named.mnist import read_idx_pair
from worstclass.data.splits import VALIDATION_SHARE, Part, share_of
from worstclass.data.trees import FileTree
from worstclass.exceptions import UnknownNameError

#: lower-case letters whose shape is unlike the capital's; the others are merged with it
_APART = "abdefghnqrt"
_ALL = string.digits + string.ascii_uppercase + string.ascii_lowercase
_MERGED = string.digits + string.ascii_uppercase + _APART

#: split -> classes, training rows, test rows, the smallest label in its files
_SPLITS = {
    "byclass": (_ALL, 697_932, 116_323, 0),
    "bymerge": (_MERGED, 697_932, 116_323, 0),
    "balanced": (_MERGED, 112_800, 18_800, 0),
    "letters": (string.ascii_lowercase, 124_800, 20_800, 1),
    "digits": (string.digits, 240_000, 40_000, 0),
    "mnist": (string.digits, 60_000, 10_000, 0),
}

_ARCHIVE = Download(
    "gzip.zip",
    (
        "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip",
        "https://www.itl.nist.gov/iaui/vip/cs_links/EMNIST/gzip.zip",
    ),
    "58c8d27c78d21e728a6bc7b3cc06412e",
)


def sheet(split: str = "byclass") -> NamedDataset:
    """Return the facts of one grouping."""
    if split not in _SPLITS:
        raise UnknownNameError("split", "the data set 'emnist'", split, _SPLITS)
    classes, n_train, n_test, _ = _SPLITS[split]
    n_val = share_of(VALIDATION_SHARE, n_train)
    booster = {"booster": {"theta": 0.4, "gamma": 0.2898}} if split == "byclass" else {}
    return NamedDataset(
        name="emnist",
        summary=f"handwritten letters and digits, 28 x 28 grey ({split})",
        n_classes=len(classes),
        settings={**booster, "learner": {"module": "resnet18", "batch_size": 512}},
        class_names=tuple(classes),
        counts={"train": n_train, "test": n_test},
        rows={"train": n_train - n_val, "val": n_val, "test": n_test},
        balanced=split not in ("byclass", "bymerge"),
        image_shape=(1, 28, 28),
        files=tuple(DataFile(name) for part in ("train", "test") for name in _names(split, part)),
        downloads=(_ARCHIVE,),
        folder="emnist",
        layouts=("EMNIST/raw", "gzip", "raw", "EMNIST/raw/gzip"),
        read=functools.partial(_read, split),
        variant="" if split == "byclass" else f"--split {split}",
        vary=sheet,
        licence="not stated; made from NIST Special Database 19",
        citation="Cohen, Afshar, Tapson, van Schaik: EMNIST: an extension of MNIST to handwritten letters. 2017. "
        "arXiv:1702.05373",
        homepage="https://www.nist.gov/itl/products-and-services/emnist-dataset",
    )


def _read(split: str, tree: FileTree, part: str) -> Part:
    classes, _, _, first = _SPLITS[split]
    images, labels = _names(split, part)
    return read_idx_pair(tree, images, labels, n_classes=len(classes), first=first, transposed=True)


def _names(split: str, part: str) -> tuple[str, str]:
    return f"emnist-{split}-{part}-images-idx3-ubyte", f"emnist-{split}-{part}-labels-idx1-ubyte"


SHEETS = {"emnist": sheet()}
