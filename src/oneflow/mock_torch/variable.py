"""``torch.autograd.Variable``, which knows what runs backward passes."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.autograd import Variable as _Variable
from oneflow.differentiation.backward import call_after_backward


class _ExecutionEngine:
    """PyTorch's engine of backward passes, as far as programs call it."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call a function when the backward pass that is running is over."""
        call_after_backward(lambda: callback(), also_without_leaves=True)


class Variable(_Variable):
    """`oneflow.autograd.Variable` that knows what runs backward passes."""

    _execution_engine = _ExecutionEngine()
