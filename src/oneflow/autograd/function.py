"""Operators with a backward pass of the user's own."""

from oneflow.functional.custom_function import (
    Function as Function,
    FunctionCtx as FunctionCtx,
    once_differentiable as once_differentiable,
)
