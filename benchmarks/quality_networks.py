"""The networks part of the scoreboard: the paper's artificial data with its MLP, and images, at equal compute.

Every method gets the same epochs in all: `auto-networks`, `auto+network` and `deep-ensemble` divide them among several
networks, the others give them to one. On images, every learning rate falls to 0 over the epochs. `auto` is the default
for tables and images, which has a budget and, on images, a network of its own; the problems `...-medium` give that
network to others, and so many epochs that as many images pass through it. All methods get the same rows: the validation
rows of a data set are training rows for those that hold out rows themselves (`auto...`), so that an epoch of these has
up to 14% more or 11% fewer rows than one of the others. `booster...`, `balanced` and `hedge-...` are variants for the
artificial data; see `quality_variants.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from quality_variants import BOOSTERS, FEEDBACK, BoosterVariant, FeedbackNetworks
from threadpoolctl import threadpool_limits

from worstclass import TorchLearner, build_method, class_report, load_dataset
from worstclass.data.registry import named_dataset
from worstclass.wrappers.offset_search import find_offsets
from worstclass.wrappers.scores import log_probabilities

#: the network of image data: small enough for a CPU
IMAGES = {"module": "cnn-small", "lr": 0.002, "batch_size": 128}
#: the network that `auto` trains on images, for peers at equal compute: shifted by up to 4 pixels, and mirrored
MEDIUM = {
    "module": "cnn-medium",
    "optimizer": "adamw",
    "lr": 0.005,
    "batch_size": 128,
    "augment": "crop-flip",
}


class Problem(NamedTuple):
    """A data set, epochs in all, the learner (None: that of the data set), and the least possible worst-class error."""

    data: str
    options: dict[str, Any]
    epochs: int
    learner: dict[str, Any] | None = None
    least: float | None = None


PROBLEMS: dict[str, Problem] = {
    "squares": Problem("artificial-balanced", {"n_test": 4_000}, 750, least=0.208),
    "discs-10": Problem("artificial-imbalanced", {"n_min": 10, "n_test": 4_000}, 750, least=0.366),
    "discs-50": Problem("artificial-imbalanced", {"n_min": 50, "n_test": 4_000}, 750, least=0.366),
    "discs-100": Problem("artificial-imbalanced", {"n_min": 100, "n_test": 4_000}, 750, least=0.366),
    "fashion-mnist": Problem("fashion-mnist", {}, 26, IMAGES),
    "imbalanced-cifar10": Problem("imbalanced-cifar10", {}, 26, IMAGES),
    "imbalanced-cifar10-medium": Problem("imbalanced-cifar10", {}, 40, MEDIUM),
    "retinamnist": Problem("retinamnist", {}, 100, IMAGES),
    "retinamnist-medium": Problem("retinamnist", {}, 178, MEDIUM),
}
#: method -> options, and whether it runs on images, on the artificial data, or (None) on both
METHODS: dict[str, tuple[dict[str, Any], str | None]] = {
    "auto-networks": ({}, None),
    "auto+network": ({}, None),
    "auto": ({}, None),
    "ce": ({}, None),
    "wce": ({}, None),
    "deep-ensemble": ({"n_estimators": 5}, None),
    **{name: ({}, "images") for name in ("ce+offsets", "la", "vs", "naive", "class-dro", "ldam-drw")},
    **{name: ({}, "artificial") for name in (*BOOSTERS, *FEEDBACK)},
}


def run_networks(
    out: Path,
    problems: list[str],
    draws: range,
    methods: list[str],
    root: Path | None,
    write: Callable[[Path, dict[str, Any]], None],
    provenance: Callable[[], dict[str, Any]],
) -> None:
    """Run what is missing; one JSON file for each problem, draw and method."""
    for problem, draw, method in cells(problems, draws, methods):
        file = out / problem / f"{draw}-{method}.json"
        if file.exists():
            continue
        cell = run_network_cell(problem, draw, method, root)
        write(file, {**cell, "provenance": provenance()})
        print(f"{problem} {draw} {method}: {cell['errors']['worst']:.1%}, {cell['seconds']:.1f} s", flush=True)


def cells(problems: list[str], draws: range, methods: list[str]) -> Iterator[tuple[str, int, str]]:
    for draw in draws:
        for problem in problems:
            kind = "artificial" if PROBLEMS[problem].learner is None else "images"
            for method in methods:
                if METHODS[method][1] in (None, kind):
                    yield problem, draw, method


def run_network_cell(name: str, draw: int, method: str, root: Path | None) -> dict[str, Any]:
    problem, options = PROBLEMS[name], METHODS[method][0]
    splits = load_dataset(problem.data, root, seed=draw, **problem.options)
    X, y = np.asarray(splits.train.X), np.asarray(splits.train.y)
    val = {} if splits.val is None else {"X_val": splits.val.X, "y_val": splits.val.y}
    if val and method.startswith("auto"):
        X, y = (np.concatenate([own, np.asarray(more)]) for own, more in zip((X, y), val.values(), strict=True))
        val = {}
    learner = dict(problem.learner or named_dataset(problem.data).settings["learner"])
    network = learner.pop("module")
    settings: dict[str, Any] = {"network": network, "learner": learner, "max_epochs": problem.epochs, **options}
    if method in BOOSTERS:
        theta = named_dataset(problem.data).settings["booster"]["theta"]
        model: Any = BoosterVariant(TorchLearner(network, **learner), theta, problem.epochs, method, draw)
    elif method in FEEDBACK:
        model = FeedbackNetworks(TorchLearner(network, **learner), problem.epochs, method, draw)
    elif method == "auto":
        model = build_method(method, random_state=draw)
    elif method in ("auto-networks", "auto+network"):  # they set the decay themselves, for the epochs of each network
        model = build_method(method, **settings, random_state=draw)
    else:
        if problem.learner is not None:
            learner["decay_epochs"] = problem.epochs // options.get("n_estimators", 1)
        if network == MEDIUM["module"]:
            learner["warmup_epochs"] = learner["decay_epochs"] // 5
        model = build_method(method, **settings, random_state=draw)
    started = time.process_time()
    with threadpool_limits(1):
        model.fit(X, y, **val)
        seconds = time.process_time() - started
        target = np.asarray(splits.test.y)
        report = class_report(target, model.predict(splits.test.X), labels=model.classes_)
        peeking = peeked_error(model, splits.test.X, target) if hasattr(model, "cv_report_") else None
    return {
        "problem": name,
        "draw": draw,
        "method": method,
        "settings": {**settings, "data": problem.data, "data_options": problem.options},
        "least_possible": problem.least,
        "errors": {"worst": report.worst_error, "plain": report.plain_error, "class_mean": report.class_mean_error},
        "estimate": None if not hasattr(model, "cv_report_") else model.cv_report_.worst_error,
        "peeking": peeking,
        "portfolio": [asdict(member) for member in getattr(model, "portfolio_", ())],
        "seconds": seconds,
    }


def peeked_error(model: Any, X: Any, target: np.ndarray) -> float:
    """Return the worst-class error with offsets that the test rows chose: what no honest choice of offsets can beat."""
    scores, index = log_probabilities(model.predict_proba(X)), np.searchsorted(model.classes_, target)
    answers = (scores + find_offsets(scores, index, np.bincount(index))).argmax(axis=1)
    return class_report(target, model.classes_[answers], labels=model.classes_).worst_error
