"""The paper's first experiment, in full: about an hour and a half on two cores."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from artificial_balanced import run_draw


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.xfail(reason="measured 34.2% (33.3% over draws 0 to 6): docs/results/artificial-balanced.md", strict=False)
def test_the_faithful_setting_gives_the_paper_s_worst_class_test_error():
    worst = [run_draw("faithful", draw)["test"]["worst_error"] for draw in range(5)]
    assert 0.27 <= statistics.mean(worst) <= 0.30


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_with_rounds_added_every_one_of_ten_draws_meets_the_bound():
    assert all(run_draw("default", draw)["bound_met"] for draw in range(10))
