"""Devices send and keep as much as the closed forms say, by the cost model."""

import pytest
from benchmarks.scaling import WAYS, Figures, least, measured, plan_of

SIZES = {"width": 64, "context": 16, "heads": 16, "vocabulary": 64}


@pytest.mark.parametrize("devices", [2, 16])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_sent_and_kept(way, devices):
    plan, model = plan_of(way, devices, compile=False, **SIZES)
    found = measured(plan)
    bound = least(way, devices, model, Figures(0, 0, 0))
    assert 0 < found.sent <= bound.sent * 1.25
    assert found.kept <= bound.kept * 1.01
