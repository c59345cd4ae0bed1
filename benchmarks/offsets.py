"""What decision offsets do for the worst class, and what they cost.

    python benchmarks/offsets.py --json docs/results/offsets.json --part solver
    python benchmarks/offsets.py --json docs/results/offsets.json --part tables
    python benchmarks/offsets.py --json docs/results/offsets-search.json --part search
    python benchmarks/offsets.py --json docs/results/offsets.json --part boosters
    python benchmarks/offsets.py --json docs/results/offsets.json --part fashion --data FOLDER

**solver**: the exact solver beside ways to search, on artificial scores: all cells (2 and 3 classes), 10,000 random
offsets, a grid, and hill climbing class by class. Told are the worst-class errors found and the ratio of the times, in
one process.

**tables**: bundled and generated data with rare classes, 2 to 40 of them, and several classifiers: worst-class error on
test rows without and with offsets that five folds of the training rows chose, by default and by counts alone
(`slack=None`). The default was chosen on other tables, drawn with seeds from 100 on, whose test rows were many.

**search**: the exact solver beside the short search (smoothed descent, then line search along one class at a time) on
generated problems of 2 to 40 classes with up to 50 rows of the most common class for one of the rarest, and on bundled
tables. Offsets are chosen on out-of-fold scores; the errors of both on test rows are compared pairwise.

**boosters**: few and more members, with offsets on the shares of their votes and on their mean probabilities, tuned on
a quarter of the rows: worst-class error on test rows.

**fashion**: Fashion-MNIST in --data, the small network, 26 passes over 42,000 rows in all; offsets tuned on the 18,000
validation rows, worst-class error on the 10,000 test rows. The figures to beat come from the issue that asked for
offsets: the worst-class test error of a vote fell from 24.3% to 18.2%, that over all rows rose from 9.3% to 10.5%.

Each cell is written as it ends; a cell that the file has is not run again. Times are CPU seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from worstclass import TorchLearner, WorstClassBooster, WorstClassOffsets, class_report, load_dataset, make_splits
from worstclass.data.labels import training_labels
from worstclass.data.splits import Part
from worstclass.experiments.run import Provenance
from worstclass.floors import Floors
from worstclass.wrappers.cross_validation import make_folds, out_of_fold
from worstclass.wrappers.offset_search import OffsetProblem as Rows
from worstclass.wrappers.offset_search import find_offsets
from worstclass.wrappers.scores import class_scores
from worstclass.wrappers.search.problem import OffsetProblem
from worstclass.wrappers.search.solve import best_offsets

N_RANDOM, GRID = 10_000, 11
TO_BEAT = {"worst_before": 0.243, "worst": 0.182, "plain_before": 0.093, "plain": 0.105}


# artificial scores


def scores_of(n_classes: int, n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scores in which some classes are favoured and classes are unequally common."""
    rng = np.random.default_rng(seed)
    share = 0.1 ** (np.arange(n_classes) / max(n_classes - 1, 1))
    target = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n_rows - n_classes, p=share / share.sum())])
    scores = rng.normal(size=(n_rows, n_classes)) + np.log(share / share.sum())
    scores[np.arange(n_rows), target] += 2.0
    return scores, target


def worst_of(scores: np.ndarray, target: np.ndarray, offsets: np.ndarray) -> float:
    return OffsetProblem.of(scores, target).merit_of(offsets).worst


def random_search(scores: np.ndarray, target: np.ndarray) -> float:
    """Return the best of random offsets, as wide as the scores; zero is among them."""
    rng = np.random.default_rng(0)
    problem = OffsetProblem.of(scores, target)
    draws = rng.normal(scale=scores.std(), size=(N_RANDOM - 1, scores.shape[1]))
    return min(problem.merit_of(offsets).worst for offsets in [np.zeros(scores.shape[1]), *draws])


def grid_search(scores: np.ndarray, target: np.ndarray) -> float | None:
    """Return the best of a grid over all offsets but the first; None where it would have over 200,000 points."""
    K = scores.shape[1]
    if GRID ** (K - 1) > 200_000:
        return None
    problem = OffsetProblem.of(scores, target)
    steps = np.linspace(-2, 2, GRID) * scores.std()
    return min(problem.merit_of(np.array([0.0, *point])).worst for point in itertools.product(steps, repeat=K - 1))


def hill_climbing(scores: np.ndarray, target: np.ndarray) -> float:
    """Return what exact steps along one class at a time reach from zero offsets, after Lachiche and Flach (2003)."""
    K = scores.shape[1]
    offsets, reached = np.zeros(K), worst_of(scores, target, np.zeros(K))
    while True:
        found = [best_step(scores, target, offsets, k) for k in range(K)]
        worst, k, place = min((worst, k, place) for k, (worst, place) in enumerate(found))
        if worst >= reached:
            return reached
        offsets[k], reached = place, worst


def best_step(scores: np.ndarray, target: np.ndarray, offsets: np.ndarray, k: int) -> tuple[float, float]:
    """Return the least worst-class error along the offset of one class, and where it is."""
    K = scores.shape[1]
    totals = np.maximum(np.bincount(target, minlength=K), 1)
    others = scores + offsets
    others[:, k] = -np.inf
    rival = others.max(axis=1) - scores[:, k]  # class k is answered where its offset exceeds this
    right_without = others.argmax(axis=1) == target
    order = np.argsort(rival)
    gains = np.where(target[order] == k, 1, np.where(right_without[order], -1, 0))
    start = np.bincount(target[right_without], minlength=K)
    right = np.empty((len(order) + 1, K))
    for c in range(K):
        right[:, c] = start[c] + np.concatenate([[0], np.cumsum(np.where(target[order] == c, gains, 0))])
    worst = ((totals - right) / totals).max(axis=1)
    ends = np.concatenate([[rival[order[0]] - 2], rival[order], [rival[order[-1]] + 2]])
    at = int(worst.argmin())
    return float(worst[at]), float((ends[at] + ends[at + 1]) / 2)


def all_cells(scores: np.ndarray, target: np.ndarray) -> float | None:
    """Return the least worst-class error of all offsets, by trying every cell; None for more than three classes."""
    n_rows, K = scores.shape
    if K > 3 or (K == 3 and n_rows > 100):
        return None
    zero = np.zeros(K)
    if K == 2:
        return best_step(scores, target, zero, 1)[0]
    gap, other = scores[:, 0] - scores[:, 1], scores[:, 0] - scores[:, 2]
    ends = np.unique(np.concatenate([gap, (other[:, None] - (scores[:, 1] - scores[:, 2])).ravel()]))
    ends = np.concatenate([[ends[0] - 2], ends, [ends[-1] + 2]])
    middles = (ends[1:] + ends[:-1]) / 2
    return min(best_step(scores, target, np.array([0.0, middle, 0.0]), 2)[0] for middle in middles)


def solver_cell(n_classes: int, n_rows: int, seed: int) -> dict[str, Any]:
    scores, target = scores_of(n_classes, n_rows, seed)
    exact, seconds = timed(lambda: best_offsets(scores, target))
    cell: dict[str, Any] = {
        "worst_at_zero": exact.merit_of_zero.worst,
        "exact": {"worst": exact.merit.worst, "wrong": exact.merit.wrong, "proven": exact.proven, "seconds": seconds},
    }
    ways: dict[str, Callable[..., float | None]] = {
        "all_cells": all_cells,
        "random": random_search,
        "grid": grid_search,
        "hill_climbing": hill_climbing,
    }
    for name, way in ways.items():
        worst, spent = timed(lambda way=way: way(scores, target))
        if worst is not None:
            cell[name] = {"worst": worst, "seconds": spent, "times_the_solver": spent / seconds}
    return cell


SOLVER_CELLS = [
    {"n_classes": K, "n_rows": n, "seed": seed}
    for K, n in ((2, 2000), (3, 60), (3, 2000), (5, 2000), (10, 4000), (20, 6000), (40, 12000))
    for seed in range(3)
]


# tables


def generated(
    n_classes: int, n_rows: int, n_informative: int, rarest: float = 0.1
) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Return rows by seed; the rarest class has a share of the rows of the most common one."""

    def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
        share = rarest ** (np.arange(n_classes) / (n_classes - 1))
        return make_classification(
            n_rows,
            20,
            n_informative=n_informative,
            n_redundant=2,
            n_classes=n_classes,
            n_clusters_per_class=1,
            weights=list(share / share.sum()),
            class_sep=1.0,
            flip_y=0.01,
            random_state=seed,
        )

    return rows


def thinned_digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return digits of which class k keeps a share of 0.1^(k/9)."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    kept = [rng.permutation(np.flatnonzero(y == k))[: round((y == k).sum() * 0.1 ** (k / 9))] for k in range(10)]
    index = np.concatenate(kept)
    return X[index], y[index]


TABLES: dict[str, Callable[[int], tuple[np.ndarray, np.ndarray]]] = {
    "breast-cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "wine": lambda seed: load_wine(return_X_y=True),
    "digits-imbalanced": thinned_digits,
    "generated-2": generated(2, 3000, 4),
    "generated-3": generated(3, 3000, 4),
    "generated-5": generated(5, 4000, 5),
    "generated-10": generated(10, 6000, 6),
    "generated-20": generated(20, 8000, 8),
    "generated-40": generated(40, 12000, 10),
    "generated-8-rare": generated(8, 3000, 6, rarest=0.03),
    "generated-20-rare": generated(20, 5000, 8, rarest=0.03),
}
CLASSIFIERS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "ridge": make_pipeline(StandardScaler(), RidgeClassifier()),
    "naive-bayes": GaussianNB(),
    "forest": RandomForestClassifier(100, min_samples_leaf=3, random_state=0),
    "boosted-trees": HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15, random_state=0),
}


def tables_cell(table: str, classifier: str, seed: int) -> dict[str, Any]:
    splits = make_splits(*TABLES[table](seed), test=0.5, seed=seed)
    train, test = splits.train, splits.test
    plain, alone = timed(lambda: clone(CLASSIFIERS[classifier]).fit(train.X, train.y))
    model, seconds = timed(lambda: WorstClassOffsets(CLASSIFIERS[classifier], random_state=0).fit(train.X, train.y))
    by_counts = WorstClassOffsets(CLASSIFIERS[classifier], slack=None, random_state=0).fit(train.X, train.y)
    return {
        "n_classes": len(plain.classes_),
        "rows": {
            "train": len(train),
            "test": len(test),
            "least_train": int(np.unique(train.y, return_counts=True)[1].min()),
        },
        "before": errors(test.y, plain.predict(test.X)),
        "after": errors(test.y, model.predict(test.X)),
        "by_counts": errors(test.y, by_counts.predict(test.X)),
        "folds_before": model.validation_report_before_.worst_error,
        "folds_after": model.validation_report_.worst_error,
        "folds_least": model.least_worst_error_,
        "scores": model.scores_,
        "proven": model.optimal_,
        "seconds": seconds,
        "seconds_of_one_fit": alone,
        "times_one_fit": seconds / alone,
    }


TABLES_CELLS = [
    {"table": table, "classifier": classifier, "seed": seed}
    for table in TABLES
    for classifier in CLASSIFIERS
    for seed in range(3)
]


# the search: exact solver beside smoothed descent and line search

#: rows that train and choose, by number of classes
SEARCH_ROWS = {2: 400, 3: 500, 5: 800, 8: 1500, 10: 2000, 20: 3000, 40: 5000}
#: rows of the most common class for each row of the rarest, by seed
SEARCH_RATIOS = (5, 20, 50)
SEARCH_FOLDS = 4
SEARCH_CLASSIFIERS = {
    "logistic": CLASSIFIERS["logistic"],
    "forest": RandomForestClassifier(60, min_samples_leaf=3, random_state=0),
    "boosted-trees": HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=8, random_state=0),
}


def search_rows(data: str, seed: int) -> tuple[Part, Part]:
    """Return training rows, imbalanced where they are generated, and test rows, balanced where they are generated."""
    bundled = {"breast-cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    if data in bundled:
        splits = make_splits(*bundled[data](return_X_y=True), test=0.5, seed=seed)
        return splits.train, splits.test
    K = int(data.removeprefix("generated-"))
    ratio = SEARCH_RATIOS[seed % len(SEARCH_RATIOS)]
    share = ratio ** -(np.arange(K) / (K - 1))
    sizes = np.maximum((SEARCH_ROWS[K] * share / share.sum()).round().astype(int), SEARCH_FOLDS)
    n_test = max(1000, 25_000 // K)
    X, y = make_classification(
        round(K * (sizes.max() + n_test) * 1.05),
        20,
        n_informative=4 + K // 5,
        n_redundant=2,
        n_classes=K,
        n_clusters_per_class=1,
        class_sep=1.0,
        flip_y=0.01,
        random_state=seed,
    )
    own = [np.flatnonzero(y == k) for k in range(K)]
    train = np.concatenate([rows[:size] for rows, size in zip(own, sizes, strict=True)])
    test = np.concatenate([rows[size : size + n_test] for rows, size in zip(own, sizes, strict=True)])
    return Part(X[train], y[train]), Part(X[test], y[test])


def search_cell(data: str, classifier: str, seed: int) -> dict[str, Any]:
    """Choose offsets out of fold by both ways, for the worst class and for floors; count on test rows."""
    train, test = search_rows(data, seed)
    labels = training_labels(train.X, train.y)
    folds = make_folds(SEARCH_FOLDS, train.X, labels, seed, owner="benchmark")
    estimator = SEARCH_CLASSIFIERS[classifier]
    held_out, _ = out_of_fold(estimator, train.X, labels, folds, "log-proba", {})
    scores, target = held_out
    fitted = clone(estimator).fit(train.X, train.y)
    judged = Rows(scores, target), Rows(class_scores(fitted, test.X, "log-proba"), test.y)
    exact, exact_seconds = timed(lambda: best_offsets(scores, target, None, 0.0 if labels.n_classes == 2 else 1.0))
    short, short_seconds = timed(lambda: find_offsets(scores, target))
    # floors that offsets can meet, three points below the best common one
    floors = Floors.from_theta(round(max(0.0, 1 - (exact.least or 0.0) - 0.03), 3), labels.classes)
    quota = floors.vote_quota(labels.totals)
    with_floors = {
        "exact": best_offsets(scores, target, quota).offsets,
        "short": find_offsets(scores, target, quota),
    }
    return {
        "n_classes": labels.n_classes,
        "rows": {"train": len(train), "least_train": int(labels.totals.min()), "test": len(test)},
        "least": exact.least,
        "zero": compared(judged, np.zeros(labels.n_classes)),
        "exact": {**compared(judged, exact.offsets), "seconds": exact_seconds},
        "short": {**compared(judged, short), "seconds": short_seconds},
        "floor": floors.as_floats()[0],
        **{f"{way}_floors": compared(judged, found, floors) for way, found in with_floors.items()},
    }


def compared(judged: tuple[Rows, Rows], offsets: np.ndarray, floors: Floors | None = None) -> dict[str, float]:
    """Return errors on the rows that chose and on test rows; with floors, the largest shortfall in place of errors."""
    found: dict[str, float] = {}
    for name, rows in zip(("choosing", "test"), judged, strict=True):
        totals = np.bincount(rows.target)
        quota = None if floors is None else floors.vote_quota(totals)
        merit = Rows(rows.scores, rows.target, quota).merit(offsets)
        found |= {name: merit.worst, f"{name}_plain": merit.wrong / len(rows.target)}
    return found


SEARCH_CELLS = [
    {"data": data, "classifier": classifier, "seed": seed}
    for data in (*(f"generated-{K}" for K in SEARCH_ROWS), "breast-cancer", "wine", "digits")
    for classifier in SEARCH_CLASSIFIERS
    for seed in range(10)
]


def search_summary(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return paired differences, short minus exact, in points of the worst-class test error, with standard errors."""
    rows = []
    for data, classifier in itertools.product(
        dict.fromkeys(cell["data"] for cell in cells), (*SEARCH_CLASSIFIERS, "all")
    ):
        own = [cell for cell in cells if cell["data"] == data and classifier in (cell["classifier"], "all")]
        if len(own) < 2:
            continue
        means = {f"{way}_test": mean(cell[way]["test"] for cell in own) for way in ("zero", "exact", "short")}
        differences = {}
        for suffix, key in (("", "test"), ("", "test_plain"), ("_floors", "test"), ("_floors", "test_plain")):
            paired = [100 * (cell[f"short{suffix}"][key] - cell[f"exact{suffix}"][key]) for cell in own]
            differences[f"{key}{suffix}"] = {
                "points": mean(paired),
                "standard_error": float(np.std(paired, ddof=1) / len(paired) ** 0.5),
            }
        more = {f"{way}_seconds": mean(cell[way]["seconds"] for cell in own) for way in ("exact", "short")}
        more["choosing_floors_points"] = mean(
            100 * (cell["short_floors"]["choosing"] - cell["exact_floors"]["choosing"]) for cell in own
        )
        more["choosing_points"] = mean(100 * (cell["short"]["choosing"] - cell["least"]) for cell in own)
        rows.append({"data": data, "classifier": classifier, "cells": len(own), **means, **differences, **more})
    return rows


# boosters

LEARNERS: dict[str, Callable[[], Any]] = {
    "boosted-trees": lambda: HistGradientBoostingClassifier(max_iter=50, max_leaf_nodes=15, early_stopping=False),
    "trees": lambda: DecisionTreeClassifier(min_samples_leaf=3),
    "mlp": lambda: TorchLearner("mlp", module_options={"hidden": (32,)}, lr=0.01, standardize=True, batch_size=128),
}


def boosters_cell(table: str, learner: str, rounds: int, seed: int) -> dict[str, Any]:
    X, y = TABLES[table](seed)
    rows = make_splits(X.astype(np.float32), y, val=0.25, test=0.35, seed=seed)
    booster = WorstClassBooster(
        LEARNERS[learner](),
        0.5,
        n_rounds=rounds,
        extend=False,
        max_epochs_per_round=100,
        patience=20,
        random_state=seed,
    ).fit(rows.train.X, rows.train.y)
    kinds = {kind: with_offsets(booster, kind, rows) for kind in ("proba", "log-proba", "mean-proba")}
    counts = with_offsets(booster, "mean-proba", rows, slack=None)
    return {"members": len(booster.estimators_), **kinds, "mean-proba by counts": counts}


BOOSTERS_CELLS = [
    {"table": table, "learner": learner, "rounds": rounds, "seed": seed}
    for rounds in (3, 15)
    for table in ("breast-cancer", "generated-2", "generated-3", "generated-5", "generated-10")
    for learner in LEARNERS
    for seed in range(3)
]


# Fashion-MNIST

PASSES = 26
NETWORK: dict[str, Any] = {"start": "warm", "lr": 0.001, "batch_size": 64, "augment": "flip"}
#: channels of the first convolution of "cnn-small": 16 unless told
WIDTHS = {"booster": 16, "booster, twice as wide": 32}
THETA = 0.75
#: floors so much below the best that can be reached show what the last bit of the worst class costs the others
HALF_A_POINT = 0.005


def fashion_cell(model: str, seed: int, data: Path) -> dict[str, Any]:
    """Boost without a look at the validation rows, so that all members vote; then tune offsets on those."""
    rows = load_dataset("fashion-mnist", data, seed=seed)
    learner = TorchLearner("cnn-small", module_options={"width": WIDTHS[model]}, **NETWORK)
    booster = WorstClassBooster(learner, THETA, max_epochs=PASSES, random_state=seed)
    _, seconds = timed(lambda: booster.fit(rows.train.X, rows.train.y))
    cell = {
        "members": len(booster.estimators_),
        "passes": booster.n_epochs_,
        "seconds": seconds,
        "vote": errors(rows.test.y, booster.predict(rows.test.X)),
        "bound_met": booster.bound_met_,
    }
    for scores in ("proba", "log-proba", "mean-proba"):
        cell[scores] = with_offsets(booster, scores, rows)
    cell["mean-proba by counts"] = with_offsets(booster, "mean-proba", rows, slack=None)
    floor = round(1 - cell["mean-proba by counts"]["validation"] - HALF_A_POINT, 4)
    return {**cell, "floors": {"theta": floor, **with_offsets(booster, "mean-proba", rows, theta=floor)}}


def with_offsets(model: Any, scores: str, rows: Any, theta: float | None = None, slack: Any = "auto") -> dict[str, Any]:
    tuner = WorstClassOffsets(model, theta, cv="prefit", scores=scores, slack=slack)
    tuned, seconds = timed(lambda: tuner.fit(rows.val.X, rows.val.y))
    of_test = class_scores(model, rows.test.X, scores)
    answers = {"before": of_test.argmax(axis=1), "after": (of_test + tuned.offsets_).argmax(axis=1)}
    return {
        "offsets": tuned.offsets_.tolist(),
        "proven": tuned.optimal_,
        "seconds": seconds,
        "validation_before": tuned.validation_report_before_.worst_error,
        "validation": tuned.validation_report_.worst_error,
        "validation_plain": tuned.validation_report_.plain_error,
        **{when: errors(rows.test.y, tuned.classes_[index]) for when, index in answers.items()},
    }


#: the wider network on seeds of its own: nothing was chosen by what they showed
FASHION_CELLS = [
    {"model": model, "seed": seed}
    for model, seeds in (("booster", range(3)), ("booster, twice as wide", range(3, 6)))
    for seed in seeds
]


# all


def errors(y: np.ndarray, answers: np.ndarray) -> dict[str, float]:
    report = class_report(y, answers)
    return {"worst": report.worst_error, "class_mean": report.class_mean_error, "plain": report.plain_error}


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = work()
    return result, time.process_time() - started


def summary(record: dict[str, Any]) -> dict[str, Any]:
    """Sum the cells up: by size for the solver, by table and by classifier, and by model."""
    told: dict[str, Any] = {"search": search_summary(record["search"])} if "search" in record else {}
    solver = record.get("solver", [])
    for key in sorted({(cell["n_classes"], cell["n_rows"]) for cell in solver}):
        own = [cell for cell in solver if (cell["n_classes"], cell["n_rows"]) == key]
        ways = [name for name in ("exact", "all_cells", "random", "grid", "hill_climbing") if name in own[0]]
        told.setdefault("solver", []).append(
            {
                "n_classes": key[0],
                "n_rows": key[1],
                "worst_at_zero": mean(cell["worst_at_zero"] for cell in own),
                **{f"{way}_worst": mean(cell[way]["worst"] for cell in own) for way in ways},
                **{f"{way}_times": mean(cell[way]["times_the_solver"] for cell in own) for way in ways[1:]},
                "seconds": mean(cell["exact"]["seconds"] for cell in own),
                "proven": all(cell["exact"]["proven"] for cell in own),
            }
        )
    tables = record.get("tables", [])
    for by in ("table", "classifier"):
        for name in dict.fromkeys(cell[by] for cell in tables):
            own = [cell for cell in tables if cell[by] == name]
            told.setdefault(f"tables_by_{by}", []).append({by: name, **sum_up(own)})
    if tables:
        told["tables"] = sum_up(tables)
    boosters = record.get("boosters", [])
    for rounds in sorted({cell["rounds"] for cell in boosters}):
        for learner in LEARNERS:
            own = [cell for cell in boosters if (cell["rounds"], cell["learner"]) == (rounds, learner)]
            if own:
                told.setdefault("boosters", []).append(
                    {
                        "rounds": rounds,
                        "learner": learner,
                        "cells": len(own),
                        **{
                            f"{kind}_{when}": mean(cell[kind][when]["worst"] for cell in own)
                            for kind in ("proba", "log-proba", "mean-proba", "mean-proba by counts")
                            for when in ("before", "after")
                        },
                    }
                )
    for model in dict.fromkeys(cell["model"] for cell in record.get("fashion", [])):
        own = [cell for cell in record["fashion"] if cell["model"] == model]
        kinds = ("proba", "log-proba", "mean-proba", "mean-proba by counts", "floors")
        told.setdefault("fashion", {})[model] = {
            "seeds": len(own),
            **{
                kind: {
                    f"{error}_{when}": mean(cell[kind][when][error] for cell in own)
                    for error in ("worst", "plain")
                    for when in ("before", "after")
                }
                for kind in kinds
            },
        }
        told["fashion"][model]["vote"] = {
            error: mean(cell["vote"][error] for cell in own) for error in ("worst", "plain")
        }
    return told


def sum_up(cells: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cells": len(cells),
        **{
            f"{error}_{when}": mean(cell[when][error] for cell in cells)
            for error in ("worst", "plain")
            for when in ("before", "after")
        },
        **{f"{error}_by_counts": mean(cell["by_counts"][error] for cell in cells) for error in ("worst", "plain")},
        "better_than_by_counts": sum(cell["after"]["worst"] < cell["by_counts"]["worst"] for cell in cells),
        "worse_than_by_counts": sum(cell["after"]["worst"] > cell["by_counts"]["worst"] for cell in cells),
        "better": sum(cell["after"]["worst"] < cell["before"]["worst"] for cell in cells),
        "worse": sum(cell["after"]["worst"] > cell["before"]["worst"] for cell in cells),
        "times_one_fit": float(np.median([cell["times_one_fit"] for cell in cells])),
        "most_seconds_beyond_six_fits": max(cell["seconds"] - 6 * cell["seconds_of_one_fit"] for cell in cells),
    }


def mean(values: Any) -> float:
    return float(np.mean(list(values)))


PARTS: dict[str, tuple[list[dict[str, Any]], Callable[..., dict[str, Any]]]] = {
    "solver": (SOLVER_CELLS, solver_cell),
    "tables": (TABLES_CELLS, tables_cell),
    "search": (SEARCH_CELLS, search_cell),
    "boosters": (BOOSTERS_CELLS, boosters_cell),
    "fashion": (FASHION_CELLS, fashion_cell),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--part", choices=list(PARTS), required=True)
    parser.add_argument("--data", type=Path, help="folder that holds fashion-mnist/")
    arguments = parser.parse_args()
    if arguments.part == "fashion" and arguments.data is None:
        parser.error("--part fashion needs --data, the folder that holds fashion-mnist/")
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    cells, run = PARTS[arguments.part]
    more = {"data": arguments.data} if arguments.part == "fashion" else {}
    for cell in cells:
        record = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        done = record.setdefault(arguments.part, [])
        if any(all(found[key] == value for key, value in cell.items()) for found in done):
            continue
        result = run(**cell, **more)
        done.append({**cell, **result, "provenance": Provenance.collect().model_dump()})
        settings = {
            "random": N_RANDOM,
            "grid": GRID,
            "passes": PASSES,
            "network": NETWORK,
            "widths": WIDTHS,
            "theta": THETA,
            "folds": 5,
        }
        record = {**record, "to_beat": TO_BEAT, "settings": settings, "summary": summary(record)}
        arguments.json.write_text(json.dumps(record, indent=1) + "\n")
        print(json.dumps({**cell, **result}), flush=True)


if __name__ == "__main__":
    main()
