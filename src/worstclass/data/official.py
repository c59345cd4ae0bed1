"""From official parts to splits: the steps that all named image sets share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from worstclass._typing import IntArray
from worstclass.data.decoded import DecodedPart, Labels, decoded
from worstclass.data.facts import NamedDataset
from worstclass.data.locate import Found, find
from worstclass.data.splits import Part, Splits, take_rows
from worstclass.data.stratified import check_shares, cut, generator, share_of
from worstclass.data.trees import Stamp

# what a seed is used for; a number, once given, stays
CUT_VALIDATION, CUT_CALIBRATION, THIN_TRAINING, THIN_TEST, CUT_TEST = range(5)

#: share of the official training rows that the paper validates on
VALIDATION_SHARE = 0.3

#: function from (official part, its labels) to the rows that are kept
Thinning = Callable[[str, Labels], IntArray]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of one split: the official part they are of, and their numbers in it; None for all."""

    part: str
    index: IntArray | None


def rows_by_split(
    labels: Mapping[str, Labels], *, seed: int, val: float = 0.0, cal: float = 0.0, thinning: Thinning | None = None
) -> dict[str, Rows]:
    """Decide which row of the official parts is in which split.

    Parameters
    ----------
    labels : labels of each official part: ``train``, ``test`` and perhaps ``val``.
    seed : fixes the draws. Validation, calibration and thinning are drawn apart: with another ``cal``, the same rows
        validate.
    val : share of the training rows that validates; 0 where there is an official validation part.
    cal : share of the training rows, after validation rows were cut off, that calibrates.
    thinning : which rows are kept at all, before anything is cut.

    Examples
    --------
    >>> labels = {"train": np.arange(50_000) % 10, "test": np.arange(10_000) % 10}
    >>> splits = rows_by_split(labels, seed=0, val=0.3)
    >>> len(splits["train"].index), len(splits["val"].index), splits["test"].index
    (35000, 15000, None)
    """
    check_shares({"val": val}, "load_dataset")
    check_shares({"cal": cal}, "load_dataset")
    rows = {part: Rows(part, None if thinning is None else thinning(part, found)) for part, found in labels.items()}
    for name, share, use in (("val", val, CUT_VALIDATION), ("cal", cal, CUT_CALIBRATION)):
        if share:
            index = rows["train"].index
            index = np.arange(len(labels["train"])) if index is None else index
            kept, off = cut(labels["train"][index], share_of(share, len(index)), generator(seed, use))
            rows["train"], rows[name] = Rows("train", index[kept]), Rows("train", index[off])
    return rows


def load_official(
    dataset: NamedDataset,
    seed: int = 0,
    *,
    root: str | Path | None = None,
    val: float | None = None,
    cal: float = 0.0,
    thinning: Thinning | None = None,
) -> Splits:
    """Read the official parts of a set and split them; images stay unsigned bytes (n, channels, height, width).

    ``val`` of the training rows validate; None is the paper's share, or the official validation part if there is one.
    See ``rows_by_split`` for the others.
    """
    generator(seed)  # refuses a bad seed before anything is read
    if val is None:
        val = 0.0 if "val" in dataset.counts else VALIDATION_SHARE
    check_shares({"val": val}, "load_dataset")
    check_shares({"cal": cal}, "load_dataset")
    found = find(dataset, root)
    stamps = found.stamps()
    parts = {part: _decoded(found, part, stamps) for part in dataset.counts}
    labels = {part: read.labels for part, read in parts.items()}
    rows = rows_by_split(labels, seed=seed, val=val, cal=cal, thinning=thinning)
    splits = {name: _part(parts[chosen.part], chosen.index) for name, chosen in rows.items()}
    return Splits.from_parts(splits, dataset.class_names or parts["train"].class_names)


def _decoded(found: Found, part: str, stamps: list[Stamp]) -> DecodedPart:
    read = found.dataset.read
    assert read is not None, "a set with files has a reader"
    name = "-".join(filter(None, (found.dataset.folder, found.dataset.variant, part)))
    return decoded(name, found.tree.path, stamps, lambda: read(found.tree, part))


def _part(read: DecodedPart, index: IntArray | None) -> Part:
    if index is None:
        return Part(read.images, read.labels)
    return Part(take_rows(read.images, index), read.labels[index])
