"""Classifiers of skorch, xgboost, lightgbm and catboost inside ours, for real, with labels that are text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from worstclass import (
    AbstainingClassifier,
    SklearnLearner,
    WorstClassBooster,
    WorstClassClassifier,
    WorstClassOffsets,
    certify,
    load_model,
    save_model,
    worst_class_error,
)
from worstclass.exceptions import ModelFormatError, ParameterError
from worstclass.learners.indexed import IndexedClassifier, fit_labels

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    """A small network, as a user of skorch writes it."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))

    def forward(self, X):
        return self.layers(X.float())


def xgboost():
    package = pytest.importorskip("xgboost", reason="xgboost is not installed: pip install 'worstclass[compare]'")
    return package.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)


def lightgbm():
    package = pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'worstclass[compare]'")
    return package.LGBMClassifier(n_estimators=5, min_child_samples=5, n_jobs=1, verbose=-1)


def catboost():
    package = pytest.importorskip("catboost", reason="catboost is not installed: pip install catboost")
    return package.CatBoostClassifier(iterations=5, verbose=False, allow_writing_files=False, thread_count=1)


def skorch():
    package = pytest.importorskip("skorch", reason="skorch is not installed: pip install skorch")
    torch.manual_seed(0)
    options = {"criterion": torch.nn.CrossEntropyLoss, "max_epochs": 8, "lr": 0.3, "verbose": 0, "train_split": None}
    return package.NeuralNetClassifier(Net, **options)


FOREIGN = [xgboost, lightgbm, catboost, skorch]


def weak(build):
    """Return the learner for boosting: skorch's fit takes no weights, so rows are drawn by weight."""
    return SklearnLearner(build(), resample=True) if build is skorch else build()


def around(kind, build):
    return {
        "booster": lambda: WorstClassBooster(weak(build), theta=0.3, n_rounds=2, extend=0, random_state=0),
        "offsets": lambda: WorstClassOffsets(build(), cv=2, random_state=0),
        "portfolio": lambda: WorstClassClassifier(learners=[build()], cv=2, random_state=0),
    }[kind]()


@pytest.mark.parametrize("build", FOREIGN, ids=lambda build: build.__name__)
@pytest.mark.parametrize("kind", ["booster", "offsets", "portfolio"])
def test_a_foreign_classifier_inside_ours(kind, build, blobs, tmp_path):
    X, y = blobs[0].astype(np.float32), blobs[1]
    model = around(kind, build).fit(X, y)
    answers = model.predict(X)
    assert answers.dtype.kind == "U"
    assert worst_class_error(y, answers) < 0.5
    assert model.predict_proba(X).shape == (len(y), 3)
    if build is catboost:
        with pytest.raises(ParameterError, match=r"Use a classifier of scikit-learn, xgboost or lightgbm, or pickle"):
            save_model(model, tmp_path / "model")
        return
    save_model(model, tmp_path / "model")
    trusted = []
    for _ in range(3):  # each file names what it holds
        with pytest.raises(ModelFormatError, match="If you know where the file comes from, allow them") as refused:
            load_model(tmp_path / "model", trusted=trusted)
        trusted += re.findall(r"'([\w.]+)'", str(refused.value).partition("allow them")[2])
        try:
            loaded = load_model(tmp_path / "model", trusted=trusted)
            break
        except ModelFormatError:
            continue
    assert (loaded.predict(X) == answers).all()


def test_without_weights_the_message_says_what_to_do(blobs):
    with pytest.raises(ParameterError, match="Pass resample=True"):
        WorstClassBooster(skorch(), theta=0.6).fit(*blobs)


def test_the_whole_road_with_xgboost(blobs):
    """Offsets, abstaining and a certificate around a classifier that takes no text labels."""
    rng = np.random.default_rng(1)
    X = np.repeat(blobs[0], 12, axis=0) + rng.normal(0, 0.3, size=(12 * len(blobs[0]), 2))
    y = np.repeat(blobs[1], 12)
    first, second, third = (slice(k, None, 3) for k in range(3))
    model = WorstClassOffsets(xgboost(), cv=2, random_state=0).fit(X[first], y[first])
    careful = AbstainingClassifier(model, 0.4, cv="prefit", random_state=0).fit(X[second], y[second])
    assert careful.proven_
    assert certify(model, X[third], y[third], require=0.5).verdict == "proven"


# --- labels that a classifier refuses


class OnlyIndices(LogisticRegression):
    """Refuses labels that are not 0, 1 and so on, as xgboost does."""

    def fit(self, X, y, sample_weight=None):
        if not np.array_equal(np.unique(y), np.arange(len(np.unique(y)))):
            raise ValueError("Invalid classes")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("labels", [["a", "b", "c"], [10, 20, 30], [True, False, True]])
def test_labels_become_indices_only_where_they_are_refused(labels, blobs):
    X, y = blobs[0], np.array(labels)[np.unique(blobs[1], return_inverse=True)[1]]
    plain = fit_labels(LogisticRegression(), X, y)
    assert type(plain) is LogisticRegression
    indexed = fit_labels(OnlyIndices(), X, y)
    assert type(indexed) is (OnlyIndices if y.dtype == bool else IndexedClassifier)
    assert (indexed.predict(X) == plain.predict(X)).all()
    assert (indexed.predict_proba(X) == plain.predict_proba(X)).all()
    assert (indexed.decision_function(X) == plain.decision_function(X)).all()
    assert indexed.classes_.tolist() == plain.classes_.tolist()


def test_an_error_that_is_not_about_labels_is_told_as_it_is(blobs):
    X = blobs[0].copy()
    X[0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        fit_labels(LogisticRegression(), X, blobs[1])
    with pytest.raises(ValueError, match="Invalid classes"):
        fit_labels(OnlyIndices(), X, blobs[1])


def test_an_indexed_classifier_is_a_classifier_of_scikit_learn(blobs, tmp_path):
    model = IndexedClassifier(OnlyIndices()).fit(*blobs)
    assert clone(model).estimator.__class__ is OnlyIndices
    assert model.score(*blobs) > 0.8
    assert model.n_features_in_ == 2
