"""Paired tests over seeds: numbers by hand and by scipy, the cases without variance, and that the level holds."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from worstclass import make_splits, worst_class_error
from worstclass.exceptions import ParameterError, UnknownNameError
from worstclass.experiments.significance import (
    PairedTest,
    holm,
    paired_tests,
    t_test,
)

ALPHA = 0.05


def by_seed(*values):
    return dict(enumerate(values))


def one_test(a, b, **options):
    (test,) = paired_tests({"a": a, "b": b}, "b", **options)
    return test


# one pair


def test_t_and_p_by_hand():
    # differences 0.1, 0.2, 0.3: mean 0.2, deviation 0.1, t = 0.2 / (0.1 / sqrt 3) = 2 sqrt 3; with 2 degrees of
    # freedom the two-sided p is 1 - t / sqrt(t^2 + 2) = 1 - sqrt(12 / 14)
    test = one_test(by_seed(0.5, 0.5, 0.5), by_seed(0.4, 0.3, 0.2))
    assert (test.a, test.b, test.n) == ("a", "b", 3)
    assert test.mean_difference == pytest.approx(0.2)
    assert test.t == pytest.approx(2 * math.sqrt(3))
    assert test.p == pytest.approx(1 - math.sqrt(12 / 14))
    assert test.p_corrected == test.p  # a family of one
    assert not test.significant


def test_p_is_that_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 7))
    test, reference = one_test(by_seed(*a), by_seed(*b)), stats.ttest_rel(a, b)
    assert (test.t, test.p) == (pytest.approx(reference.statistic), pytest.approx(reference.pvalue))


def test_turning_the_pair_around_turns_the_difference_around_only():
    a, b = by_seed(0.3, 0.5, 0.4, 0.6), by_seed(0.2, 0.1, 0.3, 0.3)
    there, back = one_test(a, b), one_test(b, a)
    assert (back.mean_difference, back.t) == (pytest.approx(-there.mean_difference), pytest.approx(-there.t))
    assert back.p == pytest.approx(there.p)


def test_seeds_are_paired_by_their_number_and_only_common_ones_count():
    a, b = {3: 0.9, 0: 0.5, 1: 0.6, 2: 0.8}, {2: 0.4, 0: 0.4, 1: 0.3, 8: 0.0}
    test = one_test(a, b)
    assert (test.n, test.mean_difference) == (3, pytest.approx((0.1 + 0.3 + 0.4) / 3))
    assert test.p == pytest.approx(stats.ttest_rel([0.5, 0.6, 0.8], [0.4, 0.3, 0.4]).pvalue)


@pytest.mark.parametrize(
    ("b", "n", "difference"), [({}, 0, None), ({9: 0.1}, 0, None), ({1: 0.1}, 1, 0.5), ({0: 0.1, 1: 0.1}, 2, 0.45)]
)
def test_fewer_than_three_common_seeds_are_not_testable(b, n, difference):
    test = one_test({0: 0.5, 1: 0.6}, b)
    assert (test.n, test.t, test.p, test.p_corrected, test.significant) == (n, None, None, None, False)
    assert test.mean_difference == (difference if difference is None else pytest.approx(difference))


@pytest.mark.parametrize("shift", [0, 1, 3])
@pytest.mark.parametrize("test_to_train", [None, 0.5])
def test_the_same_difference_everywhere_is_not_testable(shift, test_to_train):
    # 0.3 - 0.2 and 0.8 - 0.7 differ in the last digit: rounding must not pass for variance
    low, high = (by_seed(*((2 + seed + more) / 10 for seed in range(6))) for more in (0, shift))
    test = one_test(high, low, test_to_train=test_to_train)
    assert (test.t, test.p, test.significant) == (None, None, False)
    assert test.mean_difference == pytest.approx(shift / 10)


# re-splits of one data set


def test_the_corrected_resampled_t_test_by_hand():
    # differences 0.1, 0.2, 0.3: mean 0.2, deviation 0.1; three splits with 1 test row for 4 training rows: t is
    # 0.2 / (0.1 sqrt(1/3 + 1/4)) = 2 sqrt(12/7), t^2 = 48/7, and p = 1 - t / sqrt(t^2 + 2) = 1 - sqrt(48/62)
    test = one_test(by_seed(0.5, 0.5, 0.5), by_seed(0.4, 0.3, 0.2), test_to_train=0.25)
    assert test.n == 3
    assert test.t == pytest.approx(math.sqrt(48 / 7))
    assert test.p == pytest.approx(1 - math.sqrt(48 / 62))
    assert test.p_corrected == test.p


@given(st.floats(0.01, 10), st.integers(3, 9))
def test_the_correction_divides_t_by_what_the_variance_grows_by(ratio, n):
    a, b = np.random.default_rng(n).uniform(size=(2, n))
    plain, corrected = (one_test(by_seed(*a), by_seed(*b), test_to_train=share) for share in (None, ratio))
    assert corrected.t == pytest.approx(plain.t / math.sqrt(1 + n * ratio))
    assert corrected.p > plain.p


def test_a_share_of_test_rows_that_is_none_is_refused():
    for bad in (0, -1, math.nan, True):
        with pytest.raises(ParameterError, match="'test_to_train' parameter of paired_tests must be a positive number"):
            one_test(by_seed(0.1, 0.2), by_seed(0.1, 0.2), test_to_train=bad)


# Holm


def test_holm_by_hand():
    # sorted: 0.005 * 4 = 0.02, 0.01 * 3 = 0.03, 0.03 * 2 = 0.06, and 0.04 * 1 is lifted to the 0.06 before it
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_keeps_the_order_and_is_at_most_bonferroni(p):
    corrected = holm(p)
    assert (corrected >= np.array(p)).all()
    assert (corrected <= np.minimum(1, len(p) * np.array(p))).all()
    assert (np.diff(corrected[np.argsort(p)]) >= 0).all()


def test_holm_corrects_each_row_by_itself():
    p = np.random.default_rng(0).uniform(size=(5, 4))
    assert holm(p).tolist() == [holm(row).tolist() for row in p]


# families


VALUES = {
    "ours": by_seed(0.30, 0.28, 0.31, 0.30, 0.29),
    "ce": by_seed(0.52, 0.49, 0.55, 0.50, 0.54),
    "near": by_seed(0.31, 0.28, 0.32, 0.29, 0.30),
    "lone": {0: 0.4},
}


def test_a_family_against_a_reference_is_corrected_over_what_could_be_tested():
    tests = {test.a: test for test in paired_tests(VALUES, "ours")}
    assert list(tests) == ["ce", "near", "lone"]
    assert {test.b for test in tests.values()} == {"ours"}
    p_ce, p_near = tests["ce"].p, tests["near"].p
    assert p_ce < p_near
    assert tests["ce"].p_corrected == pytest.approx(2 * p_ce)  # of two, not of three: "lone" is not testable
    assert tests["near"].p_corrected == pytest.approx(p_near)
    assert [test.significant for test in tests.values()] == [True, False, False]


def test_all_pairs_are_corrected_over_all():
    tests = paired_tests(VALUES)
    assert [(test.a, test.b) for test in tests][:3] == [("ours", "ce"), ("ours", "near"), ("ours", "lone")]
    assert len(tests) == 6
    tested = [test for test in tests if test.p is not None]
    assert [test.p_corrected for test in tested] == pytest.approx(holm([test.p for test in tested]).tolist())
    assert len(tested) == 3


def test_alpha_is_the_level_of_the_verdict():
    test = one_test(VALUES["ce"], VALUES["ours"])
    assert test.significant
    assert not one_test(VALUES["ce"], VALUES["ours"], alpha=test.p / 2).significant
    assert one_test(VALUES["ce"], VALUES["ours"], alpha=test.p).significant


def test_records_are_frozen_and_survive_json():
    for test in paired_tests(VALUES):
        assert PairedTest.model_validate_json(json.dumps(test.model_dump(), allow_nan=False)) == test
        with pytest.raises(ValueError, match="frozen"):
            test.p = 0.0


def test_bad_input_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'ours'"):
        paired_tests(VALUES, "our")
    for alpha in (0, 1, -0.1, True, "0.05"):
        with pytest.raises(ParameterError, match=r"'alpha' parameter of paired_tests must be a number in \(0, 1\)"):
            paired_tests(VALUES, alpha=alpha)


# the promise: at most alpha of all comparisons of equal methods find anything

N_SEEDS, N_METHODS, N_REPEATS = 5, 6, 20_000
#: three standard errors of a share of alpha
MARGIN = 3 * math.sqrt(ALPHA * (1 - ALPHA) / N_REPEATS)


def draws(effects=(0.0,) * N_METHODS):
    """Errors of methods on seeds, shape (repeats, methods, seeds): seeds are hard or easy for all methods alike."""
    rng = np.random.default_rng(0)
    hardness = rng.normal(0.3, 0.05, size=(N_REPEATS, 1, N_SEEDS))
    noise = rng.normal(0, 0.02, size=(N_REPEATS, N_METHODS, N_SEEDS))
    return hardness + noise + np.array(effects)[:, None]


def found_any(p):
    return float((p.min(axis=-1) <= ALPHA).mean())


def test_against_a_reference_equal_methods_are_told_apart_at_most_alpha_of_the_time():
    values = draws()
    _, p = t_test(values[:, 1:] - values[:, :1])
    assert found_any(p) > 0.1  # uncorrected, five tests find something far too often
    assert found_any(holm(p)) <= ALPHA + MARGIN
    assert found_any(holm(p)) > ALPHA / 2  # and the correction does not throw the level away


def test_against_the_best_only_the_correction_over_all_pairs_keeps_the_level():
    values = draws()
    best = values.mean(axis=-1).argmin(axis=-1)
    first, second = np.triu_indices(N_METHODS, 1)
    _, p = t_test(values[:, first] - values[:, second])
    with_best = (first == best[:, None]) | (second == best[:, None])
    assert found_any(np.where(with_best, holm(p), 1.0)) <= ALPHA + MARGIN
    assert found_any(holm(p)) <= ALPHA + MARGIN
    few = p[with_best].reshape(N_REPEATS, N_METHODS - 1)  # as if the best had been named beforehand
    assert found_any(holm(few)) > ALPHA + 3 * MARGIN


def test_a_real_difference_is_found_and_a_false_one_beside_it_is_not():
    values = draws(effects=(0.0, 0.0, 0.0, 0.0, 0.0, 0.12))
    _, p = t_test(values[:, 1:] - values[:, :1])
    corrected = holm(p)
    assert (corrected[:, -1] <= ALPHA).mean() > 0.9
    assert found_any(corrected[:, :-1]) <= ALPHA + MARGIN


def test_the_level_holds_for_whole_rows_as_they_are_tested():
    """Worst of five classes of 40 rows each: skewed, with ties, and sometimes without any variance."""
    rng = np.random.default_rng(0)
    n_repeats = 2_000
    errors = rng.binomial(40, 0.3, size=(n_repeats, N_METHODS, N_SEEDS, 5)).max(axis=-1) / 40
    found = 0
    for repeat in errors.tolist():
        tests = paired_tests({str(m): by_seed(*values) for m, values in enumerate(repeat)}, "0", alpha=ALPHA)
        found += any(test.significant for test in tests)
    assert found / n_repeats <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / n_repeats)
    assert found > 0


# the promise for re-splits: two equal methods on splits of the same rows


def split_differences(rng, n_rows=150, n_seeds=5, n_columns=6):
    """Draw a table and split it again and again, as files are split; return the differences of two equal methods.

    Each method classifies by the nearest class mean in columns of its own. The columns of both are drawn alike, so over
    tables neither is better, but on one table one of them is, and every split of that table tells so.
    """
    y = np.repeat([0, 1, 2], n_rows // 3)
    X = rng.normal(size=(n_rows, 2 * n_columns)) + 0.5 * rng.permuted(np.eye(3), axis=1)[y][:, [0, 1, 2] * 4]
    differences = []
    for seed in range(n_seeds):
        splits = make_splits(X, y, val=0.2, test=0.2, seed=seed)
        errors = []
        for columns in (slice(0, n_columns), slice(n_columns, None)):
            centres = np.array([splits.train.X[splits.train.y == k, columns].mean(axis=0) for k in range(3)])
            distances = ((splits.test.X[:, None, columns] - centres) ** 2).sum(axis=-1)
            errors.append(worst_class_error(splits.test.y, distances.argmin(axis=1)))
        differences.append(errors[0] - errors[1])
    n_test, n_train = len(splits.test), len(splits.train) + len(splits.val)
    return differences, n_test / n_train


@pytest.mark.slow
def test_on_re_splits_only_the_corrected_test_keeps_the_level():
    rng = np.random.default_rng(0)
    n_repeats, found = 3_000, {"plain": 0, "corrected": 0}
    for _ in range(n_repeats):
        differences, ratio = split_differences(rng)
        if np.ptp(differences) > 0:
            found["plain"] += t_test(differences)[1] <= ALPHA
            found["corrected"] += t_test(differences, ratio)[1] <= ALPHA
    margin = 3 * math.sqrt(ALPHA * (1 - ALPHA) / n_repeats)
    assert ratio == 0.25
    assert found["plain"] / n_repeats > ALPHA + margin  # what a plain test would claim
    assert found["corrected"] / n_repeats <= ALPHA + margin
    assert found["corrected"] > 0
