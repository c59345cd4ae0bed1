"""The documented layers are those of the linter's contract, and every class has a name of its own."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "worstclass"


def test_the_documented_layers_are_those_of_the_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.split("## The layers")[1].split("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE) == layers
    found = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert found - {"__init__", "__main__", "_version"} == set(layers)


def test_files_that_the_architecture_names_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)`", text))
    missing = [name for name in named if not (SOURCE / name).exists() and not (ROOT / name).exists()]
    assert not missing


def test_no_class_name_is_used_twice():
    places = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(str(path.relative_to(SOURCE)))
    assert not {name: files for name, files in places.items() if len(files) > 1}


def test_array_types_are_defined_once():
    pattern = re.compile(r"^\w*Array = ", flags=re.MULTILINE)
    assert [path.name for path in SOURCE.rglob("*.py") if pattern.search(path.read_text())] == ["_typing.py"]
