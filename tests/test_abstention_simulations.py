"""With known true risks, the promise of an abstaining classifier holds at the level it states.

`benchmarks/abstention.py` has the functions, and makes the figures of docs/theory.md and docs/abstaining.md with them.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin

from worstclass import AbstainingClassifier
from worstclass.exceptions import UnmetBoundWarning
from worstclass.wrappers.abstention_rules import find_threshold

FILE = Path(__file__).parents[1] / "benchmarks" / "abstention.py"
spec = importlib.util.spec_from_file_location("abstention_benchmark", FILE)
simulation = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = simulation
spec.loader.exec_module(simulation)

DELTA = simulation.DELTA
LEVELS = simulation.LEVELS


def most_broken(repetitions, delta=DELTA):
    """Share that a promise which is broken with probability delta exceeds once in a million simulations."""
    return stats.binom.ppf(1 - 1e-6, repetitions, delta) / repetitions


#: repetitions by number of classes, so that all truths together take seconds
REPETITIONS = {2: 800, 10: 500, 100: 100}


@pytest.mark.parametrize("case", simulation.truths(), ids=lambda case: case.name)
def test_the_promise_holds_at_its_level(case):
    repetitions = REPETITIONS[case.n_classes]
    found = simulation.broken_promises(case, find_threshold, repetitions, np.random.default_rng(0))
    assert found["broken"] <= most_broken(repetitions)


@pytest.mark.slow
@pytest.mark.parametrize("case", simulation.truths(), ids=lambda case: case.name)
def test_the_promise_holds_at_its_level_in_many_repetitions(case):
    repetitions = 40_000 // case.n_classes
    found = simulation.broken_promises(case, find_threshold, repetitions, np.random.default_rng(1))
    assert found["broken"] <= most_broken(repetitions)


def test_the_level_is_used_up_and_not_merely_kept():
    # 500 rows make the steps of the binomial small; whatever the rule, every proof is false
    case = simulation.flat(2, 500, 0.2, ties=False)
    found = simulation.broken_promises(case, find_threshold, 1_500, np.random.default_rng(0))
    assert 0.03 <= found["broken"] <= most_broken(1_500)
    assert found["broken"] == found["proven"]


def test_the_simulation_tells_a_promise_that_does_not_hold():
    case = simulation.flat(2, 500, 0.2, ties=False)
    found = simulation.broken_promises(case, simulation.any_that_passes, 500, np.random.default_rng(0))
    assert found["broken"] > most_broken(500)


def test_true_risks_and_coverages_by_hand():
    # the first class is wrong on every fifth row at all levels; the second never. Above a threshold of 6 are 3 of 10
    # levels: 0.3 of the rows of both classes are answered, and a fifth of those of the first wrongly
    case = simulation.flat(2, 50, 0.2)
    wrong, answered = case.wrong_and_answered(6.0)
    assert wrong == pytest.approx([0.2 * 0.3, 0.0])
    assert answered == pytest.approx([0.3, 0.3])
    assert case.is_broken(6.0)  # a risk of 0.2 is not below 0.2
    assert not case.is_broken(9.0)  # nothing is answered
    smooth = simulation.flat(2, 50, 0.2, ties=False)  # margins in [0, 10): above 6.5 is 0.35
    assert smooth.wrong_and_answered(6.5)[0] == pytest.approx([0.2 * 0.35, 0.0])


@pytest.mark.parametrize("make", [simulation.flat, simulation.trap])
def test_what_is_drawn_is_what_is_true(make):
    case = make(3, 30_000, 0.2)
    target, answer, margin = (np.concatenate(pair) for pair in zip(*case.draw(np.random.default_rng(0)), strict=True))
    for threshold in (-np.inf, 5.0):
        kept = margin > threshold
        wrong, answered = case.wrong_and_answered(threshold)
        for k in range(3):
            mine = target == k
            assert (kept & mine).sum() / mine.sum() == pytest.approx(answered[k], abs=0.015)
            assert (kept & mine & (answer != k)).sum() / mine.sum() == pytest.approx(wrong[k], abs=0.015)


@pytest.mark.parametrize(
    ("case", "least_proven", "least_share_of_best"),
    [
        (simulation.falling(2, 400, (0.1,)), 0.8, 0.7),
        (simulation.falling(10, 400, (0.15,)), 0.9, 0.8),
        (simulation.falling(100, 200, (0.25,)), 0.9, 0.8),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_what_can_be_proven_mostly_is_and_most_of_it_is_answered(case, least_proven, least_share_of_best):
    found = simulation.answers(case, 100 if case.n_classes < 100 else 15, np.random.default_rng(0))
    assert found["proven"] >= least_proven
    assert found["coverage"] >= least_share_of_best * found["best_coverage"]
    assert found["coverage"] <= found["best_coverage"] * 1.02


class Told(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose answers and margins are the columns of X."""

    classes_ = np.arange(3)

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return X[:, 0].astype(int)

    def decision_margin(self, X):
        return X[:, 1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_the_estimator_itself_keeps_its_level():
    """The whole way, with labels and the division drawn at random too: one class is at its limit under every rule."""
    rng = np.random.default_rng(0)
    broken = 0
    for _ in range(250):
        y = rng.choice(3, size=240, p=[0.5, 0.3, 0.2])
        wrong = rng.random(240) < np.array([0.2, 0.02, 0.0])[y]
        X = np.column_stack([np.where(wrong, (y + 1) % 3, y), rng.random(240)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnmetBoundWarning)
            broken += AbstainingClassifier(Told(), 0.2, cv="prefit", random_state=rng).fit(X, y).proven_
    assert 0 < broken <= most_broken(250) * 250
