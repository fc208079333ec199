"""The methods that tensors have as blobs of a job."""

from __future__ import annotations

from oneflow.base.sbp import Sbp
from oneflow.legacy.context import current_run
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


def op_name(self: Tensor) -> str:
    """The name of a blob of a job: ``Input_0``, ``Input_1``, ... for arguments.

    Raises:
        RuntimeError: called outside the body of a job.

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
    return current_run("the name of a blob").blob_name(self)


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
attach("op_name", property(op_name))
attach("logical_blob_name", property(logical_blob_name))
attach("unique_name", property(logical_blob_name))
attach("blob_name", property(blob_name))
attach("is_dynamic", property(is_dynamic))
