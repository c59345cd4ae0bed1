"""Tiny ImageNet."""

from __future__ import annotations

from pathlib import Path

from worstclass.data.facts import DataFile, Download, NamedDataset
from worstclass.data.formats.tiny_imagenet import IMAGE_SHAPE, read_part
from worstclass.data.named.official import VALIDATION_SHARE, load_official
from worstclass.data.splits import Splits


def _load(seed: int = 0, *, root: str | Path | None = None, val: float = VALIDATION_SHARE, cal: float = 0.0) -> Splits:
    """Load 100,000 training images, and the official validation images as test; ``val`` of the former validate."""
    return load_official(SHEET, root=root, seed=seed, val=val, cal=cal)


SHEET = NamedDataset(
    name="tiny-imagenet",
    summary="200 kinds of things, 64 x 64 colour",
    n_classes=200,
    load=_load,
    settings={"booster": {"theta": 0.5, "gamma": 0.2995}, "learner": {"module": "resnet18", "batch_size": 128}},
    counts={"train": 100_000, "test": 10_000},
    rows={"train": 70_000, "val": 30_000, "test": 10_000},
    balanced=True,
    image_shape=IMAGE_SHAPE,
    files=(
        DataFile("wnids.txt"),
        DataFile("words.txt"),
        DataFile("train/"),
        DataFile("val/images/"),
        DataFile("val/val_annotations.txt"),
    ),
    downloads=(
        Download(
            "tiny-imagenet-200.zip",
            ("http://cs231n.stanford.edu/tiny-imagenet-200.zip",),
            "90528d7ca1a48142e341f4ef8d21d0de",
        ),
    ),
    folder="tiny-imagenet",
    layouts=("tiny-imagenet-200",),
    read=read_part,
    licence="terms of ImageNet: non-commercial research and education",
    citation="Le, Yang: Tiny ImageNet visual recognition challenge. 2015.",
    homepage="http://cs231n.stanford.edu/",
)
