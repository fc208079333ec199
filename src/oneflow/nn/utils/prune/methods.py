"""The pruning methods: which elements to prune."""

from __future__ import annotations

import numbers
from abc import abstractmethod

from oneflow.base.shape import wrap_dim
from oneflow.functional.creation.factory_functions import ones_like
from oneflow.functional.index.search import topk
from oneflow.functional.linalg.norms import vector_norm
from oneflow.functional.random.creation import rand, rand_like
from oneflow.nn.utils.prune.base import BasePruningMethod
from oneflow.tensor.tensor import Tensor


class Identity(BasePruningMethod):
    """Takes nothing away, but makes the parameter a pruned one, with a mask of ones.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Linear(2, 1)
        >>> method = flow.nn.utils.prune.Identity.apply(layer, "weight")
        >>> layer.weight_mask
        tensor([[1., 1.]], dtype=oneflow.float32)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask`."""
        return default_mask


def validate_amount(amount: float) -> None:
    """Check the amount of elements to prune, whatever the tensor's size.

    Args:
        amount: a number of elements or slices, or, if it is a float, the part of them.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, or a part above 1.
    """
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount!r}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def validate_amount_of(amount: float, tensor_size: int) -> None:
    """Check that there are as many things as are to be taken away.

    Raises:
        ValueError: there are not.
    """
    if isinstance(amount, numbers.Integral) and amount > tensor_size:
        raise ValueError(
            f"amount={amount} should be smaller than the number of parameters to prune="
            f"{tensor_size}"
        )


def count_of(amount: float, tensor_size: int) -> int:
    """Return how many things of `tensor_size` an amount is."""
    if isinstance(amount, numbers.Integral):
        return int(amount)
    return round(amount * tensor_size)


def validate_slices(t: Tensor) -> None:
    """Check that a tensor has slices to take away.

    Raises:
        ValueError: it has less than two dimensions.
    """
    if t.ndim <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor "
            f"of shape {tuple(t.shape)} with {t.ndim} dims"
        )


def slice_norms(t: Tensor, n: float | str, dim: int) -> Tensor:
    """Return the norm of each slice along a dimension.

    Args:
        t: tensor of any shape.
        n: order of the norm, as of `linalg.vector_norm`, or ``"fro"``.
        dim: the dimension that the slices are cut along.
    """
    others = tuple(axis for axis in range(t.ndim) if axis != wrap_dim(dim, t.ndim))
    return vector_norm(t, 2 if n == "fro" else float(n), others)


class _AmountPruning(BasePruningMethod):
    """Base of methods that take away so many elements or slices."""

    def __init__(self, amount: float) -> None:
        validate_amount(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """Number of things to take away of `size`."""
        validate_amount_of(self.amount, size)
        return count_of(self.amount, size)


def _without_smallest(scores: Tensor, default_mask: Tensor, count: int) -> Tensor:
    """A mask without the elements of the `count` smallest scores."""
    mask = default_mask.clone().reshape(-1)
    if count:
        mask[topk(scores.reshape(-1), count, largest=False)[1]] = 0
    return mask.reshape(default_mask.shape)


class RandomUnstructured(_AmountPruning):
    """Takes away random elements.

    Args:
        amount: the number of elements, or, if it is a float, their share.

    Raises:
        TypeError: `amount` is no number.
        ValueError: it is negative, a part above 1, or more than there are.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.prune.RandomUnstructured(0.5).prune(flow.ones(2, 4)).sum()
        tensor(4., dtype=oneflow.float32)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` without random elements."""
        return _without_smallest(
            rand_like(t, dtype=default_mask.dtype), default_mask, self._count(t.numel())
        )


class L1Unstructured(_AmountPruning):
    """Takes away the elements with the smallest absolute values.

    Args:
        amount: the number of elements, or, if it is a float, their share.

    Raises:
        TypeError: `amount` is no number.
        ValueError: it is negative, a part above 1, or more than there are.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.prune.L1Unstructured(2).prune(flow.tensor([3.0, -1.0, 0.5, -2.0]))
        tensor([ 3., -0.,  0., -2.], dtype=oneflow.float32)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` without the smallest elements."""
        return _without_smallest(t.abs(), default_mask, self._count(t.numel()))


class _SlicePruning(_AmountPruning):
    """Base of methods that take away slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int) -> None:
        super().__init__(amount)
        self.dim = dim

    @abstractmethod
    def _scores(self, t: Tensor, dim: int) -> Tensor:
        """The importance of each slice."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` without slices along `dim`.

        Raises:
            ValueError: the tensor has less than two dimensions, or less slices than that.
            IndexError: it has no dimension `dim`.
        """
        validate_slices(t)
        dim = wrap_dim(self.dim, t.ndim)
        count = self._count(t.shape[dim])
        scores = self._scores(t, dim)
        slice_mask = _without_smallest(scores, ones_like(scores), count)
        shape = [-1 if axis == dim else 1 for axis in range(t.ndim)]
        return default_mask * slice_mask.to(default_mask.dtype).reshape(shape)


class RandomStructured(_SlicePruning):
    """Takes away random slices.

    Args:
        amount: the number of slices, or, if it is a float, their share.
        dim: the dimension that they are cut along.

    Raises:
        TypeError: `amount` is no number.
        ValueError: it is negative, a part above 1, or more than there are.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.utils.prune.RandomStructured(1, dim=0).prune(flow.ones(2, 4)).sum()
        tensor(4., dtype=oneflow.float32)
    """

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount, dim)

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return rand(t.shape[dim], device=t.device)


class LnStructured(_SlicePruning):
    """Takes away the slices with the smallest norms.

    Args:
        amount: the number of slices, or, if it is a float, their share.
        n: order of the norm, as of `linalg.vector_norm`, or ``"fro"``.
        dim: the dimension that the slices are cut along.

    Raises:
        TypeError: `amount` is no number.
        ValueError: it is negative, a part above 1, or more than there are.

    Example:
        >>> import oneflow as flow
        >>> method = flow.nn.utils.prune.LnStructured(1, n=2, dim=0)
        >>> method.prune(flow.tensor([[1.0, 2.0], [2.0, 2.0]])).tolist()
        [[0.0, 0.0], [2.0, 2.0]]
    """

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor, dim: int) -> Tensor:
        return slice_norms(t, self.n, dim)


class CustomFromMask(BasePruningMethod):
    """Takes away where a mask is 0.

    Args:
        mask: ones and zeros in the shape of the parameter.

    Example:
        >>> import oneflow as flow
        >>> mask = flow.tensor([1, 0])
        >>> flow.nn.utils.prune.CustomFromMask(mask).prune(flow.tensor([3.0, 4.0]))
        tensor([3., 0.], dtype=oneflow.float32)
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks.

        Raises:
            ValueError: the shapes differ.
        """
        if self.mask.shape != default_mask.shape:
            raise ValueError(
                f"`mask` must have the shape of the pruned tensor, {tuple(default_mask.shape)}, "
                f"got {tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(device=default_mask.device, dtype=default_mask.dtype)
