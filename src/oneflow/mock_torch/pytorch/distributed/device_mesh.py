"""Names of ``torch.distributed.device_mesh``: `oneflow.placement` takes their place."""

from oneflow.mock_torch.missing import Sharded, raise_sharding as init_device_mesh


class DeviceMesh(Sharded):
    """The type of PyTorch's meshes of devices."""


__all__ = ["DeviceMesh", "init_device_mesh"]
