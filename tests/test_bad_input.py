"""Bad input: one clear error each, which says what is wrong, what is allowed and what came."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from torch import nn

from worstclass import TorchLearner, WorstClassBooster
from worstclass.exceptions import (
    DataError,
    ParameterError,
    UnknownNameError,
    UnknownOptionError,
    WorstClassError,
)

LEARNERS = {
    "sklearn": make_pipeline(PolynomialFeatures(2), LogisticRegression()),
    "torch": TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.05),
}


DEFAULTS = {"n_rounds": 2, "gamma": 0.4995, "random_state": 0}


@pytest.fixture(params=LEARNERS)
def learner(request):
    return LEARNERS[request.param]


def fit(learner, X, y, theta=0.5, X_val=None, y_val=None, **options):
    return WorstClassBooster(learner, theta, **{**DEFAULTS, **options}).fit(X, y, X_val, y_val)


@pytest.mark.parametrize("theta", [1.0, 1, -0.1, 1.5, float("nan"), "0.8", None, True, {"a": 2}, {"a": 0.5, "b": 0.5}])
def test_theta_out_of_range_or_incomplete(theta, learner, blobs):
    with pytest.raises(ParameterError, match="'theta' parameter of WorstClassBooster must be"):
        fit(learner, *blobs, theta=theta)


def test_theta_for_an_unknown_class(learner, blobs):
    with pytest.raises(UnknownNameError, match=r"'theta'.*Got 'malignant' instead"):
        fit(learner, *blobs, theta={"malignant": 0.9, "others": 0.5})


def test_one_class_only(learner, blobs):
    X, y = blobs
    with pytest.raises(DataError, match=r"at least two classes. Got one class: \['a'\]"):
        fit(learner, X[y == "a"], y[y == "a"])


def test_a_class_with_no_training_row(learner, blobs):
    X, y = blobs
    declared = pd.Series(pd.Categorical(y, categories=["a", "b", "c", "melanoma"]))
    with pytest.raises(DataError, match=r"no training row: \['melanoma'\].*remove_unused_categories"):
        fit(learner, X, declared)


def test_two_classes_work_with_the_only_attainable_gamma(learner, blobs):
    X, y = blobs
    model = fit(learner, X, np.where(y == "a", "a", "rest"), theta=0.7, n_rounds="auto", gamma="auto")
    assert model.gamma_ == pytest.approx(0.4995)
    assert model.n_rounds_ == 6
    assert model.bound_met_


@pytest.mark.parametrize("gamma", [0, -0.1, 0.51, float("nan"), "large", None, True])
def test_gamma_out_of_range_names_the_attainable_values(gamma, learner, blobs):
    with pytest.raises(ParameterError, match=r"'gamma'.*Attainable with 3 classes: 0.1662, 0.4995"):
        fit(learner, *blobs, gamma=gamma)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity(value, learner, blobs):
    X, y = blobs[0].copy(), blobs[1]
    X[3, 1] = value
    with pytest.raises(DataError, match="X contains"):
        fit(learner, X, y)
    model = fit(learner, *blobs, theta=0.3)
    with pytest.raises(DataError, match="X contains"):
        model.predict(X)


def test_nan_among_the_labels(learner, blobs):
    X, y = blobs
    codes = np.unique(y, return_inverse=True)[1].astype(float)
    codes[0] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        fit(learner, X, codes)


def test_different_lengths(learner, blobs):
    X, y = blobs
    with pytest.raises(DataError, match="Got 90 rows and 89 labels"):
        fit(learner, X, y[:-1])


def test_empty(learner):
    with pytest.raises(DataError, match=r"0 sample\(s\)"):
        fit(learner, np.zeros((0, 2)), np.zeros(0))
    with pytest.raises(DataError, match=r"0 feature\(s\)"):
        fit(learner, np.zeros((4, 0)), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1] * 45, "y mixes labels of different types"),
        (np.array(["a", 1] * 45, dtype=object), "y mixes labels of different types"),
        ([None, "a"] * 45, "y contains NaN or None: 45 rows without a label. Leave them out."),
        ([np.nan, 1.0] * 45, "y contains NaN or None: 45 rows"),
        (["a", np.nan] * 45, "y contains NaN or None: 45 rows"),
        (pd.Series(["a", pd.NA] * 45, dtype="string"), "y contains NaN or None: 45 rows"),
    ],
    ids=["list", "array", "None", "NaN", "text-NaN", "NA"],
)
def test_labels_that_cannot_be_classes(y, message, learner, blobs):
    with pytest.raises(DataError, match=message):
        fit(learner, blobs[0], y)


def test_continuous_targets_are_no_classes(learner, blobs):
    with pytest.raises(ValueError, match="continuous"):
        fit(learner, blobs[0], blobs[0][:, 0])


def test_no_labels(learner, blobs):
    with pytest.raises(DataError, match="requires y to be passed"):
        fit(learner, blobs[0], None)


def test_unknown_option_names_get_a_suggestion(learner, blobs):
    with pytest.raises(UnknownOptionError, match=r"no option 'gama'.*Did you mean 'gamma'"):
        WorstClassBooster(learner, 0.5, gama=0.1)
    with pytest.raises(TypeError):  # as for any other function
        WorstClassBooster(learner, 0.5, gama=0.1)
    with pytest.raises(UnknownOptionError, match="Did you mean 'patience'"):
        WorstClassBooster(learner, 0.5).set_params(patienc=3)
    with pytest.raises(UnknownNameError, match="Did you mean 'per-class-mean'"):
        fit(learner, *blobs, weighting="per-class")


@pytest.mark.parametrize(
    "options",
    [
        {"n_rounds": 0},
        {"n_rounds": "many"},
        {"n_rounds": 1.5},
        {"max_epochs_per_round": 0},
        {"max_epochs_per_round": "auto"},
        {"patience": 0},
        {"patience": True},
        {"extend": -1},
        {"extend": "yes"},
        {"random_state": -1},
        {"random_state": "x"},
        {"callbacks": ["print"]},
    ],
    ids=str,
)
def test_other_parameters_out_of_range(options, learner, blobs):
    with pytest.raises(ParameterError, match=f"The '{next(iter(options))}' parameter of WorstClassBooster must be"):
        fit(learner, *blobs, **options)


def test_predict_before_fit(learner, blobs):
    for method in ("predict", "predict_proba", "decision_margin"):
        with pytest.raises(NotFittedError):
            getattr(WorstClassBooster(learner, 0.5), method)(blobs[0])


def test_predict_with_another_feature_count(learner, blobs):
    model = fit(learner, *blobs, theta=0.3)
    with pytest.raises(ValueError, match="X has 3 features, but WorstClassBooster is expecting 2"):
        model.predict(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(np.zeros(2))


class TestValidation:
    def test_one_without_the_other(self, learner, blobs):
        with pytest.raises(DataError, match="X_val and y_val go together"):
            fit(learner, *blobs, X_val=blobs[0])
        with pytest.raises(DataError, match="X_val and y_val go together"):
            fit(learner, *blobs, y_val=blobs[1])

    def test_unknown_class(self, learner, blobs):
        X, y = blobs
        with pytest.raises(DataError, match=r"y_val has labels that the training rows do not have: \['z'\]"):
            fit(learner, X, y, X_val=X[:3], y_val=["a", "b", "z"])

    def test_lengths_and_features(self, learner, blobs):
        X, y = blobs
        with pytest.raises(DataError, match="X and y_val must have one label for each row"):
            fit(learner, X, y, X_val=X[:3], y_val=y[:2])
        with pytest.raises(ValueError, match="3 features"):
            fit(learner, X, y, X_val=np.zeros((2, 3)), y_val=["a", "b"])

    def test_an_absent_class_is_reported_as_absent(self, learner, blobs):
        X, y = blobs
        part = y != "c"
        model = fit(learner, X, y, theta=0.3, X_val=X[part], y_val=y[part])
        assert model.validation_report_.absent == ("c",)


@pytest.mark.parametrize("learner", [3, "mlp", None, nn.Linear(2, 3), LogisticRegression], ids=repr)
def test_something_that_is_no_learner(learner, blobs):
    with pytest.raises(ParameterError, match="'learner' parameter of WorstClassBooster must be a TorchLearner"):
        fit(learner, *blobs)


def test_a_class_called_others_is_a_class(learner, blobs):
    X, y = blobs
    with pytest.raises(ParameterError, match=r"without one: \['a', 'b'\]"):
        fit(learner, X, np.where(y == "c", "others", y), theta={"others": 0.9})


def test_errors_cross_processes_with_their_message():
    errors = [
        ParameterError("theta", "X", allowed="small", got=3),
        UnknownNameError("module", "X", "mpl", ["mlp"]),
        UnknownOptionError("gama", "X", ["gamma"]),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
    assert pickle.loads(pickle.dumps(errors[0])).parameter == "theta"


def test_set_params_may_change_the_learner_and_its_parameters_at_once(learner):
    model = WorstClassBooster(learner, 0.5).set_params(learner=LogisticRegression(), learner__C=0.1)
    assert model.learner.C == 0.1


def test_an_estimator_with_class_weights_of_its_own_is_refused(blobs):
    with pytest.raises(ParameterError, match="'class_weight' parameter of LogisticRegression must be None"):
        fit(LogisticRegression(class_weight="balanced"), *blobs)


def test_all_errors_can_be_caught_as_one():
    assert all(issubclass(error, WorstClassError) for error in (DataError, ParameterError, UnknownOptionError))
