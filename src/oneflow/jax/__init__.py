"""Between this package and other code on JAX: functions, arrays, shardings and optimizers."""

from oneflow.jax.arrays import from_jax as from_jax, to_jax as to_jax
from oneflow.jax.operator import call as call
from oneflow.jax.optimizer import Optimizer as Optimizer
from oneflow.jax.pure import function as function

__all__ = ["Optimizer", "call", "from_jax", "function", "to_jax"]
