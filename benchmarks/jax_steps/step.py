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


def sgd_step(loss_of, parameters, rate=0.1):
    """Plain gradient descent of ``loss_of(parameters, *batch)``."""

    def update(parameters, *batch):
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *batch)
        return loss, jax.tree.map(lambda p, g: p - rate * g, parameters, gradients)

    return Step(jax.jit(update, donate_argnums=0), [jax.tree.map(jnp.asarray, parameters)])
