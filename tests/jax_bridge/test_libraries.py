"""Libraries on JAX: optimizers of Optax, networks of Equinox and Flax, checkpoints of Orbax."""

from __future__ import annotations

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import oneflow as flow
from oneflow import nn


def library(name: str):
    """A library of the `test` extra, whose own warnings do not matter here."""
    pytest.importorskip(name.partition(".")[0], reason="pip install 'oneflow-xla[test]'")
    return importlib.import_module(name)


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))


@pytest.mark.parametrize("name", ["sgd", "adamw", "lion"])
def test_optax(name):
    """In eager code, and in a function of JAX, the same steps."""
    optax = library("optax")
    transformation = getattr(optax, name)(0.01)
    model = network()
    pure = flow.jax.function(model)
    parameters = flow.jax.to_jax(dict(model.named_parameters()))
    x = flow.randn(5, 3)

    @jax.jit
    def step(parameters, state, x):
        def loss(parameters):
            return (pure(parameters, {}, x)[0] ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(parameters)
        updates, state = transformation.update(gradients, state, parameters)
        return value, optax.apply_updates(parameters, updates), state

    optimizer = flow.jax.Optimizer(model.parameters(), transformation)
    state = transformation.init(parameters)
    for _ in range(4):
        value, parameters, state = step(parameters, state, flow.jax.to_jax(x))
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert value == pytest.approx(loss.item(), rel=1e-4)


def test_equinox():
    """Its layers have weights of the same form; the network is an operator, too."""
    equinox = library("equinox")
    theirs = equinox.nn.MLP(3, 2, 4, 1, key=jax.random.key(0))
    layers = {"0": theirs.layers[0], "2": theirs.layers[1]}
    arrays = {
        f"{name}.{part}": getattr(layer, part)
        for name, layer in layers.items()
        for part in ("weight", "bias")
    }
    ours = network()
    ours.load_state_dict(flow.jax.from_jax(arrays))
    x = flow.randn(5, 3)
    y = flow.jax.call(jax.vmap(theirs), x)
    np.testing.assert_allclose(y.numpy(), ours(x).detach().numpy(), rtol=1e-4, atol=1e-6)


def test_flax():
    """Kernels of its layers are transposed; from and to its state."""
    nnx = library("flax.nnx")
    theirs = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    ours = nn.Linear(3, 2)
    ours.load_state_dict(
        flow.jax.from_jax({"weight": theirs.kernel[...].T, "bias": theirs.bias[...]})
    )
    x = jax.random.normal(jax.random.key(1), (5, 3))
    wanted = theirs(x)
    parameters = flow.jax.to_jax(dict(ours.named_parameters()))
    found, _ = flow.jax.function(ours)(parameters, {}, x)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)
    other = nnx.Linear(3, 2, rngs=nnx.Rngs(1))
    nnx.update(other, {"kernel": parameters["weight"].T, "bias": parameters["bias"]})
    np.testing.assert_allclose(other(x), wanted, rtol=1e-4, atol=1e-6)


def test_orbax(tmp_path):
    checkpoint = library("orbax.checkpoint")
    model, other = network(), network()
    arrays = flow.jax.to_jax(dict(model.state_dict()))
    with checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "saved", arrays)
        checkpointer.wait_until_finished()
        restored = checkpointer.restore(tmp_path / "saved", jax.tree.map(jnp.zeros_like, arrays))
    other.load_state_dict(flow.jax.from_jax(restored))
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        assert flow.equal(one, two)


def test_safetensors(tmp_path):
    files = library("safetensors.flax")
    model, other = network(), network()
    files.save_file(flow.jax.to_jax(dict(model.state_dict())), tmp_path / "model.safetensors")
    restored = files.load_file(tmp_path / "model.safetensors")
    other.load_state_dict(flow.jax.from_jax(restored))
    assert flow.equal(model[0].weight, other[0].weight)
