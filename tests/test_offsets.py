"""Decision offsets around any classifier: held-out rows, floors, rows seen before, and scikit-learn's checks."""

from __future__ import annotations

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
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

from worstclass import (
    NetworkClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassOffsets,
    certify,
    class_report,
    worst_class_scorer,
)
from worstclass.exceptions import (
    DataError,
    ModelFormatError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
    UnmetBoundWarning,
)
from worstclass.wrappers.offset_search import find_offsets


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
        assert (model.theta_, model.floors_met_, model.shortfall_) == (None, None, {})

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
        assert (model.offsets_ == find_offsets(scores, index)).all()

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
        assert model.shortfall_ == {}
        assert not model.validation_report_.missed
        assert model.validation_report_.plain_error < unasked.validation_report_.plain_error

    def test_infeasible_floors_name_the_classes_and_the_nearest_floors(self, imbalanced):
        X, y = imbalanced
        with pytest.warns(
            UnmetBoundWarning, match=r"No offsets that meet all floors.*'rarest' \(error .* rows short\)"
        ) as caught:
            model = WorstClassOffsets(GaussianNB(), 0.95).fit(X, y)
        assert model.floors_met_ is False
        assert "rarest" in model.shortfall_
        rows = {row.name: row for row in model.validation_report_.rows}
        for label, short in model.shortfall_.items():
            assert rows[label].correct + short == np.floor(0.95 * rows[label].total) + 1
        assert set(model.validation_report_.missed) == set(model.shortfall_)
        lower = float(str(caught[0].message).split("lower by ")[1].rstrip("."))
        short = max(
            rows / next(r.total for r in model.validation_report_.rows if r.name == label)
            for label, rows in model.shortfall_.items()
        )
        assert lower == pytest.approx(short, abs=1e-4)

    def test_a_class_that_does_not_conflict_keeps_its_floor(self):
        # class 2 is apart; 0 and 1 are mixed up, so that one of them must miss a floor of 0.9
        apart = np.tile([0.0, 0.0, 9.0], (10, 1))
        mixed = np.column_stack([np.zeros(20), np.tile([1.0, -1.0], 10), np.full(20, -9.0)])
        X, y = np.concatenate([mixed, apart]), np.repeat([0, 1, 2], 10)
        with pytest.warns(UnmetBoundWarning):
            model = WorstClassOffsets(Scores(), 0.9, cv="prefit").fit(X, y)
        assert set(model.shortfall_) <= {0, 1}
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
        scores = shares if kind == "proba" else np.log(np.maximum(shares, 1e-4))
        assert model.decision_function(X) == pytest.approx(scores + model.offsets_)

    def test_a_float_holds_one_share_out(self, imbalanced):
        X, y = imbalanced
        model = WorstClassOffsets(GaussianNB(), cv=0.25, random_state=0).fit(X, y)
        assert sum(row.total for row in model.validation_report_.rows) == 300
        assert model.estimator_.class_count_.sum() == 1200

    def test_training_rows_choose_if_asked_to_and_the_classifier_is_trained_once(self, imbalanced):
        X, y = imbalanced
        model = WorstClassOffsets(GaussianNB(), cv="training").fit(X, y)
        by_hand = WorstClassOffsets(GaussianNB().fit(X, y), cv="prefit").fit(X, y)
        assert (model.offsets_ == by_hand.offsets_).all()
        assert sum(row.total for row in model.validation_report_.rows) == 1200
        assert [len(part) for part in (model.seen_rows_.training, model.seen_rows_.validation)] == [1200, 1200]

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
        with pytest.warns(UnmetBoundWarning, match=r"no held-out rows of \['c'\]"):
            model = WorstClassOffsets(LogisticRegression(), cv=folds).fit(X, y)
        assert model.validation_report_.absent == ("c",)
        assert sum(row.total for row in model.validation_report_.rows) == 80
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert "c" in model.predict(X)

    def test_a_floor_of_a_class_without_held_out_rows_is_not_known_to_be_met(self, halves):
        (X, y), (X_held, y_held) = halves
        kept = y_held != "rarest"
        fitted = GaussianNB().fit(X, y)
        with pytest.warns(UnmetBoundWarning, match=r"held-out rows of \['rarest'\].*floors are met is not known"):
            model = WorstClassOffsets(fitted, 0.1, cv="prefit").fit(X_held[kept], y_held[kept])
        assert model.floors_met_ is False
        assert model.shortfall_ == {}

    def test_certify_refuses_the_rows_that_chose_offsets(self, halves):
        (X, y), (X_held, y_held) = halves
        model = WorstClassOffsets(GaussianNB()).fit(X, y)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            certify(model, X, y)
        assert certify(model, X_held, y_held).overlap.verdict == "none"
        prefit = WorstClassOffsets(model, cv="prefit").fit(X_held, y_held)
        with pytest.raises(DataError, match="Of the 1200 rows, 1200 equal rows"):
            certify(prefit, np.concatenate([X, X_held]), np.concatenate([y, y_held]))
        unknown = WorstClassOffsets(GaussianNB().fit(X, y), cv="prefit").fit(X_held, y_held)
        assert certify(unknown, X, y).overlap.verdict == "unknown"
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            certify(unknown, X_held, y_held)  # which rows trained it is not known, but these chose

    @pytest.mark.parametrize("theta", [None, 0.1])
    def test_a_class_that_nobody_can_judge_is_not_lowered(self, halves, theta):
        (X, y), (X_held, y_held) = halves
        kept = y_held != "rarest"
        fitted = LogisticRegression().fit(X, y)
        with pytest.warns(UnmetBoundWarning, match=r"no held-out rows of \['rarest'\]"):
            model = WorstClassOffsets(fitted, theta, cv="prefit").fit(X_held[kept], y_held[kept])
        offsets = dict(zip(model.classes_, model.offsets_, strict=True))
        assert offsets["rarest"] == 0 == pytest.approx(sum(offsets.values()))
        before, after = model.validation_report_before_, model.validation_report_
        assert after.worst_error <= before.worst_error

    def test_rows_of_one_class_alone_move_nothing(self, halves):
        (X, y), (X_held, y_held) = halves
        kept = y_held == "common"
        with pytest.warns(UnmetBoundWarning, match="no held-out row"):
            model = WorstClassOffsets(LogisticRegression().fit(X, y), cv="prefit").fit(X_held[kept], y_held[kept])
        assert (model.offsets_ == 0).all()

    def test_training_rows_cannot_choose_and_validation_rows_can(self, halves):
        (X, y), (X_val, y_val) = halves
        booster = WorstClassBooster(DecisionTreeClassifier(max_depth=3), 0.2, n_rounds=3, random_state=0)
        booster.fit(X, y, X_val, y_val)
        with pytest.raises(DataError, match=r"WorstClassOffsets needs rows .* Of the 600 rows, 600 equal rows"):
            WorstClassOffsets(booster, cv="prefit").fit(X, y)
        with pytest.raises(DataError, match="Of the 600 rows, 600 equal rows"):
            WorstClassOffsets(LogisticRegression()).fit(X, y, X, y)
        model = WorstClassOffsets(booster, cv="prefit").fit(X_val, y_val)
        assert model.overlap_.verdict == "none"

    def test_rows_are_recorded_by_what_they_did(self, halves):
        (X, y), (X_held, y_held) = halves

        def sizes(model):
            seen = model.seen_rows_
            return [None if part is None else len(part) for part in (seen.training, seen.validation, seen.calibration)]

        assert sizes(WorstClassOffsets(GaussianNB()).fit(X, y)) == [600, 600, None]
        assert sizes(WorstClassOffsets(GaussianNB(), cv=0.25).fit(X, y)) == [600, 600, None]
        inner = WorstClassOffsets(GaussianNB()).fit(X, y, X_held, y_held)
        assert sizes(inner) == [600, 600, None]
        again = WorstClassOffsets(inner, cv="prefit").fit(X_held, y_held)  # rows that chose may choose again
        assert sizes(again) == [600, 600, None]
        assert again.seen_rows_.complete
        unknown = WorstClassOffsets(GaussianNB().fit(X, y), cv="prefit").fit(X_held, y_held)
        assert sizes(unknown) == [None, 600, None]
        assert not unknown.seen_rows_.complete
        assert unknown.overlap_.verdict == "unknown"

    def test_folds_run_in_parallel_through_joblib(self, imbalanced):
        X, y = imbalanced
        alone, together = (WorstClassOffsets(GaussianNB(), n_jobs=n, random_state=0).fit(X, y) for n in (None, 2))
        assert (alone.offsets_ == together.offsets_).all()
        with joblib.parallel_config("threading", n_jobs=2):
            assert (WorstClassOffsets(GaussianNB(), random_state=0).fit(X, y).offsets_ == alone.offsets_).all()

    def test_the_state_makes_the_model_again(self, halves):
        (X, y), (X_held, _) = halves
        model = WorstClassOffsets(GaussianNB(), {"rarest": 0.2, "others": 0.1}).fit(X, y)
        again = WorstClassOffsets.from_state(model.get_params(deep=False), model.state())
        assert {name for name in vars(model) if name.endswith("_")} == set(again.state())
        assert (again.predict(X_held) == model.predict(X_held)).all()
        state = {**model.state(), "estimator_": GaussianNB().fit(X[y != "rare"], y[y != "rare"])}
        with pytest.raises(ModelFormatError, match="Save the model again"):
            WorstClassOffsets.from_state(model.get_params(deep=False), state)

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
        with pytest.raises(ParameterError, match=r"'estimator'.*fitted if cv='prefit'.*Fit it on other rows"):
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
        with pytest.raises(ParameterError, match=r"'cv'.*single row: \['alone'\]"):
            WorstClassOffsets(LogisticRegression(), cv=0.3).fit(X, y)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_scores_that_are_no_numbers(self, value):
        X = np.zeros((6, 3))
        X[2, 1] = value
        with pytest.raises(DataError, match=r"decision_function of Scores must return finite.*in 1 of 6 rows"):
            WorstClassOffsets(Scores(), cv="prefit").fit(X, [0, 1, 2, 0, 1, 2])

    def test_scores_of_another_shape(self):
        with pytest.raises(DataError, match=r"one score per class, shape \(n, 3\). Got shape \(6, 2\)"):
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

    def test_no_held_out_row_for_a_fitted_classifier(self, blobs):
        X, y = blobs
        with pytest.raises(DataError, match="WorstClassOffsets needs held-out rows and got none"):
            WorstClassOffsets(GaussianNB().fit(X, y), cv="prefit").fit(X[:0], y[:0])


@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_data_sets_are_cross_validated_like_other_rows(blobs):
    import torch
    from torch.utils.data import TensorDataset

    X, labels = blobs[0].astype(np.float32), np.unique(blobs[1], return_inverse=True)[1]
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(labels))
    network = NetworkClassifier(TorchLearner("mlp", module_options={"hidden": (8,)}), max_epochs=3, random_state=0)
    of_data, of_rows = (WorstClassOffsets(network, cv=3).fit(*rows) for rows in ((data,), (X, labels)))
    assert (of_data.offsets_ == of_rows.offsets_).all()
    with pytest.raises(DataError, match="Of the 90 rows, 90 equal rows"):
        certify(of_data, X, labels)


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
