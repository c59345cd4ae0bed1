"""What augmentation costs: epochs of training with and without it.

    python benchmarks/data.py --json docs/results/data.json

Epochs over 35,000 images of 3 x 32 x 32 with the small network, without and with crop and flip in turns;
the shortest of each are compared, since other work on the machine disturbed them least.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from worstclass import TorchLearner
from worstclass.experiments.run import Provenance
from worstclass.learners.base import Verdict

N_IMAGES, SHAPE, N_CLASSES, TURNS = 35_000, (3, 32, 32), 10, 5


def epoch_seconds(augment: str, X: np.ndarray, y: np.ndarray) -> float:
    """Return the CPU seconds of one epoch of training and its evaluation."""
    training = TorchLearner("cnn-small", augment=augment).bind(X, y, N_CLASSES, seed=0)
    started = time.process_time()
    training.train(np.ones(len(y)), lambda done: Verdict.DONE, seed=0)
    return time.process_time() - started


def augmentation() -> dict:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (N_IMAGES, *SHAPE), dtype=np.uint8)
    y = np.arange(N_IMAGES) % N_CLASSES
    epoch_seconds("none", X[:2048], y[:2048])  # the first call of everything
    turns = [(epoch_seconds("none", X, y), epoch_seconds("crop-flip", X, y)) for _ in range(TURNS)]
    plain, augmented = (min(column) for column in zip(*turns, strict=True))
    return {"turns": turns, "plain": plain, "augmented": augmented, "ratio": augmented / plain}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    results: dict = {"augmentation": augmentation()}
    ratio = results["augmentation"]["ratio"]
    print(f"an epoch with crop and flip takes {ratio:.3f} times a plain one (goal: at most 1.10)")
    results["provenance"] = Provenance.collect().model_dump()
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
