"""The paper's two artificial data sets: overlapping regions in the plane, uniform inside.

- Balanced: five squares of side 2, rotated by 45 degrees. Class 2 lies in the middle and overlaps all others.
- Imbalanced: four unit discs; class 4 is the minority, the others have ten times its rows.

No classifier can be right everywhere, as the regions overlap. The least worst-class error that any classifier
reaches is 20.8% on the squares and 36.6% on the discs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from worstclass._checks import check_count
from worstclass._typing import FloatArray
from worstclass.data.facts import NamedDataset
from worstclass.data.splits import Part, Splits

Draw = Callable[[int, np.random.Generator], FloatArray]

SQUARE_CENTRES = np.array([(0.0, 1.4), (1.4, 1.4), (2.8, 1.4), (1.4, 2.8), (1.4, 0.0)])
DISC_CENTRES = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)])
HALF_DIAGONAL = math.sqrt(2.0)


def artificial_balanced(seed: int = 0, *, n_train: int = 100, n_test: int = 100_000) -> Splits:
    """Draw the five squares.

    Parameters
    ----------
    seed : fixes the draw; training and test rows are drawn independently of each other's number.
    n_train, n_test : rows of each class.

    Examples
    --------
    >>> splits = artificial_balanced(n_test=1000)
    >>> splits.train.X.shape, np.bincount(splits.train.y).tolist(), splits.test.X.shape
    ((500, 2), [0, 100, 100, 100, 100, 100], (5000, 2))
    """
    check_count(n_train, "n_train", "artificial-balanced")
    check_count(n_test, "n_test", "artificial-balanced")
    sizes = {"train": [n_train] * 5, "test": [n_test] * 5}
    return _splits(seed, SQUARE_CENTRES, HALF_DIAGONAL, _in_rotated_square, sizes)


def artificial_imbalanced(
    seed: int = 0, *, n_min: int = 100, n_test_min: int = 10_000, n_test: int | None = None
) -> Splits:
    """Draw the four discs; see ``artificial_balanced`` for ``seed``.

    Parameters
    ----------
    n_min, n_test_min : rows of the minority class 4; the others have ten times as many.
    n_test : test rows of every class, instead of ``n_test_min``: measures the class errors alike, but the plain error
        is then no longer that of the distribution.
    """
    check_count(n_min, "n_min", "artificial-imbalanced")
    check_count(n_test_min, "n_test_min", "artificial-imbalanced")
    check_count(n_test, "n_test", "artificial-imbalanced", words=(None,))
    test = [10 * n_test_min] * 3 + [n_test_min] if n_test is None else [n_test] * 4
    sizes = {"train": [10 * n_min] * 3 + [n_min], "test": test}
    return _splits(seed, DISC_CENTRES, 1.0, _in_unit_disc, sizes)


def _splits(seed: int, centres: FloatArray, reach: float, draw: Draw, sizes: dict[str, list[int]]) -> Splits:
    """Draw the regions, scaled by their extent so that they lie in the unit square."""
    check_count(seed, "seed", "the artificial data", least=0)
    low, high = centres.min(axis=0) - reach, centres.max(axis=0) + reach
    parts = {}
    for position, (name, counts) in enumerate(sizes.items()):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(position,)))
        X = np.concatenate([draw(n, rng) + centre for n, centre in zip(counts, centres, strict=True)])
        y = np.repeat(np.arange(1, len(centres) + 1), counts)
        parts[name] = Part(((X - low) / (high - low)).astype(np.float32), y)
    return Splits(train=parts["train"], test=parts["test"])


def _in_rotated_square(n: int, rng: np.random.Generator) -> FloatArray:
    corner = rng.uniform(-1, 1, size=(n, 2))
    return np.stack([corner[:, 0] - corner[:, 1], corner[:, 0] + corner[:, 1]], axis=1) / HALF_DIAGONAL


def _in_unit_disc(n: int, rng: np.random.Generator) -> FloatArray:
    radius, angle = np.sqrt(rng.uniform(size=n)), rng.uniform(0, 2 * np.pi, size=n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


_MLP = {"module": "mlp", "lr": 0.01}
_COMPARE = {"epochs": 4000}  # about what the rounds of the paper's boosting take, one step each
_PAPER = "Saito, Matsuo, Uchida, Suehiro: Bounding the worst-class error: a boosting approach."

SHEETS = (
    NamedDataset(
        "artificial-balanced",
        "five overlapping squares in the plane, 100 rows per class",
        5,
        {"train": 500, "test": 500_000},
        draw=artificial_balanced,
        settings={"booster": {"theta": 0.75, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        class_names=tuple("12345"),
        balanced=True,
        citation=_PAPER,
    ),
    NamedDataset(
        "artificial-imbalanced",
        "four overlapping discs in the plane, one with a tenth of the rows",
        4,
        {"train": 3_100, "test": 310_000},
        draw=artificial_imbalanced,
        settings={"booster": {"theta": 0.5, "gamma": 0.0995}, "learner": _MLP, "compare": _COMPARE},
        class_names=tuple("1234"),
        citation=_PAPER,
    ),
)
