"""The paper's first experiment: what was kept of it, and the default setting in full (an hour on two cores)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from artificial_balanced import SETTINGS, run_draw, table

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def kept(setting):
    files = (RESULTS / "artificial-balanced").glob(f"{setting}-*.json")
    return [json.loads(file.read_text()) for file in sorted(files, key=lambda file: int(file.stem.split("-")[1]))]


def test_the_kept_table_says_what_the_kept_draws_say():
    results = {setting: kept(setting) for setting in SETTINGS}
    assert all(results.values())
    assert table(results) == (RESULTS / "artificial-balanced.md").read_text()


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_with_rounds_added_every_one_of_ten_draws_meets_the_bound():
    assert all(run_draw("default", draw)["bound_met"] for draw in range(10))
