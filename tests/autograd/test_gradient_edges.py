"""`backward` and `grad` take the places in the graph where gradients arrive, as PyTorch does."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

Program = Callable[[Any], list[Any]]


def _recorded(f: Any) -> tuple[Any, Any, Any]:
    x = f.tensor([1.0, -2.0, 3.0], requires_grad=True)
    y = x * 2
    return x, y, (y * y * x.exp()).sum()


def gradient_at_an_edge(f: Any) -> list[Any]:
    _, y, z = _recorded(f)
    edge = f.autograd.graph.get_gradient_edge(y)
    del y
    return list(f.autograd.grad(z, edge))


def edges_beside_tensors(f: Any) -> list[Any]:
    x, y, z = _recorded(f)
    graph = f.autograd.graph
    return list(f.autograd.grad(z, [graph.get_gradient_edge(y), x, graph.get_gradient_edge(x)]))


def start_at_an_edge(f: Any) -> list[Any]:
    x, y, _ = _recorded(f)
    edge = f.autograd.graph.get_gradient_edge(y)
    return list(f.autograd.grad(edge, x, f.tensor([1.0, 0.5, 2.0])))


def backward_from_an_edge(f: Any) -> list[Any]:
    x, _, z = _recorded(f)
    f.autograd.backward(f.autograd.graph.get_gradient_edge(z))
    return [x.grad]


def backward_to_edges(f: Any) -> list[Any]:
    x, y, z = _recorded(f)
    graph = f.autograd.graph
    w = f.ones(3, requires_grad=True)
    z = z + (w * y).sum()
    z.backward(inputs=[graph.get_gradient_edge(x), graph.get_gradient_edge(y)])
    return [x.grad, w.grad is None, y.retains_grad]


def second_derivatives(f: Any) -> list[Any]:
    x, y, z = _recorded(f)
    (first,) = f.autograd.grad(z, f.autograd.graph.get_gradient_edge(y), create_graph=True)
    return [first, *f.autograd.grad(first.sum(), f.autograd.graph.get_gradient_edge(x))]


def next_functions(f: Any) -> list[Any]:
    _, y, z = _recorded(f)
    edge = f.autograd.graph.GradientEdge(*y.grad_fn.next_functions[0])
    return list(f.autograd.grad(z, edge))


def second_output(f: Any) -> list[Any]:
    a, b = f.arange(4.0).requires_grad_().split(2)
    edge = f.autograd.graph.get_gradient_edge(b)
    return [edge.output_nr, *f.autograd.grad((a * b).sum(), [edge])]


def batches(f: Any) -> list[Any]:
    _, y, z = _recorded(f)
    edge = f.autograd.graph.get_gradient_edge(y)
    return list(f.autograd.grad(z, edge, f.tensor([1.0, 2.0]), is_grads_batched=True))


def views(f: Any) -> list[Any]:
    x, _, _ = _recorded(f)
    y = x.clone()
    part = y[1:]
    part.mul_(3)
    graph = f.autograd.graph
    return list(f.autograd.grad((y * y).sum(), [graph.get_gradient_edge(y), x]))


def unused(f: Any) -> list[Any]:
    _, _, z = _recorded(f)
    edge = f.autograd.graph.get_gradient_edge(f.ones(2, requires_grad=True))
    return list(f.autograd.grad(z, edge, allow_unused=True))


def metadata(f: Any) -> list[Any]:
    _, y, z = _recorded(f)
    empty = dict(y.grad_fn.metadata)
    y.grad_fn.metadata["name"] = "y"
    return [empty == {}, y.grad_fn.metadata["name"] == "y", z.grad_fn.metadata == {}]


def order_of_nodes(f: Any) -> list[Any]:
    x, y, z = _recorded(f)
    leaf = f.autograd.graph.get_gradient_edge(x).node
    numbers = [node._sequence_nr() for node in (y.grad_fn, z.grad_fn, leaf)]
    return [numbers == sorted(numbers), numbers[2] == 2**64 - 1]


PROGRAMS = [
    *(gradient_at_an_edge, edges_beside_tensors, start_at_an_edge, backward_from_an_edge),
    *(backward_to_edges, second_derivatives, next_functions, second_output, batches, views),
    *(unused, metadata, order_of_nodes),
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_give_what_pytorch_gives(program: Program) -> None:
    for ours, theirs in zip(program(flow), program(torch), strict=True):
        if isinstance(theirs, torch.Tensor):
            np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)
        else:
            assert ours == theirs


def no_gradient(f: Any) -> None:
    f.autograd.graph.get_gradient_edge(f.ones(2))


def missing_gradient(f: Any) -> None:
    x, y, _ = _recorded(f)
    f.autograd.grad(f.autograd.graph.get_gradient_edge(y), x)


def gradient_of_another_shape(f: Any) -> None:
    x, y, _ = _recorded(f)
    f.autograd.grad(f.autograd.graph.get_gradient_edge(y), x, f.ones(4))


def unused_edge(f: Any) -> None:
    _, _, z = _recorded(f)
    f.autograd.grad(z, f.autograd.graph.get_gradient_edge(f.ones(2, requires_grad=True)))


@pytest.mark.parametrize(
    "program",
    [no_gradient, missing_gradient, gradient_of_another_shape, unused_edge],
    ids=lambda program: program.__name__,
)
def test_mistakes_are_the_same_errors(program: Callable[[Any], None]) -> None:
    for f in (torch, flow):
        with pytest.raises(RuntimeError):
            program(f)


def test_an_edge_of_no_output_is_an_error() -> None:
    _, y, z = _recorded(flow)
    edge = flow.autograd.graph.GradientEdge(y.grad_fn, 3)
    with pytest.raises(IndexError, match="1 outputs, there is no output 3"):
        flow.autograd.grad(z, edge)
    with pytest.raises(TypeError, match="must be a Node, got Tensor"):
        flow.autograd.grad(z, flow.autograd.graph.GradientEdge(y, 0))


def test_an_edge_keeps_the_graph_alive_and_not_the_tensor() -> None:
    x = flow.ones(3, requires_grad=True)
    y = x * 2
    tensor, edge = weakref.ref(y), flow.autograd.graph.get_gradient_edge(y)
    del y
    gc.collect()
    assert tensor() is None
    grad = flow.autograd.grad(edge, x, flow.ones(3))[0]
    assert grad is not None
    assert grad.tolist() == [2.0, 2.0, 2.0]
