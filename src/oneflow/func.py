"""Functions of functions: calls of modules with given parameters."""

from oneflow.nn.utils.stateless import functional_call as functional_call

__all__ = ["functional_call"]
