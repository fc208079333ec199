"""Names of ``torch.distributed.tensor._utils``."""

from oneflow.mock_torch.missing import raise_sharding as compute_local_shape_and_global_offset

__all__ = ["compute_local_shape_and_global_offset"]
