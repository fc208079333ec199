"""Automatic differentiation, as users see it; the machinery is in `oneflow.differentiation`."""

from oneflow.differentiation.grad_mode import enable_grad as enable_grad
from oneflow.differentiation.grad_mode import inference_mode as inference_mode
from oneflow.differentiation.grad_mode import is_grad_enabled as is_grad_enabled
from oneflow.differentiation.grad_mode import no_grad as no_grad
from oneflow.differentiation.grad_mode import set_grad_enabled as set_grad_enabled
