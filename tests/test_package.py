"""The package as a whole: what it exports, what importing it costs, what it never does."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import worstclass

SOURCE = Path(worstclass.__file__).parent


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_every_exported_name_is_there_and_documented():
    for name in worstclass.__all__:
        value = getattr(worstclass, name)
        assert name == "__version__" or inspect.getdoc(value), name
    assert set(dir(worstclass)) == set(worstclass.__all__)


def test_the_names_for_type_checkers_are_those_loaded_when_used():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {alias.name for node in block.body for alias in node.names}
    assert typed | {"__version__"} == set(worstclass.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Booster'"):
        worstclass.Booster  # noqa: B018


@pytest.mark.parametrize("heavy", ["torch", "sklearn", "pandas", "matplotlib", "rich", "typer", "pydantic", "numpy"])
def test_importing_the_package_imports_nothing_heavy(heavy):
    assert "loaded False" in run("-c", f"import sys, worstclass; print('loaded', {heavy!r} in sys.modules)")


@pytest.mark.parametrize("heavy", ["torch", "sklearn", "pandas", "matplotlib", "numpy"])
def test_help_imports_nothing_heavy(heavy):
    code = "import sys; from worstclass.cli.app import run; run(['--help']); print('loaded', %r in sys.modules)"
    assert "loaded False" in run("-c", code % heavy)


def test_scikit_learn_users_never_load_torch(tmp_path):
    code = """
import sys
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier
from worstclass import WorstClassBooster, WorstClassClassifier, load_model, save_model
X, y = load_iris(return_X_y=True)
for model in (WorstClassBooster(DecisionTreeClassifier(), 0.8, n_rounds=2), WorstClassClassifier(cv=2)):
    model.fit(X, y)
    save_model(model, sys.argv[1])
    load_model(sys.argv[1]).predict(X)
    print(type(model).__name__, {"torch", "dask"} & set(sys.modules))
from sklearn.externals.array_api_compat import torch  # it was left out on the way, and can be imported still
print("then", "torch" in sys.modules)
"""
    shown = run("-W", "ignore", "-c", code, str(tmp_path / "model"))
    assert shown.splitlines() == ["WorstClassBooster set()", "WorstClassClassifier set()", "then True"]


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_the_library_never_prints_exits_or_unpickles(file):
    in_cli = "cli" in file.relative_to(SOURCE).parts
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert in_cli or node.func.id not in {"print", "exit", "eval", "exec"}, f"{file}:{node.lineno}"
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
            allowed = {"pickle"} if file == SOURCE / "data" / "pickled.py" else set()  # its unpickler is restricted
            forbidden = {"pickle", "dill", "cloudpickle"} - allowed
            assert not forbidden & set(names), f"{file}:{node.lineno}"
            stores = {"load", "dump"} & {alias.name for alias in node.names}
            assert "joblib" not in names or not stores, f"{file}:{node.lineno}"  # joblib runs fits, and stores nothing


def test_the_names_that_users_rely_on_are_exported():
    promised = (
        "WorstClassClassifier WorstClassBooster WorstClassOffsets AbstainingClassifier TorchLearner SklearnLearner "
    )
    promised += "build_method list_methods load_dataset make_splits class_report worst_class_error worst_class_scorer "
    promised += "certify select_theta save_model load_model PortfolioRecord"
    assert set(promised.split()) <= set(worstclass.__all__)
    assert worstclass.WorstClassClassifier().get_params()["theta"] is None


def test_the_citation_names_this_version():
    citation = (SOURCE.parents[1] / "CITATION.cff").read_text()
    assert f"\nversion: {worstclass.__version__}\n" in citation


def test_type_information_is_there():
    assert (SOURCE / "py.typed").is_file()
