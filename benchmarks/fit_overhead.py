"""What worstclass adds to a bare torch loop: the time of `fit` over that of a loop doing the same steps.

    python benchmarks/fit_overhead.py

Both train the same network on the same rows for the same number of passes, evaluate the training rows after each
pass, and count right answers by class. They take turns in one process, so that a busy machine slows both; the median
of the ratios of CPU time is what counts, and the goal is at most 1.10 for the paper's MLP and the small CNN. (The tiny
MLP shows the cost of our Python between steps of a fraction of a millisecond.)
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from worstclass import TorchLearner, WorstClassBooster
from worstclass.experiments.run import Provenance
from worstclass.networks.plain import mlp

GOAL = 1.10
N_CLASSES = 5


@dataclass(frozen=True)
class Case:
    """One network and the rows it trains on."""

    name: str
    network: Callable[[], nn.Module]
    row_shape: tuple[int, ...]
    n_rows: int
    batch_size: int
    epochs: int


def small_cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, N_CLASSES)),
    )


CASES = (
    Case("MLP 2-1024-512-5, 500 rows in one batch", lambda: mlp((2,), N_CLASSES), (2,), 500, 512, 40),
    Case("MLP 2-32-5, 500 rows in one batch", lambda: mlp((2,), N_CLASSES, hidden=(32,)), (2,), 500, 512, 400),
    Case("small CNN, 2,000 images of 28 x 28 in batches of 128", small_cnn, (1, 28, 28), 2_000, 128, 3),
)


def bare_loop(case: Case, X: torch.Tensor, y: torch.Tensor) -> None:
    """The tightest loop with the same arithmetic; one batch evaluates by the forward pass of the next step."""
    module = case.network()
    optimizer = torch.optim.Adam(module.parameters(), lr=0.001, fused=True)
    weight = torch.ones(len(y))

    def step(logits: torch.Tensor, rows: torch.Tensor | slice) -> None:
        losses = nn.functional.cross_entropy(logits, y[rows], reduction="none")
        optimizer.zero_grad(set_to_none=True)
        (losses * weight[rows]).mean().backward()
        optimizer.step()

    def count(answers: torch.Tensor) -> None:
        torch.bincount(y[answers == y], minlength=N_CLASSES)

    if case.n_rows <= case.batch_size:
        logits = module(X)
        for _ in range(case.epochs):
            step(logits, slice(None))
            logits = module(X)
            count(logits.detach().argmax(1))
        return
    for _ in range(case.epochs):
        module.train()
        for rows in torch.randperm(case.n_rows).split(case.batch_size):
            step(module(X[rows]), rows)
        module.eval()
        with torch.inference_mode():
            count(torch.cat([module(part).argmax(1) for part in X.split(case.batch_size)]))


def our_fit(case: Case, X: torch.Tensor, y: np.ndarray) -> None:
    """One round with an edge that is never reached: exactly `passes` passes."""
    learner = TorchLearner(case.network, lr=0.001, batch_size=case.batch_size)
    booster = WorstClassBooster(learner, 0.999, gamma=0.5, n_rounds=1, max_epochs_per_round=case.epochs, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        booster.fit(X, y)
    assert booster.history_[0].epochs == case.epochs


def measure(case: Case, repeats: int) -> dict[str, object]:
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(case.n_rows, *case.row_shape)).astype(np.float32))
    y = rng.integers(0, N_CLASSES, size=case.n_rows)
    loops = {"bare": lambda: bare_loop(case, X, torch.from_numpy(y)), "ours": lambda: our_fit(case, X, y)}
    seconds: dict[str, list[float]] = {name: [] for name in loops}
    for loop in loops.values():
        loop()
    for _ in range(repeats):
        for name, loop in loops.items():
            started = time.process_time()
            loop()
            seconds[name].append(time.process_time() - started)
    ratio = statistics.median(ours / bare for ours, bare in zip(seconds["ours"], seconds["bare"], strict=True))
    return {"case": case.name, "ratio": round(ratio, 3), "goal": GOAL, "met": ratio <= GOAL, "cpu_seconds": seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    results = []
    for case in CASES:
        results.append(measure(case, arguments.repeats))
        print(f"{case.name}: {results[-1]['ratio']} times the bare loop (goal: at most {GOAL})", flush=True)
    if arguments.json:
        record = {
            "threads": torch.get_num_threads(),
            "provenance": Provenance.collect().model_dump(),
            "results": results,
        }
        with open(arguments.json, "w") as file:  # noqa: PTH123
            json.dump(record, file, indent=1)


if __name__ == "__main__":
    main()
