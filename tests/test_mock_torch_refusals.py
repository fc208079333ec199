"""Arguments that PyTorch refuses are refused here, with the same type of exception."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "stft of real numbers that does not say": lambda x: x.stft(x.ones(20), 4, window=x.ones(4)),
    "stft with False": lambda x: x.stft(x.ones(20), 4, window=x.ones(4), return_complex=False),
    "stft that says None": lambda x: x.stft(x.ones(20), 4, return_complex=None),
    "stft as a method": lambda x: x.ones(20).stft(4, window=x.ones(4)),
    "stft as a method with False": lambda x: x.ones(20).stft(4, return_complex=False),
    "stft of complex numbers as a method": lambda x: (x.ones(20) + 0j).stft(4),
    "stft of complex numbers": lambda x: x.stft(x.ones(20) + 0j, 4, window=x.ones(4)),
    "stft with a complex window": lambda x: x.stft(x.ones(20), 4, window=x.ones(4) + 0j),
    "stft by position": lambda x: x.stft(
        x.ones(20), 4, None, None, x.ones(4), True, "reflect", False, None, True
    ),
    "heaviside of two types": lambda x: x.heaviside(x.ones(2), x.ones(2).double()),
    "heaviside_ of two types": lambda x: x.ones(2).heaviside_(x.ones(1, dtype=x.int64)),
    "histogram without edges": lambda x: x.histogram(x.ones(2), x.ones(0)),
    "a loader without workers and a context": lambda x: x.utils.data.DataLoader(
        [1], multiprocessing_context="spawn"
    ),
    "a nested tensor as a number": lambda x: _nested(x).reshape(()),
}


def _nested(library: Any) -> Any:
    return library.nested.nested_tensor([library.ones(2), library.ones(3)])


def _outcome(program: Callable[[Any], Any], library: Any) -> Any:
    try:
        result = program(library)
    except Exception as error:
        return type(error).__name__
    return tuple(result.shape), str(result.dtype).rpartition(".")[2]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:stft with return")
def test_what_pytorch_refuses_is_refused(name: str) -> None:
    with enabled():
        ours = _outcome(PROGRAMS[name], OURS)
    assert ours == _outcome(PROGRAMS[name], torch)
