"""JAX functions as operators: values, gradients, graphs, cold and hot."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas

import oneflow as flow
from oneflow import nn


def scaled(x, by=2.0):
    return {"scaled": x * by, "largest": jnp.argmax(x), "ones": jnp.ones(3)}


def doubled(x):
    """A kernel of Pallas, interpreted, with a gradient of its own."""

    def kernel(given, result):
        result[...] = given[...] * 2

    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pallas.pallas_call(kernel, out_shape=shape, interpret=True)(x)


differentiable_doubled = jax.custom_vjp(doubled)
differentiable_doubled.defvjp(
    lambda x: (differentiable_doubled(x), None), lambda _, g: (differentiable_doubled(g),)
)


@jax.jit
def looped(x):
    return jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(y) * x, x)


FUNCTIONS = {
    "softplus": (jax.nn.softplus, lambda x: flow.nn.functional.softplus(x)),
    "jitted loop": (looped, lambda x: ((x.sin() * x).sin() * x).sin() * x),
    "pallas": (differentiable_doubled, lambda x: x * 2),
    "array closed over": (lambda x: x * jnp.arange(3.0) ** 2, lambda x: x * flow.arange(3) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_cold_and_hot(name):
    theirs, ours = FUNCTIONS[name]
    for step in range(5):
        found = []
        for function in (lambda x: flow.jax.call(theirs, x), ours):
            x = flow.tensor([0.5, -1.0, 2.0 + step], requires_grad=True)
            y = function(x)
            (slope,) = flow.autograd.grad(y.sin().sum(), x, create_graph=True)
            (second,) = flow.autograd.grad(slope.square().sum(), x)
            found.append((y, slope, second))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), rtol=1e-4, atol=1e-5)


def test_it_is_one_operator_of_the_program():
    """So a hot program is compiled as a whole, with what JAX traced in it."""
    program = flow.eager.record(lambda x: flow.jax.call(jax.nn.relu, x + 1.0) * 3.0, flow.ones(2))
    names = [instruction.operation.primitive.name for instruction in program.instructions]
    assert names == ["add", "jax_relu", "mul"]


def test_trees_constants_and_types():
    result = flow.jax.call(scaled, flow.tensor([1.0, 3.0]), by=3.0)
    assert result["scaled"].tolist() == [3, 9]
    assert result["largest"].dtype is flow.int32
    assert result["ones"].dtype is flow.float32
    wide = flow.tensor([1.0], dtype=flow.float64, requires_grad=True)
    y = flow.jax.call(lambda x: x * 2, wide)
    assert y.dtype is flow.float32
    y.backward()
    assert wide.grad.dtype is flow.float64
    with jax.enable_x64(True):
        assert flow.jax.call(scaled, wide)["largest"].dtype is flow.int64
        assert flow.jax.call(lambda x: x * 2, wide).dtype is flow.float64
    assert flow.jax.call(jnp.add, flow.ones(2), jnp.ones(2)).tolist() == [2, 2]


def test_in_a_graph_it_trains_as_in_eager_code():
    class Training(nn.Graph):
        def __init__(self, layer):
            super().__init__()
            self.layer = layer
            self.add_optimizer(flow.optim.SGD(layer.parameters(), lr=0.1))

        def build(self, x):
            loss = loss_of(self.layer, x)
            loss.backward()
            return loss

    def loss_of(layer, x):
        return flow.jax.call(jax.nn.gelu, layer(x)).square().sum()

    x, layer, twin = flow.randn(3, 2), nn.Linear(2, 2), nn.Linear(2, 2)
    twin.load_state_dict(layer.state_dict())
    graph, optimizer = Training(layer), flow.optim.SGD(twin.parameters(), lr=0.1)
    for _ in range(3):
        loss = loss_of(twin, x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert graph(x).item() == pytest.approx(loss.item(), rel=1e-4)


def test_global_tensors_are_given_whole():
    placement = flow.placement("cpu", [0, 1])
    x = flow.arange(8.0, placement=placement, sbp=flow.sbp.split(0))
    y = flow.jax.call(jnp.cumsum, x)
    assert y.is_global
    assert y.numpy().tolist() == np.arange(8.0).cumsum().tolist()


def test_what_is_refused():
    with pytest.raises(TypeError, match="needs a tensor"):
        flow.jax.call(jnp.sin, 1.0)
    with pytest.raises(RuntimeError, match="`jax_matmul` cannot take"):
        flow.jax.call(jnp.matmul, flow.ones(2), flow.ones(3))


class Momentum(NamedTuple):
    """A transformation of gradients as Optax has them."""

    rate: float

    def init(self, parameters: Any) -> Any:
        return {"trace": jax.tree.map(jnp.zeros_like, parameters), "count": jnp.zeros((), int)}

    def update(self, gradients: Any, state: Any, parameters: Any) -> Any:
        trace = jax.tree.map(lambda t, g: 0.9 * t + g, state["trace"], gradients)
        updates = jax.tree.map(lambda array: -self.rate * array, trace)
        return updates, {"trace": trace, "count": state["count"] + 1}


def trained(layer: nn.Module, optimizer: flow.optim.Optimizer, steps: int) -> list[float]:
    x, losses = flow.ones(4, 3), []
    for _ in range(steps):
        loss = layer(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_an_optimizer_made_of_a_transformation():
    layer, twin = nn.Linear(3, 2), nn.Linear(3, 2)
    twin.load_state_dict(layer.state_dict())
    first = flow.jax.Optimizer(layer.parameters(), Momentum(0.1))
    wanted = trained(twin, flow.optim.SGD(twin.parameters(), lr=0.1, momentum=0.9), 6)
    assert trained(layer, first, 3) == pytest.approx(wanted[:3], rel=1e-4)
    # Its state is saved and loaded as that of any optimizer.
    second = flow.jax.Optimizer(layer.parameters(), Momentum(0.1))
    second.load_state_dict(first.state_dict())
    assert trained(layer, second, 3) == pytest.approx(wanted[3:], rel=1e-4)


@pytest.mark.parametrize("dtype", [flow.float32, flow.bfloat16])
def test_sizes_are_numbers_of_python_for_types_and_make_no_warning(dtype):
    """A trace with symbolic sizes, too: the second shape and those after it."""

    def scaled_by_sizes(x):
        return x * (x.shape[-1] / 3), x / x.shape[0], jnp.asarray(x.shape[0])

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for rows in (2, 3, 5):
            results = flow.jax.call(scaled_by_sizes, flow.ones(rows, 4, dtype=dtype))
            assert [result.dtype for result in results] == [dtype, dtype, flow.int32]
            assert results[2].item() == rows
    assert not warned


def test_arrays_of_numpy_and_keys():
    x = flow.ones(3)
    y = flow.jax.call(jnp.multiply, x, np.arange(3, dtype=np.float32))
    assert y.tolist() == [0, 1, 2]

    def noisy(x, key):
        key, own = jax.random.split(key)
        return x + jax.random.normal(own, x.shape), key

    for step in range(3):
        key = jax.random.key(step)
        noise, words = flow.jax.call(noisy, x, key)
        expected, next_key = noisy(jnp.ones(3), key)
        np.testing.assert_allclose(noise.numpy(), expected, rtol=1e-6)
        assert words.tolist() == jax.random.key_data(next_key).tolist()
    assert flow.jax.from_jax({"key": key})["key"] is key


@pytest.mark.parametrize("dtype", [flow.int64, flow.uint64])
def test_integers_that_types_of_32_bits_do_not_have(dtype):
    def next_number(x):
        return x + 1

    fits, beyond = (flow.tensor([0, number], dtype=dtype) for number in (7, 2**40))
    for _ in range(4):
        assert flow.jax.call(next_number, fits).tolist() == [1, 8]
        with pytest.raises(OverflowError, match=str(2**40)):
            flow.jax.call(next_number, beyond).tolist()
        array = np.array([2**40], dtype=dtype.numpy)
        with pytest.raises(OverflowError, match=str(2**40)):
            flow.jax.call(jnp.add, fits, array).tolist()
        assert flow.jax.call(jnp.add, fits, array // 2**38).tolist() == [4, 11]
        with pytest.raises(OverflowError, match=str(2**40)):
            flow.jax.call(jnp.add, fits, 2**40)
    with jax.enable_x64(True):
        assert flow.jax.call(next_number, beyond).tolist() == [1, 2**40 + 1]
        assert flow.jax.call(jnp.add, fits, array).tolist() == [2**40, 2**40 + 7]


def test_what_is_no_function():
    with pytest.raises(TypeError, match="takes a function of JAX, got int"):
        flow.jax.call(3, flow.ones(1))


@pytest.mark.parametrize("array", [np.array("text"), np.array([None])], ids=["text", "object"])
def test_arrays_of_no_numbers(array):
    with pytest.raises(TypeError, match="`call` takes tensors, arrays of numbers and hashable"):
        flow.jax.call(jnp.add, flow.ones(1), array)
