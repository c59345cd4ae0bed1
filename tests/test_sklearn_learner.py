"""scikit-learn classifiers as weak learners: weights, growing capacity, pipelines, refusals."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_digits, load_iris
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from worstclass import SklearnLearner, WorstClassBooster, load_model, save_model, worst_class_scorer
from worstclass.cli.app import run
from worstclass.exceptions import DataError, ParameterError, UnknownNameError
from worstclass.learners.base import Verdict
from worstclass.learners.capacity import CapacityRule, capacity_rule, geometric_steps

CLASSIFIERS = [
    DecisionTreeClassifier(),
    ExtraTreeClassifier(),
    RandomForestClassifier(n_estimators=10),
    ExtraTreesClassifier(n_estimators=10),
    GradientBoostingClassifier(n_estimators=30),
    HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5),
    AdaBoostClassifier(n_estimators=30),
    LogisticRegression(),
    RidgeClassifier(),
    GaussianNB(),
    SVC(),
    SGDClassifier(),
    Perceptron(),
    MLPClassifier(hidden_layer_sizes=(16,), learning_rate_init=0.02, max_iter=100),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), MLPClassifier(hidden_layer_sizes=(16,), learning_rate_init=0.02, max_iter=100)),
]


def name_of(estimator):
    return "+".join(type(step).__name__ for step in getattr(estimator, "named_steps", {"": estimator}).values())


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_every_classifier_meets_the_floor_on_easy_data(estimator, blobs):
    X, y = blobs
    model = WorstClassBooster(SklearnLearner(estimator), theta=0.8, n_rounds=8, random_state=0).fit(X, y)
    assert model.bound_met_
    assert set(model.predict(X)) <= set("abc")
    assert model.training_report_.worst_error < 0.2


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
def test_same_seed_same_answers_whatever_the_global_state(estimator, blobs):
    X, y = blobs
    shares = []
    for global_seed in (1, 2):
        np.random.seed(global_seed)  # noqa: NPY002
        model = WorstClassBooster(estimator, theta=0.6, n_rounds=3, random_state=7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares.append(model.fit(X, y).predict_proba(X))
    np.testing.assert_array_equal(*shares)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (DecisionTreeClassifier(), CapacityRule("depth", "max_depth")),
        (RandomForestClassifier(), CapacityRule("depth", "max_depth")),
        (HistGradientBoostingClassifier(), CapacityRule("iterations", "max_iter")),
        (GradientBoostingClassifier(), CapacityRule("iterations", "n_estimators")),
        (AdaBoostClassifier(), CapacityRule("iterations", "n_estimators")),
        (SGDClassifier(), CapacityRule("epochs", "max_iter")),
        (MLPClassifier(), CapacityRule("epochs", "max_iter")),
        (MLPClassifier(solver="lbfgs"), CapacityRule("fixed")),
        (LogisticRegression(warm_start=True), CapacityRule("fixed")),
        (GaussianNB(), CapacityRule("fixed")),
        (SVC(), CapacityRule("fixed")),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_the_knob_of_capacity_is_found(estimator, expected):
    assert capacity_rule(estimator) == expected


def test_capacity_grows_only_as_far_as_the_edge_asks(blobs):
    X, y = blobs
    tree = DecisionTreeClassifier()
    modest = WorstClassBooster(tree, theta=0.5, n_rounds=1, random_state=0, extend=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        modest.fit(X, y)
    strict = WorstClassBooster(tree, theta=0.99, gamma=0.4995, n_rounds=1, random_state=0).fit(X, y)
    assert modest.estimators_[0].estimator.get_depth() == 1
    assert strict.estimators_[0].estimator.get_depth() > 2


def test_warm_started_iterations_equal_one_fit_of_the_same_length():
    X, y = load_iris(return_X_y=True)
    learner = SklearnLearner(HistGradientBoostingClassifier(max_iter=6), bootstrap=False)
    training = learner.bind(X, y, 3, seed=0)
    seen = []

    def stop(done):
        seen.append(done.predictions)
        return Verdict.GO_ON

    training.train(np.ones(len(y)), stop, seed=5)
    member_seed = training.train(np.ones(len(y)), lambda done: Verdict.DONE, seed=5).member.estimator.random_state
    direct = HistGradientBoostingClassifier(max_iter=6, random_state=member_seed).fit(X, y, np.ones(len(y)))
    assert len(seen) == 6
    np.testing.assert_array_equal(seen[-1], direct.predict(X))


@pytest.mark.parametrize("early_stopping", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("grow", ["auto", "max_depth"])
def test_histogram_trees_answer_as_they_predict_and_each_tree_is_asked_once(
    n_classes, grow, early_stopping, monkeypatch
):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes, :2], y[y < n_classes]
    trees = HistGradientBoostingClassifier(max_iter=30, max_depth=3, early_stopping=early_stopping)
    asked, decide = [], HistGradientBoostingClassifier.decision_function

    def counting(self, X):
        asked.append(len(self._predictors))
        return decide(self, X)

    monkeypatch.setattr(HistGradientBoostingClassifier, "decision_function", counting)
    training = SklearnLearner(trees, bootstrap=False, grow=grow).bind(X, y, n_classes, seed=0)
    n_trees = []

    def stop(done):
        member = done.snapshot()
        n_trees.append(member.estimator.n_iter_)
        np.testing.assert_array_equal(done.predictions, member.predict(training.inputs))
        return Verdict.GO_ON

    training.train(np.ones(len(y)), stop, seed=5)
    assert sum(asked) == (n_trees[-1] if grow == "auto" else sum(n_trees))


def test_depth_stops_growing_when_the_tree_does():
    X, y = load_iris(return_X_y=True)
    depths = []
    training = SklearnLearner(DecisionTreeClassifier(), bootstrap=False).bind(X, y, 3, seed=0)
    training.train(np.ones(len(y)), lambda done: depths.append(1) or Verdict.GO_ON, seed=0)
    full = DecisionTreeClassifier().fit(X, y).get_depth()
    assert full <= len(depths) <= full + 3


def test_geometric_steps_end_at_the_ceiling():
    assert list(geometric_steps(1)) == [1]
    for ceiling in range(1, 200):
        steps = list(geometric_steps(ceiling))
        assert steps == sorted(set(steps))
        assert (steps[0], steps[-1]) == (1, ceiling)


def test_an_estimator_without_sample_weight_is_refused_with_the_way_out(blobs):
    X, y = blobs
    with pytest.raises(ParameterError, match=r"sample_weight.*resample=True"):
        WorstClassBooster(KNeighborsClassifier(), theta=0.5).fit(X, y)


def test_resampling_serves_an_estimator_without_sample_weight(blobs):
    X, y = blobs
    learner = SklearnLearner(KNeighborsClassifier(3), resample=True)
    model = WorstClassBooster(learner, theta=0.8, n_rounds=7, random_state=0).fit(X, y)
    assert model.bound_met_


def test_resampling_draws_rows_by_weight_and_every_class():
    from worstclass.learners.sklearn_learner import _draw_by_weight

    y = np.array([0] * 900 + [1] * 99 + [2])
    weight = np.where(y == 0, 0.5 / 900, np.where(y == 1, 0.5 / 99, 1e-12))
    drawn = _draw_by_weight(y, weight, 3, np.random.default_rng(0))
    counts = np.bincount(y[drawn], minlength=3)
    assert counts[2] >= 1
    assert abs(counts[0] - 500) < 80  # five standard deviations of a fair coin tossed 1,000 times
    assert abs(counts[1] - 500) < 80


def test_bootstraps_differ_by_round_and_keep_the_weight_of_every_class():
    from worstclass.learners.sklearn_learner import _bootstrap_counts

    y = np.array([0] * 50 + [1] * 10 + [2])
    one, two = (_bootstrap_counts(y, 3, np.random.default_rng(seed)) for seed in (1, 2))
    assert np.bincount(y, weights=one).tolist() == [50, 10, 1]
    assert (one != two).any()


def test_a_bootstrap_that_cannot_reach_the_edge_gives_way_to_all_rows():
    # labels are noise: a full tree knows all rows it saw, and only those
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), rng.integers(0, 2, 60)
    model = WorstClassBooster(DecisionTreeClassifier(), theta=0.95, n_rounds=2, random_state=0).fit(X, y)
    assert min(np.divide(model.history_[0].member_correct, model.history_[0].class_totals)) >= 0.95
    alike = SklearnLearner(LogisticRegression(), bootstrap=False)
    blocks = np.repeat([0, 1], 30)
    model = WorstClassBooster(alike, theta=0.5, n_rounds=3, random_state=0).fit(X + blocks[:, None], blocks)
    assert len({tuple(member.estimator.coef_.ravel()) for member in model.estimators_}) == 1


def test_the_steps_of_a_pipeline_are_fitted_once_and_the_members_are_bare(blobs):
    X, y = blobs
    model = WorstClassBooster(make_pipeline(StandardScaler(), LogisticRegression()), theta=0.8, n_rounds=3).fit(X, y)
    assert all(isinstance(member.estimator, LogisticRegression) for member in model.estimators_)
    np.testing.assert_allclose(model.encoder_.steps[0].mean_, X.mean(axis=0))


def test_data_frames_reach_column_transformers_with_their_names(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(side=np.where(X[:, 0] > 1.2, "right", "left"))
    encode = make_column_transformer((OneHotEncoder(), ["side"]), remainder=StandardScaler())
    model = WorstClassBooster(make_pipeline(encode, LogisticRegression()), theta=0.8, n_rounds=3).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["x", "y", "side"]
    assert model.bound_met_
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"side": "where"}))


def test_missing_values_and_categories_are_left_to_learners_that_take_them(blobs):
    X, y = blobs
    frame = pd.DataFrame(X, columns=["x", "y"]).assign(side=pd.Categorical(np.where(X[:, 0] > 1.2, "right", "left")))
    frame.loc[3, "x"] = np.nan
    learner = SklearnLearner(HistGradientBoostingClassifier(categorical_features="from_dtype", min_samples_leaf=5))
    model = WorstClassBooster(learner, theta=0.8, n_rounds=4, random_state=0).fit(frame, y)
    assert model.bound_met_


def test_missing_values_reach_a_pipeline_that_fills_them_in(blobs):
    X, y = blobs
    X = X.copy()
    X[::7, 0] = np.nan
    filling = make_pipeline("passthrough", SimpleImputer(), LogisticRegression())
    assert WorstClassBooster(filling, 0.8, random_state=0).fit(X, y).bound_met_
    with pytest.raises(DataError, match="contains NaN"):
        WorstClassBooster(make_pipeline(PCA(), LogisticRegression()), 0.8).fit(X, y)


def test_sparse_matrices_go_through_to_classifiers_that_take_them():
    X, y = load_digits(return_X_y=True)
    dense = WorstClassBooster(LogisticRegression(C=0.01, tol=0.01), theta=0.8, n_rounds=2, random_state=0)
    dense.fit(X[:300], y[:300])
    for kind in (scipy.sparse.csr_matrix, scipy.sparse.csc_array):
        sparse = clone(dense).fit(kind(X[:300]), y[:300])
        np.testing.assert_array_equal(dense.predict(X[300:]), sparse.predict(kind(X[300:])))


def test_a_class_or_a_regressor_or_an_unknown_knob_is_refused(blobs):
    from sklearn.linear_model import Ridge

    X, y = blobs
    with pytest.raises(ParameterError, match="Pass an instance"):
        WorstClassBooster(SklearnLearner(DecisionTreeClassifier), theta=0.5).fit(X, y)
    with pytest.raises(ParameterError, match="must be a scikit-learn classifier"):
        WorstClassBooster(SklearnLearner(Ridge()), theta=0.5).fit(X, y)
    with pytest.raises(UnknownNameError, match="Did you mean 'max_depth'"):
        WorstClassBooster(SklearnLearner(DecisionTreeClassifier(), grow="max_dept"), theta=0.5).fit(X, y)


def test_grid_search_over_theta_and_the_learner_s_parameters(blobs):
    X, y = blobs
    model = WorstClassBooster(SklearnLearner(DecisionTreeClassifier()), theta=0.5, n_rounds=3, random_state=0)
    grid = {"theta": [0.6, 0.8], "learner__estimator__min_samples_leaf": [1, 5]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = GridSearchCV(model, grid, scoring=worst_class_scorer, cv=3).fit(X, y)
    assert 0.6 < search.best_score_ <= 1
    assert (
        search.best_estimator_.learner.estimator.min_samples_leaf
        == search.best_params_["learner__estimator__min_samples_leaf"]
    )


def test_it_can_be_calibrated_and_put_in_a_pipeline(blobs):
    X, y = blobs
    model = WorstClassBooster(LogisticRegression(), theta=0.7, n_rounds=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert CalibratedClassifierCV(model, cv=2).fit(X, y).score(X, y) > 0.8
        assert make_pipeline(StandardScaler(), model).fit(X, y).score(X, y) > 0.8


@pytest.fixture(scope="module")
def ward_table(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], 300)
    table = pd.DataFrame({"pressure": rng.normal(size=600) + (y == "ill"), "ward": rng.choice(["A", "B"], 600)})
    table["ward"] = table["ward"].astype("category")
    trees = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype", early_stopping=False)
    booster = WorstClassBooster(trees, 0.5, n_rounds=2, random_state=0).fit(table, y)
    folder = tmp_path_factory.mktemp("kinds")
    save_model(booster, folder)
    return table, (booster, load_model(folder))


class TestColumnKinds:
    """A column that held numbers in training must hold numbers later, and one of text must hold text."""

    @pytest.mark.parametrize("which", [0, 1], ids=["fitted", "loaded"])
    def test_another_kind_is_refused_with_the_column_the_value_and_the_row(self, ward_table, which):
        table, models = ward_table
        wrong = table.astype({"pressure": "object"})
        wrong.iloc[3, 0] = "high"
        with pytest.raises(DataError, match=r"'pressure' holds numbers in the training rows.*'high' in row 4"):
            models[which].predict(wrong)
        with pytest.raises(DataError, match=r"'ward' holds text in the training rows, and numbers here.*7 in row 1"):
            models[which].predict(table.assign(ward=7))

    @pytest.mark.parametrize("which", [0, 1], ids=["fitted", "loaded"])
    def test_a_column_of_text_without_a_value_is_missing(self, ward_table, which):
        table, models = ward_table
        empty = table.assign(ward=np.nan)
        assert empty["ward"].dtype == "float64"
        missing = table.assign(ward=pd.Categorical([None] * len(table), categories=["A", "B"]))
        assert (models[which].predict(empty) == models[which].predict(missing)).all()
        assert empty["ward"].dtype == "float64"  # the table passed in is left as it is

    def test_how_values_are_stored_does_not_matter(self, ward_table):
        table, (booster, loaded) = ward_table
        for model in (booster, loaded):
            expected = model.predict(table)
            assert (model.predict(table.astype({"pressure": "object"})) == expected).all()
            assert (model.predict(table.astype({"pressure": "Float64"})) == expected).all()
            one = pd.DataFrame([{"pressure": None, "ward": "A"}]).astype({"ward": table["ward"].dtype})
            assert one["pressure"].dtype == object
            missing = one.assign(pressure=np.nan).astype({"pressure": "float64"})
            assert model.predict(one) == model.predict(missing)

    @pytest.mark.parametrize("gap_in", ["training", "use"])
    def test_yes_and_no_with_a_gap_are_read_otherwise_and_taken(self, gap_in, tmp_path):
        rng = np.random.default_rng(0)
        y = np.repeat(["ill", "well"], 100)
        for name, gap in (("train", gap_in == "training"), ("held", gap_in == "use")):
            table = pd.DataFrame({"pressure": rng.normal(size=200) + (y == "ill"), "smokes": rng.random(200) < 0.5})
            table = table.astype({"smokes": object})
            if gap:
                table.iloc[3, 1] = None
            table.assign(kind=y).to_csv(tmp_path / f"{name}.csv", index=False)
        options = ["--target", "kind", "--method", "ours-trees", "--theta", "0.5", "--rounds", "2", "--quiet"]
        assert run(["fit", str(tmp_path / "train.csv"), *options, "--out", str(tmp_path / "model")]) in (0, 1)
        assert run(["evaluate", str(tmp_path / "model"), str(tmp_path / "held.csv"), "--target", "kind"]) == 0

    def test_a_model_pickled_before_there_were_kinds_predicts(self, ward_table):
        table, (booster, _) = ward_table
        earlier = copy.copy(booster)
        del earlier.__dict__["_column_kinds"]
        assert (earlier.predict(table) == booster.predict(table)).all()
