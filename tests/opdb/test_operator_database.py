"""PyTorch's operator database: its samples give in `oneflow` what they give in PyTorch.

`make opdb` runs all of it and says how much agrees.
"""

from __future__ import annotations

import importlib

import pytest

from tests.sampling import Sample

PARTS, SAMPLED_PARTS = 100, 1


# One process imports the database.
@pytest.mark.xdist_group("opdb")
@pytest.mark.parametrize("part", range(PARTS))
def test_part_agrees_but_for_the_listed_samples(part: int, sample: Sample) -> None:
    sample.take_turns(range(PARTS), part, SAMPLED_PARTS)
    # Only now: the database takes seconds to import.
    checks = importlib.import_module("tests.opdb.checks")
    expected = importlib.import_module("tests.opdb.expected")
    lines = expected.by_entry(expected.read_list())
    found = []
    for entry in checks.entries()[part::PARTS]:
        for dtype in (*entry.dtypes, expected.ERRORS):
            outcomes = expected.outcomes_of(entry, dtype)
            found += expected.surprises(entry.name, dtype, outcomes, lines[entry.name, dtype])
    if found:
        pytest.fail("\n".join(found), pytrace=False)
