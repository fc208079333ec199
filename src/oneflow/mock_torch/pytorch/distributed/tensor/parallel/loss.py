"""``loss_parallel``: cross entropies of logits whose classes are split over ranks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oneflow import Tensor
from oneflow.base.sbp import BROADCAST, Sbp, Split, split
from oneflow.nn.functional import cross_entropy
from oneflow.tensor.function_modes import TorchFunctionMode


class _LocalTargets(TorchFunctionMode):
    """A mode in which a local target of `cross_entropy` is the same on all ranks of the logits."""

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        if getattr(func, "__name__", None) != cross_entropy.__name__:
            return func(*args, **named)
        operands = dict(zip(("input", "target", "weight"), args, strict=False)) | named
        logits, rest = operands.pop("input"), args[3:]
        if isinstance(logits, Tensor) and logits.is_global:
            for name in ("target", "weight"):
                operands[name] = _to_mesh_of(logits, operands.get(name), name == "target")
        target, weight = operands.pop("target"), operands.pop("weight", None)
        return func(logits, target, weight, *rest, **operands)


def _to_mesh_of(logits: Tensor, value: Any, is_target: bool) -> Any:
    """Return an operand on the ranks of the logits: a local one is a copy, or its batch a part."""
    if not isinstance(value, Tensor) or value.is_global:
        return value
    class_dim = 1 if logits.ndim > 1 else 0
    signatures = [
        _shard(signature, class_dim) if is_target else BROADCAST for signature in logits.sbp
    ]
    return value.to_global(logits.placement, signatures)


def _shard(signature: Sbp, class_dim: int) -> Sbp:
    """Return how targets are split whose logits are split so: they have no dimension of classes."""
    if not isinstance(signature, Split) or signature.dim == class_dim:
        return BROADCAST
    return split(signature.dim - (signature.dim > class_dim))


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """Take cross entropies of logits that are split along their classes, without gathering them.

    In the block a target that is a local tensor is taken for a copy on each rank (or the part of
    the batch where the batch is split), as logits and targets must lie on the same ranks.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.tensor import Shard, distribute_tensor
        ...     from torch.distributed.tensor.parallel import loss_parallel
        >>> mesh = torch.distributed.init_device_mesh("cpu", (1,))
        >>> logits = distribute_tensor(torch.zeros(2, 4), mesh, [Shard(1)])
        >>> with loss_parallel():
        ...     loss = torch.nn.functional.cross_entropy(logits, torch.tensor([1, 3]))
        >>> round(loss.full_tensor().item(), 4)
        1.3863
    """
    with _LocalTargets():
        yield


__all__ = ["loss_parallel"]
