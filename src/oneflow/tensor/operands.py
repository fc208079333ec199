"""Operands of elementwise operations, as users give them: as tensors of one dtype and device."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.base.dtype import (
    HALF_DTYPES,
    Category,
    DType,
    bool_,
    complex128,
    float32,
    get_default_dtype,
)
from oneflow.base.limits import require_range
from oneflow.base.placement import Placement
from oneflow.base.planning import is_planning
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.dispatch.call import OPERATION_TABLES, cached_operation, record
from oneflow.dispatch.operand_casts import CASTING
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.operators.number_ranges import cast_in_range
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.runtime.eager import is_capturing
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor.call import call, call_two, wrap
from oneflow.tensor.host_numbers import compute_on_host
from oneflow.tensor.promotion import result_type
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, on_device
from oneflow.tensor.views import unwrap

_new = Tensor.__new__


def require_tensor(x: Tensor, name: str) -> None:
    """Refuse anything that is not a tensor.

    Raises:
        TypeError: names the function and the type given.
    """
    if not isinstance(x, Tensor):
        require_tensors(name, x)


def require_tensors(name: str, *operands: Any) -> None:
    """Refuse operands of a function of two tensors that are none.

    Raises:
        TypeError: names the function, the position and the type given.
    """
    for position, (argument, operand) in enumerate(
        zip(("input", "other"), operands, strict=False), 1
    ):
        if not isinstance(operand, Tensor):
            raise not_a_tensor(name, argument, position, operand)


def not_a_tensor(
    name: str, argument: str, position: int, value: Any, expected: str = "Tensor"
) -> TypeError:
    """The error of a function that takes a tensor and got something else.

    Args:
        name: the function.
        argument: the name of its argument.
        position: the place of the argument, from 1.
        value: what it got.
        expected: what it takes.
    """
    hint = ""
    if type(value).__module__.partition(".")[0] in ("jax", "jaxlib"):
        hint = (
            "; `oneflow.jax.from_jax` makes tensors of arrays, and `oneflow.jax.function` "
            "functions of arrays of those of tensors"
        )
    return TypeError(
        f"{name}(): argument '{argument}' (position {position}) must be {expected}, not "
        f"{type(value).__name__}{hint}"
    )


def require_one_tensor(name: str, x: Any, y: Any) -> None:
    """Refuse two Python numbers.

    Raises:
        TypeError: neither operand is a tensor or an array.
    """
    if isinstance(x, bool | int | float | complex) and isinstance(y, bool | int | float | complex):
        raise TypeError(
            f"{name}(): one of the operands must be Tensor, got {type(x).__name__} and "
            f"{type(y).__name__}; Python's own operators compute with numbers"
        )


def as_operand(value: Any, device: Device | Placement = CPU) -> Any:
    """A tensor or Python number as is; NumPy scalars, complex numbers and arrays converted.

    Args:
        value: an operand as given by a user.
        device: where a tensor is made; on a placement, whole on every device.

    Raises:
        TypeError: it is neither a tensor nor a number; or an array in PyTorch's place, where
            only operators take arrays.
    """
    if isinstance(value, Tensor) or type(value) in (bool, int, float):
        return value
    if isinstance(value, np.generic):
        return as_operand(value.item(), device)
    if isinstance(value, np.ndarray) and program_name() == PYTORCH:
        raise TypeError("expected a Tensor or a number, got numpy.ndarray; `as_tensor` makes one")
    if hasattr(value, "dtype") or isinstance(value, complex):
        return import_array(value, None, device)
    for number in (bool, int, float):
        if isinstance(value, number):
            return number(value)
    raise TypeError(
        f"expected a Tensor or a number, got {value!r} of type `{type(value).__name__}`"
    )


def of_array(array: np.ndarray, tensor: Tensor) -> Tensor:
    """Return a NumPy array as an operand beside a tensor."""
    return import_array(array, None, _common_device((tensor,)))


def as_number(value: Any) -> Any:
    """A tensor of one element, or a NumPy scalar, as a Python number; other objects unchanged."""
    return value.item() if isinstance(value, Tensor | np.generic) else value


# Python numbers that int64 holds.
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def as_element_of(tensor: Tensor, number: Any) -> Any:
    """Return a Python number as what an element of a tensor can be; tensors as they are.

    Raises:
        RuntimeError: it is out of the range of the tensor's integers.
    """
    dtype = tensor._value.spec.dtype
    if dtype.category >= Category.FLOAT or not isinstance(number, int | float):
        return number
    if dtype.category is Category.BOOL:
        return bool(number)
    require_range(number, number, dtype)
    return int(number)


def as_scalar_of(tensor: Tensor, number: Any) -> Any:
    """Return a number, or a tensor of one element, as what an element of a tensor can be.

    A tensor stays one where it can, so that nothing waits for its number.

    Raises:
        RuntimeError: it is out of the range of the tensor's integers.
    """
    if type(number) is float or not isinstance(number, Tensor):
        return as_element_of(tensor, as_number(number))
    dtype = tensor._value.spec.dtype
    if dtype.category is Category.BOOL:
        return bool(number.item())
    return wrap(element_value(number, dtype))


def number_category(number: Any) -> Category:
    """The kind of a number, or of a tensor that stands for one."""
    if isinstance(number, Tensor):
        return number._value.spec.dtype.category
    if isinstance(number, bool | np.bool_):
        return Category.BOOL
    if isinstance(number, int | np.integer):
        return Category.INTEGER
    return Category.COMPLEX if isinstance(number, complex) else Category.FLOAT


def is_one(number: Any) -> bool:
    """True for the Python number 1; the number of a tensor is not read."""
    return not isinstance(number, Tensor) and number == 1


def can_be_read(x: Tensor) -> bool:
    """Return whether reading the values of a tensor changes nothing but when it is computed."""
    value = unwrap(x)
    if value.node is not None or value.spec.sbp is not None or is_capturing():
        return False
    return not (value.spec.device.is_meta or is_planning())


def element_value(number: Tensor, dtype: DType) -> Value:
    """A tensor that stands for a number, as a value of `dtype`.

    Raises:
        RuntimeError: it is complex and `dtype` is not; or `dtype` is an integer type that cannot
            hold it; where it cannot be read now, when a value is read.
    """
    value = unwrap(number)
    if value.spec.dtype.is_complex and not dtype.is_complex:
        raise RuntimeError(f"value cannot be converted to type {dtype!r} without overflow")
    if value.spec.dtype is dtype:
        return value
    if dtype.category is not Category.INTEGER:
        return cast(value, dtype=dtype)
    if not can_be_read(number):
        return cast_in_range(value, dtype=dtype)
    element = number.item()
    require_range(element, element, dtype)
    return cast(value, dtype=dtype)


def as_float(value: Any, name: str) -> float:
    """Return the number that an argument is given, as a Python float; texts are none."""
    if isinstance(value, str | bytes):
        raise TypeError(
            f"`{name}` must be a number, got {value!r} of type `{type(value).__name__}`"
        )
    return float(value)


def cast_to(operand: Any, dtype: DType) -> Any:
    """A tensor cast to `dtype` (itself if it has it); Python numbers are left to the primitive."""
    if isinstance(operand, Tensor) and operand._value.spec.dtype is not dtype:
        return call(cast, operand, dtype=dtype)
    return operand


def widened(x: Tensor) -> Tensor:
    """Half precision as single precision, which holds its squares and the sums of many terms."""
    return call(cast, x, dtype=float32) if x._value.spec.dtype in HALF_DTYPES else x


def as_mask(mask: Tensor, prefix: str) -> Tensor:
    """Return a mask as truth values; of integers all but 0 are true, as in OneFlow.

    Args:
        mask: a tensor of truth values or integers.
        prefix: the start of the message about others; their dtype follows.

    Raises:
        RuntimeError: it is neither.
    """
    dtype = mask._value.spec.dtype
    if dtype.category not in (Category.BOOL, Category.INTEGER):
        raise RuntimeError(f"{prefix} {dtype!r}")
    return cast_to(mask, bool_)


def on_one_device(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """0-dim CPU tensors moved to the device of the others, as PyTorch allows."""
    devices = {o._value.spec.device for o in operands if isinstance(o, Tensor)}
    if len(devices) < 2:
        return operands
    target = next(
        (o._value.spec.device for o in operands if isinstance(o, Tensor) and o._value.spec.ndim),
        None,
    )
    if target is None:
        return operands
    return tuple(
        on_device(o, target)
        if isinstance(o, Tensor) and not o._value.spec.ndim and o._value.spec.device is not target
        else o
        for o in operands
    )


def promote_operands(operands: tuple[Any, ...], floating: bool = False) -> tuple[Any, ...]:
    """Operands of one elementwise operation, cast to their common dtype.

    Args:
        operands: tensors and numbers; at least one becomes a tensor.
        floating: integers and bools compute in the default float type.

    Raises:
        OverflowError: a number of more than 64 bits beside integers.
    """
    if _is_promoted(operands, floating):
        return operands
    device = _common_device(operands)
    # Complex numbers become arrays too, but only after they have counted as numbers.
    plain = [
        complex(operand) if isinstance(operand, complex) else as_operand(operand, device)
        for operand in operands
    ]
    dtype = result_type(*plain)
    operands = on_one_device(
        tuple(
            import_array(number, complex128, device) if isinstance(number, complex) else number
            for number in plain
        )
    )
    if floating and dtype.category < Category.FLOAT:
        dtype = get_default_dtype()
    if dtype.category is Category.INTEGER:
        _require_64_bits(plain)
    if not any(isinstance(operand, Tensor) for operand in operands):
        operands = (import_array(operands[0]), *operands[1:])
    return tuple(cast_to(operand, dtype) for operand in operands)


def _require_64_bits(operands: Iterable[Any]) -> None:
    """Reject Python numbers of more than 64 bits, which integer types would cut off.

    Raises:
        OverflowError: there is one.
    """
    for operand in operands:
        if type(operand) is int and not _LOWEST <= operand < 2**64:
            raise OverflowError(
                f"{operand} is too large for tensors of integers, which have 64 bits at most; "
                "convert the tensor to float64 first"
            )


def promote_factor(operand: Any, factor: Any, floating: bool = False) -> tuple[Any, Any]:
    """The operands of a product or quotient: `promote_operands`, but a 0-dim factor is not rounded.

    With a tensor of half precision it has the precision that the result is computed in, as a Python
    number does.
    """
    if isinstance(operand, Tensor) and isinstance(factor, Tensor):
        spec, other_spec = operand._value.spec, factor._value.spec
        is_exact = spec.dtype in HALF_DTYPES and spec.dtype is not other_spec.dtype
        if is_exact and spec.ndim and not other_spec.ndim and not other_spec.dtype.is_complex:
            operand, factor = on_one_device((operand, factor))
            return operand, cast_to(factor, float32)
    return promote_operands((operand, factor), floating)


def _common_device(operands: tuple) -> Device | Placement:
    """The device of arrays beside tensors: the placement of a global one, else the CPU."""
    for operand in operands:
        if isinstance(operand, Tensor):
            device = operand._value.spec.device
            return device if isinstance(device, Placement) else CPU
    return CPU


def _is_promoted(operands: tuple, floating: bool) -> bool:
    """Return True if operands have one dtype and device: the common case, decided quickly."""
    spec, lowest = None, Category.FLOAT if floating else Category.BOOL
    for operand in operands:
        if isinstance(operand, Tensor):
            other_spec = operand._value.spec
            if spec is None:
                spec = other_spec
            elif other_spec.dtype is not spec.dtype or other_spec.device is not spec.device:
                return False
        elif type(operand) is float:
            lowest = Category.FLOAT
        elif type(operand) is not int or not _LOWEST <= operand <= _HIGHEST:
            return False
        elif lowest is Category.BOOL:
            lowest = Category.INTEGER
    return spec is not None and spec.dtype.category >= lowest


# Operations on two operands that need no promotion, by the primitive, the spec of the first, and
# the spec or type of the second.
_NO_PROMOTION: dict[tuple[Any, ...], Any] = {}
OPERATION_TABLES.append(_NO_PROMOTION)


def call_without_promotion(primitive: Primitive, x: Tensor, y: Any) -> Tensor | None:
    """Apply a primitive to a tensor and a tensor or number of its dtype; None if it has another."""
    if x._seen < 0 or type(x._value.recorder) is HostArray:
        number = compute_on_host(primitive, x, y)
        if number is not None:
            return number
    value, other = x._value if x._family is None else unwrap(x), y
    if isinstance(y, Tensor):
        other = y._value if y._family is None else unwrap(y)
        key = primitive, value.spec, other.spec
    else:
        if type(y) is int and not _LOWEST <= y <= _HIGHEST:
            return None
        key = primitive, value.spec, type(y)
    operation = _NO_PROMOTION.get(key)
    if operation is None or CASTING:
        if not same_dtype(x, y):
            return None
        result = call_two(primitive, x, y)
        if not CASTING:
            _NO_PROMOTION[key] = cached_operation(primitive, (value, other), {})
        return result
    tensor = _new(Tensor)
    tensor._value = record(operation, (value, other))
    return tensor


def same_dtype(x: Tensor, other: Any) -> bool:
    """Return True if two operands need no promotion; the common case allocates nothing."""
    spec = x._value.spec
    if type(other) is float:
        return spec.dtype.category >= Category.FLOAT
    if type(other) is int:
        return spec.dtype.category >= Category.INTEGER and _LOWEST <= other <= _HIGHEST
    if isinstance(other, Tensor):
        other_spec = other._value.spec
        return other_spec.dtype is spec.dtype and other_spec.device is spec.device
    return False
