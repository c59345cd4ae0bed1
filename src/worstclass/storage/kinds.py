"""Which classes a model file may name: those of this package. No other name is ever imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import Any

from worstclass._state import Stateful
from worstclass.exceptions import ModelFormatError
from worstclass.learners.base import WeakLearner


def is_estimator(kind: type) -> bool:
    """Tell an estimator of this package that lists its fitted state."""
    return _is_ours(kind) and issubclass(kind, Stateful)


def is_unfitted(kind: type) -> bool:
    """Tell an estimator or learner of this package, of which the parameters are enough where it is not fitted."""
    return _is_ours(kind) and issubclass(kind, Stateful | WeakLearner)


def is_record(kind: type) -> bool:
    """Tell a frozen dataclass of this package: records, losses, augmentations and the like."""
    return _is_ours(kind) and is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


def class_named(name: Any, accepts: Callable[[type], bool]) -> Any:
    """Return the class of the name ``worstclass.module.ClassName``; refuse every other name before any import."""
    found = find_class(str(name), "worstclass.")
    if found is None or f"{found.__module__}.{found.__qualname__}" != name or not accepts(found):
        raise ModelFormatError(f"The model file names {name!r}, which is not a class that worstclass stores.")
    return found


def find_class(name: str, *packages: str) -> type | None:
    """Return the class of a name in some packages; None where there is none, before any import outside of them."""
    module, _, attribute = name.rpartition(".")
    if not module.startswith(packages) or "__main__" in module:
        return None
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return None
    return found if isinstance(found, type) else None


def name_of(value: Any) -> str:
    """Return the name of the class of a value."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("worstclass.") and "." not in kind.__qualname__
