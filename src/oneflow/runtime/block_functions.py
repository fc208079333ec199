"""Operators compiled for one block of elements, which serves tensors of any shape.

An elementwise operator computes each element of a result from one element of each operand, and from
its position if the numbers are random (`oneflow.primitives.operators.random`). Its results for
consecutive blocks of one size, side by side, are its result for the whole, so only a block is
compiled, once. Random numbers have the bits that the compiled draw of the whole has.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.device import Device
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.x64 import in_x64
from oneflow.compiler.jit_function import JitFunction
from oneflow.compiler.sharding import committed_to, xla_devices
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.runtime.counters import STATISTICS, compiling

_BLOCK = 1 << 15
# The block of draws that go on until the last element is accepted, and of no more elements: they
# take long, to compile and for each element.
_SMALL_BLOCK = 1 << 8
# Elements from which on their positions take two words.
_MAX_ELEMENTS = 2**32
# Functions that are kept, those used last.
_MAX_FUNCTIONS = 256


class BlockFunction:
    """The function that computes a primitive for a block of elements.

    Attributes:
        executable: takes the position of the first element, the number of all, and a block of each
            operand; None while it is not compiled.

    Args:
        primitive: the primitive.
        attributes: the attributes of its calls, except the shape.
        operands: the dtype of each operand, and whether it is a number.
        device: a CPU.
        size: the number of elements of a block.
    """

    def __init__(
        self,
        primitive: Primitive,
        attributes: tuple[tuple[str, Any], ...],
        operands: tuple[tuple[np.dtype, bool], ...],
        device: Device,
        size: int,
    ) -> None:
        self._size = size
        self._implementation = primitive.implementation(device.type)
        self._attributes = dict(attributes)
        self._is_positional = primitive.traits.positional is not None
        self._operands = operands
        self._device = device
        self.executable: Callable[..., jax.Array] | None = None

    def _evaluate(self, start: Any, count: Any, *operands: Any) -> Any:
        attributes = {**self._attributes}
        if self._is_positional:
            attributes["shard"] = ShardIndex((_MAX_ELEMENTS - 1,), (start,), count)
        if "shape" in attributes:
            attributes["shape"] = (self._size,)
        return self._implementation(*operands, **attributes)

    def compile(self) -> Callable[..., jax.Array]:
        """Compile it."""
        types = [jax.ShapeDtypeStruct((), np.dtype(np.uint32))] * 2
        for dtype, is_number in self._operands:
            types.append(jax.ShapeDtypeStruct(() if is_number else (self._size,), dtype))
        devices = xla_devices(self._device)
        evaluate = JitFunction(self._evaluate, devices, **committed_to(self._device))
        with compiling():
            executable = run_without_interrupt(lambda: evaluate.compile(*types))
        STATISTICS.operation_compiles += 1
        self.executable = executable
        return executable

    @in_x64
    def __call__(self, operation: Operation, operands: Sequence[Any]) -> np.ndarray:
        """The result of an operation.

        Raises:
            MemoryError: there is not enough memory.
        """
        executable = self.executable or self.compile()
        (spec,) = operation.out_specs
        result = np.empty(spec.numel, spec.dtype.numpy)
        flat = [
            operand if is_number else np.broadcast_to(np.asarray(operand), spec.shape).reshape(-1)
            for operand, (_, is_number) in zip(operands, self._operands, strict=True)
        ]
        for start in range(0, spec.numel, self._size):
            target = result[start : start + self._size]
            blocks = [
                operand if is_number else _block(operand, start, self._size)
                for operand, (_, is_number) in zip(flat, self._operands, strict=True)
            ]
            target[:] = np.asarray(executable(np.uint32(start), np.uint32(spec.numel), *blocks))[
                : target.size
            ]
        return result.reshape(spec.shape)


def _block(array: np.ndarray, start: int, size: int) -> np.ndarray:
    """A block of elements; the last one is filled up with ones."""
    part = array[start : start + size]
    if part.size == size:
        return part
    block = np.ones(size, array.dtype)
    block[: part.size] = part
    return block


def block_function(operation: Operation) -> BlockFunction | None:
    """The function for blocks of an operation's elements; None if it is not made of such."""
    if not _works_by_block(operation):
        return None
    attributes = {**operation.attributes}
    if "shape" in attributes:
        attributes["shape"] = None
    operands = tuple([(spec.dtype.numpy, spec.ndim == 0) for spec in operation.in_specs])
    size = _SMALL_BLOCK if is_small_draw(operation) else _BLOCK
    key = operation.primitive, tuple(attributes.items()), operands, operation.device, size
    return _function(*key)


def is_small_draw(operation: Operation) -> bool:
    """Return whether an operation draws a few numbers, each of a distribution of its own."""
    traits, numel = operation.primitive.traits, operation.out_specs[0].numel
    is_own = traits.positional is not None and "shape" not in operation.attributes
    return is_own and numel <= _SMALL_BLOCK


def _works_by_block(operation: Operation) -> bool:
    if not isinstance(operation.device, Device) or operation.device.type != "cpu":
        return False
    if not operation.single:
        return False
    # XLA computes a single element by other code, which rounds otherwise.
    if operation.out_specs[0].numel == 1 or operation.out_specs[0].numel >= _MAX_ELEMENTS:
        return False
    traits = operation.primitive.traits
    if operation.trace is not None and operation.trace.elementwise:
        return traits.positional is None
    if traits.positional is None or not traits.positional.by_element:
        return False
    # A mask of smaller shape has positions of its own.
    return not operation.attributes.get("broadcast_dims")


@functools.lru_cache(maxsize=_MAX_FUNCTIONS)
def _function(
    primitive: Primitive,
    attributes: tuple[tuple[str, Any], ...],
    operands: tuple[tuple[np.dtype, bool], ...],
    device: Device,
    size: int,
) -> BlockFunction:
    return BlockFunction(primitive, attributes, operands, device, size)
