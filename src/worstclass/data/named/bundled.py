"""Tables that come with scikit-learn: digits, wine, iris, breast cancer.

They have no official parts. By default 20% of the rows test, 20% validate and the rest trains, each class in its
proportion. X is a data frame with named columns.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from worstclass.data.facts import NamedDataset
from worstclass.data.splits import Part, Splits, check_shares, cut_parts, generator, share_of

_FUNCTIONS = {
    "digits": "load_digits",
    "wine": "load_wine",
    "iris": "load_iris",
    "breast-cancer": "load_breast_cancer",
}


def _load(name: str, seed: int = 0, *, val: float = 0.2, cal: float = 0.0, test: float = 0.2) -> Splits:
    """Load a table and split it: ``val`` and ``test`` are shares of all rows, ``cal`` of those left to train on."""
    check_shares({"val": val, "test": test}, "load_dataset")
    check_shares({"cal": cal}, "load_dataset")
    generator(seed)
    from sklearn import datasets

    table = getattr(datasets, _FUNCTIONS[name])(as_frame=True)
    labels = table.target.to_numpy().astype(np.int64)
    rows = cut_parts(labels, test=test, val=val, cal=cal, seed=seed)
    whole = Part(table.data, labels)
    parts = {part: whole.rows(index) for part, index in rows.items()}
    return Splits(**parts, class_names=SHEETS[name].class_names)


def _sheet(name: str, summary: str, class_names: tuple[str, ...], n_rows: int, **facts: Any) -> NamedDataset:
    n_fifth = share_of(0.2, n_rows)
    return NamedDataset(
        name=name,
        summary=summary,
        n_classes=len(class_names),
        load=functools.partial(_load, name),
        class_names=class_names,
        counts={"all": n_rows},
        rows={"train": n_rows - 2 * n_fifth, "val": n_fifth, "test": n_fifth},
        folder=name,
        licence="CC BY 4.0 (UCI Machine Learning Repository)",
        homepage="https://scikit-learn.org/stable/datasets/toy_dataset.html",
        **facts,
    )


SHEETS = {
    sheet.name: sheet
    for sheet in (
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
}
