"""Random numbers for any shape from one executable per distribution.

A random number is a function of its position in the whole (`oneflow.primitives.operators.random`).
So the numbers of a tensor are those of consecutive chunks of one size, whatever its shape: the draw
of a chunk is compiled once, and gives the bits that the compiled draw of the whole gives.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.device import Device
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.compiler.sharding import committed_to
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.traits import Positional
from oneflow.runtime.counters import STATISTICS

_CHUNK = 1 << 16
# Elements from which on their positions take two words.
_MAX_ELEMENTS = 2**32


def is_chunked(operation: Operation) -> bool:
    """Return True for draws of a shape on a CPU whose parameters are numbers."""
    primitive = operation.primitive
    return (
        isinstance(operation.device, Device)
        and operation.device.type == "cpu"
        and primitive.traits.positional == Positional()
        and "seed" in primitive.operands
        and "shape" in operation.attributes
        and not any(spec.ndim for spec in operation.in_specs)
        # XLA computes a single element by other code, which rounds otherwise.
        and operation.out_specs[0].numel != 1
        and operation.out_specs[0].numel < _MAX_ELEMENTS
    )


def draw_in_chunks(operation: Operation, operands: Sequence[Any]) -> np.ndarray:
    """The random numbers of an operation.

    Raises:
        MemoryError: there is not enough memory.
    """
    attributes = [pair for pair in operation.attributes.items() if pair[0] != "shape"]
    dtypes = tuple([spec.dtype.numpy for spec in operation.in_specs])
    draw = _chunk_executable(operation.primitive, tuple(attributes), dtypes, operation.device)
    (spec,) = operation.out_specs
    numbers = np.empty(spec.numel, spec.dtype.numpy)
    for start in range(0, spec.numel, _CHUNK):
        target = numbers[start : start + _CHUNK]
        target[:] = np.asarray(draw(np.uint32(start), *operands))[: target.size]
    return numbers.reshape(spec.shape)


@functools.lru_cache(maxsize=64)
def _chunk_executable(
    primitive: Primitive,
    attributes: tuple[tuple[str, Any], ...],
    dtypes: tuple[np.dtype, ...],
    device: Device,
) -> Callable[..., jax.Array]:
    """The compiled draw of one chunk: a function of its start and the operands."""
    implementation = primitive.implementation(device.type)

    def draw(start: Any, *operands: Any) -> Any:
        shard = ShardIndex((_MAX_ELEMENTS - 1,), (start,))
        return implementation(*operands, shape=(_CHUNK,), shard=shard, **dict(attributes))

    started = time.perf_counter()
    types = [jax.ShapeDtypeStruct((), dtype) for dtype in (np.dtype(np.uint32), *dtypes)]
    jit_draw = jax.jit(draw, **committed_to(device))
    executable = run_without_interrupt(lambda: jit_draw.lower(*types).compile())
    STATISTICS.operation_compiles += 1
    STATISTICS.compile_seconds += time.perf_counter() - started
    return executable
