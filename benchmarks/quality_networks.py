"""The networks part of the scoreboard: the paper's artificial data with its MLP, and images, at equal compute.

Every method gets the same epochs in all: `auto-networks` and `deep-ensemble` divide them among five networks, `ce` and
`wce` give them to one. `auto` is the portfolio for tables, which trains no network. No method has validation rows of
its own; those of a data set that has them are given to all. `balanced` and `hedge-...` are variants of `auto-networks`
for the artificial data; see `quality_feedback.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from quality_feedback import FEEDBACK, FeedbackNetworks
from threadpoolctl import threadpool_limits

from worstclass import TorchLearner, build_method, class_report, load_dataset
from worstclass.data.registry import named_dataset

#: problem -> data set, its options, epochs in all, and the least worst-class error of any classifier, if it is known
PROBLEMS: dict[str, tuple[str, dict[str, Any], int, float | None]] = {
    "squares": ("artificial-balanced", {"n_test": 20_000}, 750, 0.206),
    "discs-10": ("artificial-imbalanced", {"n_min": 10, "n_test_min": 5_000}, 750, 0.366),
    "discs-50": ("artificial-imbalanced", {"n_min": 50, "n_test_min": 5_000}, 750, 0.366),
    "discs-100": ("artificial-imbalanced", {"n_min": 100, "n_test_min": 5_000}, 750, 0.366),
    "fashion-mnist": ("fashion-mnist", {}, 26, None),
    "retinamnist": ("retinamnist", {}, 150, None),
}
METHODS: dict[str, dict[str, Any]] = {
    "auto-networks": {},
    "deep-ensemble": {"n_estimators": 5},
    "ce": {},
    "wce": {},
    "auto": {},
    **{name: {} for name in FEEDBACK},
}
#: methods that run on the artificial data only
ARTIFICIAL_ONLY = ("auto", *FEEDBACK)


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
            for method in methods:
                if method not in ARTIFICIAL_ONLY or problem.startswith(("squares", "discs")):
                    yield problem, draw, method


def run_network_cell(problem: str, draw: int, method: str, root: Path | None) -> dict[str, Any]:
    name, options, epochs, least = PROBLEMS[problem]
    splits = load_dataset(name, root, seed=draw, **options)
    learner = dict(named_dataset(name).settings.get("learner") or {"module": "cnn-small"})
    settings: dict[str, Any] = {"network": learner.pop("module"), "learner": learner, "max_epochs": epochs}
    if method in FEEDBACK:
        model: Any = FeedbackNetworks(TorchLearner(settings["network"], **learner), epochs, method, draw)
    else:
        model = build_method(method, **(settings if method != "auto" else {}), random_state=draw, **METHODS[method])
    val = {} if splits.val is None or method == "auto" else {"X_val": splits.val.X, "y_val": splits.val.y}
    started = time.process_time()
    with threadpool_limits(1):
        model.fit(splits.train.X, splits.train.y, **val)
        seconds = time.process_time() - started
        report = class_report(np.asarray(splits.test.y), model.predict(splits.test.X), labels=model.classes_)
    return {
        "problem": problem,
        "draw": draw,
        "method": method,
        "settings": {**settings, **METHODS[method], "data": name, "data_options": options},
        "least_possible": least,
        "errors": {"worst": report.worst_error, "plain": report.plain_error, "class_mean": report.class_mean_error},
        "estimate": None if not hasattr(model, "cv_report_") else model.cv_report_.worst_error,
        "seconds": seconds,
    }
