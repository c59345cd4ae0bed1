"""With known true errors, the promises of a certificate hold at the level they state.

`benchmarks/certificates.py` has the functions, and makes the figures of docs/theory.md with them.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from worstclass.certificates.binomial import p_value, upper_limit
from worstclass.certificates.held_out import certify, hochberg

FILE = Path(__file__).parents[1] / "benchmarks" / "certificates.py"
spec = importlib.util.spec_from_file_location("certificates_benchmark", FILE)
simulation = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = simulation
spec.loader.exec_module(simulation)

DELTA = 0.05
PROMISES = (
    "limits of all classes",
    "limit of the worst class alone",
    "classes called proven",
    "classes called proven, Holm's rule",
    "floors and limits of a proven certificate",
)
UNCORRECTED = ("limits without the share for each class", "classes proven at delta each")


def most_failures(repetitions, delta=DELTA):
    """Share of failures that a promise which fails with probability delta exceeds once in a million simulations."""
    return stats.binom.ppf(1 - 1e-6, repetitions, delta) / repetitions


@pytest.mark.parametrize("case", simulation.truths(), ids=lambda case: case.name)
def test_every_promise_holds_at_its_level(case):
    repetitions = 4_000
    found = simulation.failures(case, repetitions, np.random.default_rng(0))
    for promise in PROMISES:
        assert found[promise] <= most_failures(repetitions), promise


@pytest.mark.slow
@pytest.mark.parametrize("case", simulation.truths(), ids=lambda case: case.name)
def test_every_promise_holds_at_its_level_in_many_repetitions(case):
    repetitions = 200_000
    found = simulation.failures(case, repetitions, np.random.default_rng(1))
    for promise in PROMISES:
        assert found[promise] <= most_failures(repetitions), promise


@pytest.mark.parametrize("n_classes", [2, 10, 100])
def test_the_simulation_tells_a_promise_that_does_not_hold(n_classes):
    case = simulation.truth("all at the edge", n_classes, 500, 0.8, n_classes)
    found = simulation.failures(case, 4_000, np.random.default_rng(0))
    for promise in UNCORRECTED:
        assert found[promise] > most_failures(4_000)


def test_the_level_is_used_up_and_not_merely_kept():
    # 500 rows make the steps of the binomial small: a promise that fails in far less than 5% would waste power
    case = simulation.truth("one at the edge", 2, 500, 0.8, 1, good=0.001)
    found = simulation.failures(case, 20_000, np.random.default_rng(0))
    assert 0.035 <= found["classes called proven"] <= most_failures(20_000)
    assert 0.035 <= found["limit of the worst class alone"] <= most_failures(20_000)


@pytest.mark.parametrize("case", simulation.power_cases(), ids=lambda case: case.name)
def test_the_rule_that_is_used_proves_the_most(case):
    found = simulation.power(case, 2_000, np.random.default_rng(0))
    assert found["each at delta / K"] <= found["Holm"] <= found["Hochberg (used)"]
    assert found["Hochberg (used)"] >= found["Holm"] + 0.01


# --- exactly, without drawing: two classes, every pair of counts


def pairs(n, rule, floor, delta):
    """Which classes are called proven, for every pair of counts of two classes with n rows, shape (n+1, n+1, 2)."""
    p = p_value(np.arange(n + 1), n, 1 - floor)
    return rule(np.stack(np.meshgrid(p, p, indexing="ij"), axis=-1), delta)


@pytest.mark.parametrize("rule", [hochberg, simulation.holm])
@pytest.mark.parametrize(("n", "floor"), [(5, 0.5), (14, 0.8), (25, 0.8)])
def test_no_pair_of_true_errors_breaks_the_level(rule, n, floor):
    proven = pairs(n, rule, floor, DELTA)
    grid = [0.0, 0.01, 0.1, 1 - floor, 1 - floor + 0.01, 0.9]
    worst = 0.0
    for one, other in itertools.product(grid, repeat=2):
        chance = np.outer(stats.binom.pmf(range(n + 1), n, one), stats.binom.pmf(range(n + 1), n, other))
        misses = np.array([one, other]) >= 1 - floor
        worst = max(worst, float(chance[(proven & misses).any(axis=-1)].sum()))
    assert worst <= DELTA + 1e-12
    assert worst > 0.01 or rule is not hochberg  # the most that few rows can use; Holm's rule proves nothing there


def test_for_two_classes_the_used_rule_exhausts_simes_and_holm_does_not():
    up, down = (pairs(100, rule, 0.8, DELTA).sum() for rule in (hochberg, simulation.holm))
    assert up > down


@pytest.mark.parametrize("n", [1, 5, 40])
@pytest.mark.parametrize("n_classes", [2, 10, 100])
def test_joint_coverage_of_the_limits_is_exact(n, n_classes):
    limits = upper_limit(np.arange(n + 1), n, DELTA / n_classes)
    for error in np.concatenate([np.linspace(0.001, 0.999, 200), limits - 1e-9, np.minimum(limits + 1e-9, 1)]):
        covered = stats.binom.pmf(np.arange(n + 1), n, error)[limits >= error].sum()
        assert covered**n_classes >= 1 - DELTA - 1e-9
    tight = min(
        stats.binom.pmf(np.arange(n + 1), n, error)[limits >= error].sum() for error in np.minimum(limits + 1e-9, 1)
    )
    assert tight == pytest.approx(1 - DELTA / n_classes, abs=1e-6)  # and no smaller limit would do


def test_certify_itself_keeps_its_level():
    """The whole way, with labels drawn at random too: a model that errs by chance, certified 400 times."""
    rng = np.random.default_rng(0)
    errors = {"a": 0.2, "b": 0.05, "c": 0.2}
    false_proofs = failed_limits = 0
    for _ in range(400):
        y = rng.choice(list(errors), size=150, p=[0.5, 0.3, 0.2])
        wrong = rng.random(150) < np.vectorize(errors.get)(y)
        answers = np.where(wrong, np.where(y == "a", "b", "a"), y)
        certificate = certify(Oracle(), np.column_stack([answers, np.arange(150)]), y, require=0.8)
        false_proofs += any(row.proven for row in certificate.classes if errors[row.name] >= 0.2)
        failed_limits += any(row.limit < errors[row.name] for row in certificate.classes)
    assert false_proofs <= most_failures(400) * 400
    assert failed_limits <= most_failures(400) * 400


class Oracle:
    classes_ = np.array(["a", "b", "c"])

    def predict(self, X):
        return X[:, 0]


# --- equal rows: reuse told from coincidence


QUICK = [table for table in simulation.discrete_tables() if table.n_values == 81 and table.n_seen <= 300]
QUICK += [simulation.Table(10_000, 1_000, 300)]
#: with so many rows, independent ones are hardly ever undecided
ENOUGH = [(81, 300, 300), (81, 1_000, 1_000), (1_024, 300, 300), (1_024, 1_000, 300), (10_000, 1_000, 300)]


def is_enough(table):
    return table.zipf == 0 and (table.n_values, table.n_seen, table.n_new) in ENOUGH


@pytest.mark.parametrize("table", QUICK, ids=lambda table: table.name)
def test_equal_rows_are_judged_at_the_stated_error_rates(table):
    rng = np.random.default_rng(0)
    independent = table.verdicts(0.0, 50, rng)
    assert independent.get("reused", 0) <= 1 / 50  # at a level of 0.001, two of 50 once in 800 simulations
    assert not is_enough(table) or independent.get("chance", 0) >= 0.84
    assert set(table.verdicts(1.0, 20, rng)) <= {"reused", "undecided"}
    assert table.verdicts(0.5, 100, rng).get("chance", 0) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("table", simulation.discrete_tables(), ids=lambda table: table.name)
def test_equal_rows_are_judged_at_the_stated_error_rates_in_many_repetitions(table):
    rng = np.random.default_rng(1)
    independent = table.verdicts(0.0, 1_000, rng)
    assert independent.get("reused", 0) <= stats.binom.ppf(1 - 1e-6, 1_000, 0.001) / 1_000
    assert not is_enough(table) or independent.get("chance", 0) >= 0.9
    assert set(table.verdicts(1.0, 200, rng)) <= {"reused", "undecided"}
    assert table.verdicts(0.5, 1_000, rng).get("chance", 0) <= 0.05
