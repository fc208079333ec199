"""The methods that tensors have as blobs of a job."""

from __future__ import annotations

import numpy as np

from oneflow.base.errors import UnavailableAttributeError
from oneflow.base.sbp import Sbp, Split
from oneflow.legacy.context import current_run
from oneflow.legacy.parallel_cast import parallel_cast
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def with_distribute(blob: Tensor, distribute: Sbp | None) -> Tensor:
    """The blob, distributed in this way over the devices it is on; one device has all of it.

    Args:
        blob: any tensor.
        distribute: `oneflow.distribute.split(axis)`, `broadcast()`, or `auto()` for the blob as it
            is.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4).with_distribute(flow.distribute.split(0)).shape
        oneflow.Size([4])
    """
    return parallel_cast(blob, distribute=distribute)


def with_gradient_distribute(blob: Tensor, distribute: Sbp | None) -> Tensor:
    """The blob, whose gradient is distributed in this way; see `with_distribute`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4).with_gradient_distribute(flow.distribute.split(0)).shape
        oneflow.Size([4])
    """
    return parallel_cast(blob, gradient_distribute=distribute)


def parallel_size(self: Tensor) -> int:
    """The number of devices that a blob is on.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(4).parallel_size
        1
    """
    return self.placement.size if self.is_global else 1


def numpy_list(self: Tensor) -> list[np.ndarray]:
    """Return the parts of a blob that devices have, in the order of these.

    Parts of a split blob differ by at most one row; every device has all of another.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1.0, 2.0]).numpy_list()
        [array([1., 2.], dtype=float32)]
    """
    parts = [self.numpy()]
    grid = zip(self.sbp, self.placement.hierarchy, strict=True) if self.is_global else ()
    for sbp, count in grid:
        parts = [
            part
            for array in parts
            for part in (
                np.array_split(array, count, sbp.dim) if isinstance(sbp, Split) else [array] * count
            )
        ]
    return parts


def op_name(self: Tensor) -> str:
    """The name of a blob of a job: ``Input_0``, ``Input_1``, ... for arguments.

    Raises:
        UnavailableAttributeError: called outside the body of a job.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     names.add(x.op_name)
        ...     return x
        >>> names = set()
        >>> result = job(np.ones(2, np.float32))
        >>> names
        {'Input_0'}
    """
    return current_run("the name of a blob", UnavailableAttributeError).blob_name(self)


def logical_blob_name(self: Tensor) -> str:
    """The name of a blob as `oneflow.saved_model` takes it: its `op_name` and ``/out``.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2,))) -> tp.Numpy:
        ...     names.add(x.logical_blob_name)
        ...     return x
        >>> names = set()
        >>> result = job(np.ones(2, np.float32))
        >>> names
        {'Input_0/out'}
    """
    return f"{op_name(self)}/out"


def blob_name(self: Tensor) -> str:
    """``"out"``, the name of every result within its operator.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).blob_name
        'out'
    """
    return "out"


def is_dynamic(self: Tensor) -> bool:
    """False: blobs have the shapes that their job declares.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2).is_dynamic
        False
    """
    return False


attach("with_distribute", with_distribute)
attach("with_gradient_distribute", with_gradient_distribute)
attach("parallel_size", property(parallel_size))
attach("numpy_list", numpy_list)
attach("op_name", property(op_name))
attach("logical_blob_name", property(logical_blob_name))
attach("unique_name", property(logical_blob_name))
attach("blob_name", property(blob_name))
attach("is_dynamic", property(is_dynamic))
