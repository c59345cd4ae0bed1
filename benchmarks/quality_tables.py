"""The tables of `quality.py`, and how their rows are divided: bundled, generated, and those of a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification

from worstclass.data.splits import allot, draw, take_rows

TEST_SHARE = 0.3
#: rows that a class keeps, if it has them, where a table has more rows than are used
LEAST_TRAIN, LEAST_TEST = 10, 100


@dataclass(frozen=True, eq=False)
class Table:
    """A table: rows as an array of numbers or a data frame, and class indices from 0."""

    name: str
    source: str
    X: Any
    y: np.ndarray

    @classmethod
    def of(cls, name: str, source: str, X: Any, labels: np.ndarray) -> Table:
        """Return a table with labels of any kind as class indices."""
        return cls(name, source, X, np.unique(labels, return_inverse=True)[1])

    def facts(self) -> dict[str, Any]:
        """Describe the table, ready for JSON."""
        frame = pd.DataFrame(self.X)
        return {
            "name": self.name,
            "source": self.source,
            "rows": len(self.y),
            "columns": frame.shape[1],
            "categories": sum(dtype == "category" for dtype in frame.dtypes),
            "missing": float(frame.isna().to_numpy().mean()),
            "classes": int(self.y.max()) + 1,
            "smallest_class": int(np.bincount(self.y).min()),
        }

    def divided(self, split: int, max_train: int, max_test: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Return training rows and labels, test rows and labels.

        A class of two rows or more has at least one in each part, a class of one row is only trained on.
        """
        rng = np.random.default_rng(split)
        totals = np.bincount(self.y)
        n_test = np.where(totals > 1, np.clip((TEST_SHARE * totals).round(), 1, totals - 1), 0).astype(int)
        test = draw(self.y, n_test, rng)
        train = np.setdiff1d(np.arange(len(self.y)), test)
        train, test = (
            rows[draw(self.y[rows], fewer(np.bincount(self.y[rows], minlength=len(totals)), most, least), rng)]
            for rows, most, least in ((train, max_train, LEAST_TRAIN), (test, max_test, LEAST_TEST))
        )
        return take_rows(self.X, train), self.y[train], take_rows(self.X, test), self.y[test]


def fewer(counts: np.ndarray, most: int, least: int) -> np.ndarray:
    """Return how many rows each class keeps: ``most`` in all, in proportion, but ``least`` of each where possible."""
    if counts.sum() <= most:
        return counts
    kept = np.minimum(counts, max(1, min(least, most // len(counts))))
    return kept + allot(counts - kept, max(0, most - int(kept.sum())))


# generated


def shares(n_classes: int, ratio: float) -> np.ndarray:
    """Return the shares of the classes: geometric, with ``ratio`` rows of the first for one of the last."""
    found = ratio ** -(np.arange(n_classes) / (n_classes - 1))
    return found / found.sum()


def clusters(n_classes: int, n_rows: int, ratio: float, seed: int, *, separation: float = 1.0) -> Any:
    """Clusters on the corners of a hypercube, of 20 columns as many informative as the classes need."""
    return make_classification(
        n_rows,
        20,
        n_informative=4 + n_classes // 5,
        n_redundant=3,
        n_classes=n_classes,
        n_clusters_per_class=1 if n_classes > 5 else 2,
        weights=list(shares(n_classes, ratio)),
        class_sep=separation,
        flip_y=0.01,
        random_state=seed,
    )


def gaussians(n_classes: int, n_rows: int, ratio: float, seed: int, *, n_columns: int = 8, spread: float = 1.5) -> Any:
    """Gaussian classes, each with a covariance of its own: the boundaries are curved."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum((shares(n_classes, ratio) * n_rows).round().astype(int), 2)
    X = [
        rng.normal(0, spread, n_columns) + rng.normal(size=(size, n_columns)) @ rng.normal(0, 0.5, (n_columns,) * 2)
        for size in sizes
    ]
    return np.concatenate(X), np.repeat(np.arange(n_classes), sizes)


def with_gaps(rows: tuple[np.ndarray, np.ndarray], seed: int, *, n_categories: int, missing: float = 0.1) -> Any:
    """Turn the last columns into categories of 3 to 12 values in a random order, and leave cells out at random."""
    X, y = rows
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    frame = frame.mask(rng.random(frame.shape) < missing)
    for name in frame.columns[len(frame.columns) - n_categories :]:
        values = rng.permutation([f"v{k}" for k in range(rng.integers(3, 13))])
        frame[name] = pd.qcut(frame[name], len(values), labels=values).cat.set_categories(values, ordered=False)
    return frame, y


BUNDLED: dict[str, Callable[..., Any]] = {
    "iris": load_iris,
    "wine": load_wine,
    "breast-cancer": load_breast_cancer,
    "digits": load_digits,
}
GENERATED: dict[str, Callable[[], Any]] = {
    "clusters-3": lambda: clusters(3, 3000, 30, seed=1),
    "clusters-8": lambda: clusters(8, 6000, 50, seed=2, separation=2.0),
    "clusters-20": lambda: clusters(20, 8000, 20, seed=3, separation=1.5),
    "clusters-40": lambda: clusters(40, 10_000, 10, seed=4, separation=2.0),
    "gaussians-5": lambda: gaussians(5, 4000, 50, seed=5),
    "gaussians-12": lambda: gaussians(12, 8000, 100, seed=6),
    "categories-4": lambda: with_gaps(clusters(4, 3000, 20, seed=7, separation=1.5), 7, n_categories=8),
    "categories-10": lambda: with_gaps(gaussians(10, 6000, 40, seed=8), 8, n_categories=3),
    "missing-6": lambda: with_gaps(gaussians(6, 3000, 60, seed=9), 9, n_categories=0, missing=0.2),
}


def own_tables() -> Iterator[Table]:
    """Give the bundled and the generated tables, one after the other."""
    for name, load in BUNDLED.items():
        yield Table.of(name, "scikit-learn", *load(return_X_y=True))
    for name, make in GENERATED.items():
        yield Table.of(name, "generated", *make())


def tables_of_file(path: Path) -> Iterator[Table]:
    """Give the tables of an npz file with NAME_x, NAME_y and, if there are categories, NAME_cat."""
    with np.load(path, allow_pickle=False) as file:
        for key in sorted(file.files):
            if not key.endswith("_x"):
                continue
            stem = key.removesuffix("_x")
            X, is_category = file[key], file[f"{stem}_cat"] if f"{stem}_cat" in file.files else np.zeros(0)
            name = re.sub(r"[^\w.]+", "-", stem)
            yield Table.of(name, "file", as_frame(X, is_category) if is_category.any() else X, file[f"{stem}_y"])


def as_frame(X: np.ndarray, is_category: np.ndarray) -> pd.DataFrame:
    """Return a data frame in which the columns that are marked are categories."""
    frame = pd.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    return frame.astype({f"x{j}": "category" for j in np.flatnonzero(is_category)})
