"""Functions of tensors, and modules, as functions of JAX arrays: values and derivatives."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F

LABELS = flow.tensor([2, 0, 3])
CONVOLUTION = nn.Conv2d(2, 3, 3).requires_grad_(False)

# Each with a shape for its argument, and gradients of this package that JAX's would not be.
FUNCTIONS = {
    "relu at 0": (lambda x: (x.relu() + F.relu6(x)) * x, (3,)),
    "maximum of equal ones": (lambda x: flow.maximum(x, x.detach()) * x, (3,)),
    "norm of zeros": (lambda x: (x * 0).norm() + x, (3,)),
    "softmax": (lambda x: x.softmax(-1) * x, (2, 4)),
    "cross entropy": (lambda x: F.cross_entropy(x, LABELS) * x.sum(), (3, 4)),
    "cumulative": (lambda x: x.cumsum(0) * x.cumprod(0), (4,)),
    "matrices": (lambda x: flow.linalg.inv(x @ x.T + 3 * flow.eye(3)), (3, 3)),
    "indices": (lambda x: x[flow.tensor([0, 2, 0])] ** 2 * x, (3,)),
    "in place": (lambda x: x.mul_(x + 1).exp_(), (3,)),
    "convolution": (lambda x: F.max_pool2d(CONVOLUTION(x).relu(), 2), (2, 2, 6, 6)),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (1, 2, 4, 4)),
    "a gradient inside": (lambda x: flow.func.grad(lambda y: (y**3 * x).sum())(x), (3,)),
}


def array_of(*shape: int) -> jax.Array:
    """Numbers with a 0 among them."""
    count = int(np.prod(shape))
    return jnp.asarray(((np.arange(count) * 7 % 11 - 4) / 5).reshape(shape), jnp.float32)


def expected(function, x: jax.Array) -> tuple[flow.Tensor, flow.Tensor, flow.Tensor]:
    """The value, the gradient of the sum of its sines, and that of the sum of its squares."""
    leaf = flow.tensor(np.asarray(x), requires_grad=True)
    value = function(leaf.clone())
    (slope,) = flow.autograd.grad(value.sin().sum(), leaf, create_graph=True)
    (second,) = flow.autograd.grad((slope * slope).sum(), leaf)
    return value.detach(), slope.detach(), second


def sines(function):
    return lambda x: jnp.sin(function(x)).sum()


def squares(function):
    return lambda x: (jax.grad(sines(function))(x) ** 2).sum()


def assert_close(found, wanted) -> None:
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(one), other.numpy(), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name, sample):
    sample.take_turns(FUNCTIONS, name, 5)
    function, shape = FUNCTIONS[name]
    x = array_of(*shape)
    pure = flow.jax.function(function)
    wanted = expected(function, x)

    def all_three(x):
        return pure(x), jax.grad(sines(pure))(x), jax.grad(squares(pure))(x)

    assert_close(jax.jit(all_three)(x), wanted)
    two = jax.jit(jax.vmap(all_three))(jnp.stack([x, x]))
    assert_close(jax.tree.map(lambda array: array[1], two), wanted)


def test_without_jit():
    pure = flow.jax.function(lambda x, scale: {"y": [x * scale], "text": "constant"})
    result = pure(jnp.arange(3.0), scale=2)
    assert result["text"] == "constant"
    assert result["y"][0].tolist() == [0, 2, 4]
    assert jax.grad(lambda x: pure(x, 3)["y"][0].sum())(jnp.arange(3.0)).tolist() == [3, 3, 3]


def test_derivatives_of_complex_numbers_are_those_of_jax():
    z, weight = jnp.array([1 + 2j, 0.5 - 1j]), jnp.array([0.5 - 1j, 2j])
    _, ours = jax.vjp(flow.jax.function(lambda z: z * z * (2 + 1j)), z)
    _, theirs = jax.vjp(lambda z: z * z * (2 + 1j), z)
    np.testing.assert_allclose(ours(weight)[0], theirs(weight)[0], rtol=1e-5)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


def state_of(module: nn.Module) -> tuple[dict, dict]:
    return flow.jax.to_jax((dict(module.named_parameters()), dict(module.named_buffers())))


def test_a_module_takes_its_parameters_and_returns_its_buffers():
    module = network()
    parameters, buffers = state_of(module)
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    x = array_of(5, 3)
    pure = flow.jax.function(module)

    def loss(parameters, buffers, x):
        y, buffers = pure(parameters, buffers, x)
        return (y * y).mean(), buffers

    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    (value, new_buffers), gradients = step(parameters, buffers, x)
    assert all(flow.equal(tensor, before[name]) for name, tensor in module.state_dict().items())

    wanted = module(flow.jax.from_jax(x)).square().mean()
    wanted.backward()
    assert value == pytest.approx(wanted.item(), rel=1e-5)
    assert_close(gradients, {name: p.grad for name, p in module.named_parameters()})
    for name, buffer in module.named_buffers():
        np.testing.assert_allclose(new_buffers[name], buffer.numpy(), rtol=1e-5)
    with pytest.raises(RuntimeError, match="bias"):
        pure(
            {name: parameter for name, parameter in parameters.items() if name != "0.bias"},
            buffers,
            x,
        )


def test_random_numbers_come_from_the_seed():
    pure = flow.jax.function(lambda x: F.dropout(x, 0.5))
    x = jnp.ones((64,))
    with pytest.raises(RuntimeError, match="give `seed=`"):
        pure(x)
    generator = flow.default_generator.get_state()
    first, again, other = (pure(x, seed=seed) for seed in (1, 1, jax.random.key(2)))
    assert flow.equal(flow.default_generator.get_state(), generator)
    assert (first == again).all()
    assert (first != other).any()
    # The backward pass sees the zeros of the forward pass, and each of a batch has its own.
    gradient = jax.jit(jax.grad(lambda x: pure(x, seed=1).sum()))(x)
    np.testing.assert_array_equal(gradient, first)
    keys = jax.random.split(jax.random.key(0), 3)
    masks = jax.jit(jax.vmap(lambda key: pure(x, seed=key)))(keys)
    assert len({mask.tobytes() for mask in np.asarray(masks)}) == 3
    np.testing.assert_array_equal(masks[1], pure(x, seed=keys[1]))


def test_types_are_those_of_the_setting_of_jax():
    pure = flow.jax.function(lambda x: (x.argmax(), x.double() / 3))
    for call in (pure, jax.jit(pure)):
        assert [str(tensor.dtype) for tensor in call(jnp.arange(3.0))] == ["int32", "float32"]
        with jax.enable_x64(True):
            assert [str(tensor.dtype) for tensor in call(jnp.arange(3.0))] == ["int64", "float64"]
    assert jnp.ones(3).dtype == "float32"


def test_transformations_of_jax():
    layer = nn.Sequential(nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 10))
    parameters, _ = state_of(layer)
    pure = flow.jax.function(layer)
    ids = jnp.array([[1, 2, 3], [4, 5, 6]])

    def loss(parameters, ids):
        return (pure(parameters, {}, ids)[0] ** 2).mean()

    wanted = jax.tree.map(flow.jax.from_jax, jax.grad(loss)(parameters, ids))
    assert_close(jax.grad(jax.jit(loss))(parameters, ids), wanted)
    assert_close(jax.jit(jax.grad(jax.checkpoint(loss)))(parameters, ids), wanted)
    rows = jax.vmap(jax.jit(jax.grad(loss)), in_axes=(None, 0))(parameters, ids)
    assert_close(jax.tree.map(lambda array: array.mean(0), rows), wanted)
    total, _ = jax.lax.scan(lambda sum, row: (sum + loss(parameters, row), None), 0.0, ids)
    assert total / 2 == pytest.approx(loss(parameters, ids), rel=1e-5)


def test_several_devices():
    """Divided by the compiler, and by `shard_map` with gradients inside and outside."""
    mesh = Mesh(np.array(jax.devices()[:4]), ("rows",))
    layer = nn.Linear(4, 2)
    alone, _ = state_of(layer)
    whole, rows = PartitionSpec(), PartitionSpec("rows")
    parameters = jax.device_put(alone, NamedSharding(mesh, whole))
    x = array_of(8, 4)
    pure = flow.jax.function(layer)

    def loss(parameters, x):
        return (pure(parameters, {}, x)[0] ** 2).mean()

    def mean_loss(parameters, x):
        return jax.lax.pmean(loss(parameters, x), "rows")

    wanted = jax.tree.map(flow.jax.from_jax, jax.grad(loss)(alone, x))
    on_mesh = jax.device_put(x, NamedSharding(mesh, rows))
    assert_close(jax.jit(jax.grad(loss))(parameters, on_mesh), wanted)
    specs = {"mesh": mesh, "in_specs": (whole, rows), "out_specs": whole}
    outside = jax.grad(jax.shard_map(mean_loss, **specs))
    inside = jax.shard_map(jax.grad(mean_loss), **specs)
    assert_close(jax.jit(outside)(parameters, on_mesh), wanted)
    assert_close(jax.jit(inside)(parameters, on_mesh), wanted)


def test_what_is_refused():
    pure = flow.jax.function(lambda x: x.sum().item())
    with pytest.raises(RuntimeError, match="value was read"):
        jax.jit(pure)(jnp.ones(3))
    with pytest.raises(TypeError, match=r"got a tensor; give arrays, `oneflow.jax.to_jax`"):
        pure(flow.ones(3))
    with pytest.raises(TypeError, match=r"oneflow.jax.function"):
        jax.jit(flow.relu)(jnp.ones(3))
    with pytest.raises(TypeError, match="as a JAX value"):
        jax.nn.relu(flow.ones(3))


def test_derivatives_along_a_vector():
    """`jax.jvp` refuses what has a backward rule; the package's own products are traced."""
    x, v = jnp.array([0.5, 1.0, -2.0]), jnp.array([1.0, 0.0, 2.0])
    ours = flow.jax.function(lambda x, v: flow.func.jvp(lambda x: (x.sin() * x).relu(), (x,), (v,)))
    expected = jax.jvp(expected_value, (x,), (v,))
    for value, wanted in zip(jax.jit(ours)(x, v), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
    columns = jax.vmap(lambda basis: ours(x, basis)[1])(jnp.eye(3))
    np.testing.assert_allclose(columns.T, jax.jacfwd(expected_value)(x), rtol=1e-5)


def expected_value(x):
    return jax.nn.relu(jnp.sin(x) * x)
