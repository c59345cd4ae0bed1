"""scikit-learn's own checks, for both learners inside the booster."""

from __future__ import annotations

import warnings

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from worstclass import SklearnLearner, TorchLearner, WorstClassBooster

LEARNERS = [
    SklearnLearner(DecisionTreeClassifier()),
    SklearnLearner(make_pipeline(StandardScaler(), LogisticRegression())),
    LogisticRegression(),
    TorchLearner("mlp", module_options={"hidden": (16,)}, lr=0.05, standardize=True),
]


@parametrize_with_checks(
    [WorstClassBooster(learner, 0.9, gamma=0.4995, n_rounds=3, max_epochs_per_round=60) for learner in LEARNERS]
)
@pytest.mark.filterwarnings("ignore::worstclass.exceptions.WorstClassWarning")
def test_the_booster_is_a_scikit_learn_classifier(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)
