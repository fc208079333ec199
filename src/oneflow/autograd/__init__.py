"""Automatic differentiation, as users see it; the machinery is in `oneflow.differentiation`."""

from oneflow.autograd import function as function
from oneflow.autograd import functional as functional
from oneflow.autograd import grad_mode as grad_mode
from oneflow.autograd import graph as graph
from oneflow.differentiation.anomaly import detect_anomaly as detect_anomaly
from oneflow.differentiation.anomaly import set_detect_anomaly as set_detect_anomaly
from oneflow.differentiation.grad_mode import enable_grad as enable_grad
from oneflow.differentiation.grad_mode import enable_grad as grad_enable
from oneflow.differentiation.grad_mode import inference_mode as inference_mode
from oneflow.differentiation.grad_mode import is_grad_enabled as is_grad_enabled
from oneflow.differentiation.grad_mode import no_grad as no_grad
from oneflow.differentiation.grad_mode import set_grad_enabled as set_grad_enabled
from oneflow.functional.autograd import backward as backward
from oneflow.functional.autograd import grad as grad
from oneflow.functional.custom_function import Function as Function
from oneflow.functional.derivatives import hessian as hessian
from oneflow.functional.derivatives import hvp as hvp
from oneflow.functional.derivatives import jacobian as jacobian
from oneflow.functional.derivatives import jvp as jvp
from oneflow.functional.derivatives import vhp as vhp
from oneflow.functional.derivatives import vjp as vjp
from oneflow.functional.gradient_check import gradcheck as gradcheck
from oneflow.functional.gradient_check import gradgradcheck as gradgradcheck
