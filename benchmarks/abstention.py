"""Does the promise of an abstaining classifier hold, and how much does it answer?

    python benchmarks/abstention.py --part levels --json docs/results/abstention.json
    python benchmarks/abstention.py --part power --json docs/results/abstention.json
    python benchmarks/abstention.py --part tables --json docs/results/abstention.json

"levels" and "power" are simulations with known truths: how often a row is wrong is set for every class and margin, so
the true risk of every threshold is known. Each repetition draws rows, finds a threshold with the function that
`AbstainingClassifier` uses, and checks whether a proven threshold breaks its promise ("levels": at delta = 0.05 that
may happen in at most 5% of the repetitions), or how often one is proven and how much it answers ("power").
`tests/test_abstention_simulations.py` runs the same functions with fewer repetitions. "tables" runs classifiers on
tables. The file keeps the results of the other parts.

The figures in docs/results/abstention.json were made with 0.1.0, which also had a threshold of its own for each answer
("by-answer").
"""

from __future__ import annotations

import argparse
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from worstclass import (
    AbstainingClassifier,
    Splits,
    WorstClassBooster,
    WorstClassOffsets,
    make_splits,
    worst_class_scorer,
)
from worstclass._typing import FloatArray
from worstclass.exceptions import WorstClassWarning
from worstclass.experiments.run import Provenance
from worstclass.wrappers.abstention_rules import (
    JudgedAnswers,
    candidate_thresholds,
    count_along,
    divide,
    find_threshold,
    p_values,
)

DELTA = 0.05
REPETITIONS = 10_000
PROVING = 0.8
#: levels of the margin in a truth
LEVELS = 10
Finder = Callable[[JudgedAnswers, JudgedAnswers, FloatArray, float], tuple[float, bool]]


@dataclass(frozen=True, eq=False)
class Truth:
    """How often each class is wrong at each level of the margin, rows of each class, and the limits asked for.

    Margins are spread evenly over the levels: they lie anywhere in [0, LEVELS), or, with ties, on whole numbers. A
    wrong answer is any other class with equal probability.
    """

    name: str
    errors: FloatArray
    n_rows: tuple[int, ...]
    limits: FloatArray
    ties: bool = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.errors)

    def draw(self, rng: np.random.Generator) -> tuple[JudgedAnswers, JudgedAnswers]:
        """Draw rows, and divide them into those that choose and those that prove."""
        target = np.repeat(np.arange(self.n_classes), self.n_rows)
        level = rng.integers(0, LEVELS, len(target))
        wrong = rng.random(len(target)) < self.errors[target, level]
        answer = np.where(wrong, (target + rng.integers(1, self.n_classes, len(target))) % self.n_classes, target)
        rows = JudgedAnswers(target, answer, level if self.ties else level + rng.random(len(target)))
        proves = divide(target, PROVING, None)
        return rows.take(np.flatnonzero(~proves)), rows.take(np.flatnonzero(proves))

    def wrong_and_answered(self, threshold: float) -> tuple[FloatArray, FloatArray]:
        """Return the true shares of each class that a threshold answers wrongly, and that it answers."""
        levels = np.arange(LEVELS)
        above = levels > threshold if self.ties else np.clip(levels + 1 - threshold, 0, 1)
        return (self.errors * above).mean(axis=1), np.full(self.n_classes, above.mean())

    def is_broken(self, threshold: float) -> bool:
        """Tell whether the true risk of some class is at its limit or above; without an answer there is no risk."""
        wrong, answered = self.wrong_and_answered(threshold)
        return bool(((answered > 0) & (wrong >= self.limits * answered - 1e-12)).any())

    def best_coverage(self) -> float:
        """Return the largest coverage of a threshold that keeps the promise."""
        thresholds = (-np.inf, *np.linspace(0, LEVELS, 1001))
        return max(
            (float(self.wrong_and_answered(t)[1].mean()) for t in thresholds if not self.is_broken(t)), default=0
        )


def any_that_passes(
    choosing: JudgedAnswers, proving: JudgedAnswers, limits: FloatArray, delta: float
) -> tuple[float, bool]:
    """Take the smallest threshold that passes its test, in no order: no promise; it shows that the check can fail."""
    thresholds = candidate_thresholds(choosing)
    passed = np.flatnonzero(p_values(count_along(proving, thresholds, len(limits)), limits) <= delta)
    return float(thresholds[passed[-1] if len(passed) else 0]), len(passed) > 0


def broken_promises(case: Truth, finder: Finder, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the shares of repetitions in which a proven threshold breaks its promise, and in which one is proven."""
    broken = proven = 0
    for _ in range(repetitions):
        threshold, is_proven = finder(*case.draw(rng), case.limits, DELTA)
        proven += is_proven
        broken += is_proven and case.is_broken(threshold)
    return {"broken": broken / repetitions, "proven": proven / repetitions}


def answers(case: Truth, repetitions: int, rng: np.random.Generator) -> dict[str, float]:
    """Return how often a threshold is proven, and how much is answered in the mean, 0 where none is."""
    coverage = []
    for _ in range(repetitions):
        threshold, is_proven = find_threshold(*case.draw(rng), case.limits, DELTA)
        coverage.append(case.wrong_and_answered(threshold)[1].mean() if is_proven else 0.0)
    return {
        "proven": float(np.mean(np.array(coverage) > 0)),
        "coverage": float(np.mean(coverage)),
        "best_coverage": case.best_coverage(),
    }


def one_class(name: str, n_classes: int, n_rows: int, limit: float, errors: FloatArray, *, ties: bool = True) -> Truth:
    """Make a truth in which the first class has some errors, by the level of the margin, and the others have none."""
    table = np.zeros((n_classes, LEVELS))
    table[0] = errors
    name = f"K = {n_classes}, {n_rows} rows, limit {limit}, {name}{'' if ties else ', no ties'}"
    return Truth(name, table, (n_rows,) * n_classes, np.full(n_classes, limit), ties)


def flat(n_classes: int, n_rows: int, limit: float, *, ties: bool = True) -> Truth:
    """Make a truth in which one class is at its limit whatever the threshold: every proof is false."""
    return one_class("at it under every rule", n_classes, n_rows, limit, np.full(LEVELS, limit), ties=ties)


def trap(n_classes: int, n_rows: int, limit: float, *, ties: bool = True) -> Truth:
    """Make a truth in which strict thresholds are safe; at one place the risk reaches the limit, and it stays there."""
    safe = int(1 / limit) - 1
    errors = np.zeros(LEVELS)
    errors[: LEVELS - safe] = limit
    errors[LEVELS - safe - 1] = limit * (safe + 1)
    return one_class(f"at it below the {safe} upper levels", n_classes, n_rows, limit, errors, ties=ties)


def overconfident(n_classes: int, n_rows: int, limit: float) -> Truth:
    """Make a truth in which the strictest and the freest thresholds break the promise, and those between keep it."""
    errors = np.zeros(LEVELS)
    errors[-1] = limit + 0.01
    errors[: LEVELS // 2] = 1.9 * limit
    return one_class("above it under the strictest and the freest", n_classes, n_rows, limit, errors)


def tiny() -> Truth:
    """Make ten classes of 6 to 1,000 rows, of which one of 7 rows is at a limit of a half under every threshold."""
    n_rows = (7, 6, 6, 8, 20, 20, 60, 60, 200, 1000)
    return Truth(
        "K = 10, 6 to 1000 rows, limit 0.5, one of 7 rows at it", flat(10, 0, 0.5).errors, n_rows, np.full(10, 0.5)
    )


def truths() -> list[Truth]:
    cases = [make(K, 50, 0.2) for make in (flat, trap) for K in (2, 10, 100)]
    cases += [flat(K, 7, 0.5) for K in (2, 10, 100)]
    cases += [flat(2, 500, 0.2, ties=False), trap(2, 200, 0.2, ties=False)]
    cases += [overconfident(2, 200, 0.2), overconfident(10, 100, 0.2), tiny()]
    unequal = flat(2, 200, 0.1)
    name = "K = 2, 200 rows, limits 0.1 and 0.5, the first at its own"
    return [*cases, Truth(name, unequal.errors, unequal.n_rows, np.array([0.1, 0.5]))]


def falling(n_classes: int, n_rows: int, limits: tuple[float, ...]) -> Truth:
    """Make a truth in which errors become rarer as the margin grows: 40% at the least, by e^4 fewer at the largest."""
    errors = np.repeat(0.4 * np.exp(-4 * np.arange(LEVELS) / LEVELS)[None], n_classes, axis=0)
    name = f"K = {n_classes}, {n_rows} rows, {errors.mean():.0%} wrong, limit {' and '.join(map(str, limits))}"
    return Truth(name, errors, (n_rows,) * n_classes, np.resize(limits, n_classes).astype(float), ties=False)


def power_cases() -> list[Truth]:
    sizes = (
        (2, 100, 0.2),
        (2, 100, 0.1),
        (2, 400, 0.1),
        (2, 2000, 0.05),
        (10, 100, 0.2),
        (10, 400, 0.1),
        (10, 1000, 0.1),
    )
    cases = [*(falling(K, n, (limit,)) for K, n, limit in (*sizes, (100, 100, 0.2), (100, 200, 0.2)))]
    return [*cases, falling(2, 400, (0.05, 0.3))]


def tables() -> Iterator[tuple[str, Any, Any, Any, float, list[Any]]]:
    """Yield a name, rows, labels, a classifier, the share of the rows that is held out, and the limits asked for."""
    X, y = load_digits(return_X_y=True)
    booster = WorstClassBooster(ExtraTreesClassifier(10, max_depth=8), 0.97, n_rounds=10, random_state=0)
    yield "digits, booster of forests", X, y, booster, 0.5, [0.2, 0.15, 0.1]
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    yield "digits, logistic regression", X, y, linear, 0.5, [0.2, 0.15, 0.1]
    X, y = load_breast_cancer(return_X_y=True)
    unequal = {0: 0.05, 1: 0.2}
    yield "breast cancer, logistic regression", X, y, linear, 0.5, [0.1, 0.05, unequal]
    kinds = (
        ("three equal classes", [1 / 3, 1 / 3], 3),
        ("classes of 70, 20 and 10%", [0.7, 0.2], 3),
        ("classes of 70 and 30%", [0.7], 2),
    )
    for name, weights, n_classes in kinds:
        options = {"n_informative": 6, "n_classes": n_classes, "n_clusters_per_class": 1, "weights": weights}
        X, y = make_classification(6000, class_sep=1.2, random_state=0, **options)
        limits = [0.2, 0.15, 0.1] if n_classes == 3 else [0.15, 0.1, {0: 0.3, 1: 0.1}]
        yield f"artificial, {name}, logistic regression", X, y, LogisticRegression(), 0.4, limits


def coverage_on_tables(n_splits: int) -> list[dict[str, Any]]:
    """Return how much is answered on rows that were used for nothing else, over several splits of every table."""
    rows = []
    for name, X, y, classifier, held_out, limits in tables():
        parts = [make_splits(X, y, cal=held_out, test=0.2, seed=seed) for seed in range(n_splits)]
        plain: dict[str, dict[str, str]] = {"common": {}}
        if isinstance(classifier, WorstClassBooster):
            plain["common, lead of the vote"] = {"margin": "own"}
        moved: dict[str, dict[str, str]] = {"common, offsets inside": {}}
        for inside, ways in ((classifier, plain), (WorstClassOffsets(classifier, cv=3), moved)):
            fitted = [_fitted(inside, part) for part in parts]
            for (way, options), limit in itertools.product(ways.items(), limits):
                pairs = zip(fitted, parts, strict=True)
                found = [_answered(model, part, limit, options) for model, part in pairs]
                means = {key: round(float(np.mean([run[key] for run in found])), 4) for key in found[0]}
                rows.append({"table": name, "risk": limit, "way": way, **means})
                print(f"{name}, risk {limit}, {way}: {means}", flush=True)
    return rows


def _fitted(classifier: Any, part: Splits) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)
        return clone(classifier).fit(part.train.X, part.train.y)


def _answered(inside: Any, part: Splits, limit: Any, options: dict[str, str]) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorstClassWarning)
        model = AbstainingClassifier(inside, limit, cv="prefit", **options).fit(part.cal.X, part.cal.y)
    report = model.risk_report(part.test.X, part.test.y)
    return {
        "proven": float(model.proven_),
        "coverage": report.coverage or 0.0,
        "least_class_coverage": report.least_coverage or 0.0,
        "worst_test_risk": report.worst_risk or 0.0,
        "worst_error_of_all_rows": 1 - worst_class_scorer(inside, part.test.X, part.test.y),
    }


def all_levels(repetitions: int) -> dict[str, Any]:
    """Return how often promises are broken, for all truths; a tenth of the repetitions for 100 classes."""
    rng = np.random.default_rng(0)
    finders: dict[str, Finder] = {"common": find_threshold, "no promise: any that passes": any_that_passes}
    levels: dict[str, Any] = {}
    for case in truths():
        n = repetitions // (10 if case.n_classes == 100 else 1)
        levels[case.name] = {name: broken_promises(case, finder, n, rng) for name, finder in finders.items()}
        levels[case.name]["repetitions"] = n
        print(f"{case.name}: {levels[case.name]}", flush=True)
    worst = {name: max(found[name]["broken"] for found in levels.values()) for name in finders}
    print(f"largest share of broken promises: {worst}")
    return {"largest_broken": worst, "broken": levels}


def all_powers(repetitions: int) -> dict[str, Any]:
    """Return how often a threshold is proven and how much is answered, with a tenth of the repetitions or less."""
    rng = np.random.default_rng(0)
    powers: dict[str, Any] = {}
    for case in power_cases():
        n = repetitions // (200 if case.n_classes == 100 else 10)
        powers[case.name] = {"common": answers(case, n, rng), "repetitions": n}
        print(f"{case.name}: {powers[case.name]}", flush=True)
    return {"power": powers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("levels", "power", "tables"), required=True)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    record: dict[str, Any] = {"delta": DELTA, "proving": PROVING, "provenance": Provenance.collect().model_dump()}
    if arguments.part == "levels":
        record |= {"seed": 0, **all_levels(arguments.repetitions)}
    elif arguments.part == "power":
        record |= {"seed": 0, **all_powers(arguments.repetitions)}
    else:
        record |= {"seeds": list(range(arguments.splits)), "rows": coverage_on_tables(arguments.splits)}
    if arguments.json:
        kept = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        arguments.json.write_text(json.dumps({**kept, arguments.part: record}, indent=1) + "\n")


if __name__ == "__main__":
    main()
