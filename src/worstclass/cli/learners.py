"""Which estimator a command trains: a method by name, with the settings of the data set and of the user."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import Any

from worstclass.cli.console import OptionError, refuse_given
from worstclass.cli.data import Data
from worstclass.cli.options import BoosterOptions, NetworkOptions
from worstclass.exceptions import DatasetError, ParameterError
from worstclass.methods import build_method, find_method

#: categories that a column may have before it is taken for one of names, ids or dates
MOST_CATEGORIES = 255


def default_method(data: Data, X: Any, network: str | None) -> str:
    """Return our booster: over networks, or over gradient-boosted trees for a table."""
    return "ours" if network or _is_images(X) or data.settings.get("learner") else "ours-trees"


def network_options(data: Data, X: Any, options: NetworkOptions) -> dict[str, Any]:
    """Return the options of ``TorchLearner``: the paper's for a named data set, then those of the user."""
    default = {"module": "cnn-small"} if _is_images(X) else {"module": "mlp", "standardize": True}
    chosen = dict(data.settings.get("learner") or default)
    if options.network is not None:
        chosen["module"] = network_factory(options.network)
    return {**chosen, **options.learner()}


def build_estimator(name: str, data: Data, X: Any, options: BoosterOptions, **more: Any) -> Any:
    """Build the estimator of a method for the training rows X of DATA.

    ``options`` are what the user set for networks and boosters, refused where the method has no use for them; ``more``
    are further parameters of ``build_method``, the method's own options (``--set``) among them.
    """
    method, given = find_method(name), options.booster()
    learner: dict[str, Any] = {"module": "mlp"}
    if method.kind == "network":
        learner = network_options(data, X, options)
    else:
        _refuse_unsuited(name, X)
        unused = [*options.learner(), *(["network"] if options.network else [])]
        refuse_given(unused, f"the method {name} trains no network.")
    if "n_rounds" in method.options:
        paper = data.settings.get("booster", {})
        given = {key: value for key, value in paper.items() if key in method.options} | given
    else:
        hint = f" Set the options of the method with --set: {', '.join(method.options)}." if method.options else ""
        refuse_given(given, f"{name} is not a boosting method.{hint}")
    return build_method(name, learner.pop("module"), learner=learner, **{**given, **more})


def _is_images(X: Any) -> bool:
    return getattr(X, "ndim", 2) > 2


def _refuse_unsuited(name: str, X: Any) -> None:
    """Refuse images, and text columns that tell nearly every row apart (names, ids, dates)."""
    if _is_images(X):
        raise OptionError(f"--method {name} cannot be used here: it takes tables, and the data are images.")
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
