"""Real and imaginary parts as views: PyTorch's properties, and OneFlow's methods."""

from __future__ import annotations

import copy
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import select, view_as_real
from oneflow.tensor.copy_methods import reduce_for_process
from oneflow.tensor.indexing import set_item
from oneflow.tensor.methods import attach
from oneflow.tensor.subclasses import disabled_torch_function
from oneflow.tensor.tensor import Tensor


@function(method=False)
def real(input: Tensor) -> Tensor:
    """View of the real parts; a real tensor itself.

    Example:
        >>> import oneflow as flow
        >>> flow.real(flow.tensor([1 + 2j]))
        tensor([1.], dtype=oneflow.float32)
    """
    return select(view_as_real(input), -1, 0) if input.dtype.is_complex else input


@function(method=False)
def imag(input: Tensor) -> Tensor:
    """View of the imaginary parts.

    Raises:
        RuntimeError: `input` is real.

    Example:
        >>> import oneflow as flow
        >>> flow.imag(flow.tensor([1 + 2j, 3 - 4j]))
        tensor([ 2., -4.], dtype=oneflow.float32)
    """
    if not input.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return select(view_as_real(input), -1, 1)


class ComplexPart(Tensor):
    """A part that was read as ``x.real`` or ``x.imag``, and may be written ``x.real()``.

    Functions of it return tensors.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1 + 2j])
        >>> x.imag, x.imag(), type(x.imag()) is flow.Tensor
        (tensor([2.], dtype=oneflow.float32), tensor([2.], dtype=oneflow.float32), True)
    """

    __torch_function__ = staticmethod(disabled_torch_function)

    def __call__(self) -> Tensor:
        """The part as a tensor."""
        return self.view_as(self)

    def __copy__(self) -> Tensor:
        """Another tensor on the same memory."""
        return copy.copy(self())

    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor:
        """A tensor with a copy of the values."""
        return copy.deepcopy(self(), memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles are tensors."""
        return self().__reduce_ex__(protocol)


def _property(part: Callable[[Tensor], Tensor]) -> property:
    """The property for `part`, a view: OneFlow's programs may call its value."""

    def read(self: Tensor) -> Tensor:
        result = part(self)
        if result is not self and program_name() != PYTORCH:
            object.__setattr__(result, "__class__", ComplexPart)
        return result

    def write(self: Tensor, value: Any) -> None:
        set_item(part(self), ..., value)

    return property(read, write, doc=part.__doc__)


ForkingPickler.register(ComplexPart, reduce_for_process)
attach("real", _property(real))
attach("imag", _property(imag))
