"""Samples are repeatable, and all cases have their turn."""

import pytest

from tests.sampling import Sample

CASES = list("abcdefg")


@pytest.mark.parametrize("count", range(1, 9))
def test_every_case_has_its_turn(count):
    turns = -(-len(CASES) // count)
    for first in (0, 740_000):
        chosen = [Sample(first + turn).rotation(CASES, count) for turn in range(turns)]
        assert {len(sample) for sample in chosen} == {min(count, len(CASES))}
        assert {case for sample in chosen for case in sample} == set(CASES)


def test_without_a_seed_all_cases_are_taken():
    assert Sample(None).rotation(iter(CASES)) == CASES
    assert Sample(None).choose(CASES, 2, "owner") == CASES
    for case in CASES:
        Sample(None).take_turns(CASES, case)
        Sample(None).take(case, one_in=1000)


def test_other_cases_are_skipped_with_a_reason():
    with pytest.raises(pytest.skip.Exception, match="not in the sample"):
        Sample(0).take_turns(CASES, "b")
    Sample(1).take_turns(CASES, "b")
