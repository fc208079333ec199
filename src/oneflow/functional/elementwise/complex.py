"""Complex numbers and their parts."""

from __future__ import annotations

from oneflow.base.dtype import Category, get_default_dtype
from oneflow.functional.registry import function
from oneflow.primitives.operators import complex as p, elementwise as e
from oneflow.primitives.operators.shape import clone
from oneflow.tensor.call import call, call_view
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import is_conjugate


def _is_complex(x: Tensor, name: str) -> bool:
    require_tensor(x, name)
    return x._value.spec.dtype.is_complex


@function()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate, a view; of a real tensor the tensor itself.

    Example:
        >>> import oneflow as flow
        >>> flow.conj(flow.tensor([1.0 + 2.0j]))
        tensor([1.-2.j], dtype=oneflow.complex64)
    """
    return call_view(e.conj, input) if _is_complex(input, "conj") else input


@function(inplace=True, also=("conj_physical_",))
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; of a real tensor the tensor itself.

    Example:
        >>> import oneflow as flow
        >>> flow.conj_physical(flow.tensor([1.0 + 2.0j]))
        tensor([1.-2.j], dtype=oneflow.complex64)
    """
    return call(e.conj, input) if _is_complex(input, "conj_physical") else input


@function()
def resolve_conj(input: Tensor) -> Tensor:
    """A copy of a lazily conjugated view; any other tensor itself.

    Example:
        >>> import oneflow as flow
        >>> flow.resolve_conj(flow.tensor([1.0 + 2.0j]).conj())
        tensor([1.-2.j], dtype=oneflow.complex64)
    """
    return call(clone, input) if is_conj(input) else input


@function()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is never lazy here.

    Example:
        >>> import oneflow as flow
        >>> flow.resolve_neg(flow.tensor([1.0]))
        tensor([1.], dtype=oneflow.float32)
    """
    require_tensor(input, "resolve_neg")
    return input


@function()
def is_conj(input: Tensor) -> bool:
    """Return whether the tensor is a lazily conjugated view.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([1j])
        >>> flow.is_conj(x), flow.is_conj(x.conj()), flow.is_conj(x.conj().conj())
        (False, True, False)
    """
    require_tensor(input, "is_conj")
    family = input._family
    if family is None or not input._value.spec.dtype.is_complex:
        return False
    return is_conjugate((*family.root_views(), *input._chain))


@function()
def is_neg(input: Tensor) -> bool:
    """False: negation is never lazy here.

    Example:
        >>> import oneflow as flow
        >>> flow.is_neg(flow.tensor([1.0]))
        False
    """
    require_tensor(input, "is_neg")
    return False


@function()
def angle(input: Tensor) -> Tensor:
    """Angle of each number in the complex plane, in (-pi, pi]; of a real number 0 or pi.

    Example:
        >>> import oneflow as flow
        >>> flow.angle(flow.tensor([1.0, -1.0]))
        tensor([0.0000, 3.1416], dtype=oneflow.float32)
    """
    if _is_complex(input, "angle"):
        return call(p.angle, input)
    if input._value.spec.dtype.category < Category.FLOAT:
        input = cast_to(input, get_default_dtype())
    return call(p.angle_of_real, input)


@function(method=False)
def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """Complex numbers of their parts, broadcast.

    Args:
        real: float32 or float64 tensor.
        imag: tensor of the same dtype.

    Raises:
        RuntimeError: the dtypes differ or are not float32 or float64.

    Example:
        >>> import oneflow as flow
        >>> flow.complex(flow.tensor([1.0]), flow.tensor([2.0]))
        tensor([1.+2.j], dtype=oneflow.complex64)
    """
    return call(p.complex_, *_parts("complex", real, imag))


@function(method=False)
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """Complex numbers of their magnitude and angle, broadcast.

    Args:
        abs: float32 or float64 tensor.
        angle: tensor of the same dtype.

    Raises:
        RuntimeError: the dtypes differ or are not float32 or float64.

    Example:
        >>> import oneflow as flow
        >>> flow.polar(flow.tensor([2.0]), flow.tensor([0.0]))
        tensor([2.+0.j], dtype=oneflow.complex64)
    """
    return call(p.polar, *_parts("polar", abs, angle))


def _parts(name: str, first: Tensor, second: Tensor) -> tuple[Tensor, Tensor]:
    require_tensor(first, name)
    require_tensor(second, name)
    dtype, other = first._value.spec.dtype, second._value.spec.dtype
    if not dtype.is_floating_point or dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): expected float32 or float64 parts, but got {dtype!r}")
    if dtype is not other:
        raise RuntimeError(f"{name}(): expected parts of one dtype, got {dtype!r} and {other!r}")
    return first, second
