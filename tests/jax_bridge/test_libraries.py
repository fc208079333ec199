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


def labelled(optax):
    """Weights move, biases do not: by names."""
    return optax.multi_transform(
        {"moves": optax.sgd(0.1), "stays": optax.set_to_zero()},
        lambda parameters: {
            name: "moves" if name.endswith("weight") else "stays" for name in parameters
        },
    )


@pytest.mark.parametrize("as_names", [dict, list], ids=["dict", "pairs"])
def test_transformations_that_go_by_names(as_names):
    model = network()
    optimizer = flow.jax.Optimizer(as_names(model.named_parameters()), labelled(library("optax")))
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    for _ in range(2):
        model(flow.ones(1, 3)).sum().backward()
        optimizer.step()
    moved = [name for name, p in model.named_parameters() if not flow.equal(p, before[name])]
    assert set(moved) == {"2.weight", "0.weight"}


def test_keys_in_the_state_of_a_transformation(tmp_path):
    """Saved as words, they go on after loading."""
    optax = library("optax")
    noisy = optax.chain(optax.add_noise(0.1, 0.5, jax.random.key(3)), optax.sgd(1.0))

    def optimizer_of(parameter):
        return flow.jax.Optimizer([parameter], noisy)

    w = nn.Parameter(flow.zeros(2))
    optimizer, expected, state = optimizer_of(w), jnp.zeros(2), noisy.init([jnp.zeros(2)])
    for step in range(4):
        if step == 2:
            flow.save(optimizer.state_dict(), str(tmp_path / "state"))
            optimizer = optimizer_of(w)
            optimizer.load_state_dict(flow.load(str(tmp_path / "state")))
        w.grad = flow.ones(2)
        optimizer.step()
        updates, state = noisy.update([jnp.ones(2)], state, [expected])
        expected = expected + updates[0]
        np.testing.assert_allclose(w.detach().numpy(), expected, rtol=1e-5)


def test_what_an_optimizer_of_optax_refuses():
    optax = library("optax")
    w = nn.Parameter(flow.ones(2))
    for wrong in (1e-3, optax.sgd, None):
        with pytest.raises(TypeError, match="needs functions `init` and `update`"):
            flow.jax.Optimizer([w], wrong)
    with pytest.raises(ValueError, match=r"options \['lr'\] of a parameter group"):
        flow.jax.Optimizer([{"params": [w], "lr": 0.1}], optax.sgd(0.1))
    adam, momentum = (
        flow.jax.Optimizer([w], transformation)
        for transformation in (optax.adam(0.1), optax.sgd(0.1, momentum=0.9))
    )
    with pytest.raises(KeyError, match="StepLR sets `lr` of parameter groups"):
        flow.optim.lr_scheduler.StepLR(adam, 1)
    w.grad = flow.ones(2)
    adam.step()
    for _ in range(2):  # before its first step, and after it
        good = momentum.state_dict()
        with pytest.raises(ValueError, match="the state that was loaded"):
            momentum.load_state_dict(adam.state_dict())
        momentum.load_state_dict(good)
        momentum.step()
    assert w.tolist() == pytest.approx([0.61, 0.61], rel=1e-5)  # 1 - 0.1 of Adam, - 0.1, - 0.19
    momentum.state.clear()
    momentum.step()
    assert w.tolist() == pytest.approx([0.51, 0.51], rel=1e-5)


# Data types of parameters, and that of Adam's first moments.
STATES = {
    "float16 first": ((flow.float16, flow.float32), None),
    "float32 first": ((flow.float32, flow.float16), None),
    "float64": ((flow.float64,), None),
    "wider moments": ((flow.bfloat16,), jnp.float32),
    "narrower moments": ((flow.float32,), jnp.bfloat16),
}


@pytest.mark.parametrize("name", STATES)
def test_a_saved_state_goes_on_bit_for_bit(name, tmp_path):
    dtypes, moments = STATES[name]
    transformation = library("optax").adam(0.1, mu_dtype=moments)

    def bits(tensors):
        return [(tensor.dtype, tensor.detach().numpy().tobytes()) for tensor in tensors]

    def trained(has_break):
        parameters = [nn.Parameter(flow.ones(2, dtype=dtype)) for dtype in dtypes]
        for index, parameter in enumerate(parameters):
            parameter.grad = flow.ones_like(parameter) * (index + 1) / 3
        optimizer = flow.jax.Optimizer(parameters, transformation)
        for step in range(4):
            if step == 2 and has_break:
                before = bits(optimizer.state[parameters[0]].values())
                flow.save(optimizer.state_dict(), str(tmp_path / "state"))
                optimizer = flow.jax.Optimizer(parameters, transformation)
                optimizer.load_state_dict(flow.load(str(tmp_path / "state")))
                assert bits(optimizer.state[parameters[0]].values()) == before
            optimizer.step()
        return bits([*parameters, *optimizer.state[parameters[0]].values()])

    assert trained(has_break=True) == trained(has_break=False)


# Groups of names of parameters, and what is said of the last one.
GROUPS = {
    "one name in two groups": ([["w"], ["w"]], r"by names, got \['w'\]"),
    "one name in one group": ([["v"], ["w", "w"]], r"by names, got \['w'\]"),
    "unnamed after named": ([["w"], [None]], "give all or none"),
    "named after unnamed": ([[None], ["w"]], "give all or none"),
    "both in one group": ([["v"], ["w", None]], "give all or none"),
}


@pytest.mark.parametrize("name", GROUPS)
def test_names_of_parameters_in_groups(name):
    groups, message = GROUPS[name]

    def group_of(names):  # a tensor that is tied has two
        parameters = [(name, nn.Parameter(flow.ones(1))) for name in names]
        tied = [("tied", parameters[0][1])] if parameters[0][0] else []
        return {"params": [pair if pair[0] else pair[1] for pair in [*parameters, *tied]]}

    first, last = map(group_of, groups)
    optimizer = flow.jax.Optimizer([first], library("optax").sgd(0.1))
    with pytest.raises(ValueError, match=message):
        optimizer.add_param_group(last)
    optimizer.add_param_group(group_of(["x" if groups[0][0] else None]))
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, parameter in enumerate(parameters):
        parameter.grad = flow.tensor([index + 1.0])
    optimizer.step()
    assert [p.item() for p in parameters] == pytest.approx([0.9, 0.8])
    with pytest.raises(ValueError, match="before the first step"):
        optimizer.add_param_group(group_of(["y" if groups[0][0] else None]))
    optimizer.step()


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
