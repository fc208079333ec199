"""Functions of arrays on meshes of explicit axes, which are what `jax.make_mesh` makes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import checkify
from jax.sharding import NamedSharding, PartitionSpec

import oneflow as flow
from oneflow import nn

WHOLE, ROWS = PartitionSpec(), PartitionSpec("rows")


@pytest.fixture
def mesh():
    return jax.make_mesh((4,), ("rows",), devices=jax.devices()[:4])


def of_model(model: nn.Module):
    """The model as a function, and its parameters and buffers, on no device."""
    state = dict(model.named_parameters()), dict(model.named_buffers())
    return flow.jax.function(model), *jax.tree.map(np.asarray, flow.jax.to_jax(state))


def assert_close(one, other) -> None:
    def compare(a, b):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-4)

    jax.tree.map(compare, one, other)


def test_derivatives_of_any_kind(mesh):
    pure, parameters, _ = of_model(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(8, 4)), jnp.float32)

    def outputs(parameters, x):
        return pure(parameters, {}, x)[0]

    def loss(parameters, x):
        return jnp.mean(outputs(parameters, x) ** 2)

    def change(parameters, x):
        return jax.jvp(lambda x: outputs(parameters, x), (x,), (x,))

    def slopes_of_rows(parameters, x):
        return jax.vmap(jax.grad(loss, argnums=1), in_axes=(None, 0))(parameters, x)

    whole, rows = (NamedSharding(mesh, spec) for spec in (WHOLE, ROWS))
    on_mesh = jax.device_put(parameters, whole), jax.device_put(x, rows)
    for function in (outputs, jax.grad(loss), change, slopes_of_rows):
        expected = function(parameters, x)
        assert_close(jax.jit(function)(*on_mesh), expected)
        with jax.set_mesh(mesh):
            assert_close(jax.jit(function)(*on_mesh), expected)
    assert jax.jit(outputs)(*on_mesh).sharding.spec == PartitionSpec("rows", None)


def test_what_jax_cannot_infer_is_said_by_the_user(mesh):
    layers = [nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3)]
    pure, parameters, buffers = of_model(nn.Sequential(*layers))
    x = jnp.asarray(np.random.default_rng(0).normal(size=(8, 1, 8, 8)), jnp.float32)
    whole, rows = (NamedSharding(mesh, spec) for spec in (WHOLE, ROWS))
    on_mesh = *jax.device_put((parameters, buffers), whole), jax.device_put(x, rows)

    def slopes_of(function):
        return jax.grad(lambda *arrays: function(*arrays)[0].sum())

    @flow.jax.function
    def product(x, y):
        return x @ y

    column = jax.device_put(jnp.ones((4, 8)), NamedSharding(mesh, PartitionSpec(None, "rows")))
    with pytest.raises(
        TypeError, match=r"`product` has arrays on a mesh of explicit axes.*auto_axes"
    ):
        jax.jit(product)(column, jax.device_put(jnp.ones((8, 2)), rows))
    said = jax.sharding.auto_axes(pure, out_sharding=(rows, whole))
    assert_close(jax.jit(slopes_of(said))(*on_mesh), slopes_of(pure)(parameters, buffers, x))


def test_values_are_checked_on_such_meshes(mesh):
    pure = flow.jax.function(lambda table, ids: table * table[ids].sum(), checks=True)
    rows, whole = (NamedSharding(mesh, spec) for spec in (ROWS, WHOLE))
    inside, outside = (jax.device_put(jnp.array([0, last]), whole) for last in (3, 9))
    table = jax.device_put(jnp.arange(8.0), whole)
    assert pure(table, inside)[1] == 3
    with pytest.raises(ValueError, match="refuses the value 9"):
        pure(table, outside)
    checked = jax.jit(checkify.checkify(pure))
    assert checked(table, inside)[0].get() is None
    assert "refuses the value 9" in checked(table, outside)[0].get()
    # The results may be what JAX cannot say the shardings of, not the checks.
    with pytest.raises(TypeError, match="auto_axes"):
        pure(jax.device_put(table, rows), inside)
