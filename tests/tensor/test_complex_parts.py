"""Parts of complex tensors: PyTorch's properties, and OneFlow's methods of the same names."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow
from oneflow import nn
from tests.in_place import enabled, in_place_of

GLOBAL = {"placement": flow.placement("cpu", [0]), "sbp": flow.sbp.broadcast}
PARTS = pytest.mark.parametrize("part", ["real", "imag"])


@PARTS
@pytest.mark.parametrize("place", [{}, GLOBAL], ids=["local", "global"])
def test_either_spelling_is_a_view(part: str, place: dict[str, Any]) -> None:
    x = flow.tensor([1 + 2j, 3 - 4j], **place)
    getattr(x, part).mul_(10)
    getattr(x, part)().add_(1)
    expected = torch.tensor([1 + 2j, 3 - 4j])
    getattr(expected, part).mul_(10).add_(1)
    assert x.tolist() == expected.tolist()
    assert getattr(x, part).tolist() == getattr(x, part)().tolist()


@PARTS
def test_either_spelling_has_the_gradient_of_pytorch(part: str) -> None:
    x: Any = flow.tensor([1 + 2j, 3 - 4j], requires_grad=True)
    (getattr(x, part)() * getattr(x, part)).sum().backward()
    expected: Any = torch.tensor([1 + 2j, 3 - 4j], requires_grad=True)
    (getattr(expected, part) ** 2).sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


@PARTS
def test_either_spelling_in_a_graph(part: str) -> None:
    class Parts(nn.Graph):
        def build(self, x: Any) -> Any:
            return getattr(x, part)() + getattr(x, part), getattr(x, part)

    twice, once = Parts()(flow.tensor([1 + 2j]))
    assert type(once) is flow.Tensor
    assert twice.tolist() == (once * 2).tolist()


def _saved(tensor: flow.Tensor) -> flow.Tensor:
    file = io.BytesIO()
    flow.save(tensor, file)
    file.seek(0)
    return flow.load(file)


@pytest.mark.parametrize(
    "make",
    [
        lambda part: part(),
        lambda part: part * 1,
        lambda part: part.detach(),
        copy.copy,
        copy.deepcopy,
        lambda part: pickle.loads(pickle.dumps(part)),
        _saved,
    ],
)
def test_what_is_made_of_a_part_is_a_tensor(make: Callable[[flow.Tensor], flow.Tensor]) -> None:
    part = flow.tensor([1 + 2j]).imag
    assert isinstance(part, flow.Tensor)
    assert repr(part) == repr(make(part)) == "tensor([2.], dtype=oneflow.float32)"
    assert type(make(part)) is flow.Tensor


def test_a_real_tensor_is_its_real_part() -> None:
    x = flow.ones(2)
    assert x.real is x
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        _ = x.imag


def test_the_gradient_of_a_complex_number_begins_with_one() -> None:
    x: Any = flow.tensor(1 + 2j, requires_grad=True)
    (x * 2).backward()
    assert x.grad.item() == 2


def test_in_the_place_of_pytorch_both_are_as_there() -> None:
    framework = in_place_of("torch")
    with enabled():
        x = framework.tensor(1 + 2j, requires_grad=True)
        assert type(x.real) is type(x.imag) is framework.Tensor
        with pytest.raises(RuntimeError, match="only for real scalar outputs"):
            (x * 2).backward()
        (x * 2).backward(framework.tensor(1 + 0j))
        assert x.grad.item() == 2
