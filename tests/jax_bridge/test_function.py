"""Functions of tensors, and modules, as functions of JAX arrays: values and derivatives."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
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
    assert_forward_mode(pure, x, *[jnp.asarray(tensor.numpy()) for tensor in wanted[1:]])


def assert_forward_mode(pure, x, slope, second) -> None:
    """Forward mode, and both modes over each other, agree with reverse mode.

    The gradient of the sum of the squared slopes is twice the Hessian's product with the slope.
    """
    function = sines(pure)

    def along(x):
        return jax.jvp(function, (x,), (slope,))[1]

    def all_four(x):
        change = along(x)
        forward_over_reverse = jax.jvp(jax.grad(function), (x,), (slope,))[1]
        reverse_over_forward = jax.grad(along)(x)
        forward_over_forward = jax.jvp(along, (x,), (slope,))[1]
        return change, forward_over_reverse, reverse_over_forward, forward_over_forward

    wanted = (slope * slope).sum(), second / 2, second / 2, (slope * second).sum() / 2
    found = jax.jit(all_four)(x)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=5e-4, atol=5e-5)


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
    with pytest.raises(TypeError, match=r"a key of `jax.random` as `seed=`"):
        pure(jax.random.key(0))
    output = flow.jax.function(lambda x: SimpleNamespace(value=x))
    with pytest.raises(TypeError, match="returns tensors within set, which is no tree"):
        flow.jax.function(lambda x: {x * 2})(jnp.ones(2))
    with pytest.raises(TypeError, match="returns tensors within SimpleNamespace, which is no tree"):
        output(jnp.ones(3))
    layer = nn.Linear(3, 1)
    with pytest.warns(UserWarning, match="Give the tensor as an argument, or make its module the"):
        flow.jax.function(lambda x: layer(x))(jnp.ones(3))
    (size,) = jax.export.symbolic_shape("n")
    with pytest.raises(TypeError, match=r"sizes that are numbers, got an array \(n,\)"):
        jax.export.export(jax.jit(pure))(jax.ShapeDtypeStruct((size,), jnp.float32))


def test_what_a_module_is_called_with():
    layer = nn.Linear(2, 1)
    pure, (parameters, _) = flow.jax.function(layer), state_of(layer)
    x = jnp.ones((1, 2))
    for wrong in ((parameters, x), ([], {}, x), (parameters,)):
        with pytest.raises(TypeError, match="`Linear` as a function of JAX takes a dict of its"):
            pure(*wrong)
    with pytest.raises(RuntimeError, match=r"functional_call: missing names \['bias'\]"):
        pure({"weight": parameters["weight"]}, {}, x)
    with pytest.raises(RuntimeError, match=r"functional_call: unexpected names \['b'\]"):
        pure({**parameters, "b": x}, {}, x)
    with pytest.raises(TypeError, match="a function of tensors or a module, got int"):
        flow.jax.function(3)


def test_forward_mode_of_modules():
    """Jacobians, Hessians and products of `linearize`, beside JAX's own of the same network."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    parameters, _ = state_of(module)
    pure = flow.jax.function(module)
    x, v = array_of(3), jnp.array([1.0, -2.0, 0.5])

    def ours(x):
        return pure(parameters, {}, x)[0]

    def theirs(x):
        hidden = jnp.tanh(parameters["0.weight"] @ x + parameters["0.bias"])
        return parameters["2.weight"] @ hidden + parameters["2.bias"]

    def all_forms(function):
        value, change = jax.linearize(function, x)
        batch = jnp.stack([x, x + 1])
        return {
            "jvp": jax.jvp(function, (x,), (v,)),
            "linearize": (value, change(v), jax.linear_transpose(change, x)(value)),
            "jacfwd": jax.jacfwd(function)(x),
            "hessian": jax.hessian(function)(x),
            "third": jax.jacfwd(jax.hessian(function))(x),
            "rows": jax.vmap(jax.jacfwd(function))(batch),
            "saved": jax.grad(lambda x: jnp.sum(jax.jacfwd(jax.checkpoint(function))(x) ** 2))(x),
            "scanned": jax.jvp(
                lambda x: jax.lax.scan(
                    lambda c, row: (c + function(row * c[0]), None), x[:2], batch
                ),
                (x,),
                (v,),
            ),
        }

    found, wanted = jax.jit(lambda: all_forms(ours))(), all_forms(theirs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), found, wanted)
    assert_close(jax.jacfwd(ours)(x), flow.tensor(np.asarray(wanted["jacfwd"])))


def test_forward_mode_by_what_a_loss_depends_on():
    """Parameters alone change, or complex numbers, and random numbers are those of the seed."""
    layer = nn.Sequential(nn.Embedding(5, 3), nn.Linear(3, 2))
    parameters, _ = state_of(layer)
    pure = flow.jax.function(layer)
    ids = jnp.array([0, 3, 3])

    def loss(parameters):
        return (pure(parameters, {}, ids)[0] ** 2).sum()

    slopes = jax.grad(loss)(parameters)
    _, change = jax.jvp(loss, (parameters,), (slopes,))
    total = sum((slope**2).sum() for slope in slopes.values())
    np.testing.assert_allclose(change, total, rtol=1e-4)

    z, w = jnp.array([1 + 2j, 0.5 - 1j]), jnp.array([0.5 - 1j, 2j])
    for function in (lambda z: z * z * (2 + 1j), lambda z: z.conj() * z.real):
        ours = jax.jvp(flow.jax.function(function), (z,), (w,))
        for one, other in zip(ours, jax.jvp(function, (z,), (w,)), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)

    drop = flow.jax.function(lambda x: (F.dropout(x, 0.5), x.argmax()))
    (value, _), (change, _) = jax.jvp(lambda x: drop(x, seed=1), (jnp.ones(64),), (jnp.ones(64),))
    np.testing.assert_array_equal(value, change)


def test_derivatives_on_several_devices():
    """Within `shard_map`, where parameters are the same on all devices and rows are not."""
    mesh = Mesh(np.array(jax.devices()[:4]), ("rows",))
    layer = nn.Sequential(nn.Linear(4, 2), nn.Tanh())
    parameters, _ = state_of(layer)
    pure = flow.jax.function(layer)
    whole, rows = PartitionSpec(), PartitionSpec("rows")
    x = array_of(8, 4)
    directions = jax.tree.map(jnp.ones_like, parameters)

    def ours(parameters, x):
        return pure(parameters, {}, x)[0]

    def theirs(parameters, x):
        return jnp.tanh(x @ parameters["0.weight"].T + parameters["0.bias"])

    def all_forms(function, parameters, directions, x):
        def loss(parameters):
            return jax.lax.pmean((function(parameters, x) ** 2).mean(), "rows")

        def along(parameters):
            return jax.jvp(loss, (parameters,), (directions,))[1]

        def slope(parameters):
            products = jax.tree.map(jnp.vdot, jax.grad(loss)(parameters), directions)
            return sum(jax.tree.leaves(products))

        return {
            "gradient": jax.grad(loss)(parameters),
            "change": along(parameters),
            "forward over reverse": jax.jvp(jax.grad(loss), (parameters,), (directions,))[1],
            "reverse over forward": jax.grad(along)(parameters),
            "reverse over reverse": jax.grad(slope)(parameters),
        }

    specs = {"mesh": mesh, "in_specs": (whole, whole, rows), "out_specs": whole}
    on_mesh = jax.device_put((parameters, directions), NamedSharding(mesh, whole))
    found, wanted = (
        jax.jit(jax.shard_map(functools.partial(all_forms, function), **specs))(*on_mesh, x)
        for function in (ours, theirs)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6), found, wanted)


def test_values_are_checked_by_checkify():
    layer = nn.Embedding(4, 2)
    parameters, _ = state_of(layer)
    pure = flow.jax.function(layer, checks=True)
    inside, outside = jnp.array([0, 3]), jnp.array([0, 7])
    with pytest.raises(ValueError, match=r"in `Embedding` refuses the value 7"):
        pure(parameters, {}, outside)
    assert pure(parameters, {}, inside)[0].shape == (2, 2)

    def loss(parameters, ids):
        return (pure(parameters, {}, ids)[0] ** 2).sum()

    def slopes(parameters, ids):
        return jax.value_and_grad(loss)(parameters, ids)

    checked = jax.jit(checkify.checkify(slopes))
    error, (value, gradient) = checked(parameters, inside)
    refused, _ = checked(parameters, outside)
    with jax.enable_x64(True):
        refused_wide, _ = checked(parameters, outside)
    assert refused_wide.get() == refused.get()
    error.throw()
    np.testing.assert_allclose(gradient["weight"][3], 2 * parameters["weight"][3])
    assert value == pytest.approx(loss(parameters, inside), rel=1e-5)
    with pytest.raises(ValueError, match="refuses the value 7"):
        refused.throw()
    # Without it nothing is asked of the caller.
    jax.jit(flow.jax.function(layer))(parameters, {}, outside)


def test_derivatives_along_a_vector():
    """Products within the function are traced as what they are."""
    x, v = jnp.array([0.5, 1.0, -2.0]), jnp.array([1.0, 0.0, 2.0])
    ours = flow.jax.function(lambda x, v: flow.func.jvp(lambda x: (x.sin() * x).relu(), (x,), (v,)))
    expected = jax.jvp(expected_value, (x,), (v,))
    for value, wanted in zip(jax.jit(ours)(x, v), expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5)


def expected_value(x):
    return jax.nn.relu(jnp.sin(x) * x)


@pytest.mark.parametrize("name", ["median", "mode"])
def test_places_of_extremes_within_jit(name):
    """JAX lowers them after the trace, when it has no types of 64 bits."""
    x = array_of(3, 5)
    values, places = jax.jit(flow.jax.function(lambda x: tuple(getattr(x, name)(1))))(x)
    np.testing.assert_array_equal(
        values, np.take_along_axis(np.asarray(x), places[:, None], 1)[:, 0]
    )


def test_results_of_shared_arguments_are_shared():
    """Within `shard_map`: a result of its own, buffers, and gradients by a seed of each device."""
    mesh = Mesh(np.array(jax.devices()[:4]), ("rows",))
    whole, rows = PartitionSpec(), PartitionSpec("rows")
    specs = {"mesh": mesh, "in_specs": (whole, rows)}
    p, x = jnp.arange(3.0), jnp.ones((4, 3))
    pure = flow.jax.function(lambda p, x: (p * 2, x * p, flow.ones(2)))
    shared, rowwise, ones = jax.jit(jax.shard_map(pure, **specs, out_specs=(whole, rows, whole)))(
        p, x
    )
    assert shared.tolist() == [0.0, 2.0, 4.0]
    assert rowwise.tolist() == [[0.0, 1.0, 2.0]] * 4
    assert ones.tolist() == [1.0, 1.0]
    slope = jax.grad(lambda p, x: pure(p, x)[0].sum() + jax.lax.psum(pure(p, x)[1].sum(), "rows"))
    assert jax.shard_map(slope, **specs, out_specs=whole)(p, x).tolist() == [6.0] * 3

    norm = nn.BatchNorm1d(3).eval()
    parameters, buffers = (jax.tree.map(np.asarray, state) for state in state_of(norm))
    evaluate = functools.partial(flow.jax.function(norm), parameters)
    _, same = jax.shard_map(evaluate, **specs, out_specs=(rows, whole))(buffers, x)
    jax.tree.map(np.testing.assert_array_equal, same, buffers)

    drop = flow.jax.function(lambda x: F.dropout(x, 0.5))

    def dropped(x):
        return jax.lax.psum(drop(x, seed=jax.lax.axis_index("rows")), "rows")

    slopes = jax.shard_map(
        lambda x: (dropped(x), jax.grad(lambda x: dropped(x).sum())(x)),
        mesh=mesh,
        in_specs=whole,
        out_specs=whole,
    )
    values, gradient = slopes(jnp.ones(16))
    np.testing.assert_array_equal(values, gradient)


def test_no_tracer_is_left_behind():
    layer = nn.BatchNorm1d(2)
    pure, (parameters, buffers) = flow.jax.function(layer), state_of(layer)

    @jax.jit
    def step(parameters, x):
        def loss(parameters):
            return pure(parameters, buffers, x)[0].sum()

        return jax.value_and_grad(loss)(parameters), jax.jvp(loss, (parameters,), (parameters,))

    with jax.checking_leaks():
        step(parameters, jnp.ones((3, 2)))
