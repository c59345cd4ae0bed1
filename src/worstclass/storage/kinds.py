"""Which classes a model file may name: those of this package. No other name is ever imported."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from worstclass._state import Stateful
from worstclass.exceptions import ModelFormatError
from worstclass.learners.base import WeakLearner

#: parts of the package that a file may not name
NEVER = ("cli", "__main__")


@dataclass(frozen=True)
class Family:
    """Classes of this package that are stored in one way.

    Parameters
    ----------
    packages : where they live; empty for everywhere.
    is_one : tells whether a class found there is one of them.
    """

    packages: tuple[str, ...]
    is_one: Callable[[type], bool]

    def holds(self, kind: type) -> bool:
        """Return whether a class is one of the family, so that ``named`` finds it."""
        return "." not in kind.__qualname__ and self._may_import(kind.__module__) and self.is_one(kind)

    def named(self, name: Any) -> Any:
        """Return the class of the name ``package.module.ClassName``; refuse every other name before any import."""
        module, _, attribute = str(name).rpartition(".")
        found = getattr(importlib.import_module(module), attribute, None) if self._may_import(module) else None
        if isinstance(found, type) and found.__module__ == module and self.is_one(found):
            return found
        raise ModelFormatError(f"The model file names {name!r}, which is not a class that worstclass stores.")

    def _may_import(self, module: str) -> bool:
        if module not in _own_modules() or "." not in module:
            return False
        package = module.split(".")[1]
        return package in self.packages if self.packages else package not in NEVER


def name_of(value: Any) -> str:
    """Return the name of the class of a value."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


@cache
def _own_modules() -> frozenset[str]:
    """Return the names of the modules of this package, read from its files."""
    root = Path(__file__).parents[1]
    paths = (file.relative_to(root.parent).with_suffix("").parts for file in root.rglob("*.py"))
    return frozenset(".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in paths)


def _is_frozen(kind: type) -> bool:
    return is_dataclass(kind) and bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]


#: fitted estimators, each in a folder of its own
ESTIMATORS = Family(("boosting", "ensembles", "wrappers"), lambda kind: issubclass(kind, Stateful))
#: estimators and learners of which the parameters are kept, and nothing fitted
UNFITTED = Family((*ESTIMATORS.packages, "learners"), lambda kind: issubclass(kind, Stateful | WeakLearner))
#: frozen dataclasses: records, losses, augmentations and the like
RECORDS = Family((), _is_frozen)
