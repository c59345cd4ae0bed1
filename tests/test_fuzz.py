"""Fuzzing: some spoiled and made-up inputs of everything that reads files, and 10,000 in `make slow`."""

from __future__ import annotations

import pytest
from fuzzing import TARGETS, in_child

FEW, MANY = 10, 10_000


def require_no_findings(records, names, n_inputs):
    findings = [(record["target"], *finding) for record in records for finding in record["findings"].items()]
    assert not findings, "\n".join(map(str, findings))
    assert [record["target"] for record in records] == names
    assert all(record["inputs"] >= n_inputs for record in records), records


def test_a_few_inputs_of_every_kind():
    require_no_findings(in_child(list(TARGETS), FEW), list(TARGETS), FEW)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", TARGETS)
def test_ten_thousand_inputs(name):
    require_no_findings(in_child([name], MANY, number=1), [name], MANY)
