"""No code of this package runs what a file says: what could is found in the syntax trees of all modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "worstclass"
MODULES = sorted(SOURCE.rglob("*.py"))

#: what runs code or programs, or reads what does; None: nowhere, else the only modules that may
RESTRICTED = {
    **dict.fromkeys(["eval", "exec", "compile", "__import__", "execfile", "breakpoint"]),
    **dict.fromkeys(["pickle.load", "pickle.loads", "pickle.Unpickler", "marshal", "shelve", "dill", "cloudpickle"]),
    **dict.fromkeys(["joblib.load", "pandas.read_pickle", "torch.jit.load", "torch.package", "torch.hub", "yaml"]),
    **dict.fromkeys(["os.system", "os.popen", "os.exec", "os.spawn", "os.posix_spawn", "pty", "commands", "ctypes"]),
    **dict.fromkeys(["tarfile.TarFile.extractall", "shutil.unpack_archive"]),
    "pickle": ["data/pickled.py"],  # the unpickler that calls nothing
    "subprocess": ["experiments/run.py"],  # git, for the commit of a result
    "runpy": ["cli/model.py"],  # a network or method that the user names on the command line
    "pkgutil.resolve_name": ["cli/model.py"],
    "skops.io.load": ["storage/files.py"],  # after the checks
    "skops.io.loads": ["storage/files.py"],
    "importlib": [
        "__init__.py",  # our own modules, by tables and names that are in the code
        "_checks.py",  # whether an optional package is installed
        "data/registry.py",
        "experiments/run.py",  # versions of packages
        "losses/__init__.py",
        "methods.py",
        "networks/__init__.py",
        "storage/codec.py",  # torch, where a model has tensors
        "storage/files.py",  # classes of worstclass, scikit-learn and imbalanced-learn that a model names
    ],
}
FAMILIES = ("os.exec", "os.spawn", "os.posix_spawn")
#: calls that must have an argument of some value
REQUIRED = {
    "numpy.load": ("allow_pickle", False),
    "torch.load": ("weights_only", True),
    "PIL.Image.open": ("formats", None),
}


def names_of(tree: ast.AST) -> dict[str, str]:
    """Return what the imported names of a module stand for."""
    names = {}
    for node in ast.walk(tree):
        for each in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            if isinstance(node, ast.ImportFrom):
                names[each.asname or each.name] = f"{node.module}.{each.name}"
            elif each.asname:
                names[each.asname] = each.name
    return names


def dotted(node: ast.AST, names: dict[str, str]) -> str:
    """Return the full name that an expression refers to; empty for another expression."""
    if isinstance(node, ast.Name):
        return names.get(node.id, node.id)
    if isinstance(node, ast.Attribute) and (owner := dotted(node.value, names)):
        return f"{owner}.{node.attr}"
    return ""


def used_names(node: ast.AST, names: dict[str, str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{each.name}" for each in node.names]
    return [dotted(node, names)] if isinstance(node, ast.Name | ast.Attribute) else []


def is_part(name: str, banned: str) -> bool:
    """Tell whether a name is banned: itself, inside of it, or one of a family as os.exec is."""
    return name == banned or name.startswith(f"{banned}.") or (banned in FAMILIES and name.startswith(banned))


def violations(source: str, module: str) -> Iterator[str]:
    """Yield what a module may not do, with its line."""
    tree = ast.parse(source)
    names = names_of(tree)
    for node in ast.walk(tree):
        line = f"{module}:{getattr(node, 'lineno', 0)}"
        for name in used_names(node, names):
            for banned, places in RESTRICTED.items():
                if is_part(name, banned) and module not in (places or []):
                    yield f"{line} uses {name}"
        if isinstance(node, ast.Call):
            yield from (f"{line} {text}" for text in wrong_arguments(node, dotted(node.func, names)))


def wrong_arguments(call: ast.Call, name: str) -> Iterator[str]:
    given = {word.arg: word.value for word in call.keywords}
    if name in REQUIRED:
        word, value = REQUIRED[name]
        found = given.get(word)
        if found is None or (value is not None and not (isinstance(found, ast.Constant) and found.value is value)):
            yield f"calls {name} without {word}{'' if value is None else f'={value}'}"
    if (
        name.startswith("subprocess.")
        and call.args
        and isinstance(call.args[0], ast.Constant | ast.JoinedStr | ast.BinOp)
    ):
        yield f"gives {name} a text, not a list of words"
    shell = given.get("shell")
    if shell is not None and not (isinstance(shell, ast.Constant) and shell.value is False):
        yield f"calls {name} with a shell"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: file.relative_to(SOURCE).as_posix())
def test_no_module_runs_what_a_file_says(file):
    assert not list(violations(file.read_text(), file.relative_to(SOURCE).as_posix()))


@pytest.mark.parametrize(
    ("code", "module", "found"),
    [
        ("import pickle\npickle.load(f)", "data/x.py", "uses pickle.load"),
        ("from pickle import loads as l\nl(b)", "data/pickled.py", "uses pickle.loads"),
        ("import pickle as p\np.Unpickler(f).load()", "data/pickled.py", "uses pickle.Unpickler"),
        ("eval('1')", "cli/x.py", "uses eval"),
        ("run = exec", "cli/x.py", "uses exec"),
        ("__import__('os')", "cli/x.py", "uses __import__"),
        ("import torch\ntorch.load(f)", "x.py", "calls torch.load without weights_only=True"),
        ("import torch\ntorch.load(f, weights_only=False)", "x.py", "calls torch.load without weights_only=True"),
        ("import numpy as np\nnp.load(f)", "x.py", "calls numpy.load without allow_pickle=False"),
        ("from numpy import load\nload(f, allow_pickle=True)", "x.py", "calls numpy.load without allow_pickle=False"),
        ("from PIL import Image\nImage.open(f)", "x.py", "calls PIL.Image.open without formats"),
        ("import os\nos.system('ls')", "x.py", "uses os.system"),
        ("from os import execv", "x.py", "uses os.execv"),
        ("import subprocess\nsubprocess.run(['ls'])", "cli/x.py", "uses subprocess"),
        ("import subprocess as s\ns.run('ls', shell=True)", "experiments/run.py", "calls subprocess.run with a shell"),
        ("import subprocess\nsubprocess.run(f'ls {x}')", "experiments/run.py", "gives subprocess.run a text"),
        ("import joblib\njoblib.load(f)", "x.py", "uses joblib.load"),
        ("import pandas as pd\npd.read_pickle(f)", "x.py", "uses pandas.read_pickle"),
        ("from skops import io\nio.load(f)", "x.py", "uses skops.io.load"),
        ("import importlib\nimportlib.import_module(x)", "data/x.py", "uses importlib"),
    ],
)
def test_what_is_looked_for_is_found(code, module, found):
    assert any(found in line for line in violations(code, module))


@pytest.mark.parametrize(
    "code",
    [
        "model.eval()",
        "import re\nre.compile('x')",
        "import os\nos.environ",
        "import numpy as np\nnp.load(f, allow_pickle=False)",
    ],
)
def test_what_is_harmless_is_not(code):
    assert not list(violations(code, "x.py"))


def test_all_restricted_places_are_there():
    places = {place for allowed in RESTRICTED.values() for place in allowed or []}
    assert places <= {file.relative_to(SOURCE).as_posix() for file in MODULES}
