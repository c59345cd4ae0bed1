"""What decision offsets do for the worst class, and what they cost.

    python benchmarks/offsets.py --json docs/results/offsets.json --part tables
    python benchmarks/offsets.py --json docs/results/offsets-search.json --part search
    python benchmarks/offsets.py --json docs/results/offsets.json --part boosters
    python benchmarks/offsets.py --json docs/results/offsets.json --part fashion --data FOLDER

**tables**: bundled and generated data with rare classes, 2 to 40 of them, and several classifiers: worst-class error on
test rows without and with offsets that five folds of the training rows chose.

**search**: ways to choose offsets, on generated problems of 2 to 40 classes with up to 50 rows of the most common class
for one of the rarest, and on bundled tables. Offsets are chosen on out-of-fold scores, judged on test rows: by counts,
by smoothed errors of the labelled rows alone, and by the default, to whose smoothed errors every row contributes.
docs/results/offsets.json was made with the exact solver of version 0.1.0.

**boosters**: few and more members, with offsets on the shares of their votes and on their mean probabilities, tuned on
a quarter of the rows: worst-class error on test rows.

**fashion**: Fashion-MNIST in --data, the small network, 26 epochs over 42,000 rows in all; offsets tuned on the 18,000
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
from worstclass.wrappers.offset_problem import OffsetProblem
from worstclass.wrappers.offset_search import find_offsets, least_smoothed
from worstclass.wrappers.scores import class_scores, make_folds, out_of_fold

TO_BEAT = {"worst_before": 0.243, "worst": 0.182, "plain_before": 0.093, "plain": 0.105}


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
    return {
        "n_classes": len(plain.classes_),
        "rows": {
            "train": len(train),
            "test": len(test),
            "least_train": int(np.unique(train.y, return_counts=True)[1].min()),
        },
        "before": errors(test.y, plain.predict(test.X)),
        "after": errors(test.y, model.predict(test.X)),
        "folds_before": model.validation_report_before_.worst_error,
        "folds_after": model.validation_report_.worst_error,
        "scores": model.scores_,
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


# the search on test rows

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
    """Choose offsets out of fold, for the worst class and for floors; count on test rows."""
    train, test = search_rows(data, seed)
    labels = training_labels(train.X, train.y)
    folds = make_folds(SEARCH_FOLDS, labels, seed, owner="benchmark")
    estimator = SEARCH_CLASSIFIERS[classifier]
    scores, target, _ = out_of_fold(estimator, train.X, labels, folds, "log-proba")
    fitted = clone(estimator).fit(train.X, train.y)
    judged = OffsetProblem(scores, target), OffsetProblem(class_scores(fitted, test.X, "log-proba"), test.y)
    quota, finite = labels.totals, scores - scores.max(axis=1, keepdims=True)
    offsets, seconds = timed(lambda: find_offsets(scores, target))
    by_counts = find_offsets(scores, target, quota)
    by_labels, _ = least_smoothed(OffsetProblem(finite, target, prior_rows=0))
    # floors three points below the best common one that offsets meet
    least = judged[0].merit(by_counts).worst
    floors = Floors.from_theta(round(max(0.0, 1 - least - 0.03), 3), labels.classes)
    with_floors = find_offsets(scores, target, floors.vote_quota(labels.totals))
    return {
        "n_classes": labels.n_classes,
        "rows": {"train": len(train), "least_train": int(labels.totals.min()), "test": len(test)},
        "zero": compared(judged, np.zeros(labels.n_classes)),
        "counts": compared(judged, by_counts),
        "labels": compared(judged, by_labels),
        "default": {**compared(judged, offsets), "seconds": seconds},
        "floor": floors.as_floats()[0],
        "default_floors": compared(judged, with_floors, floors),
    }


def compared(
    judged: tuple[OffsetProblem, OffsetProblem], offsets: np.ndarray, floors: Floors | None = None
) -> dict[str, float]:
    """Return errors on the rows that chose and on test rows; with floors, the largest shortfall in place of errors."""
    found: dict[str, float] = {}
    for name, rows in zip(("choosing", "test"), judged, strict=True):
        totals = np.bincount(rows.target)
        quota = None if floors is None else floors.vote_quota(totals)
        merit = OffsetProblem(rows.scores, rows.target, quota).merit(offsets)
        found |= {name: merit.worst, f"{name}_plain": merit.wrong / len(rows.target)}
    return found


#: with many classes, trees take long and have fewer seeds
SEARCH_CELLS = [
    {"data": data, "classifier": classifier, "seed": seed}
    for data in (*(f"generated-{K}" for K in SEARCH_ROWS), "breast-cancer", "wine", "digits")
    for classifier in SEARCH_CLASSIFIERS
    for seed in range(5 if data in ("generated-20", "generated-40") and classifier != "logistic" else 10)
]


WAYS = ("zero", "counts", "labels", "default")


def search_summary(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean worst-class test errors, and paired differences of the default to the other ways in points."""
    rows = []
    for data, classifier in itertools.product(
        dict.fromkeys(cell["data"] for cell in cells), (*SEARCH_CLASSIFIERS, "all")
    ):
        own = [cell for cell in cells if cell["data"] == data and classifier in (cell["classifier"], "all")]
        if len(own) < 2:
            continue
        row: dict[str, Any] = {"data": data, "classifier": classifier, "cells": len(own)}
        row |= {way: mean(cell[way]["test"] for cell in own) for way in WAYS}
        row |= {f"minus_{way}": paired(own, way) for way in WAYS[:-1]}
        rows.append({**row, "seconds": mean(cell["default"]["seconds"] for cell in own)})
    return rows


def paired(cells: list[dict[str, Any]], way: str) -> dict[str, float]:
    """Return the mean difference of the default to another way, in points, with its standard error."""
    found = [100 * (cell["default"]["test"] - cell[way]["test"]) for cell in cells]
    return {"points": mean(found), "standard_error": float(np.std(found, ddof=1) / len(found) ** 0.5)}


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
    return {"members": len(booster.estimators_), **kinds}


BOOSTERS_CELLS = [
    {"table": table, "learner": learner, "rounds": rounds, "seed": seed}
    for rounds in (3, 15)
    for table in ("breast-cancer", "generated-2", "generated-3", "generated-5", "generated-10")
    for learner in LEARNERS
    for seed in range(3)
]


# Fashion-MNIST

EPOCHS = 26
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
    booster = WorstClassBooster(learner, THETA, max_epochs=EPOCHS, random_state=seed)
    _, seconds = timed(lambda: booster.fit(rows.train.X, rows.train.y))
    cell = {
        "members": len(booster.estimators_),
        "epochs": booster.n_epochs_,
        "seconds": seconds,
        "vote": errors(rows.test.y, booster.predict(rows.test.X)),
        "bound_met": booster.bound_met_,
    }
    for scores in ("proba", "log-proba", "mean-proba"):
        cell[scores] = with_offsets(booster, scores, rows)
    floor = round(1 - cell["mean-proba"]["validation"] - HALF_A_POINT, 4)
    return {**cell, "floors": {"theta": floor, **with_offsets(booster, "mean-proba", rows, theta=floor)}}


def with_offsets(model: Any, scores: str, rows: Any, theta: float | None = None) -> dict[str, Any]:
    tuner = WorstClassOffsets(model, theta, cv="prefit", scores=scores)
    tuned, seconds = timed(lambda: tuner.fit(rows.val.X, rows.val.y))
    of_test = class_scores(model, rows.test.X, scores)
    answers = {"before": of_test.argmax(axis=1), "after": (of_test + tuned.offsets_).argmax(axis=1)}
    return {
        "offsets": tuned.offsets_.tolist(),
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
    """Sum the cells up: by table and by classifier, and by model."""
    told: dict[str, Any] = {"search": search_summary(record["search"])} if "search" in record else {}
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
                            for kind in ("proba", "log-proba", "mean-proba")
                            for when in ("before", "after")
                        },
                    }
                )
    for model in dict.fromkeys(cell["model"] for cell in record.get("fashion", [])):
        own = [cell for cell in record["fashion"] if cell["model"] == model]
        kinds = ("proba", "log-proba", "mean-proba", "floors")
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
        "better": sum(cell["after"]["worst"] < cell["before"]["worst"] for cell in cells),
        "worse": sum(cell["after"]["worst"] > cell["before"]["worst"] for cell in cells),
        "times_one_fit": float(np.median([cell["times_one_fit"] for cell in cells])),
        "most_seconds_beyond_six_fits": max(cell["seconds"] - 6 * cell["seconds_of_one_fit"] for cell in cells),
    }


def mean(values: Any) -> float:
    return float(np.mean(list(values)))


PARTS: dict[str, tuple[list[dict[str, Any]], Callable[..., dict[str, Any]]]] = {
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
            "epochs": EPOCHS,
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
