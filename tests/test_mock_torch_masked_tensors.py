"""``torch.masked.MaskedTensor``: values, masks, gradients and texts are PyTorch's."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.masked

from tests.in_place import dispatch_enabled, in_place_of

OURS = in_place_of("torch")
_MASKED = {torch: torch.masked, OURS: in_place_of("torch.masked")}


@pytest.fixture(scope="module", autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


PROGRAMS: dict[str, Any] = {
    "add": lambda t, a, b: a + b,
    "a number": lambda t, a, b: 2 * a - 1,
    "a tensor": lambda t, a, b: a * t.ones(2, 3),
    "div": lambda t, a, b: a / (b + 1),
    "exp": lambda t, a, b: a.exp(),
    "sqrt": lambda t, a, b: t.sqrt(a + 1),
    "pow": lambda t, a, b: a**2,
    "tanh": lambda t, a, b: a.tanh(),
    "sigmoid": lambda t, a, b: t.sigmoid(a),
    "clamp": lambda t, a, b: a.clamp(1, 3),
    "compare": lambda t, a, b: a > 1,
    "sum": lambda t, a, b: a.sum(),
    "sum of a dimension": lambda t, a, b: t.sum(a, 1),
    "mean": lambda t, a, b: a.mean(0),
    "amax": lambda t, a, b: a.amax(1),
    "amin": lambda t, a, b: a.amin(0, keepdim=True),
    "argmax": lambda t, a, b: a.argmax(1),
    "prod": lambda t, a, b: a.prod(),
    "std": lambda t, a, b: a.std(),
    "var": lambda t, a, b: a.var(1),
    "all": lambda t, a, b: (a > 1).all(),
    "softmax": lambda t, a, b: a.softmax(1),
    "transpose": lambda t, a, b: a.transpose(0, 1),
    "row": lambda t, a, b: a[1],
    "slice": lambda t, a, b: a[:, 1:],
    "reshape": lambda t, a, b: a.reshape(3, 2),
    "unsqueeze": lambda t, a, b: a.unsqueeze(0),
    "cat": lambda t, a, b: t.cat([a, b]),
    "stack": lambda t, a, b: t.stack([a, b], 1),
    "where": lambda t, a, b: t.where(t.tensor([True, False, True]), a, b),
    "clone": lambda t, a, b: a.clone() * 3,
    "detach": lambda t, a, b: a.detach(),
    "double": lambda t, a, b: a.double(),
    "ones_like": lambda t, a, b: t.ones_like(a),
    "get_data": lambda t, a, b: a.get_data(),
    "to_tensor": lambda t, a, b: a.to_tensor(-1),
    "in place": lambda t, a, b: (a * 1).exp_(),
    "a row of numbers": lambda t, a, b: a.sum(1).softmax(0),
    "nothing": lambda t, a, b: a[:, 1:2].amax(1)[:1].sum(),
}


def _parts(x: Any) -> list[Any]:
    if x is None or not hasattr(x, "get_mask"):
        return [None if x is None else x.detach().numpy()]
    mask = x.get_mask().numpy()
    return [np.where(mask, x.get_data().detach().numpy(), 0), mask]


def _outcome(library: Any, name: str) -> Any:
    masked = _MASKED[library]
    mask = library.tensor([[True, False, True], [True, True, False]])
    first = library.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    second = library.tensor([[1.0, 2.0, 0.5], [3.0, 1.0, 2.0]])
    a, b = (masked.masked_tensor(x, mask, requires_grad=True) for x in (first, second))
    result = PROGRAMS[name](library, a, b)
    outcome = [*_parts(result), str(result.dtype).rpartition(".")[2]]
    if hasattr(result, "get_mask"):
        outcome.append(repr(result))
    if result.requires_grad:
        total = result.get_data() if hasattr(result, "get_mask") else result
        total = total.masked_fill(~result.get_mask(), 0) if total is not result else total
        try:
            total.sum().backward()
        except TypeError:  # PyTorch lacks the operators of some backward passes
            assert library is torch
            return outcome, False
        outcome += [*_parts(a.grad), *_parts(b.grad)]
    return outcome, True


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_those_of_pytorch(name: str) -> None:
    (expected, is_complete), (outcome, _) = _outcome(torch, name), _outcome(OURS, name)
    assert len(outcome) == len(expected) or not is_complete
    for mine, its in zip(outcome, expected, strict=is_complete):
        if isinstance(its, np.ndarray):
            assert mine.dtype == its.dtype
            np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-5)
        else:
            assert mine == its


def _refusal(program: Any, library: Any) -> Any:
    masked = _MASKED[library]
    x, mask = library.ones(2, 2), library.tensor([[True, False], [True, True]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program(library, masked, x, mask)
        except (RuntimeError, TypeError, ValueError) as error:
            return type(error)
    return None


REFUSALS: dict[str, Any] = {
    "other masks": lambda t, m, x, k: m.masked_tensor(x, k) + m.masked_tensor(x, ~k),
    "numbers as a mask": lambda t, m, x, k: m.masked_tensor(x, k.int()),
    "another shape": lambda t, m, x, k: m.masked_tensor(x, k[0]),
    "a product": lambda t, m, x, k: t.mm(m.masked_tensor(x, k), m.masked_tensor(x, k)),
    "relu": lambda t, m, x, k: t.nn.functional.relu(m.masked_tensor(x, k)),
    "numpy": lambda t, m, x, k: m.masked_tensor(x, k).numpy(),
    "a masked mask": lambda t, m, x, k: m.masked_tensor(m.masked_tensor(x, k), k),
    "a leaf": lambda t, m, x, k: m.masked_tensor(x, k, requires_grad=True).exp_(),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_are_those_of_pytorch(name: str) -> None:
    outcome = _refusal(REFUSALS[name], OURS)
    assert outcome is not None
    assert outcome == _refusal(REFUSALS[name], torch)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_gradients_go_on_to_data() -> None:
    grads = []
    for library, masked in _MASKED.items():
        x = library.tensor([1.0, 2.0, 4.0], requires_grad=True)
        masked.as_masked_tensor(x * 2, x > 1).exp().sum().get_data().backward()
        grad = x.grad.to_tensor(0) if masked.is_masked_tensor(x.grad) else x.grad
        grads.append(grad.numpy())
        assert masked.is_masked_tensor(masked.as_masked_tensor(x, x > 1))
        assert not masked.is_masked_tensor(x)
    np.testing.assert_allclose(*grads, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta state")
@pytest.mark.parametrize("library", [torch, OURS])
def test_layouts_must_be_the_same(library: Any) -> None:
    masked = _MASKED[library]
    data, mask = library.eye(2), library.eye(2) > 0
    with pytest.raises(TypeError, match="layout"):
        masked.masked_tensor(data.to_sparse(), mask)
    with pytest.raises(TypeError, match="layout"):
        masked.masked_tensor(data.to_sparse_csc(), mask.to_sparse_csc())
    with pytest.raises(ValueError, match="same indices"):
        masked.masked_tensor(data.flip(0).to_sparse(), mask.to_sparse())
    with pytest.warns(UserWarning, match="requires_grad"):
        masked.masked_tensor(data.requires_grad_(), mask)


def test_masked_tensors_are_made_in_a_program_that_has_used_no_subclass() -> None:
    program = (
        "import oneflow.mock_torch; oneflow.mock_torch.enable(); import torch\n"
        "from torch.masked import masked_tensor\n"
        "from torch.masked.maskedtensor.core import _masks_match, _tensors_match\n"
        "x = masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))\n"
        "assert _masks_match(x, x) and _tensors_match(x.get_data(), x.get_data())\n"
        "assert not _tensors_match(torch.ones(2), torch.zeros(2))\n"
        "assert x.sum().get_data().item() == 1.0\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
