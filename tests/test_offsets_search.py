"""The search for offsets: smoothed errors by hand, line search by counts, brute force, and what never happens."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import check_grad
from scipy.special import expit
from scipy.stats import norm

from worstclass.wrappers.offset_problem import BANDWIDTH, PRIOR_ROWS, OffsetProblem, calibrate
from worstclass.wrappers.offset_search import (
    best_moves,
    climb,
    find_offsets,
    least_smoothed,
    smoothed_worst,
    towards,
)


def drawn(seed, n_rows, shift=0.0):
    """Draw rows whose own score is larger by 1.5 on average; class 0 is favoured by ``shift``."""
    rng = np.random.default_rng(seed)
    target = np.repeat(np.arange(len(n_rows)), n_rows)
    scores = rng.normal(size=(len(target), len(n_rows)))
    scores[np.arange(len(target)), target] += 1.5
    scores[:, 0] += shift
    return scores, target


def errors_of(scores, target, offsets):
    wrong = (scores + offsets).argmax(axis=1) != target
    K = scores.shape[1]
    return np.bincount(target, wrong, K) / np.maximum(np.bincount(target, minlength=K), 1)


def middles(values):
    ends = np.unique(values)
    ends = np.concatenate([[ends[0] - 2], ends, [ends[-1] + 2]])
    return (ends[1:] + ends[:-1]) / 2


def best_in_plane(scores, target):
    """Return the least worst-class error of three classes, over every cell of the arrangement of 3 n lines."""
    gap_1, gap_2, between = (scores[:, i] - scores[:, j] for i, j in ((0, 1), (0, 2), (1, 2)))
    best = 1.0
    for b1 in middles(np.concatenate([gap_1, (gap_2[:, None] - between).ravel()])):
        rival = np.maximum(scores[:, 0], scores[:, 1] + b1)
        for b2 in middles(rival - scores[:, 2]):
            best = min(best, errors_of(scores, target, np.array([0.0, b1, b2])).max())
    return best


class TestTwoClassesByCounts:
    """Scores 0 and s: class 1 is answered where s + b > 0, so everything is one sweep over the s.

    A quota of all rows asks for the smallest worst-class error by counts.
    """

    def solve(self, first, second, quota=None):
        values = np.array([*first, *second], dtype=float)
        target = np.repeat([0, 1], [len(first), len(second)])
        scores = np.column_stack([np.zeros(len(values)), values])
        quota = np.bincount(target) if quota is None else quota
        offsets = find_offsets(scores, target, quota)
        return offsets[0] - offsets[1], OffsetProblem(scores, target, quota).merit(offsets)

    def test_a_sweep_by_hand(self):
        # sorted by s:   1  2  3' 4  5' (' is class 1). Cuts: below 1: 3 of class 0 wrong; 1|2: 2 of 3; 2|3': 1 of 3;
        # 3'|4: 1 of 3 and 1 of 2; 4|5': 1 of 2; above: 2 of 2. The least worst error is 1/3, between 2 and 3.
        cut, merit = self.solve([1, 2, 4], [3, 5])
        assert (merit.worst, merit.wrong) == (1 / 3, 1)
        assert 2 < cut <= 3

    def test_tied_scores_fall_on_one_side_together(self):
        # 1 2 2' 3': a cut cannot pass between the two rows at 2. Below them: 1 of 2 wrong; above: 1 of 2 wrong.
        cut, merit = self.solve([1, 2], [2, 3])
        assert (merit.worst, merit.wrong) == (0.5, 1)
        assert 1 < cut <= 3

    def test_all_scores_tied(self):
        # one class gets every row; zero offsets give all to the first
        _, merit = self.solve([1, 1], [1, 1])
        assert (merit.worst, merit.wrong) == (1.0, 2)

    def test_zero_offsets_stay_if_nothing_is_better(self):
        cut, _ = self.solve([-3, -0.5], [0.1, 3])
        assert cut == 0
        assert not np.signbit(cut)

    def test_floors_by_hand(self):
        # 1 2 3' 4 5' 6': half of class 0 is enough and all of class 1 are wanted: the cut is between 2 and 3
        cut, merit = self.solve([1, 2, 4], [3, 5, 6], quota=np.array([1, 3]))
        assert merit.worst == 0
        assert merit.wrong == 1
        assert 2 < cut < 3
        # with all rows of both wanted, one of three is missing in one class: between 2 and 3, or between 4 and 5
        _, merit = self.solve([1, 2, 4], [3, 5, 6], quota=np.array([3, 3]))
        assert (merit.worst, merit.wrong) == (1 / 3, 1)

    @settings(deadline=None)
    @given(hnp.arrays(np.int64, st.integers(2, 12), elements=st.integers(-6, 6)), st.data())
    def test_every_cut_is_tried(self, values, data):
        target = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(0, 1)))
        target[:2] = 0, 1
        scores = np.column_stack([np.zeros(len(values)), values * 1.0])
        found = errors_of(scores, target, find_offsets(scores, target, np.bincount(target))).max()
        cuts = [errors_of(scores, target, np.array([0.0, -cut])).max() for cut in np.arange(-7, 7) + 0.5]
        zero = errors_of(scores, target, np.zeros(2)).max()
        assert found == min([*cuts, zero])


class TestLineSearch:
    def test_moves_of_three_classes_by_hand(self):
        # rows of classes 0, 1, 2; raising class 2 by more than 1 makes its row right, by more than 2 row 1 wrong
        scores = np.array([[5.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        problem = OffsetProblem(scores, np.arange(3))
        move = list(best_moves(problem, np.zeros(3)))[2]
        assert move.merit == (0.0, 0.0, 0)
        assert move.change == 1.5

    @pytest.mark.parametrize("seed", range(8))
    @pytest.mark.parametrize("with_quota", [False, True])
    def test_the_best_move_is_that_of_trying_every_change(self, seed, with_quota):
        rng = np.random.default_rng(seed)
        scores, target = drawn(seed, [12, 7, 4, 2], shift=1.0)
        totals = np.bincount(target)
        problem = OffsetProblem(scores, target, totals // 2 + 1 if with_quota else None)
        offsets = rng.normal(size=4)
        for move in best_moves(problem, offsets):
            unit = np.eye(4)[move.k]
            moved = scores + offsets
            others = np.where(np.arange(4) == move.k, -np.inf, moved).max(axis=1)
            every = [problem.merit(offsets + t * unit) for t in middles(others - moved[:, move.k])]
            assert move.merit == min(every) == problem.merit(offsets + move.change * unit)

    def test_several_worst_classes_are_raised_one_after_another(self):
        # classes 2 and 3 are never answered at first; no single move lowers the worst-class error
        scores, target = drawn(0, [20, 20, 10, 10])
        scores[:, :2] += 20
        problem = OffsetProblem(scores, target)
        assert min(best_moves(problem, np.zeros(4))).merit.worst == 1.0
        assert problem.merit(climb(problem, np.zeros(4))).worst < 0.5

    def test_on_the_way_the_limit_is_kept(self):
        scores, target = drawn(3, [30, 10, 5], shift=2.0)
        problem = OffsetProblem(scores, target)
        best, end = climb(problem, np.zeros(3)), np.array([9.0, 0.0, -9.0])
        limit = problem.merit(best).worst + 0.3
        found = towards(problem, best, end, limit)
        assert problem.merit(found).worst <= limit < problem.merit(end).worst
        assert np.abs(found - best).max() > 0
        assert (towards(problem, best, end, -1.0) == best).all()


class TestSmoothedErrors:
    def test_by_hand(self):
        # gaps of class 0: -1 and ln 3; of class 1: 0. With a bandwidth of 1 a gap g counts as 1 / (1 + e^-g)
        scores = np.array([[1.0, 0.0], [0.0, np.log(3.0)], [2.0, 2.0]])
        problem = OffsetProblem(scores, np.array([0, 0, 1]), prior_rows=0)
        value, slope = smoothed_worst(problem, np.zeros(2), np.ones(2))
        of_class_0, of_class_1 = (1 / (1 + np.e) + 0.75) / 2, 0.5
        assert problem.sharpness == 2.0  # the smaller class has one row: 2 sqrt(1)
        total = np.exp(2 * of_class_0) + np.exp(2 * of_class_1)
        assert value == pytest.approx(np.log(total) / 2 + 0.2 * (of_class_0 + of_class_1) / 2)
        weight = np.exp(2 * of_class_0) / total
        steep_0 = (np.e / (1 + np.e) ** 2 + 0.1875) / 2
        assert slope[1] == pytest.approx((weight + 0.1) * steep_0 - (1 - weight + 0.1) * 0.25)
        assert slope[0] == pytest.approx(-slope[1])

    def test_floors_lower_the_errors_by_what_they_allow(self):
        scores = np.array([[1.0, 0.0], [0.0, np.log(3.0)], [2.0, 2.0]])
        problem = OffsetProblem(scores, np.array([0, 0, 1]), np.array([1, 1]), prior_rows=0)
        value, _ = smoothed_worst(problem, np.zeros(2), np.ones(2))
        of_class_0, of_class_1 = (1 / (1 + np.e) + 0.75) / 2 - 0.5, 0.5
        total = np.exp(2 * of_class_0) + np.exp(2 * of_class_1)
        assert value == pytest.approx(np.log(total) / 2 + 0.2 * (of_class_0 + of_class_1) / 2)

    def test_the_bandwidth_has_the_least_squared_error_of_a_normal_distribution(self):
        """By its definition, without the formula: mean squared error of the estimate at many places, many samples."""
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
    def test_the_derivative_is_that_of_the_value(self, seed, n_classes):
        problem = OffsetProblem(*drawn(seed, [7] * n_classes))
        offsets = np.random.default_rng(seed).normal(size=n_classes)
        at = lambda entry: lambda values: smoothed_worst(problem, values, problem.bandwidth)[entry]  # noqa: E731
        assert check_grad(at(0), at(1), offsets, epsilon=1e-7) < 1e-4

    def test_spreads_are_deviations_that_outliers_do_not_move(self):
        rng = np.random.default_rng(0)
        gaps = rng.normal(scale=2.0, size=20_000)
        gaps[:50] = 1e6
        scores = np.column_stack([np.zeros(20_001), np.append(gaps, 5.0)])
        of_many, of_one = OffsetProblem(scores, np.append(np.zeros(20_000, dtype=int), 1)).spread
        assert of_many == pytest.approx(2.0, rel=0.03)
        assert of_one == of_many  # one row has no spread of its own
        assert (OffsetProblem(np.ones((4, 2)), np.array([0, 0, 1, 1])).spread > 0).all()

    def test_a_scale_of_the_scores_is_one_of_the_offsets(self):
        scores, target = drawn(3, [50, 20, 8], shift=2.0)
        ones, thousands = (least_smoothed(OffsetProblem(scale * scores, target))[0] for scale in (1, 1000))
        assert np.ptp(ones) > 0.5
        assert np.allclose(thousands, 1000 * ones, atol=1.0)


class TestEveryRowCountsForEveryClass:
    def test_contributions_by_hand(self):
        # one row of class 1 among 3: it counts 1 / 81 by its label, the three probabilities 80 / 81 in all
        scores, target = drawn(0, [2, 1])
        probable = calibrate(scores, target).probability
        found = OffsetProblem(scores, target).membership
        expected = PRIOR_ROWS / (1 + PRIOR_ROWS) * probable[:, 1] / probable[:, 1].sum()
        expected[2] += 1 / (1 + PRIOR_ROWS)
        assert found[:, 1] == pytest.approx(expected)
        assert found.sum(axis=0) == pytest.approx([1, 1])

    def test_labels_alone(self):
        scores, target = drawn(0, [4, 2])
        assert OffsetProblem(scores, target, prior_rows=0).membership[:, 1].tolist() == [0, 0, 0, 0, 0.5, 0.5]

    @pytest.mark.parametrize("factor", [0.01, 1.0, 50.0])
    def test_probabilities_of_scores_whose_law_is_known(self, factor):
        # unit normal scores, that of the own class larger by 1.5: log-odds are 1.5 times the differences, plus priors
        scores, target = drawn(7, [6000, 1500, 600])
        truth = 1.5 * scores + np.log([6000, 1500, 600])
        truth = np.exp(truth) / np.exp(truth).sum(axis=1, keepdims=True)
        biased = factor * (scores + np.array([0.0, 2.0, -1.0]))
        assert np.abs(calibrate(biased, target).probability - truth).mean() < 0.01

    def test_offsets_that_make_the_classes_equally_frequent(self):
        # priors of 6:3:1 in the log-odds are taken away, whatever the bias of the scores
        scores, target = drawn(8, [6000, 3000, 1000])
        even = calibrate(1.5 * scores + np.array([4.0, 0.0, -1.0]), target).even
        assert even - even[0] == pytest.approx([0, 4, 5], abs=0.15)

    def test_a_class_that_is_never_answered_is_raised(self):
        # every gap of class 2 is 40 times its deviation, where the smoothed error has no slope
        scores, target = drawn(9, [60, 60, 20])
        scores[:, 2] -= 40
        problem = OffsetProblem(scores, target)
        assert problem.merit(np.zeros(3)).worst == 1.0
        assert problem.merit(find_offsets(scores, target)).worst < 0.5

    def test_a_class_of_few_rows_is_better_served_on_other_rows(self):
        """Against labels alone, over 60 draws with eight rows in the smallest class, judged on 2,000 rows of each."""
        gains = []
        for seed in range(60):
            scores, target = drawn(seed, [300, 60, 8], shift=1.5)
            fresh, truth = drawn(1000 + seed, [2000] * 3, shift=1.5)
            labels, both = (least_smoothed(OffsetProblem(scores, target, prior_rows=n))[0] for n in (0, PRIOR_ROWS))
            gains.append(errors_of(fresh, truth, labels).max() - errors_of(fresh, truth, both).max())
        assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains)) > 0


SCORES = hnp.arrays(np.float64, (18, 3), elements=st.floats(-4, 4, width=32))
TARGETS = hnp.arrays(np.int64, 18, elements=st.integers(0, 2))


class TestFindOffsets:
    @pytest.mark.parametrize("seed", range(15))
    def test_three_classes_come_close_to_the_optimum_of_all_cells_by_counts(self, seed):
        scores, target = drawn(seed, [9, 5, 4], shift=1.5)
        problem, best = OffsetProblem(scores, target), best_in_plane(scores, target)
        found = find_offsets(scores, target, quota=np.bincount(target))
        assert best <= problem.merit(found).worst <= best + 0.25

    def test_line_search_reaches_the_optimum_of_all_cells_in_most_small_problems(self):
        reached = 0
        for seed in range(20):
            scores, target = drawn(seed, [9, 5, 4], shift=1.5)
            problem = OffsetProblem(scores, target)
            reached += problem.merit(climb(problem, least_smoothed(problem)[0])).worst == best_in_plane(scores, target)
        assert reached >= 16

    @settings(max_examples=80, deadline=None)
    @given(SCORES, TARGETS, st.booleans())
    def test_the_worst_class_is_never_worse_than_with_zero_offsets(self, scores, target, with_quota):
        quota = np.bincount(target, minlength=3) // 2 + 1 if with_quota else None
        offsets = find_offsets(scores, target, quota)
        problem = OffsetProblem(scores, target, quota)
        assert problem.merit(offsets).worst <= problem.merit(np.zeros(3)).worst
        assert np.isfinite(offsets).all()
        assert offsets.sum() == pytest.approx(0, abs=1e-6)
        assert (offsets[np.bincount(target, minlength=3) == 0] == 0).all()

    @settings(max_examples=40, deadline=None)
    @given(SCORES, TARGETS, hnp.arrays(np.int64, 18, elements=st.integers(-8, 8)))
    def test_a_constant_for_each_row_changes_nothing(self, scores, target, constants):
        scores = np.round(1024 * scores) / 1024  # so that constants are added without rounding
        moved = find_offsets(scores + constants[:, None], target)
        assert moved == pytest.approx(find_offsets(scores, target), abs=1e-6)

    @pytest.mark.parametrize("n_rows", [[30, 12, 6], [60, 20, 20, 10, 5], [50] * 8])
    @pytest.mark.parametrize("seed", range(4))
    def test_permuted_classes_have_permuted_offsets(self, seed, n_rows):
        scores, target = drawn(seed, n_rows, shift=1.0)
        order = np.random.default_rng(seed).permutation(len(n_rows))
        place = np.argsort(order)
        offsets = find_offsets(scores, target)
        assert np.ptp(offsets) > 0
        assert find_offsets(scores[:, order], place[target]) == pytest.approx(offsets[order], abs=1e-3)

    def test_biased_scores_are_corrected(self):
        rng = np.random.default_rng(0)
        target = np.repeat([0, 1, 2], 200)
        fair = rng.normal(size=(600, 3))
        fair[np.arange(600), target] += 2
        bias = np.array([0.0, 3.0, -2.0])
        offsets = find_offsets(fair + bias, target)
        assert offsets - offsets[0] == pytest.approx(-bias, abs=0.35)

    @pytest.mark.parametrize("n_classes", [2, 3, 7, 20, 40])
    def test_many_classes_and_rare_ones(self, n_classes):
        sizes = np.maximum((400 * 50.0 ** (-np.arange(n_classes) / (n_classes - 1))).astype(int), 1)
        scores, target = drawn(n_classes, sizes, shift=4.0)
        fresh, truth = drawn(1000 + n_classes, [1000] * n_classes, shift=4.0)
        zero, right = np.zeros(n_classes), np.where(np.arange(n_classes) == 0, -4.0, 0.0)
        assert errors_of(fresh, truth, zero).max() > 0.9
        worst, least = (errors_of(fresh, truth, b).max() for b in (find_offsets(scores, target), right))
        assert worst < least + 0.12

    def test_one_row_per_class(self):
        scores, target = drawn(1, [1] * 6, shift=9.0)
        problem = OffsetProblem(scores, target)
        assert problem.merit(find_offsets(scores, target)).worst <= problem.merit(np.zeros(6)).worst

    def test_constant_scores_move_nothing(self):
        assert (find_offsets(np.ones((9, 3)), np.repeat([0, 1, 2], 3)) == 0).all()

    def test_a_class_without_rows_keeps_its_place(self):
        scores, target = drawn(2, [40, 10, 10], shift=3.0)
        kept = target != 1
        offsets = find_offsets(scores[kept], target[kept])
        assert offsets[1] == 0 == pytest.approx(offsets.sum())
        assert offsets[2] > 0 > offsets[0]
        only = find_offsets(scores[target == 0], target[target == 0])
        assert (only == 0).all()

    def test_scores_too_large_to_be_squared(self):
        scores, target = drawn(4, [30, 12, 9], shift=1.5)
        huge, problem = find_offsets(1e200 * scores, target), OffsetProblem(scores, target)
        assert np.isfinite(huge).all()
        assert problem.merit(huge / 1e200).worst <= problem.merit(find_offsets(scores, target)).worst + 0.2

    def test_floors_are_met_with_fewer_wrong_rows_than_without_floors(self):
        scores, target = drawn(5, [200, 30, 20], shift=2.5)
        plain = find_offsets(scores, target)
        floor = np.floor((1 - errors_of(scores, target, plain).max() - 0.1) * np.bincount(target)).astype(int)
        with_floors = find_offsets(scores, target, floor)
        problem = OffsetProblem(scores, target, floor)
        assert problem.merit(with_floors).worst == 0
        assert problem.merit(with_floors).wrong < problem.merit(plain).wrong

    @pytest.mark.parametrize("n_rows", [[200, 20, 8], [300, 60, 30, 15, 15, 10, 8, 8]])
    def test_on_other_rows_the_worst_class_is_better_than_by_counts_alone(self, n_rows):
        """On average over 60 draws of few rows, judged on 2,000 rows of each class."""
        gains = []
        for seed in range(60):
            scores, target = drawn(seed, n_rows, shift=1.5)
            fresh, truth = drawn(1000 + seed, [2000] * len(n_rows), shift=1.5)
            problem = OffsetProblem(scores, target)
            by_counts = climb(problem, least_smoothed(problem)[0])
            gains.append(
                errors_of(fresh, truth, by_counts).max() - errors_of(fresh, truth, find_offsets(scores, target)).max()
            )
        assert np.mean(gains) > 2 * np.std(gains) / np.sqrt(len(gains)) > 0
