"""Names that ``torch.distributed`` has beside `oneflow.distributed`."""

from oneflow.mock_torch.pytorch.distributed.device_mesh import (
    DeviceMesh as DeviceMesh,
    init_device_mesh as init_device_mesh,
)

__all__ = ["DeviceMesh", "init_device_mesh"]
