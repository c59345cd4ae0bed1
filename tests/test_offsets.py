"""Decision offsets: optimal on tiny problems by brute force, honest about floors, and a scikit-learn classifier."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from worstclass import TorchLearner, WorstClassBooster, WorstClassOffsets, certify, class_report, worst_class_scorer
from worstclass.exceptions import (
    DataError,
    ParameterError,
    ReusedRowsWarning,
    UnknownNameError,
    UnknownOptionError,
    UnmetBoundWarning,
)
from worstclass.wrappers.search.feasibility import meet_quotas
from worstclass.wrappers.search.line_search import best_along, best_for_each_class
from worstclass.wrappers.search.problem import Merit, OffsetProblem
from worstclass.wrappers.search.solve import best_offsets


class Scores(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are its features, already fitted."""

    def __init__(self, classes=(0, 1, 2)):
        self.classes = classes

    def fit(self, X, y):
        return self

    @property
    def classes_(self):
        return np.array(self.classes)

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        return np.asarray(X)

    def predict(self, X):
        return self.classes_[np.asarray(X).argmax(axis=1)]


def problem(rng, n_classes, n_rows):
    """Random scores with some signal and some bias; quotas are all rows, or half of each class."""
    target = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    scores = rng.normal(size=(n_rows, n_classes)) + rng.normal(size=n_classes)
    scores[np.arange(n_rows), target] += rng.choice([0.0, 1.0, 2.0])
    totals = np.bincount(target)
    return scores, target, totals if rng.random() < 0.5 else totals // 2 + 1


def best_by_sets(scores, target, quota):
    """The best merit over every set of rows that can be right together: 2^n systems of difference constraints."""
    n_rows, K = scores.shape
    totals = np.bincount(target, minlength=K)
    gaps = scores - scores[np.arange(n_rows), target][:, None]
    gaps[np.arange(n_rows), target] = -np.inf
    best = Merit(2.0, 0, 0)
    for right in itertools.product([False, True], repeat=n_rows):
        rows = np.flatnonzero(right)
        missing = np.maximum(quota - np.bincount(target[rows], minlength=K), 0)
        merit = Merit(float((missing / totals).max()), int(missing.sum()), n_rows - len(rows))
        if merit < best and can_be_right(gaps[rows], target[rows], K):
            best = merit
    return best


def can_be_right(gaps, target, K):
    bounds = np.full((K, K), -np.inf)
    np.maximum.at(bounds, target, gaps)
    for k in range(K):
        bounds = np.maximum(bounds, bounds[:, k, None] + bounds[k])
    return bounds.diagonal().max() < 0


def best_in_plane(scores, target, quota):
    """The best merit of three classes, over every cell of the arrangement of 3 n lines in the plane."""
    gap_1, gap_2, between = (scores[:, i] - scores[:, j] for i, j in ((0, 1), (0, 2), (1, 2)))
    totals = np.bincount(target, minlength=3)
    best = Merit(2.0, 0, 0)
    for b1 in middles(np.concatenate([gap_1, (gap_2[:, None] - between).ravel()])):
        rival = np.maximum(scores[:, 0], scores[:, 1] + b1)
        first = np.where(scores[:, 0] > scores[:, 1] + b1, 0, 1)
        for_third = middles(rival - scores[:, 2])[:, None] + scores[:, 2] > rival
        right = np.where(for_third, 2, first) == target
        correct = np.stack([right[:, target == k].sum(axis=1) for k in range(3)], axis=1)
        missing = np.maximum(quota - correct, 0)
        columns = (len(target) - correct.sum(axis=1), missing.sum(axis=1), (missing / totals).max(axis=1))
        at = np.lexsort(columns)[0]
        best = min(best, Merit(float(columns[2][at]), int(columns[1][at]), int(columns[0][at])))
    return best


def middles(values):
    ends = np.unique(values)
    ends = np.concatenate([[ends[0] - 2], ends, [ends[-1] + 2]])
    return (ends[1:] + ends[:-1]) / 2


class TestTwoClasses:
    """Scores 0 and s: class 1 is answered where s + b > 0, so everything is one sweep over the s."""

    def solve(self, first, second, **options):
        values = np.array([*first, *second], dtype=float)
        target = np.repeat([0, 1], [len(first), len(second)])
        return best_offsets(np.column_stack([np.zeros(len(values)), values]), target, **options)

    def test_a_sweep_by_hand(self):
        # sorted by s:   1  2  3' 4  5' (' is class 1). Cuts: below 1: 3 of class 0 wrong; 1|2: 2 of 3; 2|3': 1 of 3;
        # 3'|4: 1 of 3 and 1 of 2; 4|5': 1 of 2; above: 2 of 2. The least worst error is 1/3, between 2 and 3.
        found = self.solve([1, 2, 4], [3, 5])
        assert found.merit == (1 / 3, 1, 1)
        assert found.merit_of_zero == (1.0, 3, 3)
        assert found.offsets.tolist() == [1.25, -1.25]

    def test_equal_worst_errors_are_decided_by_the_wrong_rows(self):
        # 1' 2 3 4' 5: cuts 1'|2 (3 of 3 and 1 of 2 wrong), 3|4' (1 of 3, 1 of 2), 4'|5 (1 of 3, 2 of 2), above (2 of 2)
        found = self.solve([2, 3, 5], [1, 4])
        assert found.merit == (0.5, 2, 2)
        assert 3 < found.offsets[0] - found.offsets[1] < 4

    def test_tied_scores_fall_on_one_side_together(self):
        # 1 2 2' 3': a cut cannot pass between the two rows at 2. Below them: 1 of 2 wrong; above: 1 of 2 wrong.
        found = self.solve([1, 2], [2, 3])
        assert found.merit == (0.5, 1, 1)
        cut = found.offsets[0] - found.offsets[1]
        assert 1 < cut < 2 or 2 < cut < 3

    def test_all_scores_tied(self):
        # one class gets every row; zero offsets give all to the first
        assert self.solve([1, 1], [1, 1]).merit == (1.0, 2, 2)

    def test_zero_offsets_stay_where_nothing_is_better(self):
        found = self.solve([-3, -0.5], [0.1, 3])
        assert found.offsets.tolist() == [0.0, 0.0]
        assert not np.signbit(found.offsets).any()

    def test_the_answer_does_not_go_further_into_a_gap_than_it_came_from_zero(self):
        # every cut between 0.25 and 1000 is right; the middle, 500, would be far from all that was seen
        assert np.diff(self.solve([0.0, 0.25], [1000.0, 2000.0]).offsets).tolist() == [-0.5]

    @given(
        hnp.arrays(np.int64, st.integers(2, 12), elements=st.integers(-6, 6)),
        st.data(),
    )
    def test_every_cut_is_tried(self, values, data):
        target = data.draw(hnp.arrays(np.int64, len(values), elements=st.integers(0, 1)))
        target[:2] = 0, 1
        totals = np.bincount(target, minlength=2)
        found = best_offsets(np.column_stack([np.zeros(len(values)), values * 1.0]), target)
        merits = []
        for cut in np.arange(-7, 7) + 0.5:
            wrong = np.bincount(target[(values > cut) != (target == 1)], minlength=2)
            merits.append((float((wrong / np.maximum(totals, 1)).max()), int(wrong.sum())))
        assert (found.merit.worst, found.merit.wrong) == min(merits)
        assert found.proven


class TestOptimality:
    @pytest.mark.parametrize("seed", range(40))
    def test_three_classes_reach_the_optimum_of_all_cells(self, seed):
        rng = np.random.default_rng(seed)
        scores, target, quota = problem(rng, 3, int(rng.integers(6, 22)))
        found = best_offsets(scores, target, quota)
        best = best_in_plane(scores, target, np.minimum(quota, np.bincount(target)))
        assert found.proven
        assert found.merit.worst == best.worst  # always
        assert found.merit.missing - best.missing <= 1  # "almost always" none: see the rates below
        assert found.merit.wrong - best.wrong <= 1

    @pytest.mark.parametrize(("n_classes", "n_problems"), [(3, 60), (4, 40), (5, 20)])
    def test_how_often_the_second_aim_is_reached_too(self, n_classes, n_problems):
        rng = np.random.default_rng(n_classes)
        reached = 0
        for _ in range(n_problems):
            scores, target, quota = problem(rng, n_classes, int(rng.integers(n_classes, 10)))
            quota = np.minimum(quota, np.bincount(target))
            best, found = best_by_sets(scores, target, quota), best_offsets(scores, target, quota)
            assert found.merit.worst == best.worst
            reached += found.merit == best
        assert reached >= 0.95 * n_problems

    @pytest.mark.parametrize("seed", range(20))
    def test_shares_of_few_votes_tie_all_the_time(self, seed):
        rng = np.random.default_rng(seed)
        target = np.concatenate([np.arange(3), rng.integers(0, 3, 12)])
        votes = np.array([rng.multinomial(7, np.where(np.arange(3) == k, 0.5, 0.25)) for k in target])
        found = best_offsets(votes / 7, target)
        best = best_in_plane(votes * 1.0, target, np.bincount(target))
        at_zero = np.bincount(target[votes.argmax(axis=1) != target], minlength=3) / np.bincount(target)
        assert found.merit.worst == min(best.worst, at_zero.max())

    def test_many_classes_are_proven_too(self):
        rng = np.random.default_rng(0)
        target = rng.integers(0, 30, 1500)
        scores = rng.normal(size=(1500, 30)) + rng.normal(size=30)
        scores[np.arange(1500), target] += 3
        found = best_offsets(scores, target)
        assert found.proven
        assert found.merit.worst < found.merit_of_zero.worst
        totals = np.bincount(target)
        better = totals - np.ceil(found.merit.worst * totals).astype(int) + 1  # every class one row better or more
        assert meet_quotas(OffsetProblem.of(scores, target), better, np.zeros(30)) == (None, True)

    @pytest.mark.parametrize("seed", range(5))
    def test_the_short_cut_for_one_class_is_the_search_along_its_line(self, seed):
        rng = np.random.default_rng(seed)
        rows = OffsetProblem.of(*problem(rng, 4, 40))
        least, offsets = np.zeros(4, dtype=int), rng.normal(size=4)
        for k, short_cut in enumerate(best_for_each_class(rows, least, offsets)):
            step = best_along(rows, least, offsets, np.eye(4)[k])
            assert short_cut[:2] == step[:2]
            assert short_cut.offsets == pytest.approx(step.offsets)
            merit = rows.merit_of(step.offsets)
            assert (merit.missing, merit.wrong) == step[:2]


SCORES = hnp.arrays(np.float64, (18, 3), elements=st.floats(-4, 4, width=32))
TARGETS = hnp.arrays(np.int64, 18, elements=st.integers(0, 2))


class TestInvariants:
    @settings(max_examples=60, deadline=None)
    @given(SCORES, TARGETS)
    def test_never_worse_than_zero_offsets_and_as_reported(self, scores, target):
        found = best_offsets(scores, target)
        assert found.merit <= found.merit_of_zero
        answers = (scores + found.offsets).argmax(axis=1)
        wrong = np.bincount(target[answers != target], minlength=3)
        assert found.merit.wrong == wrong.sum()
        assert found.merit.worst == (wrong / np.maximum(np.bincount(target, minlength=3), 1)).max()

    @settings(max_examples=60, deadline=None)
    @given(SCORES, TARGETS, st.integers(-8, 8))
    def test_a_constant_changes_nothing(self, scores, target, constant):
        scores = np.round(1024 * scores) / 1024  # so that a constant is added without rounding
        found = best_offsets(scores, target)
        rows = OffsetProblem.of(scores, target)
        assert rows.merit_of(found.offsets + constant) == found.merit
        assert best_offsets(scores + constant, target).merit.worst == found.merit.worst

    @pytest.mark.parametrize("seed", range(10))
    def test_permuted_classes_have_permuted_offsets(self, seed):
        rng = np.random.default_rng(seed)
        scores, target, quota = problem(rng, 4, 60)
        order = rng.permutation(4)
        place = np.argsort(order)
        offsets = best_offsets(scores, target, quota).offsets
        assert best_offsets(scores[:, order], place[target], quota[order]).offsets == pytest.approx(offsets[order])

    def test_biased_scores_are_put_right(self):
        rng = np.random.default_rng(0)
        target = np.repeat([0, 1, 2], 200)
        fair = rng.normal(size=(600, 3))
        fair[np.arange(600), target] += 2
        bias = np.array([0.0, 3.0, -2.0])
        offsets = best_offsets(fair + bias, target).offsets
        assert offsets - offsets[0] == pytest.approx(-bias, abs=0.35)
        assert best_offsets(fair + bias, target).merit.worst == best_offsets(fair, target).merit.worst


@pytest.fixture(scope="module")
def imbalanced():
    X, y = make_classification(
        1200, n_features=10, n_informative=6, n_classes=3, weights=[0.75, 0.2], class_sep=1.0, random_state=3
    )
    return X, np.array(["common", "rare", "rarest"])[y]


@pytest.fixture(scope="module")
def halves(imbalanced):
    X, y = imbalanced
    return (X[:600], y[:600]), (X[600:], y[600:])


class TestEstimator:
    def test_cross_validation_is_what_scikit_learn_does_by_hand(self, imbalanced):
        X, y = imbalanced
        model = WorstClassOffsets(LogisticRegression()).fit(X, y)
        shares = cross_val_predict(LogisticRegression(), X, y, cv=StratifiedKFold(5), method="predict_proba")
        plain, moved = (model.classes_[(np.log(shares) + b).argmax(axis=1)] for b in (0, model.offsets_))
        assert model.validation_report_before_ == class_report(y, plain)
        assert model.validation_report_ == class_report(y, moved)
        assert model.validation_report_.worst_error < 0.6 * model.validation_report_before_.worst_error
        full = LogisticRegression().fit(X, y)
        assert (model.predict_proba(X) == full.predict_proba(X)).all()
        answers = (np.log(full.predict_proba(X)) + model.offsets_).argmax(axis=1)
        assert (model.predict(X) == full.classes_[answers]).all()
        assert (model.theta_, model.floors_met_, model.shortfall_, model.blocking_classes_) == (None, None, {}, ())

    def test_it_helps_on_rows_never_seen(self, halves):
        (X, y), (X_test, y_test) = halves
        plain = class_report(y_test, LogisticRegression().fit(X, y).predict(X_test))
        moved = class_report(y_test, WorstClassOffsets(LogisticRegression()).fit(X, y).predict(X_test))
        assert moved.worst_error < 0.75 * plain.worst_error

    def test_prefit_takes_the_classifier_as_it_is(self, halves):
        (X, y), (X_held, y_held) = halves
        fitted = LogisticRegression().fit(X, y)
        model = WorstClassOffsets(fitted, cv="prefit").fit(X_held, y_held)
        assert model.estimator_ is fitted
        scores, index = np.log(fitted.predict_proba(X_held)), np.unique(y_held, return_inverse=True)[1]
        assert (model.offsets_ == best_offsets(scores, index, slack=1.0).offsets).all()

    def test_validation_rows_choose_and_go_to_a_classifier_that_takes_them(self, halves):
        (X, y), (X_val, y_val) = halves
        tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        booster = WorstClassBooster(tree, 0.3, n_rounds=4, max_epochs_per_round=10, extend=False, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = WorstClassOffsets(booster, scores="log-proba").fit(X, y, X_val, y_val)
        assert model.estimator_.validation_report_ is not None
        counts = [
            {row.name: (row.correct, row.total) for row in report.rows}
            for report in (model.validation_report_before_, model.estimator_.validation_report_)
        ]
        assert counts[0] == counts[1]
        votes = np.log(np.maximum(model.estimator_.predict_proba(X_val), np.finfo(float).tiny))
        assert (model.predict(X_val) == model.classes_[(votes + model.offsets_).argmax(axis=1)]).all()
        assert model.validation_report_.worst_error <= model.validation_report_before_.worst_error

    def test_networks(self, halves):
        from worstclass.ensembles.networks import NetworkClassifier

        (X, y), (X_val, y_val) = halves
        learner = TorchLearner("mlp", module_options={"hidden": (8,)}, lr=0.02)
        network = NetworkClassifier(learner, max_epochs=60, random_state=0)
        model = WorstClassOffsets(network, cv=2, random_state=0).fit(X, y)
        plain = class_report(y_val, model.estimator_.predict(X_val))
        assert class_report(y_val, model.predict(X_val)).worst_error < plain.worst_error
        model.fit(X, y, X_val, y_val)
        assert model.validation_report_.worst_error < model.validation_report_before_.worst_error
        assert model.estimator_.validation_report_ is not None

    def test_floors_that_can_be_met_are_met_at_fewer_errors_than_without_floors(self, imbalanced):
        X, y = imbalanced
        unasked = WorstClassOffsets(GaussianNB()).fit(X, y)
        floor = round(1 - unasked.validation_report_.worst_error - 0.1, 2)
        model = WorstClassOffsets(GaussianNB(), {"rarest": floor, "others": floor}).fit(X, y)
        assert model.floors_met_
        assert model.blocking_classes_ == ()
        assert not model.validation_report_.missed
        assert model.validation_report_.plain_error < unasked.validation_report_.plain_error

    def test_infeasible_floors_name_the_classes_and_the_nearest_floors(self, imbalanced):
        X, y = imbalanced
        with pytest.warns(
            UnmetBoundWarning, match=r"No offsets meet all floors.*'rarest' \(error .* rows short\)"
        ) as caught:
            model = WorstClassOffsets(GaussianNB(), 0.95).fit(X, y)
        assert model.floors_met_ is False
        assert "rarest" in model.blocking_classes_
        rows = {row.name: row for row in model.validation_report_.rows}
        for label, short in model.shortfall_.items():
            assert rows[label].correct + short == np.floor(0.95 * rows[label].total) + 1
        assert set(model.validation_report_.missed) == set(model.blocking_classes_)
        lower = float(str(caught[0].message).split("lower by ")[1].split(",")[0])
        assert WorstClassOffsets(GaussianNB(), round(0.95 - lower, 4)).fit(X, y).floors_met_  # as the warning says

    def test_a_class_that_does_not_conflict_keeps_its_floor(self):
        # class 2 is apart; 0 and 1 are mixed up, so that one of them must miss a floor of 0.9
        apart = np.tile([0.0, 0.0, 9.0], (10, 1))
        mixed = np.column_stack([np.zeros(20), np.tile([1.0, -1.0], 10), np.full(20, -9.0)])
        X, y = np.concatenate([mixed, apart]), np.repeat([0, 1, 2], 10)
        with pytest.warns(UnmetBoundWarning):
            model = WorstClassOffsets(Scores(), 0.9, cv="prefit").fit(X, y)
        assert set(model.blocking_classes_) <= {0, 1}
        assert [row.correct for row in model.validation_report_.rows if row.name == "2"] == [10]

    def test_decision_function_for_two_classes_and_for_more(self, imbalanced):
        X, y = imbalanced
        model = WorstClassOffsets(Perceptron()).fit(X, y)
        assert model.scores_ == "decision"
        scores = model.decision_function(X)
        assert scores == pytest.approx(model.estimator_.decision_function(X) + model.offsets_)
        top_two = np.sort(scores, axis=1)[:, -2:]
        assert model.decision_margin(X) == pytest.approx(top_two[:, 1] - top_two[:, 0])
        assert not hasattr(model, "predict_proba")
        two = WorstClassOffsets(Perceptron()).fit(X, y == "rarest")
        assert two.decision_function(X).shape == (len(X),)
        assert (two.predict(X) == (two.decision_function(X) > 0)).all()

    @pytest.mark.parametrize("kind", ["log-proba", "proba"])
    def test_scores_can_be_chosen(self, imbalanced, kind):
        X, y = imbalanced
        model = WorstClassOffsets(GaussianNB(), scores=kind).fit(X, y)
        shares = model.estimator_.predict_proba(X)
        scores = shares if kind == "proba" else np.log(np.maximum(shares, np.finfo(float).tiny))
        assert model.decision_function(X) == pytest.approx(scores + model.offsets_)

    def test_a_float_holds_one_share_out_and_without_refit_the_fold_stays(self, imbalanced):
        X, y = imbalanced
        model = WorstClassOffsets(GaussianNB(), cv=0.25, random_state=0, refit=False).fit(X, y)
        assert sum(row.total for row in model.validation_report_.rows) == 300
        assert model.estimator_.class_count_.sum() == 900
        assert WorstClassOffsets(GaussianNB(), cv=0.25, random_state=0).fit(X, y).estimator_.class_count_.sum() == 1200

    def test_the_seed_draws_the_folds(self, imbalanced):
        first, again, other = (
            WorstClassOffsets(GaussianNB(), random_state=seed).fit(*imbalanced) for seed in (0, 0, 1)
        )
        assert (first.offsets_ == again.offsets_).all()
        assert (first.offsets_ != other.offsets_).any()

    def test_clone_grid_search_and_pipelines(self, imbalanced):
        X, y = imbalanced
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        search = GridSearchCV(
            WorstClassOffsets(pipeline),
            {"estimator__logisticregression__C": [0.01, 1.0], "theta": [None, 0.2]},
            scoring=worst_class_scorer,
            cv=2,
        ).fit(X, y)
        assert search.best_score_ > 0.3
        outer = make_pipeline(StandardScaler(), clone(search.best_estimator_)).fit(X, y)
        assert set(outer.predict(X)) == {"common", "rare", "rarest"}

    def test_weights_go_to_the_classifier_and_are_split_with_the_rows(self, imbalanced):
        X, y = imbalanced
        weight = np.where(y == "rarest", 50.0, 1.0)
        model = WorstClassOffsets(LogisticRegression()).fit(X, y, sample_weight=weight)
        assert (model.estimator_.coef_ == LogisticRegression().fit(X, y, sample_weight=weight).coef_).all()
        held_out = next(row for row in model.validation_report_before_.rows if row.name == "rarest")
        plain = WorstClassOffsets(LogisticRegression()).fit(X, y).validation_report_before_
        assert held_out.error < next(row for row in plain.rows if row.name == "rarest").error
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        WorstClassOffsets(pipeline).fit(X, y, logisticregression__sample_weight=weight.tolist())

    def test_metadata_routing(self, imbalanced):
        X, y = imbalanced
        weight = np.where(y == "rarest", 50.0, 1.0)
        with sklearn.config_context(enable_metadata_routing=True):
            inner = LogisticRegression().set_fit_request(sample_weight=True)
            model = WorstClassOffsets(inner).fit(X, y, sample_weight=weight)
        assert (model.estimator_.coef_ == LogisticRegression().fit(X, y, sample_weight=weight).coef_).all()

    def test_a_class_unknown_to_a_fold_is_not_judged_there(self):
        rng = np.random.default_rng(0)
        y = np.repeat(["a", "b", "c"], 40)
        X = rng.normal(size=(120, 2)) + 2 * np.column_stack([y == "b", y == "c"])
        groups = np.where(y == "c", 0, np.arange(120) % 3)  # all rows of c are held out together
        folds = list(GroupKFold(3).split(X, y, groups))
        with pytest.warns(UnmetBoundWarning, match=r"no held-out row of \['c'\]"):
            model = WorstClassOffsets(LogisticRegression(), cv=folds).fit(X, y)
        assert model.validation_report_.absent == ("c",)
        assert sum(row.total for row in model.validation_report_.rows) == 80
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert "c" in model.predict(X)

    def test_a_floor_of_a_class_without_held_out_rows_is_not_known_to_be_met(self, halves):
        (X, y), (X_held, y_held) = halves
        kept = y_held != "rarest"
        fitted = GaussianNB().fit(X, y)
        with pytest.warns(UnmetBoundWarning, match=r"held-out row of \['rarest'\].*floors are met is not known"):
            model = WorstClassOffsets(fitted, 0.1, cv="prefit").fit(X_held[kept], y_held[kept])
        assert model.floors_met_ is False
        assert model.shortfall_ == {}

    def test_certify_refuses_the_rows_that_chose_offsets(self, halves):
        (X, y), (X_held, y_held) = halves
        model = WorstClassOffsets(GaussianNB()).fit(X, y)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            certify(model, X, y)
        assert certify(model, X_held, y_held).n_reused == 0
        prefit = WorstClassOffsets(model, cv="prefit").fit(X_held, y_held)
        with pytest.raises(DataError, match="trained or validated on 1200 of the 1200"):
            certify(prefit, np.concatenate([X, X_held]), np.concatenate([y, y_held]))
        unknown = WorstClassOffsets(GaussianNB().fit(X, y), cv="prefit").fit(X_held, y_held)
        assert certify(unknown, X, y).n_reused is None
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            certify(unknown, X_held, y_held)  # which rows trained it is not known, but these chose

    @pytest.mark.parametrize("theta", [None, 0.1])
    def test_a_class_that_nobody_can_judge_is_not_lowered(self, halves, theta):
        (X, y), (X_held, y_held) = halves
        kept = y_held != "rarest"
        fitted = LogisticRegression().fit(X, y)
        with pytest.warns(UnmetBoundWarning, match=r"no held-out row of \['rarest'\]"):
            model = WorstClassOffsets(fitted, theta, cv="prefit").fit(X_held[kept], y_held[kept])
        offsets = dict(zip(model.classes_, model.offsets_, strict=True))
        assert offsets["rarest"] == 0 == pytest.approx(sum(offsets.values()))
        assert not model.optimal_
        assert model.least_worst_error_ is None
        before, after = model.validation_report_before_, model.validation_report_
        assert after.worst_error <= before.worst_error

    def test_rows_of_one_class_alone_move_nothing(self, halves):
        (X, y), (X_held, y_held) = halves
        kept = y_held == "common"
        with pytest.warns(UnmetBoundWarning, match="no held-out row"):
            model = WorstClassOffsets(LogisticRegression().fit(X, y), cv="prefit").fit(X_held[kept], y_held[kept])
        assert (model.offsets_ == 0).all()

    def test_rows_trained_on_choose_with_a_warning_and_validation_rows_without(self, halves):
        (X, y), (X_val, y_val) = halves
        booster = WorstClassBooster(DecisionTreeClassifier(max_depth=3), 0.2, n_rounds=3, random_state=0)
        booster.fit(X, y, X_val, y_val)
        with pytest.warns(ReusedRowsWarning, match="chosen by, 600 of the 600 rows that choose"):
            WorstClassOffsets(booster, cv="prefit").fit(X, y)
        with pytest.warns(ReusedRowsWarning, match="chosen by, 600 of the 600 rows that choose"):
            WorstClassOffsets(LogisticRegression()).fit(X, y, X, y)
        WorstClassOffsets(booster, cv="prefit").fit(X_val, y_val)  # warnings are errors

    def test_columns_in_another_order(self, halves):
        (X, y), (X_held, y_held) = (
            (pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y) for X, y in halves
        )
        fitted = LogisticRegression().fit(X, y)
        ordered = WorstClassOffsets(fitted, cv="prefit").fit(X_held, y_held)
        reordered = WorstClassOffsets(fitted, cv="prefit").fit(X_held[X_held.columns[::-1]], y_held)
        assert (ordered.offsets_ == reordered.offsets_).all()
        by_rows = [
            WorstClassOffsets(LogisticRegression()).fit(X, y, part, y_held).offsets_
            for part in (X_held, X_held[X_held.columns[::-1]])
        ]
        assert (by_rows[0] == by_rows[1]).all()

    def test_labels_and_floors_of_another_type_are_told_apart(self, halves):
        (X, y), (X_held, y_held) = halves
        numbers = np.unique(y, return_inverse=True)[1]
        with pytest.raises(ParameterError, match="Write 0 in place of '0'"):
            WorstClassOffsets(LogisticRegression(), {"0": 0.5, "others": 0.3}).fit(X, numbers)
        fitted = LogisticRegression().fit(X, numbers)
        texts = np.unique(y_held, return_inverse=True)[1].astype(str)
        with pytest.raises(DataError, match=r"y has the text '.' where the class is the number"):
            WorstClassOffsets(fitted, cv="prefit").fit(X_held, texts)


class TestBadInput:
    @pytest.mark.parametrize("theta", [1.0, -0.1, float("nan"), "0.8", True, {"common": 2}, {"common": 0.5}])
    def test_theta(self, theta, imbalanced):
        with pytest.raises(ParameterError, match="'theta' parameter of WorstClassOffsets must be"):
            WorstClassOffsets(GaussianNB(), theta).fit(*imbalanced)

    def test_theta_of_an_unknown_class_is_refused_before_training(self, imbalanced):
        class Untouched(GaussianNB):
            def fit(self, X, y):
                raise AssertionError("trained")

        with pytest.raises(UnknownNameError, match=r"Got 'rarer' instead.*Did you mean 'rare'"):
            WorstClassOffsets(Untouched(), {"rarer": 0.5, "others": 0.1}).fit(*imbalanced)

    def test_no_scores_and_no_classifier(self, imbalanced):
        class Mute(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                return self

        with pytest.raises(ParameterError, match=r"'estimator'.*a classifier with decision_function.*predict_proba"):
            WorstClassOffsets(Mute()).fit(*imbalanced)
        with pytest.raises(ParameterError, match=r"'estimator'.*a classifier with predict_proba.*scores='proba'"):
            WorstClassOffsets(Perceptron(), scores="proba").fit(*imbalanced)
        for other in (LinearRegression(), GaussianNB):
            with pytest.raises(ParameterError, match="'estimator' parameter of WorstClassOffsets must be a classifier"):
                WorstClassOffsets(other).fit(*imbalanced)
        with pytest.raises(UnknownNameError, match="Did you mean 'log-proba'"):
            WorstClassOffsets(GaussianNB(), scores="log_proba").fit(*imbalanced)

    def test_prefit_but_unfitted(self, imbalanced):
        with pytest.raises(ParameterError, match=r"'estimator'.*fitted where cv='prefit'.*Fit it on other rows"):
            WorstClassOffsets(GaussianNB(), cv="prefit").fit(*imbalanced)

    def test_prefit_with_more_than_held_out_rows(self, halves):
        (X, y), (X_held, y_held) = halves
        fitted = GaussianNB().fit(X, y)
        with pytest.raises(DataError, match="nothing to train"):
            WorstClassOffsets(fitted, cv="prefit").fit(X, y, X_held, y_held)
        with pytest.raises(DataError, match="nothing to train"):
            WorstClassOffsets(fitted, cv="prefit").fit(X, y, sample_weight=np.ones(600))
        with pytest.raises(DataError, match=r"y has labels that the training rows do not have: \['new'\]"):
            WorstClassOffsets(fitted, cv="prefit").fit(X, np.where(y == "rare", "new", y))

    def test_more_folds_than_rows_of_the_smallest_class(self, blobs):
        X, y = blobs
        keep = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")[:3]])
        with pytest.raises(ParameterError, match=r"'cv'.*at most 3 folds, the rows of class c. Got 5.*fewer folds"):
            WorstClassOffsets(GaussianNB()).fit(X[keep], y[keep])

    @pytest.mark.parametrize("cv", [1, 0, -3, True, 0.0, 1.0, 1.5, "five", None])
    def test_cv(self, cv, blobs):
        with pytest.raises(ParameterError, match="'cv' parameter of WorstClassOffsets must be a number of folds"):
            WorstClassOffsets(GaussianNB(), cv=cv).fit(*blobs)

    def test_a_share_of_one_row(self, blobs):
        X, y = blobs
        y = np.where(np.arange(len(y)) == 0, "alone", y)
        with pytest.raises(ParameterError, match=r"'cv'.*one row: \['alone'\]"):
            WorstClassOffsets(LogisticRegression(), cv=0.3).fit(X, y)

    def test_refit(self, blobs):
        with pytest.raises(ParameterError, match=r"'refit'.*True where there are several folds"):
            WorstClassOffsets(GaussianNB(), refit=False).fit(*blobs)
        with pytest.raises(ParameterError, match=r"'refit'.*True or False"):
            WorstClassOffsets(GaussianNB(), refit="yes").fit(*blobs)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_scores_that_are_no_numbers(self, value):
        X = np.zeros((6, 3))
        X[2, 1] = value
        with pytest.raises(DataError, match=r"decision_function of Scores must give finite.*in 1 of 6 rows"):
            WorstClassOffsets(Scores(), cv="prefit").fit(X, [0, 1, 2, 0, 1, 2])

    def test_scores_of_another_shape(self):
        with pytest.raises(DataError, match=r"one score a class, shape \(n, 3\). Got shape \(6, 2\)"):
            WorstClassOffsets(Scores(), cv="prefit").fit(np.zeros((6, 2)), [0, 1, 2, 0, 1, 2])

    def test_validation_rows_without_labels_and_labels_without_rows(self, blobs):
        for extra in ({"X_val": blobs[0]}, {"y_val": blobs[1]}):
            with pytest.raises(DataError, match="go together"):
                WorstClassOffsets(GaussianNB()).fit(*blobs, **extra)

    def test_options_nobody_knows(self, blobs):
        with pytest.raises(UnknownOptionError, match="Did you mean 'theta'"):
            WorstClassOffsets(GaussianNB(), thetas=0.5)
        with pytest.raises(UnknownOptionError, match=r"fit of KNeighborsClassifier has no option 'sample_weight'"):
            WorstClassOffsets(KNeighborsClassifier()).fit(*blobs, sample_weight=np.ones(90))

    def test_labels(self, blobs):
        X, y = blobs
        with pytest.raises(DataError, match="WorstClassOffsets requires y to be passed"):
            WorstClassOffsets(GaussianNB()).fit(X)
        with pytest.raises(DataError, match="Got one class"):
            WorstClassOffsets(GaussianNB()).fit(X, np.full(90, "a"))
        with pytest.raises(DataError, match="Got 90 rows and 89 labels"):
            WorstClassOffsets(GaussianNB()).fit(X, y[:-1])

    def test_no_held_out_row(self, blobs):
        X, y = blobs
        with pytest.raises(DataError, match="no held-out row"):
            WorstClassOffsets(GaussianNB(), cv=[(np.arange(90), np.arange(0))]).fit(X, y)
        with pytest.raises(DataError, match="at least two classes"):
            WorstClassOffsets(GaussianNB(), cv=[(np.flatnonzero(y == "a"), np.flatnonzero(y == "b"))]).fit(X, y)

    def test_data_sets_cannot_be_cross_validated(self):
        import torch
        from torch.utils.data import TensorDataset

        rows = TensorDataset(torch.zeros(10, 2), torch.arange(10) % 2)
        with pytest.raises(DataError, match="cannot cross-validate a map-style data set"):
            WorstClassOffsets(GaussianNB()).fit(rows)


def expected_to_fail(estimator):
    """With offsets an answer need not have the largest probability; where there are no probabilities, all must pass."""
    if hasattr(estimator, "predict_proba"):
        return {"check_classifiers_train": "asks that every answer has the largest entry of predict_proba"}
    return {}


@parametrize_with_checks(
    [
        WorstClassOffsets(LogisticRegression(), cv=3),
        WorstClassOffsets(LogisticRegression(), 0.5, cv=2, scores="proba"),
        WorstClassOffsets(Perceptron(), cv=3),
        WorstClassOffsets(make_pipeline(StandardScaler(), LogisticRegression()), cv=3),
    ],
    expected_failed_checks=expected_to_fail,
)
def test_a_scikit_learn_classifier(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
