"""What the search for theta chooses, what it costs, and how well the choice does on test rows.

    python benchmarks/theta.py --out docs/results/theta.json

For each problem and seed: a grid of nine thetas, 0.1 to 0.9, with ``n_jobs=1`` and one thread. Per run the file has
theta, the epochs and the seconds of processor time of all nine fits, the largest feasible theta and the epochs of its
fit, and the worst-class error on validation and test rows. For comparison: the test errors of a fit at the smallest
theta, 0.1, and at the largest feasible one. The file is written after every run; a run that it has is not made again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    SklearnLearner,
    Splits,
    TorchLearner,
    WorstClassBooster,
    load_dataset,
    make_splits,
    select_theta,
    worst_class_error,
)
from worstclass.experiments.run import Provenance


@dataclass(frozen=True)
class Problem:
    """Rows by seed, and a learner."""

    rows: Callable[[int], Splits]
    learner: Callable[[], Any]
    text: str


def digits(seed: int) -> Splits:
    X, y = load_digits(return_X_y=True)
    return make_splits((X / 16).astype(np.float32), y, val=0.25, test=0.25, seed=seed)


def wine(seed: int) -> Splits:
    return make_splits(*load_wine(return_X_y=True), val=0.25, test=0.25, seed=seed)


def table(seed: int) -> Splits:
    X, y = make_classification(
        2000,
        12,
        n_informative=8,
        n_redundant=2,
        n_classes=5,
        n_clusters_per_class=2,
        weights=[0.4, 0.28, 0.17, 0.1, 0.05],
        flip_y=0.02,
        random_state=seed,
    )
    return make_splits(X.astype(np.float32), y, val=0.25, test=0.25, seed=seed)


def squares(seed: int) -> Splits:
    return _drawn(load_dataset("artificial-balanced", seed=seed, n_train=150, n_test=200), seed)


def discs(seed: int) -> Splits:
    return _drawn(load_dataset("artificial-imbalanced", seed=seed, n_min=60, n_test_min=200), seed)


def _drawn(drawn: Splits, seed: int) -> Splits:
    parts = make_splits(drawn.train.X, drawn.train.y, val=1 / 3, test=0.0, seed=seed)
    return Splits(parts.train, val=parts.val, test=drawn.test)


def network(**options: Any) -> TorchLearner:
    return TorchLearner("mlp", module_options={"hidden": (32,)}, batch_size=128, **options)


def trees() -> SklearnLearner:
    return SklearnLearner(DecisionTreeClassifier(min_samples_leaf=3))


def boosted_trees() -> SklearnLearner:
    return SklearnLearner(HistGradientBoostingClassifier(max_iter=50, early_stopping=False))


PROBLEMS = {
    "wine-boosted": Problem(wine, boosted_trees, "wine, 3 classes, boosted trees"),
    "digits-tree": Problem(digits, trees, "digits, 10 classes, trees"),
    "digits-mlp": Problem(digits, lambda: network(lr=0.003), "digits, 10 classes, MLP 64-32-10"),
    "table-tree": Problem(table, trees, "imbalanced table, 5 classes, trees"),
    "table-mlp": Problem(table, lambda: network(lr=0.01, standardize=True), "imbalanced table, 5 classes, MLP 12-32-5"),
    "squares-mlp": Problem(squares, lambda: network(lr=0.01), "squares, 5 classes, MLP 2-32-5"),
    "discs-mlp": Problem(discs, lambda: network(lr=0.01), "imbalanced discs, 4 classes, MLP 2-32-4"),
}


def run_cell(problem: str, seed: int) -> dict[str, Any]:
    """Search once, and compare with fits at the smallest and at the largest feasible theta."""
    splits = PROBLEMS[problem].rows(seed)
    rows = splits.train.X, splits.train.y, splits.val.X, splits.val.y
    booster = WorstClassBooster(PROBLEMS[problem].learner(), 0.5, random_state=seed)
    started = time.process_time()
    selection = select_theta(booster, *rows, n_jobs=1)
    seconds = time.process_time() - started
    feasible = [record for record in selection.candidates if record.status == "feasible"]

    def test_error(theta: float) -> float:
        fitted = selection.booster if theta == selection.theta else booster.set_params(theta=theta).fit(*rows)
        return worst_class_error(splits.test.y, fitted.predict(splits.test.X))

    return {
        "problem": problem,
        "seed": seed,
        "theta": selection.theta,
        "largest_feasible": feasible[-1].theta,
        "epochs": selection.epochs,
        "epochs_largest_feasible": feasible[-1].epochs,
        "seconds": round(seconds, 2),
        "validation_worst": round(selection.booster.validation_report_.worst_error, 4),
        "test_worst": round(test_error(selection.theta), 4),
        "test_worst_at_0.1": round(test_error(0.1), 4),
        "test_worst_at_largest_feasible": round(test_error(feasible[-1].theta), 4),
        "commit": Provenance.collect().commit,
    }


def summary(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Sum up the runs of each problem: medians of cost, means of errors."""
    rows = []
    for name in PROBLEMS:
        own = [cell for cell in cells if cell["problem"] == name]
        errors = ("test_worst", "test_worst_at_0.1", "test_worst_at_largest_feasible")
        if own:
            rows.append(
                {
                    "problem": name,
                    "seeds": len(own),
                    "thetas": " ".join(f"{cell['theta']:g}" for cell in own),
                    "epochs": statistics.median(cell["epochs"] for cell in own),
                    "in_fits_at_largest_feasible": round(
                        statistics.median(cell["epochs"] / cell["epochs_largest_feasible"] for cell in own), 2
                    ),
                    "seconds": statistics.median(cell["seconds"] for cell in own),
                    **{error: round(statistics.mean(cell[error] for cell in own), 4) for error in errors},
                }
            )
    return rows


def write(path: Path, cells: list[dict[str, Any]]) -> None:
    record = {
        "settings": {"way": "grid", "candidates": "0.1 to 0.9", "n_jobs": 1, "booster": "defaults"},
        "problems": {name: problem.text for name, problem in PROBLEMS.items()},
        "provenance": Provenance.collect().model_dump(),
        "summary": summary(cells),
        "cells": cells,
    }
    path.write_text(json.dumps(record, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--problems", default=",".join(PROBLEMS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cells = json.loads(arguments.out.read_text())["cells"] if arguments.out.exists() else []
    for seed in range(arguments.seeds):
        for problem in arguments.problems.split(","):
            if any((cell["problem"], cell["seed"]) == (problem, seed) for cell in cells):
                continue
            cells.append(run_cell(problem, seed))
            write(arguments.out, cells)
            print(cells[-1], flush=True)


if __name__ == "__main__":
    main()
