"""Automatic differentiation, as users see it; the machinery is in `oneflow.differentiation`."""

from oneflow.autograd import (
    function as function,
    functional as functional,
    grad_mode as grad_mode,
    graph as graph,
)
from oneflow.differentiation.anomaly import (
    detect_anomaly as detect_anomaly,
    set_detect_anomaly as set_detect_anomaly,
)
from oneflow.differentiation.grad_mode import (
    enable_grad as enable_grad,
    enable_grad as grad_enable,
    inference_mode as inference_mode,
    is_grad_enabled as is_grad_enabled,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from oneflow.functional.autograd import backward as backward, grad as grad
from oneflow.functional.custom_function import Function as Function
from oneflow.functional.derivatives import (
    hessian as hessian,
    hvp as hvp,
    jacobian as jacobian,
    jvp as jvp,
    vhp as vhp,
    vjp as vjp,
)
from oneflow.functional.gradient_check import gradcheck as gradcheck, gradgradcheck as gradgradcheck
