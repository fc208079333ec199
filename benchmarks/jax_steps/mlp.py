"""The perceptron of `models/mlp.py` as a hand-written, donated `jax.jit` step."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np


def _parameters_and_data(batch, sizes):
    rng = np.random.default_rng(0)
    pairs = list(itertools.pairwise(sizes))
    weights = [jnp.asarray(rng.standard_normal((n, m)) * 0.05, jnp.float32) for m, n in pairs]
    biases = [jnp.zeros(n, jnp.float32) for _, n in pairs]
    images = jnp.asarray(rng.standard_normal((batch, sizes[0])), jnp.float32)
    return (weights, biases), images, jnp.asarray(rng.integers(0, sizes[-1], batch))


def _logits(parameters, x):
    weights, biases = parameters
    for index, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = x @ weight.T + bias
        if index < len(weights) - 1:
            x = jax.nn.relu(x)
    return x


def build_inference(batch=32, sizes=(784, 512, 512, 10)):
    """A function that returns the logits."""
    parameters, images, _ = _parameters_and_data(batch, sizes)
    compiled = jax.jit(_logits)
    return lambda: compiled(parameters, images)


def build(batch=32, sizes=(784, 512, 512, 10)):
    """A function that runs one step and returns the loss."""
    parameters, images, labels = _parameters_and_data(batch, sizes)

    def loss_of(parameters):
        logits = jax.nn.log_softmax(_logits(parameters, images))
        chosen = jnp.take_along_axis(logits, labels[:, None], axis=1)
        return -chosen.mean()

    def update(parameters, momentum):
        loss, gradients = jax.value_and_grad(loss_of)(parameters)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        parameters = jax.tree.map(lambda p, m: p - 0.01 * m, parameters, momentum)
        return loss, parameters, momentum

    compiled = jax.jit(update, donate_argnums=(0, 1))
    state = [parameters, jax.tree.map(jnp.zeros_like, parameters)]

    def step():
        loss, *state[:] = compiled(*state)
        return loss

    return step
