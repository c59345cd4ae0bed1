"""The package as it is published: built, checked, installed into an empty environment, and used there. Minutes each.

``WORSTCLASS_PYTHONS`` names the interpreters to try, with the path separator between them; else it is this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PYTHONS = os.environ.get("WORSTCLASS_PYTHONS", sys.executable).split(os.pathsep)

pytestmark = pytest.mark.slow


def run(*words, cwd=None):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run([*map(str, words)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("build", reason="build is not installed: pip install 'worstclass[dev]'")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    return folder


def test_the_source_archive_and_the_wheel_pass_the_checks_of_the_index(built):
    pytest.importorskip("twine", reason="twine is not installed: pip install 'worstclass[dev]'")
    files = sorted(built.iterdir())
    assert [file.suffix for file in files] == [".whl", ".gz"]
    assert run(sys.executable, "-m", "twine", "check", "--strict", *files).count("PASSED") == 2


def installed(python, wheel, folder):
    """Install a wheel into an empty environment; return its programs, and the packages that are there."""
    run(python, "-m", "venv", folder / "venv")
    inside = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    run(inside / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt", wheel)
    run(inside / "python", "-m", "pip", "check")
    packages = json.loads(run(inside / "python", "-m", "pip", "list", "--format", "json"))
    return inside, {package["name"] for package in packages}


@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_works_in_an_empty_environment(python, built, tmp_path):
    (wheel,) = built.glob("*.whl")
    inside, packages = installed(python, wheel, tmp_path)
    assert not {"pytest", "mypy", "onnx", "lightgbm", "mlflow-skinny", "torch", "matplotlib"} & packages
    assert "worstclass fit" in run(inside / "worstclass", "fit", "--help")
    table = "from sklearn.datasets import load_iris; load_iris(as_frame=True).frame.to_csv('iris.csv', index=False)"
    run(inside / "python", "-c", table, cwd=tmp_path)
    fit = ["fit", "iris.csv", "--target", "target", "--out", "model", "--set", "cv=2", "--json"]
    told = json.loads(run(inside / "worstclass", *fit, cwd=tmp_path))
    assert told["test"]["worst_error"] <= 0.3
    use = "import worstclass; print(worstclass.__version__, worstclass.load_model('model').classes_.tolist())"
    assert run(inside / "python", "-c", use, cwd=tmp_path).strip().endswith("[0, 1, 2]")
    run(inside / "python", ROOT / "tests" / "table_road.py", cwd=tmp_path)


def test_the_extra_torch_brings_networks(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    inside, packages = installed(sys.executable, f"{wheel}[torch]", tmp_path)
    assert ("torch" in packages, "matplotlib" in packages) == (True, False)
    fit = ["fit", "iris", "--network", "mlp", "--max-epochs", "20", "--set", "cv=2", "--out", "model", "--json"]
    assert json.loads(run(inside / "worstclass", *fit, cwd=tmp_path))["test"]["worst_error"] <= 0.5
    use = "import worstclass; print(worstclass.TorchLearner.__name__, worstclass.load_model('model').classes_.tolist())"
    assert run(inside / "python", "-c", use, cwd=tmp_path).startswith("TorchLearner")
