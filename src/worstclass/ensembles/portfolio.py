"""The classifiers that ``WorstClassClassifier`` trains: its own for tables and images, or those of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from worstclass.ensembles.networks import NetworkClassifier
from worstclass.exceptions import ParameterError
from worstclass.learners.base import WeakLearner
from worstclass.learners.binning import QuantileGrid
from worstclass.learners.torch_learner import TorchLearner

OWNER = "WorstClassClassifier"
ALLOWED = "'auto', or a list of scikit-learn classifiers, TorchLearners and boosters"
#: classifiers by name, not fitted
Portfolio = dict[str, Any]


def portfolio_for(learners: Any, X: Any) -> Portfolio:
    """Return the classifiers to train, cheap ones first.

    Parameters
    ----------
    learners : ``"auto"``, or a list of classifiers and learners, or of (name, classifier) pairs.
    X : training rows, which decide what ``"auto"`` stands for: a table of numbers, a sparse matrix, or images.
    """
    if isinstance(learners, str) and learners == "auto":
        if getattr(X, "ndim", 2) > 2:
            return {"network": NetworkClassifier(TorchLearner("cnn-small"))}
        return _for_sparse() if hasattr(X, "tocsr") else _for_tables()
    if isinstance(learners, str) or not isinstance(learners, Iterable) or not (given := list(learners)):
        raise ParameterError("learners", OWNER, allowed=ALLOWED, got=learners)
    pairs = [item if isinstance(item, tuple) and len(item) == 2 else (None, item) for item in given]
    classifiers = [as_classifier(learner) for _, learner in pairs]
    names = [name or type(model).__name__.lower() for (name, _), model in zip(pairs, classifiers, strict=True)]
    return dict(zip(_distinct(names), classifiers, strict=True))


def as_classifier(learner: Any) -> Any:
    """Return the classifier that a learner stands for; refuse what gives no probabilities."""
    if isinstance(learner, TorchLearner):
        return NetworkClassifier(learner)
    if isinstance(learner, type | WeakLearner) or not isinstance(learner, BaseEstimator) or not is_classifier(learner):
        raise ParameterError("learners", OWNER, allowed=ALLOWED, got=learner)
    if not hasattr(learner, "predict_proba"):
        hint = "CalibratedClassifierCV of scikit-learn adds it to a classifier."
        raise ParameterError("learners", OWNER, allowed="classifiers with predict_proba", got=learner, hint=hint)
    return clone(learner)


def _for_tables() -> Portfolio:
    """Return classifiers of different kinds: linear, smooth, and three of trees. All weigh classes equally."""
    balanced = {"class_weight": "balanced"}
    kernel = Nystroem(n_components=300), LogisticRegression(C=10, max_iter=300, **balanced)
    boosted = HistGradientBoostingClassifier(
        max_iter=50, learning_rate=0.15, max_leaf_nodes=15, early_stopping=False, **balanced
    )
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300, **balanced)),
        "kernel": make_pipeline(StandardScaler(), *kernel),
        "extra-trees": ExtraTreesClassifier(200, **balanced),
        "boosted-trees": make_pipeline(QuantileGrid(), boosted),
        "forest": RandomForestClassifier(100, **balanced),
    }


def _for_sparse() -> Portfolio:
    balanced = {"class_weight": "balanced"}
    return {
        "logistic": make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=300, **balanced)),
        "extra-trees": ExtraTreesClassifier(200, **balanced),
        "forest": RandomForestClassifier(100, **balanced),
    }


def _distinct(names: list[str]) -> list[str]:
    """Return names with numbers where one occurs several times."""
    often, seen = Counter(names), Counter[str]()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(f"{name}-{seen[name]}" if often[name] > 1 else name)
    return distinct
