"""The methods that tensors have as blobs of a job."""

from __future__ import annotations

from oneflow.base.sbp import Sbp
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def with_distribute(blob: Tensor, distribute: Sbp) -> Tensor:
    """The blob, distributed in this way over the devices it is on; one device has all of it.

    Args:
        blob: any tensor.
        distribute: `oneflow.distribute.split(axis)` or `oneflow.distribute.broadcast()`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4).with_distribute(flow.distribute.split(0)).shape
        oneflow.Size([4])
    """
    return blob.to_global(sbp=distribute) if blob.is_global else blob


attach("with_distribute", with_distribute)
