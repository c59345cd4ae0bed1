"""MedMNIST: the 2-D sets with one label an image, at 28 pixels and at the larger sizes of MedMNIST+.

A set is one npz file with the images and labels of three official parts, which are kept. The facts are those that the
publisher's package (version 3.0.2) states.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from worstclass.data.arrays import Arrays, channels_first
from worstclass.data.facts import Download, NamedDataset, as_labels
from worstclass.data.splits import Part
from worstclass.data.trees import FileTree
from worstclass.exceptions import DatasetError, UnknownNameError

SIZES = (28, 64, 128, 224)

_ADDRESS = "https://zenodo.org/records/10519652/files/{name}?download=1"
_ORGANS = (
    "bladder; femur-left; femur-right; heart; kidney-left; kidney-right; liver; lung-left; lung-right; pancreas; spleen"
)


class _Facts(NamedTuple):
    """What tells one set from the others; ``md5`` in the order of ``SIZES``, ``rows`` of train, val and test."""

    summary: str
    channels: int
    classes: str
    rows: tuple[int, int, int]
    md5: str
    licence: str = "CC BY 4.0"


_FACTS = {
    "pathmnist": _Facts(
        "tissue of the colon under the microscope",
        3,
        "adipose; background; debris; lymphocytes; mucus; smooth muscle; normal colon mucosa; cancer-associated "
        "stroma; colorectal adenocarcinoma epithelium",
        (89_996, 10_004, 7_180),
        "a8b06965200029087d5bd730944a56c1 55aa9c1e0525abe5a6b9d8343a507616"
        " ac42d08fb904d92c244187169d1fd1d9 2c51a510bcdc9cf8ddb2af93af1eadec",
    ),
    "dermamnist": _Facts(
        "pigmented lesions of the skin",
        3,
        "actinic keratoses and intraepithelial carcinoma; basal cell carcinoma; benign keratosis-like lesions; "
        "dermatofibroma; melanoma; melanocytic nevi; vascular lesions",
        (7_007, 1_003, 2_005),
        "0744692d530f8e62ec473284d019b0c7 b70a2f5635c6199aeaa28c31d7202e1f"
        " 2defd784463fa5243564e855ed717de1 8974907d8e169bef5f5b96bc506ae45d",
        licence="CC BY-NC 4.0",
    ),
    "octmnist": _Facts(
        "optical coherence tomography of the retina",
        1,
        "choroidal neovascularization; diabetic macular edema; drusen; normal",
        (97_477, 10_832, 1_000),
        "c68d92d5b585d8d81f7112f81e2d0842 e229e9440236b774d9f0dfef9d07bdaf"
        " 0a97e76651ace45c5d943ee3f65b63ae abc493b6d529d5de7569faaef2773ba3",
    ),
    "pneumoniamnist": _Facts(
        "X-rays of children's chests",
        1,
        "normal; pneumonia",
        (4_708, 524, 624),
        "28209eda62fecd6e6a2d98b1501bb15f 8f4eceb4ccffa70c672198ea285246c6"
        " 05b46931834c231683c68f40c47b2971 d6a3c71de1b945ea11211b03746c1fe1",
    ),
    "retinamnist": _Facts(
        "fundus images, five grades of diabetic retinopathy",
        3,
        "0; 1; 2; 3; 4",
        (1_080, 120, 400),
        "bd4c0672f1bba3e3a89f0e4e876791e4 afda852cc34dcda56f86ad2b2457dbcc"
        " e48e916a24454daf90583d4e6efb1a18 eae7e3b6f3fcbda4ae613ebdcbe35348",
    ),
    "breastmnist": _Facts(
        "ultrasound of the breast",
        1,
        "malignant; normal, benign",
        (546, 78, 156),
        "750601b1f35ba3300ea97c75c52ff8f6 742edef2a1fd1524b2efff4bd7ba9364"
        " 363e4b3f8d712e9b5de15470a2aaadf1 b56378a6eefa9fed602bb16d192d4c8b",
    ),
    "bloodmnist": _Facts(
        "cells of the blood under the microscope",
        3,
        "basophil; eosinophil; erythroblast; immature granulocytes(myelocytes, metamyelocytes and promyelocytes); "
        "lymphocyte; monocyte; neutrophil; platelet",
        (11_959, 1_712, 3_421),
        "7053d0359d879ad8a5505303e11de1dc 2b94928a2ae4916078ca51e05b6b800b"
        " adace1e0ed228fccda1f39692059dd4c b718ff6835fcbdb22ba9eacccd7b2601",
    ),
    "tissuemnist": _Facts(
        "cells of the kidney cortex under the microscope",
        1,
        "Collecting Duct, Connecting Tubule; Distal Convoluted Tubule; Glomerular endothelial cells; Interstitial "
        "endothelial cells; Leukocytes; Podocytes; Proximal Tubule Segments; Thick Ascending Limb",
        (165_466, 23_640, 47_280),
        "ebe78ee8b05294063de985d821c1c34b 123ece2eba09d0aa5d698fda57103344"
        " 61b955355d7425a89687b06cca3ce0c2 b077128c4a949f0a4eb01517f9037b9c",
    ),
    "organamnist": _Facts(
        "organs in computed tomography, seen along the body",
        1,
        _ORGANS,
        (34_561, 6_491, 17_778),
        "68e3f8846a6bd62f0c9bf841c0d9eacc 2dcccc29b88e6da5a01161ef20cda288"
        " eeae80d0a227a8d099027e1b3cfd3b60 50747347e05c87dd3aaf92c49f9f3170",
    ),
    "organcmnist": _Facts(
        "organs in computed tomography, seen from the front",
        1,
        _ORGANS,
        (12_975, 2_392, 8_216),
        "b9ceb9546e10131b32923c5bbeaea2b1 3ce34a8724ea6f548e6db4744d03b6a9"
        " 773c1f009daa3fe5d9a2a201b2a7ed94 050f5e875dc056f6768abf94ec9995d1",
    ),
    "organsmnist": _Facts(
        "organs in computed tomography, seen from the side",
        1,
        _ORGANS,
        (13_932, 2_452, 8_827),
        "9ab87b696fb54e2a387ebe992d6ed5f1 53a6d115339d874c25e309a994ff46d3"
        " ded0c5fa01a95dc4978b956f613e9b8e b354719e553fbbb2513d5533f52a4cb1",
    ),
}


def sheet(name: str, size: int = 28) -> NamedDataset:
    """Return the facts of a set at one size."""
    if size not in SIZES:
        raise UnknownNameError("size", f"the data set {name!r}", size, SIZES)
    facts = _FACTS[name]
    classes = tuple(facts.classes.split("; "))
    file = f"{name}.npz" if size == 28 else f"{name}_{size}.npz"
    md5 = facts.md5.split()[SIZES.index(size)]
    settings: dict[str, dict[str, Any]] = {"learner": {"module": "resnet18", "batch_size": 512}}
    if name == "tissuemnist":  # the paper's values, and its network: a ResNet-18 of three narrow stages
        learner = {"module": "resnet18-small", "batch_size": 512}
        settings = {"booster": {"theta": 0.5, "gamma": 0.2495}, "learner": learner}
    return NamedDataset(
        name,
        f"{facts.summary}, {size} x {size} {'colour' if facts.channels == 3 else 'grey'}",
        len(classes),
        dict(zip(("train", "val", "test"), facts.rows, strict=True)),
        functools.partial(_read, file, (facts.channels, size, size), len(classes)),
        settings=settings,
        class_names=classes,
        files={file: md5},
        downloads=(Download(file, (_ADDRESS.format(name=file),), md5),),
        folder=name,
        layouts=("medmnist", ".medmnist"),
        variant="" if size == 28 else f"--size {size}",
        vary=functools.partial(sheet, name),
        licence=facts.licence,
        citation="Yang, Shi, Wei, Liu, Zhao, Ke, Pfister, Ni: MedMNIST v2 - a large-scale lightweight benchmark for 2D "
        "and 3D biomedical image classification. Scientific Data, 2023.",
    )


def _read(file: str, shape: tuple[int, int, int], n_classes: int, tree: FileTree, part: str) -> Part:
    """Read one official part; the file has the channels last, or leaves a single one out."""
    arrays = Arrays(tree.path / file)
    stored = arrays.read(f"{part}_images")
    images = channels_first(stored)
    if images.dtype != np.uint8 or images.shape[1:] != shape:
        raise DatasetError(
            f"{arrays.path}: {part}_images must be unsigned bytes of {shape[1]} x {shape[2]} pixels and {shape[0]} "
            f"channel(s). Got {stored.dtype} of shape {stored.shape}."
        )
    labels, where = arrays.read(f"{part}_labels"), f"{arrays.path}: {part}_labels"
    return Part(images, as_labels(labels, n_classes, n_images=len(images), where=where))


SHEETS = tuple(sheet(name) for name in _FACTS)
