"""Functions of `nn.init` as the operators that PyTorch's are composed of."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from oneflow.mock_torch.python_dispatch.decompositions import DECOMPOSITIONS, composition
from oneflow.nn import init
from oneflow.tensor.tensor import Tensor

#: The functions that fill a tensor; nothing of them is recorded, so that leaves stay leaves.
INITIALIZERS = frozenset(
    function
    for name, function in vars(init).items()
    if isinstance(function, FunctionType) and name.endswith("_")
)


def _run_body(*args: Any, **options: Any) -> Any:
    return NotImplemented


for _name in ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"):
    DECOMPOSITIONS[f"nn.init.{_name}"] = _run_body


@composition("nn.init.uniform_")
def _uniform(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    return tensor.uniform_(a, b, generator=generator)


@composition("nn.init.normal_")
def _normal(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    return tensor.normal_(mean, std, generator=generator)


@composition("nn.init.constant_")
def _constant(tensor: Tensor, val: float) -> Tensor:
    return tensor.fill_(val)


@composition("nn.init.ones_")
def _ones(tensor: Tensor) -> Tensor:
    return tensor.fill_(1.0)


@composition("nn.init.zeros_")
def _zeros(tensor: Tensor) -> Tensor:
    return tensor.zero_()
