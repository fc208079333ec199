"""``torch.sparse.FloatTensor`` and its like: older constructors of sparse tensors."""

from __future__ import annotations

from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.layout import Layout
from oneflow.base.shape import Size
from oneflow.functional.creation.conversion import TENSOR_TYPES
from oneflow.sparse.creation import sparse_coo_tensor
from oneflow.tensor.tensor import Tensor


class _SparseConstructor(type):
    """The type of the constructors.

    Calling one makes a tensor of positions and values, or an empty one of sizes; `isinstance` looks
    at the layout, the dtype and the device.
    """

    dtype: DType
    device_type: str
    layout = Layout.sparse_coo
    is_sparse = True

    def __call__(cls, *args: Any, device: Device | str | None = None) -> Tensor:
        device = cls.device_type if device is None else device
        if args and isinstance(args[0], Tensor):
            # The values keep their dtype, as in PyTorch.
            return sparse_coo_tensor(*args, device=device)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args or (0,)
        return sparse_coo_tensor(Size(size), dtype=cls.dtype, device=device)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, Tensor)
            and instance.layout is cls.layout
            and instance.dtype is cls.dtype
            and instance.device.type == cls.device_type
        )


def constructor(name: str, device_type: str, module: str) -> Any:
    """Make a constructor.

    Args:
        name: its name, as that of the constructor of dense tensors.
        device_type: where its tensors are.
        module: the module that has it.
    """
    dtype = TENSOR_TYPES[name]
    text = f"Makes sparse {dtype!r} tensors on {device_type} of positions and values, or of sizes."
    options = {"dtype": dtype, "device_type": device_type, "__doc__": text, "__module__": module}
    return _SparseConstructor(name, (), options)
