"""Numbers and tables at the edge of what is allowed: floors, rounds, classes, rows, columns, scales, ties."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from worstclass import (
    AbstainingClassifier,
    TorchLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    certify,
    class_report,
)
from worstclass.boosting.hedge import Hedge, hedge_rate
from worstclass.boosting.vote import VoteTally
from worstclass.ensembles.networks import NetworkClassifier
from worstclass.exceptions import WorstClassError
from worstclass.wrappers.offset_search import find_offsets

NETWORK = TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.02, standardize=True)
MODELS = {
    "default": WorstClassClassifier(random_state=0, cv=3),
    "booster of trees": WorstClassBooster(DecisionTreeClassifier(), theta=0.5, n_rounds=8, extend=2, random_state=0),
    "booster of networks": WorstClassBooster(
        NETWORK, theta=0.3, n_rounds=4, extend=1, max_epochs_per_round=20, random_state=0
    ),
    "network": NetworkClassifier(NETWORK, max_epochs=8, random_state=0),
    "offsets": WorstClassOffsets(RandomForestClassifier(10, random_state=0), cv=2, random_state=0),
    "abstaining": AbstainingClassifier(LogisticRegression(), risk=0.5, random_state=0),
}


def fitted(model, X, y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, y, **options)


def answers(model, X):
    found = np.asarray(model.predict(X))
    assert len(found) == len(X)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        assert np.isfinite(proba).all()
        assert np.allclose(proba.sum(axis=1), 1)
    return found


def blobs(n_classes=3, n=40, d=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n)
    return rng.normal(size=(len(y), d)) + 3 * np.column_stack([np.cos(y * 2.1 + j) for j in range(d)]), y


# floors


@pytest.mark.parametrize("theta", [0.0, 0.999999])
@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), NETWORK], ids=["tree", "network"])
def test_the_lowest_and_the_highest_floor(theta, learner):
    X, y = blobs()
    booster = fitted(
        WorstClassBooster(learner, theta, n_rounds=5, extend=3, max_epochs_per_round=60, random_state=0), X, y
    )
    right = [int((booster.predict(X)[y == k] == k).sum()) for k in range(3)]
    wanted = 1 if theta == 0 else 40  # error below 1 - theta: one row right, or all
    assert booster.bound_met_ == all(n >= wanted for n in right)
    default = fitted(WorstClassClassifier(theta=theta, cv=2, random_state=0), X, y)
    met = [row.correct >= (1 if theta == 0 else row.total) for row in default.cv_report_.rows]
    assert default.floors_met_ == all(met)
    offsets = fitted(WorstClassOffsets(GaussianNB(), theta=theta, cv=2), X, y)
    assert isinstance(offsets.floors_met_, bool)


# rounds


def test_ten_thousand_rounds_of_hedge_neither_underflow_nor_drift():
    hedge, eta = Hedge.start(3), hedge_rate(10_000, 3)
    for t in range(10_000):
        hedge = hedge.update(np.array([True, False, t % 2 == 0]), 50 * eta)
        assert np.isfinite(hedge.weights).all()
    assert hedge.weights.sum() == pytest.approx(1)
    assert hedge.weights[1] == pytest.approx(1)


def test_ten_thousand_members_vote_exactly():
    tally = VoteTally(3, 4)
    for t in range(10_000):
        tally.add(np.array([t % 4, 1, 3 if t < 5_001 else 2]))
    assert tally.winners.tolist() == [0, 1, 3]
    assert tally.shares.sum(axis=1) == pytest.approx(np.ones(3))


@pytest.mark.slow
def test_ten_thousand_rounds_of_boosting():
    X, y = blobs(2, n=15)
    X[::5] = X[::-5]  # some rows cannot be right
    learner = DecisionTreeClassifier(max_depth=1)
    booster = fitted(WorstClassBooster(learner, theta=0.3, gamma=0.02, n_rounds=10_000, extend=0, random_state=0), X, y)
    assert len(booster.history_) == 10_000
    assert booster.training_report_.worst_error <= 0.7


# classes


@pytest.mark.parametrize("name", MODELS)
def test_two_classes(name):
    X, y = blobs(2)
    assert set(answers(fitted(MODELS[name], X, y), X)) <= {0, 1, -1, None, "abstain"}


def test_two_thousand_classes():
    rng = np.random.default_rng(0)
    K, n = 2_000, 3
    y = np.repeat(np.arange(K), n)
    X = np.column_stack([y // 45, y % 45]) + rng.normal(scale=0.05, size=(len(y), 2))
    report = class_report(y, y)
    assert report.worst_error == 0
    hedge = Hedge.start(K).update(np.arange(K) % 2 == 0, 0.3)
    assert hedge.weights.sum() == pytest.approx(1)
    learner = GaussianNB()  # trees take minutes with so many classes
    booster = fitted(WorstClassBooster(learner, theta=0.5, n_rounds=2, extend=0, random_state=0), X, y)
    assert (answers(booster, X[::7]) == y[::7]).mean() > 0.8


@pytest.mark.parametrize("n_classes", [200, pytest.param(2_000, marks=pytest.mark.slow)])
def test_offsets_of_many_classes(n_classes):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 3)
    scores = rng.normal(size=(len(y), n_classes))
    scores[np.arange(len(y)), y] += 4
    offsets = find_offsets(log_softmax(scores, axis=1), y)
    assert np.isfinite(offsets).all()
    right = (scores + offsets).argmax(axis=1) == y
    assert right.mean() > 0.5


@pytest.mark.parametrize("name", MODELS)
def test_a_class_with_one_row(name):
    X, y = blobs()
    X, y = np.vstack([X, [[9.0, 9.0]]]), np.append(y, 3)
    if name in ("offsets", "abstaining"):  # rows are held out of every class
        with pytest.raises(WorstClassError, match="row"):
            fitted(MODELS[name], X, y)
        return
    model = fitted(MODELS[name], X, y)
    assert len(answers(model, X)) == len(X)
    assert model.classes_.tolist() == [0, 1, 2, 3]


# rows and columns


@pytest.mark.parametrize("name", MODELS)
def test_every_row_many_times(name):
    X, y = blobs(n=6)
    X, y = np.repeat(X, 10, axis=0), np.repeat(y, 10)
    model = MODELS[name]
    if name == "abstaining":
        model = clone(model).set_params(allow_equal_rows=True)
    answers(fitted(model, X, y), X)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("constant", ["one column", "all columns"])
def test_constant_columns(name, constant):
    X, y = blobs(d=3)
    X[:, slice(0, 1) if constant == "one column" else slice(None)] = 7.0
    model = MODELS[name]
    if name == "abstaining":
        model = clone(model).set_params(allow_equal_rows=True)
    answers(fitted(model, X, y), X)


@pytest.mark.parametrize("name", ["default", "booster of trees", "booster of networks", "network", "offsets"])
@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8, 1e30])
def test_huge_and_tiny_scales(name, scale):
    X, y = blobs()
    X = X * np.array([scale, 1.0])
    model = fitted(MODELS[name], X, y)
    assert (answers(model, X) == y).mean() > 0.5


@pytest.mark.parametrize("name", ["default", "booster of networks", "network"])
def test_a_column_that_was_never_empty_in_training_is_empty_now(name):
    frame = load_iris(as_frame=True).frame
    y = frame.pop("target")
    frame["colour"] = np.where(np.arange(len(frame)) % 2, "dark", "light")
    model = fitted(MODELS[name], frame, y)
    new = frame.copy()
    new.loc[::3, "petal width (cm)"] = np.nan
    new.loc[::4, "colour"] = None
    empty = frame.assign(**{"petal width (cm)": np.nan, "colour": pd.Series([None] * len(frame), dtype=object)})
    assert len(answers(model, new)) == len(new)
    assert len(answers(model, empty)) == len(empty)


# a class that is missing where it should choose or prove


def test_a_class_without_validation_rows():
    X, y = blobs()
    keep = y != 2
    model = fitted(MODELS["booster of networks"], X, y, X_val=X[keep] + 0.01, y_val=y[keep])
    assert model.validation_report_.rows is not None
    assert any(row.total == 0 for row in model.validation_report_.rows)
    default = fitted(MODELS["default"], X, y, X_val=X[keep] + 0.01, y_val=y[keep])
    assert np.isfinite(default.offsets_).all()


def test_a_class_without_calibration_rows_is_not_proven():
    X, y = blobs()
    model = fitted(GaussianNB(), X[::2], y[::2])
    rest = np.flatnonzero((np.arange(len(y)) % 2 == 1) & (y != 2))
    found = certify(model, X[rest], y[rest], require=0.1)
    assert found.verdict != "proven"


# ties


def test_ties_everywhere():
    scores = np.zeros((30, 3))
    y = np.repeat([0, 1, 2], 10)
    offsets = find_offsets(scores, y)
    assert np.isfinite(offsets).all()
    model = WorstClassOffsets(LogisticRegression(), cv=2)
    constant = fitted(model, np.ones((30, 2)), y)
    assert len(set(constant.predict(np.ones((4, 2))).tolist())) == 1
    tally = VoteTally(1, 3)
    for answer in (2, 1, 0):
        tally.add(np.array([answer]))
    assert tally.winners.tolist() == [2]  # the class that led first
