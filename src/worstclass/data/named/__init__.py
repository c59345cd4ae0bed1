"""Named data sets: one file a family, with the facts and the parser of its sets in ``SHEETS``, by name."""

from __future__ import annotations

import importlib
import pkgutil

from worstclass.data.facts import NamedDataset


def all_sheets() -> dict[str, NamedDataset]:
    """Return the fact sheets of all files in this folder."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {name: sheet for module in modules for name, sheet in module.SHEETS.items()}
