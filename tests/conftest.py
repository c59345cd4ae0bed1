"""One thread a process: two test workers with two threads each would be slower than one."""

from __future__ import annotations

import os

import numpy as np
import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def command(place, monkeypatch, capsys):
    """Run a command in the folder ``place`` of a test file; return its exit code and what it shows."""
    from worstclass.cli.app import run

    monkeypatch.chdir(place)

    def call(*words):
        capsys.readouterr()
        code = run([str(word) for word in words])
        shown = capsys.readouterr()
        return code, shown.out + shown.err

    return call


@pytest.fixture(scope="session")
def blobs():
    """Three classes in the plane that overlap a little, 40, 30 and 20 rows; labels are strings."""
    rng = np.random.default_rng(0)
    centres, sizes = np.array([[0, 0], [2.5, 0], [0, 2.5]]), [40, 30, 20]
    X = np.concatenate([rng.normal(centre, 0.7, size=(n, 2)) for centre, n in zip(centres, sizes, strict=True)])
    y = np.repeat(["a", "b", "c"], sizes)
    order = rng.permutation(len(y))
    return X[order], y[order]
