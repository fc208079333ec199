"""Operators with a backward pass of the user's own."""

from oneflow.functional.custom_function import Function as Function
from oneflow.functional.custom_function import FunctionContext as FunctionCtx
from oneflow.functional.custom_function import once_differentiable as once_differentiable
