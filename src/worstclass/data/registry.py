"""Data sets by name: what is known of each, and how it is loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worstclass.data.artificial import artificial_balanced, artificial_imbalanced
from worstclass.data.splits import Splits
from worstclass.exceptions import UnknownNameError
from worstclass.options import require_known_options


@dataclass(frozen=True)
class NamedDataset:
    """The facts of a data set, and the function that loads it.

    ``settings`` are those of the paper: keyword arguments of ``WorstClassBooster`` under ``"booster"`` and of
    ``TorchLearner`` under ``"learner"``; under ``"compare"``, the passes that a comparison spends on each training.
    """

    name: str
    summary: str
    n_classes: int
    load: Callable[..., Splits]
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


_MLP = {"module": "mlp", "lr": 0.01}
_COMPARE = {"epochs": 4000}  # about what the rounds of the paper's boosting take, one step each

DATASETS = {
    dataset.name: dataset
    for dataset in (
        NamedDataset(
            "artificial-balanced",
            "five overlapping squares in the plane, 100 rows a class",
            5,
            artificial_balanced,
            {"booster": {"theta": 0.75, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        ),
        NamedDataset(
            "artificial-imbalanced",
            "four overlapping discs in the plane, one with a tenth of the rows",
            4,
            artificial_imbalanced,
            {"booster": {"theta": 0.5, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        ),
    )
}


def named_dataset(name: str) -> NamedDataset:
    """Return the facts of a data set."""
    if name not in DATASETS:
        raise UnknownNameError("name", "load_dataset", name, DATASETS)
    return DATASETS[name]


def load_dataset(name: str, root: str | Path | None = None, seed: int = 0, **options: Any) -> Splits:
    """Load a data set by its name, split for training and testing.

    Parameters
    ----------
    name : one of ``worstclass.data.registry.DATASETS``.
    root : folder with the data set's files; the artificial ones are drawn and have none.
    seed : fixes the draw or the split.
    options : further options of the data set, such as ``n_train`` or ``n_min``.

    Examples
    --------
    >>> splits = load_dataset("artificial-balanced", n_test=200)
    >>> len(splits.train), len(splits.test), splits.val
    (500, 1000, None)
    """
    dataset = named_dataset(name)
    known = [option for option in inspect.signature(dataset.load).parameters if option != "seed"]
    require_known_options(options, known, owner=f"The data set {name!r}")
    return dataset.load(seed, **options)
