"""Which learner a command trains where the user names none: by the data set's settings, and by what rows are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worstclass.cli.sources import is_named
from worstclass.data.registry import named_dataset
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.learners.base import WeakLearner

#: categories that scikit-learn's histogram gradient boosting takes in one column
MOST_CATEGORIES = 255
#: the network for images where neither the user nor the data set names one: it trains on a CPU
FOR_IMAGES = "cnn-small"


def network_options(data: str, X: Any, network: str | None, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the options of ``TorchLearner``; None where no network is asked for and rows are a table.

    Parameters
    ----------
    data : the data set's name or a path.
    X : its training rows.
    network : the network asked for, if any.
    given : options that the user set; None in it means not set.
    """
    settings = dict(named_dataset(data).settings.get("learner", {})) if is_named(data) else {}
    images = getattr(X, "ndim", 2) > 2
    if network is None and not settings and not images:
        return None
    options = settings or ({"module": FOR_IMAGES} if images else {"standardize": True})
    if network is not None:
        options["module"] = named_or_own(network)
    return {**options, **{name: value for name, value in given.items() if value is not None}}


def named_or_own(network: str) -> Any:
    """Return a network's name as it is, and ``package.module:callable`` as the user's own factory.

    Modules are looked for in the current folder first.
    """
    if ":" not in network:
        return network
    module, _, name = network.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        factory = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        allowed = "a network's name, or package.module:callable"
        raise ParameterError("--network", "the command", allowed=allowed, got=network, hint=f"{error}.") from None
    finally:
        sys.path.pop(0)
    if not callable(factory):
        raise ParameterError("--network", "the command", allowed="something that can be called", got=network)
    return factory


def default_learner(
    data: str, X: Any, network: str | None, given: Mapping[str, Any], *, owner: str = "fit"
) -> WeakLearner:
    """Return the learner of a command: a network, or gradient-boosted trees for tables."""
    options = network_options(data, X, network, given)
    if options is not None:
        from worstclass.learners.torch_learner import TorchLearner

        return TorchLearner(**options)
    idle = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
    if idle:
        allowed = "left out unless a network is trained"
        raise ParameterError(", ".join(idle), owner, allowed=allowed, got=data, hint="Add --network mlp.")
    _refuse_many_categories(X)
    from sklearn.ensemble import HistGradientBoostingClassifier

    from worstclass.learners.sklearn_learner import SklearnLearner

    # no early stopping: capacity grows only as far as the edge asks
    return SklearnLearner(HistGradientBoostingClassifier(categorical_features="from_dtype", early_stopping=False))


def _refuse_many_categories(X: Any) -> None:
    """Refuse text columns that tell nearly every row apart (names, ids, dates): trees take at most 255 categories."""
    columns = getattr(X, "columns", ())
    many = [name for name in columns if X[name].dtype == "category" and X[name].nunique() > MOST_CATEGORIES]
    if many:
        raise DatasetError(
            f"Columns of text with more than {MOST_CATEGORIES} different values: {many}. Leave them out of the file if "
            "they are names, ids or dates, or turn them into numbers."
        )
