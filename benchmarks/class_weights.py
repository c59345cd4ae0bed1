"""How strongly the default should weigh the classes of a network: worst-class errors by the power of the class size.

    python benchmarks/class_weights.py --root FOLDER --json docs/results/class-weights.json

FOLDER holds CIFAR-10. A seed draws 2,000 to 40 images of each class (50:1, the classes in another order each time) from
its training and validation rows; a fifth is held out to choose offsets, and 1,000 other images of each class judge.
Each run trains the network of the default with rows weighted by class size ** -power: 0 is none, 1 gives equal class
totals. No test row is used. Results are written after every run, and runs that the file has are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from worstclass import TorchLearner, load_dataset
from worstclass.data.augmentation import Augmentation
from worstclass.ensembles.networks import NetworkClassifier
from worstclass.experiments.run import Provenance
from worstclass.metrics import class_report
from worstclass.wrappers.offset_search import find_offsets
from worstclass.wrappers.scores import log_probabilities

POWERS, EPOCHS = (0.0, 0.5, 1.0), 30
LARGEST, RATIO, JUDGES = 2_000, 50, 1_000


def parts(y: np.ndarray, seed: int) -> list[np.ndarray]:
    """Return the rows that train, that choose the offsets, and that judge."""
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    found: list[list[np.ndarray]] = [[], [], []]
    for place, label in enumerate(classes):
        n = round(LARGEST * RATIO ** (-place / (len(classes) - 1)))
        rows = rng.permutation(np.flatnonzero(y == label))
        for part, chosen in zip(found, (rows[: n * 4 // 5], rows[n * 4 // 5 : n], rows[n : n + JUDGES]), strict=True):
            part.append(chosen)
    return [np.concatenate(part) for part in found]


def run(X: np.ndarray, y: np.ndarray, seed: int, power: float) -> dict:
    train, held, judge = parts(y, seed)
    learner = TorchLearner(
        "cnn-medium", optimizer="adamw", lr=0.005, batch_size=128, augment=Augmentation(padding=4, flip=0.5),
        warmup_epochs=EPOCHS // 5, decay_epochs=EPOCHS,
    )  # fmt: skip
    weight = np.bincount(y[train])[y[train]] ** -power  # as members.py of the default does, with power 0.5
    started = time.process_time()
    model = NetworkClassifier(learner, max_epochs=EPOCHS, random_state=seed)
    model.fit(X[train], y[train], sample_weight=weight)
    seconds = time.process_time() - started
    scores, new = (log_probabilities(model.predict_proba(X[rows])) for rows in (held, judge))
    offsets = {
        "none": np.zeros(scores.shape[1]),
        "held_out": find_offsets(scores, y[held], np.bincount(y[held])),
        "judging": find_offsets(new, y[judge], np.bincount(y[judge])),
    }
    reports = {name: class_report(y[judge], (new + offset).argmax(axis=1)) for name, offset in offsets.items()}
    worst = {name: report.worst_error for name, report in reports.items()}
    mean = {name: report.class_mean_error for name, report in reports.items()}
    return {"seed": seed, "power": power, "worst": worst, "class_mean": mean, "cpu_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="folder that holds CIFAR-10")
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    splits = load_dataset("cifar10", arguments.root, seed=7)
    X, y = (np.concatenate([np.asarray(getattr(part, name)) for part in (splits.train, splits.val)]) for name in "Xy")
    runs = json.loads(arguments.json.read_text())["runs"] if arguments.json.exists() else []
    done = {(one["seed"], one["power"]) for one in runs}
    for seed in range(1, arguments.seeds + 1):
        for power in POWERS:
            if (seed, power) in done:
                continue
            runs.append({**run(X, y, seed, power), "provenance": Provenance.collect().model_dump()})
            print({name: value for name, value in runs[-1].items() if name != "provenance"}, flush=True)
            settings = {"epochs": EPOCHS, "largest": LARGEST, "ratio": RATIO, "judges": JUDGES}
            arguments.json.write_text(json.dumps({"settings": settings, "runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
