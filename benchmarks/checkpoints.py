"""What checkpoints cost: the share of a fit that is spent on writing them, and the time that resuming takes.

    python benchmarks/checkpoints.py --out docs/results/checkpoints.json

Each fit runs with a checkpoint in a temporary folder. Writing is timed where it happens, so that the share does not
depend on what else the machine does. Then the same fit is called again: it takes all results that were kept, and trains
only what was not written. Fits that the file has already are kept, unless they are measured again.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from threadpoolctl import threadpool_limits

from worstclass import TorchLearner, WorstClassBooster, WorstClassClassifier, WorstClassOffsets, load_dataset
from worstclass.ensembles.networks import NetworkClassifier
from worstclass.experiments.run import Provenance
from worstclass.storage.checkpoint import Clock, FolderCheckpoint

Fit = tuple[Any, Any, Any]


def squares() -> Fit:
    """The paper's MLP of 530,000 weights, 100 rounds on 500 rows: rounds of a second."""
    data = load_dataset("artificial-balanced", seed=0, n_test=100)
    learner = TorchLearner("mlp", lr=0.01)
    booster = WorstClassBooster(learner, theta=0.75, gamma=0.0995, n_rounds=100, extend=False, random_state=0)
    return booster, data.train.X, data.train.y


def trees() -> Fit:
    """Boosted histogram trees on 5,000 rows of a table."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    learner = HistGradientBoostingClassifier(max_iter=30)
    return WorstClassBooster(learner, theta=0.95, n_rounds=30, extend=False, random_state=0), *table(5_000)


def portfolio() -> Fit:
    """The default on 10,000 rows of a table."""
    return WorstClassClassifier(random_state=0), *table(10_000)


def offsets() -> Fit:
    """Offsets around a forest of 300 trees, five folds."""
    return WorstClassOffsets(RandomForestClassifier(300, random_state=0), cv=5, random_state=0), *table(10_000)


def network() -> Fit:
    """One network for 20,000 images, 10 epochs: notes of where it stands."""
    X = np.random.default_rng(0).integers(0, 256, size=(20_000, 3, 32, 32), dtype=np.uint8)
    y = X[:, 0, :16].mean(axis=(1, 2)).argsort().argsort() * 10 // len(X)
    return NetworkClassifier(TorchLearner("cnn-small", batch_size=128), max_epochs=10, random_state=0), X, y


def table(n_rows: int) -> tuple[Any, Any]:
    options = {"n_features": 30, "n_informative": 12, "n_classes": 8, "n_clusters_per_class": 1, "flip_y": 0.05}
    return make_classification(n_rows, **options, random_state=0)


FITS: dict[str, Callable[[], Fit]] = {
    "squares": squares, "trees": trees, "portfolio": portfolio, "offsets": offsets, "network": network,
}  # fmt: skip


def measured(build: Callable[[], Fit], every: float) -> dict[str, Any]:
    estimator, X, y = build()
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        clock, started = Clock(every=every), time.perf_counter()
        clone(estimator).fit(X, y, checkpoint=FolderCheckpoint(place, clock))
        seconds, again = time.perf_counter() - started, time.perf_counter()
        kept = len(list(Path(place).rglob("value.json")))
        megabytes = sum(file.stat().st_size for file in Path(place).rglob("*") if file.is_file()) / 1e6
        clone(estimator).fit(X, y, checkpoint=FolderCheckpoint(place, Clock(first=np.inf)))
        resumed = time.perf_counter() - again
    return {
        "what": build.__doc__,
        "seconds": seconds,
        "writing_share": clock.spent / seconds,
        "results_kept": kept,
        "megabytes": megabytes,
        "seconds_to_resume_at_the_end": resumed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="JSON file")
    parser.add_argument("--only", help="fits, separated by commas; all by default")
    parser.add_argument("--every", type=float, default=60.0, help="seconds between notes of where a training stands")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    found = json.loads(arguments.out.read_text())["fits"] if arguments.out.exists() else {}
    for name in arguments.only.split(",") if arguments.only else FITS:
        made_by = {"every": arguments.every, "provenance": Provenance.collect().model_dump()}
        found[name] = {**measured(FITS[name], arguments.every), **made_by}
        print(f"{name}: {found[name]['writing_share']:.2%} of {found[name]['seconds']:.1f} s", flush=True)
        arguments.out.write_text(json.dumps({"fits": found}, indent=1) + "\n")
    print(arguments.out)


if __name__ == "__main__":
    main()
