"""Which estimator a command trains: a method by name, with the settings of the data set and of the user."""

from __future__ import annotations

import importlib
import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worstclass.cli.console import ConflictingOptions, option_of
from worstclass.cli.data import paper_settings
from worstclass.cli.options import BoosterOptions, NetworkOptions
from worstclass.exceptions import DatasetError, ParameterError

#: categories that scikit-learn's histogram gradient boosting takes in one column
MOST_CATEGORIES = 255


def default_method(data: str, X: Any, network: str | None) -> str:
    """Return our booster: over networks, or over gradient-boosted trees for a table."""
    return "ours" if network or _is_images(X) or paper_settings(data).get("learner") else "ours-trees"


def network_options(data: str, X: Any, options: NetworkOptions) -> dict[str, Any]:
    """Return the options of ``TorchLearner``: the paper's for a named data set, then those of the user."""
    default = {"module": "cnn-small"} if _is_images(X) else {"module": "mlp", "standardize": True}
    chosen = dict(paper_settings(data).get("learner") or default)
    if options.network is not None:
        chosen["module"] = network_factory(options.network)
    return {**chosen, **options.learner()}


def build_estimator(
    name: str,
    data: str,
    X: Any,
    options: BoosterOptions,
    *,
    own: Mapping[str, Any] | None = None,
    **more: Any,
) -> Any:
    """Build the estimator of a method for the rows of DATA.

    Parameters
    ----------
    name : of the method.
    data, X : DATA, and its training rows.
    options : what the user set for networks and boosters; refused where the method has no use for it.
    own : the method's own options (``--set``).
    more : further parameters of ``build_method``.
    """
    from worstclass.methods import build_method, find_method

    method = find_method(name)
    learner, network, given = {}, "mlp", options.booster()
    if method.kind == "network":
        learner = network_options(data, X, options)
        network = learner.pop("module")
    else:
        _refuse_unsuited(name, X)
        unused = [*options.learner(), *(["network"] if options.network else [])]
        _refuse(unused, f"the method {name} trains no network.")
    boosts = "n_rounds" in method.options
    if not boosts:
        hint = f" Set the options of the method with --set: {', '.join(method.options)}." if method.options else ""
        _refuse(given, f"{name} is not a boosting method.{hint}")
    paper = paper_settings(data).get("booster", {}) if boosts else {}
    settings = {**{key: value for key, value in paper.items() if key in method.options}, **given, **(own or {})}
    return build_method(name, network, learner=learner or None, **more, **settings)


def _refuse(given: Any, why: str) -> None:
    if given:
        raise ConflictingOptions(", ".join(option_of(name) for name in given), why)


def _is_images(X: Any) -> bool:
    return getattr(X, "ndim", 2) > 2


def _refuse_unsuited(name: str, X: Any) -> None:
    """Refuse images, and text columns that tell nearly every row apart (names, ids, dates)."""
    if _is_images(X):
        raise ConflictingOptions(f"--method {name}", "it takes tables, and the data are images.")
    columns = getattr(X, "columns", ())
    many = [name for name in columns if X[name].dtype == "category" and X[name].nunique() > MOST_CATEGORIES]
    if many:
        raise DatasetError(
            f"Columns of text with more than {MOST_CATEGORIES} different values: {many}. Leave them out of the file if "
            "they are names, ids or dates, or turn them into numbers."
        )


def network_factory(network: str) -> Any:
    """Return a network's name as it is; import ``package.module:build`` or ``path/to/net.py:build``.

    Modules are looked for in the current folder first, and those beside a file in its folder.
    """
    if ":" not in network:
        return network
    where, _, name = network.rpartition(":")
    path = Path(where)
    sys.path.insert(0, str(path.resolve().parent if path.suffix == ".py" else Path.cwd()))
    try:
        if path.suffix == ".py":  # not kept as a module, so that workers get its functions by value
            factory = runpy.run_path(where, run_name=where)[name]
        else:
            factory = getattr(importlib.import_module(where), name)
    except Exception as error:  # the user's module can fail in any way
        hint = f"{type(error).__name__}: {error}."
        allowed = "a network's name, package.module:build or path/to/net.py:build"
        raise ParameterError("--network", "the command", allowed=allowed, got=network, hint=hint) from None
    finally:
        sys.path.pop(0)
    if not callable(factory):
        raise ParameterError("--network", "the command", allowed="a function that builds a network", got=network)
    return factory
