"""What per-channel normalisation of images does: errors with it and without it, paired by seed.

    python benchmarks/normalisation.py --root FOLDER --json docs/results/normalisation.json

FOLDER holds CIFAR-10 and RetinaMNIST (``worstclass datasets get cifar10 --root FOLDER``, and retinamnist). Each run
trains ``cnn-small`` by cross-entropy for a fixed number of epochs, and tests the epoch whose error is least on the
validation rows. A seed fixes the split, the rows that are used and the weights the network starts from; they are the
same with and without normalisation. Results are written after every run, and runs that the file has are not repeated.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from worstclass import TorchLearner, load_dataset
from worstclass.data.splits import Part, cut
from worstclass.ensembles.networks import NetworkClassifier
from worstclass.experiments.run import Provenance
from worstclass.metrics import class_report

#: data set -> training and validation rows at most, epochs, seeds
PLANS = {
    "retinamnist": {"train_rows": 1_080, "val_rows": 120, "epochs": 40, "seeds": 10},
    "cifar10": {"train_rows": 10_000, "val_rows": 2_000, "epochs": 15, "seeds": 3},
}
LEARNER = {"module": "cnn-small", "loss": "cross-entropy", "lr": 0.001, "batch_size": 128}


def first_rows(part: Part, n_rows: int, seed: int) -> Part:
    """Return some rows of a part, each class in its proportion."""
    rows, _ = cut(part.y, len(part) - n_rows, np.random.default_rng(seed))
    return Part(part.X[rows], part.y[rows])


def run(name: str, root: Path, seed: int, normalised: bool) -> dict:
    plan = PLANS[name]
    splits = load_dataset(name, root, seed)
    train, val = first_rows(splits.train, plan["train_rows"], seed), first_rows(splits.val, plan["val_rows"], seed)
    learner = TorchLearner(**LEARNER, standardize="auto" if normalised else False)
    started = time.process_time()
    model = NetworkClassifier(learner, max_epochs=plan["epochs"], select_on="average", random_state=seed)
    model.fit(train.X, train.y, val.X, val.y)
    report = class_report(splits.test.y, model.predict(splits.test.X))
    return {
        "data": name,
        "seed": seed,
        "normalised": normalised,
        "worst_class_error": report.worst_error,
        "error": report.plain_error,
        "cpu_seconds": time.process_time() - started,
    }


def summary(runs: list[dict]) -> dict:
    """Return the means with and without it, and the paired differences (with - without), in points."""
    result = {}
    for name in PLANS:
        by_key = {(r["seed"], r["normalised"]): r for r in runs if r["data"] == name}
        seeds = [seed for seed, normalised in by_key if normalised and (seed, False) in by_key]
        if not seeds:
            continue
        result[name] = {"seeds": len(seeds)}
        for measure in ("worst_class_error", "error"):
            on, off = (np.array([100 * by_key[seed, kind][measure] for seed in seeds]) for kind in (True, False))
            spread = float((on - off).std(ddof=1) / len(seeds) ** 0.5) if len(seeds) > 1 else None
            result[name][measure] = {
                "with": float(on.mean()),
                "without": float(off.mean()),
                "difference": float((on - off).mean()),
                "standard_error": spread,
            }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True, help="folder that holds the data sets")
    parser.add_argument("--json", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    runs = json.loads(arguments.json.read_text())["runs"] if arguments.json.exists() else []
    done = {(r["data"], r["seed"], r["normalised"]) for r in runs}
    settings = {"learner": LEARNER, "plans": PLANS}
    for name, plan in PLANS.items():
        for seed in range(plan["seeds"]):
            for normalised in (True, False):
                if (name, seed, normalised) in done:
                    continue
                runs.append(run(name, arguments.root, seed, normalised))
                print(runs[-1])
                results = {"settings": settings, "summary": summary(runs), "runs": runs}
                results["provenance"] = Provenance.collect().model_dump()
                arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
