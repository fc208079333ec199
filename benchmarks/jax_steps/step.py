"""A compiled step that keeps its state."""

import jax
import jax.numpy as jnp


class Step:
    """A compiled step, called with a batch.

    Attributes:
        compiled: a jitted function of the state and the batch; it returns the loss and the state.
        state: what it takes first and gives anew, such as parameters and moments.
    """

    def __init__(self, compiled, state):
        self.compiled, self.state = compiled, state

    def __call__(self, *batch):
        loss, *self.state = self.compiled(*self.state, *batch)
        return loss


def adamw(p, first, second, count, gradients, rate=3e-4, decay=0.1):
    """One update of AdamW; Adam's without `decay`: new parameters, moments and count."""
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

    def updated(w, m, v):
        m, v = m / (1 - 0.9**count), v / (1 - 0.999**count)
        return w - rate * (m / (jnp.sqrt(v) + 1e-8) + decay * w)

    return jax.tree.map(updated, p, first, second), first, second, count


def sgd_step(loss_of, parameters, rate=0.1):
    """Plain gradient descent of ``loss_of(parameters, *batch)``."""

    def update(parameters, *batch):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *batch)
        return loss, jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)

    return Step(jax.jit(update, donate_argnums=0), [jax.tree.map(jnp.asarray, parameters)])
