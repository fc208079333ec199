"""torchaudio's operators in C++ have others in their place, so that it can be imported."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from tests.in_place import enabled, in_place_of

# It does at its import what torchaudio does.
_STAND_IN = """
from pathlib import Path
import torch

for name in ("_torchaudio", "libtorchaudio"):
    {load}(Path(__file__).parent / "lib" / f"{{name}}.so")
assert torch.ops._torchaudio.cuda_version() is None
can_align = torch.ops._torchaudio.is_align_available()
filter = torch.ops.torchaudio._lfilter_core_loop
overdrive = torch.ops.torchaudio._overdrive_core_loop
loss = torch.ops.torchaudio.rnnt_loss_forward
"""


@pytest.fixture(params=["torch.ops.load_library", "torch.classes.load_library"])
def torchaudio(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package that is loaded as torchaudio is."""
    name = f"torchaudio_{len(request.param)}"
    (tmp_path / name / "lib").mkdir(parents=True)
    (tmp_path / name / "__init__.py").write_text(_STAND_IN.format(load=request.param))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with enabled():
        return importlib.import_module(name)


def test_it_is_imported_and_says_what_is_missing(torchaudio: Any) -> None:
    assert not torchaudio.can_align
    with pytest.raises(NotImplementedError, match="`torchaudio::rnnt_loss_forward` has no kernel"):
        torchaudio.loss(flow.zeros(1))


def test_recursive_filters_are_those_of_a_loop(torchaudio: Any) -> None:
    draw = np.random.RandomState(0)
    signal, weights = draw.standard_normal((2, 3, 7)), draw.uniform(-0.5, 0.5, (3, 4))
    weights[:, -1] = 1
    expected = np.zeros((2, 3, 10))
    for sample in range(7):
        before = (expected[:, :, sample : sample + 4] * weights).sum(-1)
        expected[:, :, sample + 3] = signal[:, :, sample] - before
    output = flow.zeros(2, 3, 10, dtype=flow.float64)
    found = torchaudio.filter(flow.tensor(signal), flow.tensor(weights), output)
    assert found is output
    np.testing.assert_allclose(output.numpy(), expected, rtol=1e-12, atol=1e-12)


def test_the_overdrive_is_that_of_a_loop(torchaudio: Any) -> None:
    draw = np.random.RandomState(0)
    waveform, distorted, expected = draw.standard_normal((3, 2, 7))
    last_in, last_out = draw.standard_normal((2, 2))
    arguments = [flow.tensor(x) for x in (waveform, distorted, last_in, last_out, expected)]
    for sample in range(7):
        last_out = distorted[:, sample] - last_in + 0.995 * last_out
        last_in = distorted[:, sample]
        expected[:, sample] = waveform[:, sample] * 0.5 + last_out * 0.75
    torchaudio.overdrive(*arguments)
    for found, value in zip(arguments[2:], (last_in, last_out, expected), strict=True):
        np.testing.assert_allclose(found.numpy(), value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("module", ["torch.ops", "torch.classes"])
def test_other_libraries_are_not_loaded(module: str) -> None:
    with pytest.raises(OSError, match=r"`path`: operators in C\+\+ .* got /somewhere/else\.so"):
        in_place_of(module).load_library("/somewhere/else.so")
