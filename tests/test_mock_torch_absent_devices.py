"""Modules of devices that are not here answer as PyTorch's do where there is none, too."""

from __future__ import annotations

import importlib

import pytest
import torch

from oneflow.mock_torch.missing_devices import MISSING_DEVICES
from tests.in_place import in_place_of

#: PyTorch says of MTIA that it has bfloat16 without asking, refuses blocks of `profile` when they
#: begin, and knows the system's version only where it has Metal.
_SKIPPED = {
    "torch.mtia.is_bf16_supported",
    "torch.mps.profiler.profile",
    "torch.backends.mps.is_macos13_or_newer",
}


def answer(function):
    try:
        return function()
    except TypeError:
        return "arguments"
    except (RuntimeError, AssertionError, ImportError, AttributeError):
        return "refused"


@pytest.mark.parametrize("module", MISSING_DEVICES)
def test_answers_are_pytorchs(module):
    ours, theirs = in_place_of(module), importlib.import_module(module)
    names = [entry.partition("=")[0] for entry in MISSING_DEVICES[module].split()]
    different = {}
    for name in names:
        mine, its = getattr(ours, name), getattr(theirs, name)
        assert isinstance(mine, type) == isinstance(its, type)
        if not callable(mine):
            assert mine == its
        elif not isinstance(mine, type) and f"{module}.{name}" not in _SKIPPED:
            pair = answer(mine), answer(its)
            if pair[0] != pair[1] and "arguments" not in pair:
                different[name] = pair
    assert different == {}


def test_what_needs_a_device_names_what_is_missing():
    xpu = in_place_of("torch.xpu")
    for call in (xpu.synchronize, xpu.Stream, lambda: xpu.set_device(0)):
        with pytest.raises(RuntimeError, match="no such device"):
            call()
    assert torch.xpu.device_count() == xpu.device_count() == 0
