"""`oneflow.random` as job functions know it."""

from __future__ import annotations

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.index import gather as gathers
from oneflow.functional.random import creation
from oneflow.tensor.tensor import Tensor


def bernoulli(
    x: Tensor, seed: int | None = None, dtype: DType | None = None, name: str | None = None
) -> Tensor:
    """Draw 1 with the probabilities `x`, else 0.

    Args:
        x: probabilities.
        seed: accepted; draws follow `oneflow.manual_seed`.
        dtype: the dtype of the result, that of `x` by default.
        name: accepted.

    Example:
        >>> import oneflow as flow
        >>> flow.random.bernoulli(flow.tensor([0.0, 1.0]))
        tensor([0., 1.], dtype=oneflow.float32)
    """
    return creation.bernoulli(x, dtype=dtype)


def generate_random_batch_permutation_indices(
    value: Tensor, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Draw an order of the samples of a batch, int32.

    Args:
        value: the batch.
        seed: accepted; draws follow `oneflow.manual_seed`.
        name: accepted.

    Example:
        >>> import oneflow as flow
        >>> flow.random.generate_random_batch_permutation_indices(flow.ones(3, 2)).sort()[0]
        tensor([0, 1, 2], dtype=oneflow.int32)
    """
    return creation.randperm(value.shape[0], device=value.device, dtype=dt.int32)


def shuffle(value: Tensor, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return the samples of a batch in a random order.

    The arguments are those of `generate_random_batch_permutation_indices`.

    Example:
        >>> import oneflow as flow
        >>> flow.random.shuffle(flow.tensor([5, 5, 5]))
        tensor([5, 5, 5], dtype=oneflow.int64)
    """
    return gathers.index_select(value, 0, generate_random_batch_permutation_indices(value))
