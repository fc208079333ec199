"""Parameters of distributions: broadcasting, probabilities and their logarithms, triangles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.dtype import get_default_dtype
from oneflow.base.limits import finfo
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.functional.shape.concat import cat
from oneflow.functional.shape.stack import broadcast_tensors
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

T = TypeVar("T")


class lazy_property(Generic[T]):
    """A parameter that is computed from others unless it was given, and so is set.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.Bernoulli(logits=0.0).probs
        tensor(0.5000, dtype=oneflow.float32)
    """

    # Without `__set__`, so that what stands in the instance is found first. Nothing is kept:
    # a graph's `build` would leave values behind that exist only within it.

    def __init__(self, wrapped: Callable[[Any], T]) -> None:
        self.wrapped = wrapped
        self.__doc__ = wrapped.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: Any = None) -> T: ...
    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            return self.wrapped(instance)


def as_tensors(*values: Any) -> list[Tensor]:
    """Return numbers and tensors as tensors.

    Numbers get the dtype and device of the first tensor, or the default ones.
    """
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype, device = (get_default_dtype(), CPU) if first is None else (first.dtype, first.device)
    if not dtype.is_floating_point:
        dtype = get_default_dtype()
    return [
        value if isinstance(value, Tensor) else import_array(value, dtype, device)
        for value in values
    ]


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return numbers and tensors as tensors of one shape.

    Numbers get the dtype and device of the first tensor, or the default ones.

    Example:
        >>> import oneflow as flow
        >>> [tensor.shape for tensor in flow.distributions.utils.broadcast_all(1.0, flow.ones(2))]
        [oneflow.Size([2]), oneflow.Size([2])]
    """
    return broadcast_tensors(*as_tensors(*values))


def clamp_probs(probs: Tensor) -> Tensor:
    """Keep probabilities off 0 and 1 by one rounding step, to take logarithms of.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.utils.clamp_probs(flow.tensor(0.0)) > 0
        tensor(True, dtype=oneflow.bool)
    """
    step = finfo(probs.dtype).eps
    return probs.clamp(step, 1 - step)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return the probabilities of log-odds, or of unnormalised logarithms along the last dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.utils.logits_to_probs(flow.zeros(2))
        tensor([0.5000, 0.5000], dtype=oneflow.float32)
    """
    return logits.sigmoid() if is_binary else logits.softmax(-1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return the log-odds of probabilities, or their logarithms.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.utils.probs_to_logits(flow.tensor(0.5), is_binary=True)
        tensor(0., dtype=oneflow.float32)
    """
    inner = clamp_probs(probs)
    return inner.log() - (-inner).log1p() if is_binary else inner.log()


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Sum over the last `dims` dimensions."""
    return value.sum(tuple(range(-dims, 0))) if dims else value


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return the matrices whose lower triangles have the elements of vectors, row by row.

    Args:
        vec: ``[..., n]``.
        diag: the last diagonal that is filled: 0 the main one, those below it negative.

    Raises:
        ValueError: no triangle has `n` elements.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.utils.vec_to_tril_matrix(flow.tensor([1.0, 2.0, 3.0]))
        tensor([[1., 0.],
                [2., 3.]], dtype=oneflow.float32)
    """
    # The positive root of size² + (1 + 2 diag) size - |diag| (diag + 1) - 2 n = 0.
    linear = 1 + 2 * diag
    constant = 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)
    size = round((-linear + (linear**2 + constant) ** 0.5) / 2)
    rows, columns = np.tril_indices(size, diag)
    if len(rows) != vec.shape[-1]:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the "
            "lower triangular part of a square D x D matrix."
        )
    # Everything else reads the zero that is put behind the elements.
    places = np.full((size, size), len(rows))
    places[rows, columns] = np.arange(len(rows))
    padded = cat([vec, vec.new_zeros((*vec.shape[:-1], 1))], -1)
    index = import_array(places.reshape(-1), None, vec.device)
    return padded.index_select(-1, index).reshape((*vec.shape[:-1], size, size))


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of the lower triangles of matrices, row by row.

    Args:
        mat: ``[..., n, n]``.
        diag: the last diagonal that is taken.

    Example:
        >>> import oneflow as flow
        >>> flow.distributions.utils.tril_matrix_to_vec(flow.tensor([[1.0, 0.0], [2.0, 3.0]]))
        tensor([1., 2., 3.], dtype=oneflow.float32)
    """
    size = mat.shape[-1]
    rows, columns = np.tril_indices(size, diag)
    index = import_array(rows * size + columns, None, mat.device)
    return mat.flatten(-2).index_select(-1, index)
