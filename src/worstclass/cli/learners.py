"""Which estimator a command trains: a method by name, with the settings of the data set and of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from worstclass.cli.data import paper_settings
from worstclass.cli.errors import ConflictingOptions
from worstclass.cli.model import network_factory
from worstclass.cli.options import BoosterOptions
from worstclass.exceptions import DatasetError

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
    given : options that the user set.
    """
    settings = dict(paper_settings(data).get("learner", {}))
    images = getattr(X, "ndim", 2) > 2
    if network is None and not settings and not images:
        return None
    options = settings or ({"module": FOR_IMAGES} if images else {"standardize": True})
    if network is not None:
        options["module"] = network_factory(network)
    return {**options, **given}


def default_method(data: str, X: Any, network: str | None) -> str:
    """Return our booster: over networks, or over gradient-boosted trees for a table."""
    return "ours-trees" if network_options(data, X, network, {}) is None else "ours"


def build_estimator(
    name: str,
    data: str,
    X: Any,
    options: BoosterOptions,
    *,
    theta: Any,
    seed: int,
    own: Mapping[str, Any] | None = None,
    **limits: Any,
) -> Any:
    """Build the estimator of a method for the rows of DATA.

    Parameters
    ----------
    name : of the method.
    data, X : DATA, and its training rows.
    options : what the user set for networks and boosters; refused where the method has no use for it.
    theta : accuracy floors; None for a method without.
    seed : of everything random.
    own : the method's own options (``--set``).
    limits : ``max_epochs``, ``max_seconds`` and ``select_on``.
    """
    from worstclass.methods import build_method, find_method

    method = find_method(name)
    learner = dict(options.learner())
    network: Any = "mlp"
    if method.kind == "network":
        learner = network_options(data, X, options.network or _network_of_tables(data, X), learner) or {}
        network = learner.pop("module")
    else:
        _refuse_unsuited(name, X)
        _refuse_given(f"the method {name} trains no network.", learner, "--network" if options.network else None)
    given = options.booster()
    if given and "n_rounds" not in method.options:
        hint = f" Set the options of the method with --set: {', '.join(method.options)}." if method.options else ""
        _refuse_given(f"{name} is not a boosting method.{hint}", given)
    paper = {key: value for key, value in paper_settings(data).get("booster", {}).items() if key in method.options}
    boosting = paper if "n_rounds" in method.options else {}
    settings = {**boosting, **given, **(own or {})}
    return build_method(name, network, learner=learner or None, theta=theta, random_state=seed, **limits, **settings)


def _network_of_tables(data: str, X: Any) -> str | None:
    """Return the network of a table that has none by its settings; other data have one by default."""
    return "mlp" if network_options(data, X, None, {}) is None else None


def _refuse_given(why: str, given: Mapping[str, Any], *more: str | None) -> None:
    names = {"n_rounds": "rounds"}
    options = [f"--{names.get(name, name).replace('_', '-')}" for name in given] + [name for name in more if name]
    if options:
        raise ConflictingOptions(", ".join(options), why)


def _refuse_unsuited(name: str, X: Any) -> None:
    """Refuse images, and text columns that tell nearly every row apart (names, ids, dates)."""
    if getattr(X, "ndim", 2) > 2:
        raise ConflictingOptions(f"--method {name}", "it takes tables, and the data are images.")
    columns = getattr(X, "columns", ())
    many = [name for name in columns if X[name].dtype == "category" and X[name].nunique() > MOST_CATEGORIES]
    if many:
        raise DatasetError(
            f"Columns of text with more than {MOST_CATEGORIES} different values: {many}. Leave them out of the file if "
            "they are names, ids or dates, or turn them into numbers."
        )
