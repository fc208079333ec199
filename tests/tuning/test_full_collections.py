"""The frequency of full garbage collections."""

import gc
from collections.abc import Iterator

import pytest

from oneflow.tuning.full_collections import collect_rarely


@pytest.fixture(autouse=True)
def usual_thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_only_full_collections_are_rare() -> None:
    collect_rarely()
    assert gc.get_threshold() == (700, 10, 100)


@pytest.mark.parametrize("chosen", [(700, 10, 5), (0, 10, 3), (50_000, 20, 10)])
def test_what_the_user_has_chosen_stays(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    collect_rarely()
    assert gc.get_threshold() == chosen


def test_the_setting_can_be_left_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFLOW_TUNING_OFF", "full_collections")
    collect_rarely()
    assert gc.get_threshold() == (700, 10, 10)
