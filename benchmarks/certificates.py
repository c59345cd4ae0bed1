"""Do the promises of a certificate hold, and how often does it prove what is true? Is reuse told from coincidence?

    python benchmarks/certificates.py --json docs/results/certificates.json

The true class errors are set, so that every promise can be checked. Each repetition draws the errors of every class
anew and makes limits and verdicts with the functions that `certify` uses. A promise at delta = 0.05 may fail in at most
5% of the repetitions. `tests/test_certificate_simulations.py` runs the same functions with fewer repetitions. Equal
rows are drawn from tables of different sizes, with and without reuse. What fingerprints cost is measured as well.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits
from sklearn.tree import DecisionTreeClassifier

from worstclass import TorchLearner, WorstClassBooster, certify, load_dataset
from worstclass._typing import BoolArray, FloatArray, IntArray
from worstclass.certificates import training_certificate
from worstclass.certificates.binomial import p_value, upper_limit
from worstclass.certificates.held_out import hochberg
from worstclass.data.fingerprints import row_hashes
from worstclass.data.seen_rows import compare_hashes
from worstclass.experiments.run import Provenance

DELTA = 0.05
REPETITIONS = 20_000


@dataclass(frozen=True)
class Truth:
    """True errors and calibration rows of the classes, and the floor that is wanted of all."""

    name: str
    errors: tuple[float, ...]
    n_rows: tuple[int, ...]
    floor: float

    @property
    def misses(self) -> BoolArray:
        """Which classes truly miss the floor: their error is 1 - floor or more."""
        return np.array(self.errors) >= 1 - self.floor - 1e-12

    def draw(self, repetitions: int, rng: np.random.Generator) -> IntArray:
        """Draw wrong rows of each class, shape (repetitions, K)."""
        return rng.binomial(self.n_rows, self.errors, size=(repetitions, len(self.errors)))


def truth(name: str, n_classes: int, n_rows: int, floor: float, missing: int, good: float = 0.02) -> Truth:
    """Make a truth of equal classes, ``missing`` of them exactly at the edge of the floor, where proofs err most."""
    errors = (1 - floor,) * missing + (good,) * (n_classes - missing)
    return Truth(name, errors, (n_rows,) * n_classes, floor)


def tables(case: Truth, wrong: IntArray, level: float) -> tuple[FloatArray, FloatArray]:
    """Return limits at a level and p-values of the floor, worked out once for each possible count."""
    limits, p_values = np.empty(wrong.shape), np.empty(wrong.shape)
    for n in set(case.n_rows):
        columns = np.flatnonzero(np.array(case.n_rows) == n)
        counts = np.arange(n + 1)
        limits[:, columns] = upper_limit(counts, n, level)[wrong[:, columns]]
        p_values[:, columns] = p_value(counts, n, 1 - case.floor)[wrong[:, columns]]
    return limits, p_values


def holm(p_values: FloatArray, delta: float) -> BoolArray:
    """Reject by Holm's rule, which holds for dependent p-values too; for comparison."""
    order = np.argsort(p_values, axis=-1)
    passed = np.take_along_axis(p_values, order, axis=-1) <= delta / np.arange(p_values.shape[-1], 0, -1)
    found = np.zeros(p_values.shape, dtype=np.bool_)
    np.put_along_axis(found, order, np.logical_and.accumulate(passed, axis=-1), axis=-1)
    return found


def failures(case: Truth, repetitions: int, rng: np.random.Generator, delta: float = DELTA) -> dict[str, float]:
    """Return the share of the repetitions in which each promise fails; none may exceed delta but the last two.

    Those are what would be promised without a share of delta for each class: they show that the check can fail.
    """
    wrong = case.draw(repetitions, rng)
    limits, p_values = tables(case, wrong, delta / len(case.errors))
    alone, _ = tables(case, wrong, delta)
    errors = np.array(case.errors)
    limit_fails = (limits < errors).any(axis=1)
    proven = hochberg(p_values, delta)
    false = (proven & case.misses).any(axis=1)
    shares = {
        "limits of all classes": limit_fails,
        "limit of the worst class alone": alone.max(axis=1) < errors.max(),
        "classes called proven": false,
        "classes called proven, Holm's rule": (holm(p_values, delta) & case.misses).any(axis=1),
        "floors and limits of a proven certificate": false | (proven.all(axis=1) & limit_fails),
        "limits without the share for each class": (alone < errors).any(axis=1),
        "classes proven at delta each": ((p_values <= delta) & case.misses).any(axis=1),
    }
    return {name: float(failed.mean()) for name, failed in shares.items()}


def power(case: Truth, repetitions: int, rng: np.random.Generator, delta: float = DELTA) -> dict[str, float]:
    """Return how often all floors are proven, which are all true, by each rule."""
    assert not case.misses.any()
    _, p_values = tables(case, case.draw(repetitions, rng), delta)
    rules = {
        "each at delta / K": p_values <= delta / len(case.errors),
        "Holm": holm(p_values, delta),
        "Hochberg (used)": hochberg(p_values, delta),
    }
    return {name: float(proven.all(axis=1).mean()) for name, proven in rules.items()}


def truths() -> list[Truth]:
    cases = []
    for n_classes in (2, 10, 100):
        for n_rows, floor in ((5, 0.5), (50, 0.8), (500, 0.8)):
            for missing in sorted({1, 2, n_classes}):
                name = f"K = {n_classes}, {n_rows} rows, floor {floor}, {missing} at its edge"
                cases.append(truth(name, n_classes, n_rows, floor, missing))
    unequal = (5, 5, 5, 20, 20, 60, 60, 200, 200, 1000)
    cases.append(Truth("K = 10, 5 to 1000 rows, floor 0.5, all at its edge", (0.5,) * 10, unequal, 0.5))
    return cases


def power_cases() -> list[Truth]:
    return [
        Truth(f"K = {K}, {n} rows, true error {error}, floor 0.8", (error,) * K, (n,) * K, 0.8)
        for K, n, error in ((2, 50, 0.08), (10, 50, 0.05), (10, 100, 0.1), (100, 100, 0.07), (100, 200, 0.1))
    ]


@dataclass(frozen=True)
class Table:
    """A discrete table: how many different rows there are, and how many are seen and new."""

    n_values: int
    n_seen: int
    n_new: int
    zipf: float = 0.0

    @property
    def name(self) -> str:
        """Describe the table."""
        kind = "Zipf's law" if self.zipf else "equally likely"
        return f"{self.n_values:,} different rows ({kind}), {self.n_seen:,} seen, {self.n_new:,} new"

    def verdicts(self, share: float, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
        """Return how often each verdict is given if a share of the new rows are seen rows, used again."""
        chances = 1 / np.arange(1, self.n_values + 1) ** self.zipf
        values, chances = row_hashes(np.arange(self.n_values)[:, None]), chances / chances.sum()
        assert values is not None
        counts: Counter[str] = Counter()
        for _ in range(repetitions):
            seen = rng.choice(values, self.n_seen, p=chances)
            reused = rng.choice(seen, round(share * self.n_new), replace=False)
            fresh = rng.choice(values, self.n_new - len(reused), p=chances)
            counts[compare_hashes(np.concatenate([reused, fresh]), seen).verdict] += 1
        return {verdict: count / repetitions for verdict, count in counts.items()}


def discrete_tables() -> list[Table]:
    return [
        Table(81, 60, 30),
        Table(81, 100, 100),
        Table(81, 300, 300),
        Table(81, 1_000, 300),
        Table(81, 1_000, 1_000),
        Table(81, 3_000, 300),
        Table(81, 300, 300, zipf=1.0),
        Table(1_024, 300, 300),
        Table(1_024, 1_000, 300),
        Table(1_024, 3_000, 3_000),
        Table(10_000, 1_000, 300),
        Table(100_000, 1_000, 300, zipf=1.0),
    ]


def hash_seconds(repeats: int = 3) -> dict[str, float]:
    """Return the CPU time of hashing 60,000 images of 28 x 28, the least of some repeats."""
    images = np.random.default_rng(0).integers(0, 256, size=(60_000, 784), dtype=np.uint8)
    seconds: dict[str, float] = {}
    for name, X in (("uint8", images), ("float32", images.astype(np.float32)), ("float64", images.astype(np.float64))):
        times = []
        for _ in range(repeats):
            started = time.process_time()
            row_hashes(X)
            times.append(time.process_time() - started)
        seconds[f"60,000 x 784, {name}"] = round(min(times), 3)
    return seconds


def hash_shares() -> dict[str, float]:
    """Return the share of a fit's CPU time that hashing its rows takes, for fits as short as they come."""
    images = np.random.default_rng(0).integers(0, 256, size=(10_000, 784), dtype=np.uint8)
    one_epoch = TorchLearner("mlp", module_options={"hidden": (64,)})
    cases = {
        "digits, 1,797 x 64, rounds of trees": (load_digits().data, load_digits().target, DecisionTreeClassifier()),
        "10,000 x 784, one epoch of a small MLP": (images, np.arange(len(images)) % 10, one_epoch),
    }
    shares = {}
    for name, (X, y, learner) in cases.items():
        rounds = {} if learner is not one_epoch else {"n_rounds": 1, "extend": False}
        booster = WorstClassBooster(learner, 0.0 if rounds else 0.9, random_state=0, **rounds)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            booster.fit(X, y)
        fitted = time.process_time()
        row_hashes(X)
        shares[name] = round((time.process_time() - fitted) / (fitted - started), 4)
    return shares


def one_model() -> dict[str, object]:
    """Return what each kind of certificate says of one booster of small networks on the paper's balanced squares."""
    splits = load_dataset("artificial-balanced", seed=0, n_test=1_000)
    learner = TorchLearner("mlp", module_options={"hidden": (32,)}, lr=0.01, standardize=True)
    booster = WorstClassBooster(learner, theta=0.7, gamma=0.2995, random_state=0)
    booster.fit(splits.train.X, splits.train.y)
    training = training_certificate(booster)
    held_out = certify(booster, splits.test.X, splits.test.y)
    worst = max(training.classes, key=lambda row: row.error)
    return {
        "data": "artificial-balanced, seed 0, 100 training rows and 1,000 held-out rows a class",
        "settings": "theta 0.7, gamma 0.2995, MLP 2-32-5, learning rate 0.01, columns standardised",
        "rounds": {"T": training.n_rounds, "added": training.n_extended},
        "edges_held": training.edges_held,
        "regret": [training.regret, training.regret_bound, training.regret_allowed],
        "majority_step_false_after_T": [row.name for row in training.classes if row.majority_false],
        "training_worst_error": worst.error,
        "factor_two": worst.factor_two,
        "held_out_worst_error": max(row.error or 0.0 for row in held_out.classes),
        "held_out_worst_limit": held_out.worst_limit,
        "held_out_worst_limit_alone": held_out.worst_limit_alone,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--tables", type=int, default=50, help="repetitions for each discrete table")
    parser.add_argument("--json", help="also write the figures to this file")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    levels = {case.name: failures(case, arguments.repetitions, rng) for case in truths()}
    powers = {case.name: power(case, arguments.repetitions, rng) for case in power_cases()}
    worst = {name: max(found[name] for found in levels.values()) for name in next(iter(levels.values()))}
    print(f"largest share of failures over {len(levels)} truths, delta = {DELTA}, {arguments.repetitions} repetitions:")
    for name, share in worst.items():
        print(f"  {share:.4f}  {name}")
    for name, found in powers.items():
        print(f"{name}: " + ", ".join(f"{rule} {share:.3f}" for rule, share in found.items()))
    reuse = {
        table.name: {share: table.verdicts(share, arguments.tables, rng) for share in (0.0, 0.25, 0.5, 1.0)}
        for table in discrete_tables()
    }
    for name, by_share in reuse.items():
        print(f"{name}: " + "; ".join(f"{share:.0%} reused: {found}" for share, found in by_share.items()))
    seconds, shares = hash_seconds(), hash_shares()
    print(f"fingerprints, CPU seconds: {seconds}\nfingerprints, share of fit: {shares}")
    model = one_model()
    print(f"one model: {json.dumps(model, indent=1)}")
    if arguments.json:
        record = {
            "delta": DELTA,
            "repetitions": arguments.repetitions,
            "seed": 0,
            "largest_failures": worst,
            "failures": levels,
            "power": powers,
            "equal_rows_repetitions": arguments.tables,
            "equal_rows": reuse,
            "one_model": model,
            "hash_cpu_seconds": seconds,
            "hash_share_of_fit": shares,
            "provenance": Provenance.collect().model_dump(),
        }
        with open(arguments.json, "w") as file:  # noqa: PTH123
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
