"""Data from outside: arrays, Python numbers and lists into values; values between devices."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from oneflow.base.device import CPU, Device
from oneflow.base.dtype import (
    Category,
    DType,
    complex_dtype,
    from_numpy_dtype,
    get_default_dtype,
)
from oneflow.base.limits import require_range
from oneflow.base.placement import DeviceOrSharding, Placement, Sharding
from oneflow.base.program_name import PYTORCH, program_name
from oneflow.base.pytorch_warnings import warn_in_place_of_pytorch
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.node import Node
from oneflow.primitives.operators.creation import full_float, full_integer
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.operators.shape import broadcast_to
from oneflow.program.value import Value
from oneflow.runtime.lazy_array import HostArray, copy_to_device
from oneflow.runtime.memory import copy_of_dlpack, put, wrap_array
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import (
    as_sharding,
    convert_sbp,
    full_on_device,
    global_from_numpy,
    local_to_global,
    move_global,
    on_placement,
)
from oneflow.tensor.host_memory import HostMemory
from oneflow.tensor.promotion import promote_types, result_type
from oneflow.tensor.reads import is_observed
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import share, unwrap

_SMALL_RESULT = 1 << 16  # bytes
_MAX_DIMENSIONS = 64  # NumPy's limit
_WARNING_OF_ARRAYS = (
    "Creating a tensor from a list of numpy.ndarrays is extremely slow; `numpy.array` of the list "
    "makes a single one first."
)
_PYTHON_NUMBERS = frozenset((bool, int, float, complex))


def value_from_numpy(array: np.ndarray, device: Any = CPU) -> Value:
    """A value with a copy of `array` on `device`, or as a global one on a placement.

    Raises:
        TypeError: an element type that tensors do not have (text, objects).
    """
    if isinstance(device, Placement | Sharding):
        return global_from_numpy(array, as_sharding(device, array.ndim))
    return copy_to_device(array, spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device))


def share_numpy(array: np.ndarray) -> Tensor:
    """A new tensor on the CPU in the memory of an array, or with a copy of one for reading only.

    Raises:
        TypeError: an element type that tensors do not have.
    """
    from_numpy_dtype(array.dtype)
    if not array.flags.writeable or not array.dtype.isnative:
        return wrap(value_from_numpy(array))
    return wrap_in_memory(HostMemory(array))


def wrap_in_memory(host: HostMemory) -> Tensor:
    """A new tensor on the CPU in a memory of the host."""
    array = host.array
    tensor = wrap(host.new_value(spec_of(array.shape, from_numpy_dtype(array.dtype), CPU)))
    share(tensor).storage.host = host
    return tensor


def wrap_numpy(array: np.ndarray) -> Tensor:
    """A new tensor on the CPU in the memory of an array that nobody writes to any more.

    Without a copy if the memory is of `oneflow.runtime.memory.empty_aligned`.
    """
    spec = spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), CPU)
    return wrap(Value(spec, wrap_array(array, CPU)))


def value_from_dlpack(exporter: Any) -> Value:
    """A value with a copy of the memory behind an object with `__dlpack__`, on its device."""
    array, device = copy_of_dlpack(exporter)
    return Value(spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device), array)


# Numbers that do not fit the dtype become what `Tensor.to` makes of them, without NumPy's warning.
@np.errstate(over="ignore", invalid="ignore")
def numpy_from_data(data: Any, dtype: DType | None) -> np.ndarray:
    """Nested lists, numbers or an array as a NumPy array; Python floats get the default dtype.

    Arrays of any library, those that NumPy can read, keep their dtype.

    Raises:
        TypeError: text.
        RuntimeError: other contents that are not numbers.
        ValueError: nesting that is ragged, or deeper than any array (a list within itself).
        TypeError: a number beside a list.
    """
    if _is_array(data):
        return np.asarray(data, None if dtype is None else dtype.numpy)
    if isinstance(data, list | tuple) and data and isinstance(data[0], np.ndarray):
        warn_in_place_of_pytorch(_WARNING_OF_ARRAYS)
    arrays: list[Any] = []
    plain = _without_tensors(data, arrays)
    inferred = dtype
    if dtype is None and arrays:
        inferred = functools.reduce(promote_types, _leaf_dtypes(data))
    try:
        array = np.asarray(plain)
    except ValueError as error:
        kind_of_error = TypeError if _has_several_depths([plain]) else ValueError
        raise kind_of_error(
            f"could not make a tensor of {_short_repr(data)}: lists must be nested like a grid, "
            f"those of one depth equally long ({error})"
        ) from None
    kind = array.dtype.kind
    if kind == "O" or (kind in "uf" and type(_first_leaf(plain)) is int):
        array = _large_integers(array, plain, inferred)
    _require_numbers(array, data)
    if inferred is not None:
        return _cast_numbers(array, inferred) if inferred is dtype else array.astype(inferred.numpy)
    if array.dtype.kind == "f" or array.size == 0:
        return array.astype(get_default_dtype().numpy)
    if array.dtype.kind == "c":
        return array.astype(complex_dtype(get_default_dtype()).numpy)
    return array


def _is_array(data: Any) -> bool:
    """Return whether NumPy can read it as an array with a dtype: a tensor, or another library's."""
    return hasattr(type(data), "__array__") or hasattr(type(data), "__array_interface__")


def _has_several_depths(level: list[Any]) -> bool:
    """Return whether numbers stand beside lists, which are all of one depth."""
    while True:
        nested = [item for item in level if isinstance(item, list | tuple) or np.ndim(item)]
        if len(nested) < len(level) or not nested:
            return bool(nested)
        if len({len(item) for item in nested}) > 1:
            return False
        level = [item for items in nested for item in items]


def _first_leaf(data: Any) -> Any:
    """The first thing in nested lists that is no list."""
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return data


def _leaf_dtypes(data: Any) -> Iterator[DType]:
    """The dtypes of everything in nested lists."""
    if isinstance(data, list | tuple):
        for item in data:
            yield from _leaf_dtypes(item)
    elif isinstance(data, Tensor):
        yield data.dtype
    elif _is_array(data):
        yield from_numpy_dtype(np.asarray(data).dtype)
    else:
        yield result_type(data)


def _large_integers(array: np.ndarray, plain: Any, dtype: DType | None) -> np.ndarray:
    """Return Python's integers beyond int64, which NumPy made floats or objects.

    Raises:
        ValueError: they are for int64 or a smaller type.
        RuntimeError: they are for uint64, which does not hold them either.
    """
    if array.dtype.kind == "f" and not (array.size and np.abs(array).max() >= 2.0**63):
        return array
    exact = np.asarray(plain, object)
    if not all(isinstance(number, int) for number in exact.flat):
        is_real = all(isinstance(number, int | float) for number in exact.flat)
        return exact.astype(np.float64) if is_real else array
    if dtype is None or (dtype.category is Category.INTEGER and dtype.name != "uint64"):
        raise ValueError(f"a number in {_short_repr(plain)} is too large for int64")
    if dtype.name != "uint64":
        return exact.astype(np.float64)
    if not 0 <= exact.min() <= exact.max() < 2**64:
        raise RuntimeError("value cannot be converted to type uint64 without overflow")
    return exact.astype(np.uint64)


def _require_numbers(array: np.ndarray, data: Any) -> None:
    """Refuse what NumPy made of contents that tensors cannot hold."""
    if array.dtype.kind == "O":
        raise RuntimeError(
            f"could not infer the dtype of {_short_repr(data)}: it must hold numbers"
        )
    if array.dtype.kind in "USV":
        raise TypeError(f"could not make a tensor of {_short_repr(data)}: it must hold numbers")


def _short_repr(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _cast_numbers(array: np.ndarray, dtype: DType) -> np.ndarray:
    """Python numbers as `dtype`; negative ones wrap around in unsigned types.

    Raises:
        RuntimeError: a number is out of the range of an integer `dtype`.
        TypeError: complex numbers for a real `dtype`.
    """
    if array.dtype.kind == "c" and not dtype.is_complex and dtype.category is not Category.BOOL:
        raise TypeError(f"complex numbers do not fit into {dtype!r}")
    if dtype.category is not Category.INTEGER or array.dtype.kind not in "if" or not array.size:
        return array.astype(dtype.numpy)
    require_range(array.min().item(), array.max().item(), dtype)
    return array.astype(np.int64).astype(dtype.numpy)


def _without_tensors(data: Any, arrays: list[Any], depth: int = 0) -> Any:
    """Tensors inside nested lists replaced by their values; `arrays` gets what has a dtype."""
    if type(data) in _PYTHON_NUMBERS:
        return data
    if isinstance(data, Tensor):
        arrays.append(data)
        return data.tolist()
    if isinstance(data, list | tuple):
        if depth == _MAX_DIMENSIONS:
            if any(entry is data for entry in data):
                raise TypeError("self-referential lists are incompatible with tensors")
            raise ValueError(
                f"lists are nested deeper than {_MAX_DIMENSIONS} times, or contain themselves: "
                "an array has no more dimensions than that"
            )
        return [_without_tensors(item, arrays, depth + 1) for item in data]
    if _is_array(data):
        arrays.append(data)
    return data


def import_array(data: Any, dtype: DType | None = None, device: Any = CPU) -> Tensor:
    """A new tensor with a copy of numbers, lists or a NumPy array."""
    return wrap(value_from_numpy(numpy_from_data(data, dtype), device))


def wrap_result(array: np.ndarray, device: Any) -> Tensor:
    """A new tensor of an array that NumPy has computed from values that were read.

    A small one on the CPU stays in the host's memory until a program needs it on the device.

    Args:
        array: the result, to which nobody writes any more.
        device: where it belongs.
    """
    if device is not CPU or array.nbytes > _SMALL_RESULT or is_observed():
        return wrap(value_from_numpy(array, device))
    spec = spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), CPU)
    return wrap(HostArray(spec, array).value())


def filled_value(number: Any, shape: tuple[int, ...], dtype: DType, device: Any) -> Value:
    """A value with `number` everywhere; another number compiles nothing.

    Raises:
        RuntimeError: a complex number for a dtype that is not complex, or one out of the range of
            an integer type.
    """
    if isinstance(number, complex):
        if dtype.category is not Category.COMPLEX:
            raise RuntimeError(f"the complex value {number!r} does not fit into {dtype!r}")
        one = value_from_numpy(np.asarray(number, np.complex128), device)
        return cast(broadcast_to(one, shape=shape), dtype=dtype)
    if dtype.category is Category.INTEGER:
        require_range(number, number, dtype)
    elif isinstance(number, int) and not -(2**63) <= number < 2**63:
        number = float(number)
    fill = full_integer if isinstance(number, int) else full_float
    return fill(number, shape=shape, dtype=dtype, device=device)


class TransferNode(Node):
    """Backward of a move between devices: the gradient moves back."""

    __slots__ = ("_home",)

    def __init__(self, source: Value, target: Value) -> None:
        super().__init__(((source.node, source.output_index),), (target.spec,))
        self._home = source.spec.device

    def apply(self, grads: list[Any]) -> list[Any]:
        """The gradient on the device that the value came from."""
        return [move(grads[0], self._home)]

    def name(self) -> str:
        """The name of the node for all transfers."""
        return "ToCopyBackward0" if program_name() == PYTORCH else "to_backward"


def move(value: Value, device: Any) -> Value:
    """`value` on another device. What computes it is started; nothing waits for it.

    A global value stays global; a local one that goes to a placement is the whole, on every rank.

    Raises:
        RuntimeError: a graph is being recorded, which runs on one device.
    """
    spec = value.spec
    if spec.sbp is not None:
        return _move_global(value, device)
    if isinstance(device, Placement | Sharding):
        sharding = as_sharding(device, spec.ndim)
        replicated = local_to_global(
            value, Sharding(sharding.placement, sharding.placement.broadcast)
        )
        return convert_sbp(replicated, sharding.sbp)
    if value.is_symbolic:
        raise RuntimeError(
            f"a tensor is moved from `{spec.device}` to `{device}` inside `build`, but a graph "
            "runs on one device; move its modules and arguments there instead"
        )
    moved = Value(spec_of(spec.shape, spec.dtype, device), put(value.read(), device))
    if value.node is not None and MODE.enabled:
        moved.node = TransferNode(value, moved)
    return moved


def on_device(tensor: Tensor, device: Any) -> Tensor:
    """The tensor itself if it is on `device`, else a copy there; see `move`."""
    return tensor if tensor._value.spec.device is device else wrap(move(unwrap(tensor), device))


def _move_global(value: Value, device: Any) -> Value:
    """A global value elsewhere: on devices of another type, on a placement or with a sharding."""
    placement: Any = value.spec.device
    if isinstance(device, Device):
        device = Placement(device.type, placement.ranks)
    if isinstance(device, Sharding):
        if device.placement is not placement:
            return move_global(value, as_sharding(device, value.spec.ndim))
        return convert_sbp(value, as_sharding(device, value.spec.ndim).sbp)
    return value if device is placement else move_global(value, Sharding(device, value.spec.sbp))


def device_put(value: Value, device: DeviceOrSharding | Placement, dtype: DType) -> Value:
    """Return a value on another device or sharding, with another dtype.

    Every process takes part if the value or the result is global.

    Args:
        value: has no gradient.
        device: a device, for a local result with all elements; a placement or sharding for a global
            one.
        dtype: the dtype of the result.
    """
    if isinstance(device, Device):
        if value.spec.sbp is not None:
            value = full_on_device(value, device)
        elif value.spec.device is not device:
            value = move(value, device)
    else:
        # Numbers in files are read now even if the sharding is the same: files may go away.
        value = move(value, as_sharding(device, value.spec.ndim))
    return value if value.spec.dtype is dtype else cast(value, dtype=dtype)


def to_place(value: Value, place: Device | Placement) -> Value:
    """Return a value where other operands are; itself if it is there.

    A local value moves to another device, a global one to another placement, broadcast there.
    Values whose kind is not that of the place are left to the operators, which refuse them.
    """
    is_local = value.spec.sbp is None and isinstance(place, Device)
    if is_local and value.spec.device is not place:
        return move(value, place)
    return on_placement(value, place)


def device_or_sharding(spec: TensorSpec) -> DeviceOrSharding:
    """The device of a local tensor, or the sharding of a global one, as `device_put` takes it."""
    return spec.device if spec.sbp is None else Sharding(spec.device, spec.sbp)
