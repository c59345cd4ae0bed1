"""An install without extras: torch and matplotlib are hidden from a process, which goes the road of a table."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from worstclass import NetworkClassifier, TorchLearner, save_model
from worstclass._checks import optional_packages

ROAD = Path(__file__).with_name("table_road.py")
#: run by Python when it starts, in the workers of joblib, too
HIDE = """
from importlib.machinery import PathFinder

find = PathFinder.find_spec
hidden = {"matplotlib", "torch"}
PathFinder.find_spec = lambda name, *where: None if name.partition(".")[0] in hidden else find(name, *where)
"""


def test_a_table_needs_neither_torch_nor_matplotlib_and_the_rest_says_what_to_install(tmp_path):
    network = TorchLearner("mlp", module_options={"hidden": (4,)})
    save_model(NetworkClassifier(network, max_epochs=1).fit(np.eye(4), [0, 1, 0, 1]), tmp_path / "network")
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    env = {**os.environ, "PYTHONPATH": path}
    words = [sys.executable, "-W", "ignore", ROAD]
    done = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["torch.no_such_part", "no_such_package"])
def test_other_imports_that_fail_stay_as_they_are(name):
    with pytest.raises(ModuleNotFoundError, match=name), optional_packages("This test"):
        importlib.import_module(name)
