"""Tables that come with scikit-learn: digits, wine, iris, breast cancer.

They have no official parts. By default 20% of the rows test, 20% validate and the rest trains, each class in its
proportion. X is a data frame with named columns.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from worstclass.data.facts import NamedDataset
from worstclass.data.splits import ALL, Part


def _read(name: str, tree: None, part: str) -> Part:
    from sklearn import datasets

    table = getattr(datasets, f"load_{name.replace('-', '_')}")(as_frame=True)
    return Part(table.data, table.target.to_numpy().astype(np.int64))


def _sheet(name: str, summary: str, class_names: tuple[str, ...], n_rows: int, **facts: Any) -> NamedDataset:
    return NamedDataset(
        name,
        summary,
        len(class_names),
        {ALL: n_rows},
        functools.partial(_read, name),
        class_names=class_names,
        licence="CC BY 4.0 (UCI Machine Learning Repository)",
        **facts,
    )


SHEETS = (
    _sheet(
        "digits",
        "handwritten digits as a table of 64 grey levels",
        tuple("0123456789"),
        1_797,
        citation="Alpaydin, Kaynak: Optical recognition of handwritten digits. 1998.",
    ),
    _sheet(
        "wine",
        "three cultivars of wine by 13 chemical measurements",
        ("class_0", "class_1", "class_2"),
        178,
        citation="Aeberhard, Forina: Wine. 1992.",
    ),
    _sheet(
        "iris",
        "three kinds of iris by the sizes of their leaves",
        ("setosa", "versicolor", "virginica"),
        150,
        balanced=True,
        citation="Fisher: The use of multiple measurements in taxonomic problems. 1936.",
    ),
    _sheet(
        "breast-cancer",
        "malignant and benign tumours by 30 measurements of cell nuclei",
        ("malignant", "benign"),
        569,
        citation="Wolberg, Mangasarian, Street, Street: Breast Cancer Wisconsin (Diagnostic). 1993.",
    ),
)
