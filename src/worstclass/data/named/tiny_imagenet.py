"""Tiny ImageNet: 64 x 64 pictures in the official folder, or in the zip archive it comes in.

The pictures of the official test folder have no labels; the official validation pictures are the test set.
Classes are numbered in the alphabetical order of their WordNet ids, as readers of class folders do.
"""

from __future__ import annotations

import numpy as np

from worstclass.data.facts import Download, NamedDataset
from worstclass.data.pictures import decode_picture
from worstclass.data.splits import Part
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError

IMAGE_SHAPE = (3, 64, 64)


def read_part(tree: FileTree, part: str) -> Part:
    """Read ``train`` (pictures by class folder) or ``test`` (pictures listed in ``val/val_annotations.txt``)."""
    number = {class_id: label for label, class_id in enumerate(_class_ids(tree))}
    listed = _training_pictures(tree, number) if part == "train" else _validation_pictures(tree, number)
    images = np.empty((len(listed), *IMAGE_SHAPE), np.uint8)
    for row, (name, _) in enumerate(listed):
        pixels = decode_picture(tree.read(name), tree.where(name), channels=3)
        if pixels.shape != IMAGE_SHAPE:
            raise DatasetError(f"{tree.where(name)} has the shape {pixels.shape}, not {IMAGE_SHAPE}.")
        images[row] = pixels
    return Part(images, np.array([label for _, label in listed], dtype=np.int64))


def read_class_names(tree: FileTree) -> tuple[str, ...]:
    """Return the first word for each class, or its id where ``words.txt`` has none."""
    words = dict(line.split("\t", 1) for line in _lines(tree, "words.txt") if "\t" in line)
    return tuple(words.get(class_id, class_id).split(",")[0].strip() for class_id in _class_ids(tree))


def _class_ids(tree: FileTree) -> list[str]:
    ids = sorted(_lines(tree, "wnids.txt"))
    if not ids:
        raise DatasetError(f"{tree.where('wnids.txt')} names no class.")
    return ids


def _training_pictures(tree: FileTree, number: dict[str, int]) -> list[tuple[str, int]]:
    paths = [name.split("/") for name in tree.names() if name.startswith("train/") and name.count("/") == 3]
    listed = [("/".join(path), number.get(path[1], -1)) for path in paths if path[2] == "images"]
    if {label for _, label in listed} != set(number.values()):
        raise DatasetError(f"{tree.path}: the folders train/*/images must be those of the classes in wnids.txt.")
    return listed


def _validation_pictures(tree: FileTree, number: dict[str, int]) -> list[tuple[str, int]]:
    pictures = {name for name in tree.names() if name.startswith("val/images/")}
    listed: dict[str, int] = {}
    for position, line in enumerate(_lines(tree, "val/val_annotations.txt"), start=1):
        name, class_id, *_ = (*line.split("\t"), "")
        picture, where = f"val/images/{name}", tree.where("val/val_annotations.txt")
        if class_id not in number or picture not in pictures:
            raise DatasetError(
                f"{where}: line {position} must have a picture in val/images and a class of wnids.txt. Got {line!r}."
            )
        if picture in listed:
            raise DatasetError(f"{where}: line {position} names {name} again.")
        listed[picture] = number[class_id]
    return list(listed.items())


def _lines(tree: FileTree, name: str) -> list[str]:
    try:
        text = tree.read(name).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DatasetError(f"{tree.where(name)} cannot be read as text: {error}") from None
    return [line.rstrip() for line in text.splitlines() if line.strip()]


SHEETS = (
    NamedDataset(
        "tiny-imagenet",
        "200 kinds of things, 64 x 64 colour",
        200,
        {"train": 100_000, "test": 10_000},
        read_part,
        settings={"booster": {"theta": 0.5, "gamma": 0.2995}, "learner": {"module": "resnet18", "batch_size": 128}},
        balanced=True,
        files=dict.fromkeys(("wnids.txt", "words.txt", "train/", "val/images/", "val/val_annotations.txt")),
        downloads=(
            Download(
                "tiny-imagenet-200.zip",
                ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
                "90528d7ca1a48142e341f4ef8d21d0de",
            ),
        ),
        folder="tiny-imagenet",
        layouts=("tiny-imagenet-200",),
        read_class_names=read_class_names,
        licence="terms of ImageNet: non-commercial research and education",
        citation="Le, Yang: Tiny ImageNet visual recognition challenge. 2015.",
    ),
)
