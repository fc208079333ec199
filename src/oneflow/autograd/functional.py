"""Jacobians, Hessians and their products with vectors."""

from oneflow.functional.derivatives import (
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    jvp as jvp,
    vhp as vhp,
    vjp as vjp,
)
