"""Every file of examples/ runs as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

#: paper_own_method.py is a method for the command line; tests/test_documents.py runs it there
EXAMPLES = [file for file in sorted(Path(__file__).parents[1].glob("examples/*.py")) if file.stem != "paper_own_method"]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_runs(example, tmp_path):
    done = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "worst" in done.stdout.lower()
