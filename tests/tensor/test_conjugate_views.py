"""Conjugates, parts of complex numbers and other dtypes are views, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

# Views of complex numbers that show conjugates, or parts, of what is in memory.
CONJUGATE_VIEWS: dict[str, Callable[[Any], Any]] = {
    "conj": lambda z: z.conj(),
    "conj of conj": lambda z: z.conj().conj(),
    "adjoint": lambda z: z.adjoint(),
    "H": lambda z: z.H,
    "mH": lambda z: z.mH,
    "transposed conj": lambda z: z.T.conj().T,
    "part of conj": lambda z: z.conj()[:, 1:],
    "conj of a part": lambda z: z[:, 1:].conj(),
    "reshaped conj": lambda z: z.conj().reshape(-1),
    "strided conj": lambda z: z.conj().as_strided((2, 2), (1, 2), 1),
    "detached conj": lambda z: z.conj().detach(),
    "conj of detached": lambda z: z.detach().conj(),
    "real": lambda z: z.real,
    "imag": lambda z: z.imag,
    "real part of conj": lambda z: z.conj().real,
    "imaginary part of conj": lambda z: z.conj().imag,
    "resolved": lambda z: z.resolve_conj(),
    "resolved conj": lambda z: z.conj().resolve_conj(),
    "conj_physical": lambda z: z.conj_physical(),
}
COMPLEX_BASE = np.array([[1 + 2j, 3 - 1j, 2j], [-1 + 1j, 4, 1 - 3j]], np.complex128)


@pytest.mark.parametrize("name", CONJUGATE_VIEWS)
def test_conjugates_share_memory(name: str) -> None:
    results = []
    for lib in (flow, torch):
        z = lib.tensor(COMPLEX_BASE)
        view = CONJUGATE_VIEWS[name](z)
        view.mul_(2)
        view[0] = 5
        after_view = z.tolist()
        z.add_(1j)
        results.append((after_view, z.tolist(), view.tolist(), view.is_conj()))
    assert results[0] == results[1]


@pytest.mark.parametrize("name", [name for name in CONJUGATE_VIEWS if "detached" not in name])
def test_gradients_follow_writes_to_conjugates(name: str) -> None:
    results = []
    for lib in (flow, torch):
        w = lib.tensor(COMPLEX_BASE, requires_grad=True)
        z = w * (1 - 2j)
        view = CONJUGATE_VIEWS[name](z)
        view.mul_(3)
        view.add_(w.real.sum())
        (z.abs() ** 2).sum().backward()
        results.append(w.grad.numpy())
    np.testing.assert_allclose(*results)


def test_writes_by_position_to_conjugates_that_show_elements_several_times() -> None:
    z = flow.tensor(COMPLEX_BASE)
    z[:, :1].conj().expand(2, 3).index_fill_(1, flow.tensor([1]), 1j)
    assert z[:, 0].tolist() == [-1j, -1j]


STRIDED_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "real": lambda lib, z: z.real.as_strided((2,), (2,)),
    "imag": lambda lib, z: z.imag.as_strided((2, 2), (2, 4)),
    "pairs": lambda lib, z: lib.view_as_real(z).as_strided((3,), (1,), 2),
    "complex numbers": lambda lib, z: lib.view_as_complex(
        lib.view_as_real(z).view(-1, 2)
    ).as_strided((2,), (2,)),
    "integers": lambda lib, z: lib.arange(4.0).view(lib.int32).as_strided((2,), (2,), 1),
    "bytes": lambda lib, z: lib.arange(4.0).view(lib.uint8).as_strided((2,), (4,), 2),
    "larger numbers": lambda lib, z: lib.arange(4.0).view(lib.float64).as_strided((1,), (1,), 1),
}


@pytest.mark.parametrize("name", STRIDED_VIEWS)
def test_strided_views_of_memory_seen_with_another_dtype(name: str) -> None:
    results = []
    for lib in (flow, torch):
        z = lib.tensor(COMPLEX_BASE)
        view = STRIDED_VIEWS[name](lib, z)
        first = view.tolist()
        view.fill_(7)
        results.append((first, view.tolist(), str(view.dtype).partition(".")[2], z.tolist()))
    assert results[0] == results[1]


def test_writes_by_position_to_conjugates() -> None:
    results = []
    for lib in (flow, torch):
        z = lib.tensor(COMPLEX_BASE)
        z.T.conj().put_(lib.tensor([3]), lib.tensor([2j], dtype=lib.complex128))
        z.conj()[lib.tensor([False, True])] = 3j
        results.append(z.tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("offset", [None, 1])
def test_gradients_of_a_strided_view_of_a_detached_part(offset: int | None) -> None:
    results = []
    for lib in (flow, torch):
        x = lib.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        part = x[2:5].detach().requires_grad_()
        view = part.as_strided((3,), (1,), offset)
        (view * view).sum().backward()
        x.mul_(2)
        results.append((view.tolist(), part.grad.tolist()))
    assert results[0] == results[1]


def test_a_strided_view_of_a_detached_part_cannot_be_written_to() -> None:
    part = flow.ones(6)[2:4].detach().requires_grad_()
    with pytest.raises(RuntimeError, match="detached part"):
        part.as_strided((2,), (1,)).mul_(2)
    with flow.no_grad():
        part.as_strided((2,), (1,)).mul_(2)
    assert part.tolist() == [2, 2]
