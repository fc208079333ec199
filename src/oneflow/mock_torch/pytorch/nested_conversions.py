"""Conversions of tensors with masks or padding to nested tensors, by PyTorch's inner names."""

from __future__ import annotations

import oneflow as flow
from oneflow.nested.tensor import NestedTensor
from oneflow.tensor.tensor import Tensor


def _nested_tensor_from_mask_left_aligned(t: Tensor, mask: Tensor) -> bool:
    """Return whether the true elements of each row of a mask are its first ones."""
    _check_mask(t, mask)
    positions = flow.arange(mask.shape[1], device=mask.device)
    return bool((mask == (positions < mask.sum(1, keepdim=True))).all())


def _nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> NestedTensor:
    """Return the first rows of each element of a batch, as many as a mask has true elements there.

    Args:
        t: the batch, with three dimensions.
        mask: truth values for its first two dimensions.
        mask_check: check that the true ones are the first.

    Raises:
        RuntimeError: the mask does not fit.
    """
    _check_mask(t, mask)
    if mask_check and not _nested_tensor_from_mask_left_aligned(t, mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    counts = mask.sum(1).tolist()
    parts = [part[:count] for part, count in zip(t.unbind(), counts, strict=True)]
    return flow.nested.as_nested_tensor(parts)


def _check_mask(t: Tensor, mask: Tensor) -> None:
    if mask.dtype is not flow.bool:
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask.dtype} instead.")
    if mask.ndim != 2:
        raise RuntimeError(f"Padding mask should be 2D, got {mask.ndim} dimensions")
    if t.ndim != 3:
        raise RuntimeError(f"Input should be a 3D tensor, N * L * D, got {t.ndim} dimensions")
    if t.shape[:2] != mask.shape:
        raise RuntimeError(
            f"Mask size should match input size, got {tuple(mask.shape)} and {tuple(t.shape)}"
        )


def _nested_from_padded(
    padded: Tensor, cpu_nested_shape_example: Tensor, fuse_transform_0213: bool = False
) -> NestedTensor:
    """Return the components that lie at the beginning of each dimension of a padded batch.

    Args:
        padded: the batch.
        cpu_nested_shape_example: the sizes of each component.
        fuse_transform_0213: heads, the second dimension, come behind rows, and are joined with
            what they hold.

    Raises:
        RuntimeError: heads are to be joined where there are not four dimensions.
    """
    if fuse_transform_0213:
        if padded.ndim != 4:
            raise RuntimeError(f"heads are joined in four dimensions, got {padded.ndim}")
        padded = padded.transpose(1, 2).flatten(2)
    parts = [
        part[tuple([slice(size) for size in sizes])]
        for part, sizes in zip(padded.unbind(), cpu_nested_shape_example.tolist(), strict=True)
    ]
    return flow.nested.as_nested_tensor(parts)


def _nested_from_padded_and_nested_example(
    padded: Tensor, nt_example: NestedTensor
) -> NestedTensor:
    """Return the components of a padded batch that have the sizes of those of a nested tensor."""
    sizes = flow.tensor([list(part.shape) for part in nt_example.unbind()])
    return _nested_from_padded(padded, sizes)
