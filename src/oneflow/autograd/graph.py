"""The graph of a backward pass: its nodes, and hooks on the tensors that they save."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.differentiation.node import Node as Node
from oneflow.differentiation.saved import packing
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class _Hooks:
    """A pair of users' functions on tensors as hooks on values."""

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self._pack, self._unpack = pack, unpack

    def pack(self, value: Value) -> Any:
        return self._pack(wrap(value.alias()))

    def unpack(self, packed: Any, grads: Sequence[Value | None]) -> Value:
        unpacked = self._unpack(packed)
        if not isinstance(unpacked, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                f"{type(unpacked).__name__}"
            )
        return unwrap(unpacked)


class saved_tensors_hooks(packing):
    """Context manager: what operators inside save for backward goes through two functions.

    Args:
        pack_hook: called with each saved tensor; what it returns is kept instead.
        unpack_hook: called with that when backward needs it; returns the tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([3.0], requires_grad=True)
        >>> with flow.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), flow.tensor):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor([6.], dtype=oneflow.float32)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        super().__init__(_Hooks(pack_hook, unpack_hook))


class save_on_cpu(saved_tensors_hooks):
    """Context manager: what operators inside save for backward waits on the CPU.

    Args:
        pin_memory: accepted for PyTorch's sake.
        device_type: accepted for PyTorch's sake.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda tensor: (tensor.device, tensor.to("cpu")),
            lambda kept: kept[1].to(kept[0]),
        )
