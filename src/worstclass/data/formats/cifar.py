"""CIFAR-10 and CIFAR-100: pickled batches of 32 x 32 colour images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worstclass.data.formats.pickled import read_pickle
from worstclass.data.formats.undecoded import Images, Labels, Undecoded, as_labels
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
