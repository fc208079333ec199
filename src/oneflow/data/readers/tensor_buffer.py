"""`TensorBuffer`: a batch of values on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.base.dtype import DType, tensor_buffer
from oneflow.tensor.batch_sharding import BatchSharding
from oneflow.tensor.host_inputs import Values, current_host_inputs
from oneflow.tensor.tensor import Tensor


class TensorBuffer:
    """A batch of values on the host, each of any shape: records, bytes, images.

    While a graph or job is recorded nothing is read, and every call of it computes the values anew.

    Attributes:
        shape: the shape of the whole batch, such as the number of its values.
        dtype: `oneflow.tensor_buffer`.
        sharding: where tensors made of the values are.
        is_deferred: True if it was made while a graph or job was recorded.
    """

    dtype = tensor_buffer

    def __init__(
        self,
        compute: Callable[..., list[Any]],
        *sources: TensorBuffer,
        shape: tuple[int, ...] | None = None,
        sharding: BatchSharding | None = None,
    ) -> None:
        self.shape = sources[0].shape if shape is None else shape
        self.sharding = sources[0].sharding if sharding is None else sharding
        self.is_deferred = current_host_inputs() is not None
        self._compute, self._sources = compute, sources
        self._values: list | None = None if self.is_deferred else self._computed(Values())

    def _computed(self, values: Values) -> list:
        return self._compute(*[source.values(values) for source in self._sources])

    def values(self, step: Values | None = None) -> list[Any]:
        """Return the values.

        Args:
            step: of a deferred buffer, what has been computed for the present call.

        Raises:
            RuntimeError: the buffer is deferred, and no call of the graph is under way.
        """
        if self._values is not None:
            return self._values
        if step is None:
            raise RuntimeError(
                "this TensorBuffer was made while a graph or job was recorded, and has no values "
                "outside of its calls; return tensors that are decoded from it"
            )
        if id(self) not in step:
            step[id(self)] = self._computed(step)
        return step[id(self)]

    def numpy(self) -> np.ndarray:
        """Return the values as an array of objects."""
        values = self.values()
        array = np.empty(len(values), object)
        array[:] = values
        return array

    def __len__(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"TensorBuffer({len(self)} values{', deferred' if self.is_deferred else ''})"


def dense(buffer: TensorBuffer, shape: Sequence[int] | None, dtype: DType) -> Tensor:
    """Return the values of a buffer, which all have one shape, as a tensor.

    Args:
        buffer: the values.
        shape: the shape of each value; None takes that of the first, which is not known while a
            graph is recorded.
        dtype: the dtype of the tensor.

    Raises:
        ValueError: the values have another shape, or different ones.
        RuntimeError: `shape` is None and the buffer is deferred.
    """

    def read(values: Values) -> Tensor:
        arrays = [np.asarray(value) for value in buffer.values(values)]
        expected = arrays[0].shape if shape is None else tuple(shape)
        for array in arrays:
            if array.shape != expected:
                raise ValueError(
                    f"values of one tensor must have the shape {expected}, got {array.shape}; give "
                    "images one size first, with Resize or a crop"
                )
        # A process may have read a part of the batch.
        rest = buffer.shape[1:]
        batch = np.stack(arrays).reshape(len(arrays) // math.prod(rest), *rest, *expected)
        return sharding.tensor(batch.astype(dtype.numpy, copy=False))

    capture, sharding = current_host_inputs(), buffer.sharding
    if capture is not None and sharding.placement is None:
        sharding = capture.sharding
    if capture is None or not buffer.is_deferred:
        return read(Values())
    if shape is None:
        raise RuntimeError(
            "the size of these images is not known while a graph or job is recorded; give them one "
            "with Resize, or with `crop_h` and `crop_w`"
        )
    return capture.add(sharding.spec((*buffer.shape, *shape), dtype), read, buffer).placeholder


def rows_of(tensor: Tensor) -> TensorBuffer:
    """Return a value for each row of a tensor, on the host.

    While a graph or job is recorded, `dense` must have made the tensor, unless it has values.

    Raises:
        RuntimeError: it is computed by the graph.
    """
    capture = current_host_inputs()
    source = None if capture is None else capture.source_of(tensor)
    if source is not None:
        return source
    return _constant(list(tensor.numpy()))


def _constant(values: list) -> TensorBuffer:
    return TensorBuffer(lambda: values, shape=(len(values),), sharding=BatchSharding())


def each_of(value: int | Tensor, samples: TensorBuffer) -> TensorBuffer:
    """Return a number for each sample: `value` itself, its only element, or one element per row."""
    rows = rows_of(value) if isinstance(value, Tensor) else _constant([value])

    def broadcast(samples: list, numbers: list) -> list[int]:
        return np.broadcast_to(np.ravel(numbers), len(samples)).tolist()

    return TensorBuffer(broadcast, samples, rows)
