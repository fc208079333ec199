"""Jacobians, Hessians and their products with vectors."""

from oneflow.functional.derivatives import hessian as hessian
from oneflow.functional.derivatives import hvp as hvp
from oneflow.functional.derivatives import jacobian as jacobian
from oneflow.functional.derivatives import jvp as jvp
from oneflow.functional.derivatives import vhp as vhp
from oneflow.functional.derivatives import vjp as vjp
