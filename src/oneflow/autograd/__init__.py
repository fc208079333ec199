"""Automatic differentiation of tensors; `oneflow.differentiation` differentiates values."""

from typing import TYPE_CHECKING

from oneflow.autograd import (
    function as function,
    functional as functional,
    grad_mode as grad_mode,
    graph as graph,
)
from oneflow.autograd.function import Function as Function
from oneflow.autograd.functional import (
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    jvp as jvp,
    vhp as vhp,
    vjp as vjp,
)
from oneflow.autograd.gradient_check import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from oneflow.autograd.gradients import backward as backward, grad as grad
from oneflow.autograd.variable import Variable as Variable
from oneflow.base.lazy_import import lazy_getattr as _lazy_getattr
from oneflow.differentiation.anomaly import (
    detect_anomaly as detect_anomaly,
    set_detect_anomaly as set_detect_anomaly,
)
from oneflow.differentiation.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)

if not TYPE_CHECKING:  # for a type checker it would give every name a meaning
    __getattr__ = _lazy_getattr(__name__)

grad_enable = enable_grad
