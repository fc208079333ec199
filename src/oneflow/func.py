"""Functions of functions: derivatives, maps over a batch, calls with given parameters."""

from oneflow.nn.utils.stateless import (
    functional_call as functional_call,
    stack_module_state as stack_module_state,
)
from oneflow.nn.utils.transforms import (
    grad as grad,
    grad_and_value as grad_and_value,
    hessian as hessian,
    jacfwd as jacfwd,
    jacrev as jacrev,
    jvp as jvp,
    linearize as linearize,
    vjp as vjp,
)
from oneflow.nn.utils.vmap import vmap as vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
