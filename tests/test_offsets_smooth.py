"""Offsets by smoothed errors: the estimate by hand, its slope, how far it may go, and that it serves other rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad
from sklearn.linear_model import LogisticRegression

from worstclass import WorstClassOffsets
from worstclass.exceptions import ParameterError
from worstclass.wrappers.search.problem import OffsetProblem
from worstclass.wrappers.search.smooth import (
    BANDWIDTH,
    SHARPNESS,
    least_smoothed,
    smoothed_worst,
    spreads,
    standard_error,
)
from worstclass.wrappers.search.solve import best_offsets


def drawn(seed, n_rows, shift=0.0):
    """Draw rows whose own score is larger by 1.5 in the mean; class 0 is favoured by ``shift``."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(len(n_rows)), n_rows)
    scores = rng.normal(size=(len(target), len(n_rows)))
    scores[np.arange(len(target)), target] += 1.5
    scores[:, 0] += shift
    return scores, target


def errors_of(scores, target, offsets):
    wrong = (scores + offsets).argmax(axis=1) != target
    return np.bincount(target, wrong) / np.bincount(target)


def test_smoothed_errors_by_hand():
    # gaps of class 0: -1 and ln 3; of class 1: 0. With a bandwidth of 1 a gap g counts as 1 / (1 + e^-g)
    scores = np.array([[1.0, 0.0], [0.0, np.log(3.0)], [2.0, 2.0]])
    problem = OffsetProblem.of(scores, np.array([0, 0, 1]))
    value, slope = smoothed_worst(problem, np.zeros(2), np.ones(2))
    of_class_0, of_class_1 = (1 / (1 + np.e) + 0.75) / 2, 0.5
    total = np.exp(SHARPNESS * of_class_0) + np.exp(SHARPNESS * of_class_1)
    assert value == pytest.approx(np.log(total) / SHARPNESS)
    weight = np.exp(SHARPNESS * of_class_0) / total
    steep_0 = (np.e / (1 + np.e) ** 2 + 0.1875) / 2
    assert slope[1] == pytest.approx(weight * steep_0 - (1 - weight) * 0.25)
    assert slope[0] == pytest.approx(-slope[1])


def test_the_bandwidth_has_the_least_squared_error_of_a_normal_distribution():
    """By its definition, without the formula: mean squared error of the estimate at many places, many samples."""
    from scipy.special import expit
    from scipy.stats import norm

    rng = np.random.default_rng(0)
    places, n = np.linspace(-2, 2, 9), 30
    samples = rng.normal(size=(4000, 1, n))

    def mean_squared_error(factor):
        width = factor * BANDWIDTH * n ** (-1 / 3)
        found = expit((places[:, None] - samples) / width).mean(axis=2)
        return ((found - norm.cdf(places)) ** 2).mean()

    by_count = (((samples <= places[:, None]).mean(axis=2) - norm.cdf(places)) ** 2).mean()
    assert mean_squared_error(1.0) < min(mean_squared_error(0.4), mean_squared_error(2.5), by_count)


@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_the_slope_is_that_of_the_value(seed, n_classes):
    problem = OffsetProblem.of(*drawn(seed, [7] * n_classes))
    offsets = np.random.default_rng(seed).normal(size=n_classes)
    width = spreads(problem, offsets)
    at = lambda entry: lambda values: smoothed_worst(problem, values, width)[entry]  # noqa: E731
    assert check_grad(at(0), at(1), offsets, epsilon=1e-7) < 1e-4


def test_spreads_are_deviations_that_far_values_do_not_move():
    rng = np.random.default_rng(0)
    gaps = rng.normal(scale=2.0, size=20_000)
    gaps[:50] = 1e6
    scores = np.column_stack([np.zeros(20_001), np.append(gaps, 5.0)])
    problem = OffsetProblem.of(scores, np.append(np.zeros(20_000, dtype=int), 1))
    of_many, of_one = spreads(problem, np.zeros(2))
    assert of_many == pytest.approx(2.0, rel=0.03)
    assert of_one == of_many  # one row has no spread of its own
    tied = OffsetProblem.of(np.ones((4, 2)), np.array([0, 0, 1, 1]))
    assert (spreads(tied, np.zeros(2)) > 0).all()


@given(seed=st.integers(0, 10_000), n_rows=st.lists(st.integers(1, 12), min_size=2, max_size=6), data=st.data())
@settings(max_examples=80, deadline=None)
def test_the_worst_class_stays_within_the_slack_and_never_beyond_zero_offsets(seed, n_rows, data):
    scores, target = drawn(seed, n_rows, shift=data.draw(st.sampled_from([0.0, 1.0, 3.0])))
    slack = data.draw(st.sampled_from([0.0, 0.5, 1.0, 3.0]))
    exact, steady = best_offsets(scores, target), best_offsets(scores, target, slack=slack)
    before, least, after = (
        errors_of(scores, target, offsets) for offsets in (np.zeros(len(n_rows)), exact.offsets, steady.offsets)
    )
    assert steady.least == exact.merit.worst == pytest.approx(least.max())
    assert steady.merit.worst == pytest.approx(after.max())
    assert least.max() - 1e-12 <= after.max() <= before.max() + 1e-12
    total = np.array(n_rows)[least == least.max()].max()
    rate = np.clip(least.max(), 0.5 / total, 1 - 0.5 / total)
    assert after.max() <= least.max() + slack * np.sqrt(rate * (1 - rate) / total) + 1e-9


@given(seed=st.integers(0, 10_000), n_rows=st.lists(st.integers(1, 20), min_size=3, max_size=5), data=st.data())
@settings(max_examples=40, deadline=None)
def test_other_names_of_the_classes_change_neither_the_least_nor_the_slack(seed, n_rows, data):
    scores, target = drawn(seed, n_rows, shift=1.0)
    order = np.array(data.draw(st.permutations(range(len(n_rows)))))
    place = np.argsort(order)  # class k becomes class place[k]
    best = best_offsets(scores, target).offsets
    problem, renamed = OffsetProblem.of(scores, target), OffsetProblem.of(scores[:, order], place[target])
    assert standard_error(renamed, best[order]) == standard_error(problem, best)
    assert best_offsets(scores[:, order], place[target], slack=1.0).least == best_offsets(scores, target).least


def test_of_several_worst_classes_the_one_with_the_most_rows_sets_the_slack():
    # all right: as if half a row of 20 were wrong, whichever place the class of 20 has
    for order in ([20, 1, 1], [1, 20, 1], [1, 1, 20]):
        problem = OffsetProblem.of(5 * np.eye(3)[np.repeat(range(3), order)], np.repeat(range(3), order))
        assert standard_error(problem, np.zeros(3)) == pytest.approx(np.sqrt(0.025 * 0.975 / 20))


def test_two_classes_have_the_least_error_unless_asked_otherwise():
    for seed in range(20):
        scores, target = drawn(seed, [40, 9], shift=2.0)
        model = WorstClassOffsets(Given(), cv="prefit", scores="decision").fit(scores, target)
        assert model.validation_report_.worst_error == model.least_worst_error_
        assert model.least_worst_error_ == best_offsets(scores, target).merit.worst


def test_a_scale_of_the_scores_is_one_of_the_offsets():
    scores, target = drawn(3, [50, 20, 8], shift=2.0)
    ones = least_smoothed(OffsetProblem.of(scores, target), np.zeros(3))
    thousands = least_smoothed(OffsetProblem.of(1000 * scores, target), np.zeros(3))
    assert np.ptp(ones) > 0.5
    assert np.allclose(thousands, 1000 * ones, atol=1.0)


def test_scores_too_large_to_be_squared_leave_the_best_by_counts():
    scores, target = drawn(4, [30, 12, 9], shift=1.5)
    assert best_offsets(1e200 * scores, target, slack=1.0).merit.worst <= best_offsets(scores, target).merit.worst + 0.2


@pytest.mark.parametrize("n_rows", [[200, 20, 8], [300, 60, 30, 15, 15, 10, 8, 8]])
def test_on_other_rows_the_worst_class_is_better_than_by_counts_alone(n_rows):
    """In the mean over 60 draws of few rows, judged on 2,000 rows of each class."""
    gains = []
    for seed in range(60):
        scores, target = drawn(seed, n_rows, shift=1.5)
        fresh, truth = drawn(1000 + seed, [2000] * len(n_rows), shift=1.5)
        by_counts, steady = (best_offsets(scores, target, slack=slack).offsets for slack in (None, 1.0))
        gains.append(errors_of(fresh, truth, by_counts).max() - errors_of(fresh, truth, steady).max())
    assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains)) > 0


class Given(LogisticRegression):
    """A fitted classifier whose scores are its two features."""

    classes_ = np.array([0, 1])

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        return np.asarray(X)


@pytest.mark.parametrize("slack", [-0.1, float("nan"), float("inf"), True, "one", [1]])
def test_a_wrong_slack_is_refused_before_training(slack, blobs):
    with pytest.raises(ParameterError, match=r"slack.*from 0 on, 'auto', or None"):
        WorstClassOffsets(LogisticRegression(), slack=slack).fit(*blobs)


def test_counts_alone_on_request(blobs):
    X, y = blobs
    models = [WorstClassOffsets(LogisticRegression(), slack=slack).fit(X, y) for slack in (None, 0, 1, "auto")]
    counts, zero, one, auto = (model.validation_report_.worst_error for model in models)
    assert counts == zero == models[0].least_worst_error_ == models[3].least_worst_error_
    assert (models[2].offsets_ == models[3].offsets_).all()
    assert one == auto >= counts
