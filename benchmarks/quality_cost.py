"""What `WorstClassClassifier` costs: seconds beside those of one classifier, growth with the rows, the time limit.

Each comparison takes turns in one process, so that a busy machine slows both, and the median ratio of CPU seconds
counts. All runs in one thread.
"""

from __future__ import annotations

import json
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from quality_tables import shares
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from worstclass.ensembles.worst_class import WorstClassClassifier

#: rows, columns, classes
Size = tuple[int, int, int]

COMPARISONS: dict[str, tuple[Size, Callable[[int], Any]]] = {
    "hist-gradient-boosting": (
        (10_000, 30, 8),
        lambda seed: HistGradientBoostingClassifier(class_weight="balanced", random_state=seed),
    ),
    "forest": (
        (1_000, 64, 10),
        lambda seed: RandomForestClassifier(300, class_weight="balanced", random_state=seed),
    ),
}
GROWTH: tuple[Size, ...] = ((1_000, 30, 8), (10_000, 30, 8), (100_000, 30, 8))
#: seconds that are allowed on a table that takes longer without a limit
LIMITS, LIMITED = (5.0, 15.0, 60.0), (10_000, 30, 8)


def rows_of(size: Size, seed: int) -> tuple[np.ndarray, np.ndarray]:
    n_rows, n_columns, n_classes = size
    return make_classification(
        n_rows,
        n_columns,
        n_informative=n_columns // 3,
        n_classes=n_classes,
        n_clusters_per_class=2,
        weights=list(shares(n_classes, ratio=10)),
        random_state=seed,
    )


def seconds_of(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Fit a model; return CPU and wall-clock seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def compared(name: str, repeats: int) -> dict[str, Any]:
    """Time `auto` and one classifier in turns."""
    size, build = COMPARISONS[name]
    runs = []
    for seed in range(repeats):
        X, y = rows_of(size, seed)
        runs.append(
            {"auto": seconds_of(WorstClassClassifier(random_state=seed), X, y), name: seconds_of(build(seed), X, y)}
        )
    ratio = {kind: statistics.median(run["auto"][kind] / run[name][kind] for run in runs) for kind in ("cpu", "wall")}
    return {"kind": "comparison", "with": name, "size": size, "runs": runs, "ratio": ratio}


def grown(size: Size) -> dict[str, Any]:
    """Time `auto` on so many rows."""
    model = WorstClassClassifier(random_state=0)
    return {"kind": "growth", "size": size, **seconds_of(model, *rows_of(size, 0)), "folds": model.n_folds_}


def limited(limit: float) -> dict[str, Any]:
    """Compare the seconds that were allowed with those that were used."""
    model = WorstClassClassifier(time_limit=limit, random_state=0)
    used = seconds_of(model, *rows_of(LIMITED, 0))
    members = [record.name for record in model.portfolio_]
    return {
        "kind": "time limit",
        "size": LIMITED,
        "wanted": limit,
        **used,
        "folds": model.n_folds_,
        "members": members,
        "notes": list(model.notes_),
    }


def run_cost(
    folder: Path,
    repeats: int,
    leave_out_largest: bool,
    write: Callable[[Path, dict[str, Any]], None],
    provenance: Callable[[], dict[str, Any]],
) -> None:
    """Measure what the folder does not have yet, one JSON file each."""
    sizes = GROWTH[:-1] if leave_out_largest else GROWTH
    jobs: dict[str, Callable[[], dict[str, Any]]] = {
        **{f"against-{name}": lambda name=name: compared(name, repeats) for name in COMPARISONS},
        **{f"growth-{size[0]}": lambda size=size: grown(size) for size in sizes},
        **{f"time-limit-{limit:g}": lambda limit=limit: limited(limit) for limit in LIMITS},
    }
    for name, job in jobs.items():
        file = folder / f"{name}.json"
        if not file.exists():
            result = job()
            write(file, {**result, "provenance": provenance()})
            print(json.dumps(result), flush=True)
