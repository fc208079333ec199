"""Overrides and traces get the arguments of PyTorch's functions in PyTorch's form."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import enabled, in_place_of

OURS = in_place_of("torch")
#: Calls of functions with a square matrix of three rows.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "einsum": lambda t, x: t.einsum("ij,kj->ik", x, x),
    "einsum of a list": lambda t, x: t.einsum("ij,kj->ik", [x, x]),
    "einsum of a tuple": lambda t, x: t.einsum("ij,kj->ik", (x, x)),
    "einsum of a list of one": lambda t, x: t.einsum("ij->i", [x]),
    "einsum of numbers": lambda t, x: t.einsum(x, [0, 1], x, [1, 27], [0, 27]),
    "einsum of numbers without a result": lambda t, x: t.einsum(x, [..., 0], x, [0, 1]),
    "broadcast_tensors": lambda t, x: t.broadcast_tensors(x, x),
    "meshgrid": lambda t, x: t.meshgrid(x[0], x[0]),
    "meshgrid of a list": lambda t, x: t.meshgrid([x[0], x[0]], indexing="xy"),
    "block_diag": lambda t, x: t.block_diag(x, x),
    "cartesian_prod": lambda t, x: t.cartesian_prod(x[0], x[0]),
    "chain_matmul": lambda t, x: t.chain_matmul(x, x),
    "atleast_1d": lambda t, x: t.atleast_1d(x, x),
    "atleast_2d of a list": lambda t, x: t.atleast_2d([x, x]),
    "atleast_3d of a tuple": lambda t, x: t.atleast_3d((x, x)),
    "tensordot": lambda t, x: t.tensordot(x, x, 1),
    "tensordot by name": lambda t, x: t.tensordot(x, x, dims=([0], [1])),
    "cdist": lambda t, x: t.cdist(x, x),
    "norm": lambda t, x: t.norm(x),
    "norm by place": lambda t, x: t.norm(x, 2, 0),
    "norm by name": lambda t, x: t.norm(input=x, dim=1, keepdim=True),
    "split": lambda t, x: t.split(x, 1),
    "split by name": lambda t, x: t.split(x, [1, 2], dim=1),
    "unique": lambda t, x: t.unique(x),
    "unique with places": lambda t, x: t.unique(x, return_inverse=True),
    "unique_consecutive": lambda t, x: t.unique_consecutive(x, return_counts=True),
    "pca_lowrank": lambda t, x: t.pca_lowrank(x, 1),
    "svd_lowrank": lambda t, x: t.svd_lowrank(x, niter=1, q=1),
    "lobpcg": lambda t, x: t.lobpcg(x @ x, 1),
    "unravel_index": lambda t, x: t.unravel_index(x[0].long(), (2, 2)),
    "embedding": lambda t, x: t.nn.functional.embedding(t.tensor([0, 2]), x),
    "embedding by place": lambda t, x: t.nn.functional.embedding(t.tensor([0, 2]), x, None, 2.0),
    "stack": lambda t, x: t.stack([x, x]),
    "multi_dot": lambda t, x: t.linalg.multi_dot([x, x]),
}


#: PyTorch refuses to trace the first, and names of constants differ in the others.
_REFUSED = {"einsum of numbers without a result", "embedding", "embedding by place"}


def _kinds(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_kinds(item) for item in value]
    is_tensor = isinstance(value, torch.Tensor | OURS.Tensor)
    return type(value).__name__ if is_tensor else repr(value)


def _asked(name: str, library: Any) -> list[Any]:
    log: list[Any] = []

    class Noting(library.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            kwargs = kwargs or {}
            log.append((func.__name__, _kinds(args), {k: _kinds(v) for k, v in kwargs.items()}))
            return super().__torch_function__(func, types, args, kwargs)

    CALLS[name](library, (library.eye(3) + 1).as_subclass(Noting))
    return [call for call in log if call[0] != "__get__"]


def _traced(name: str, library: Any) -> list[Any]:
    fx = importlib.import_module("torch.fx") if library is torch else in_place_of("torch.fx")
    graph = fx.symbolic_trace(lambda x: CALLS[name](library, x)).graph
    return [
        (node.target.__name__, str(node.args), {k: str(v) for k, v in node.kwargs.items()})
        for node in graph.nodes
        if node.op == "call_function"
    ]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:torch.chain_matmul", "ignore:torch.meshgrid")
def test_overrides_get_the_same_arguments(name: str) -> None:
    with enabled():
        ours = _asked(name, OURS)
    assert ours == _asked(name, torch)


@pytest.mark.parametrize("name", sorted(CALLS.keys() - _REFUSED))
def test_traces_have_the_same_arguments(name: str) -> None:
    with enabled():
        ours = _traced(name, OURS)
    assert ours == _traced(name, torch)
