"""The examples in the docstrings say what the code does."""

import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import worstclass


def modules_with_examples(package="worstclass", paths=worstclass.__path__):
    """Names of the modules whose text has a prompt, found without importing them; the CLI is left out."""
    found = []
    for module in pkgutil.iter_modules(paths, prefix=f"{package}."):
        if module.name == "worstclass.cli":
            continue
        folder = Path(module.module_finder.path) / module.name.rpartition(".")[2]
        source = folder / "__init__.py" if module.ispkg else folder.with_suffix(".py")
        if ">>>" in source.read_text(encoding="utf-8"):
            found.append(module.name)
        if module.ispkg:
            found += modules_with_examples(module.name, [str(folder)])
    return found


MODULES = modules_with_examples()


def test_the_search_finds_modules_at_every_depth():
    assert {"worstclass.floors", "worstclass.boosting.hedge"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run_as_shown(name):
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted > 0
    assert failed == 0
