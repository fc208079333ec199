"""Names of ``torch.distributed.checkpoint``: `oneflow.save` and `load` take global tensors."""

from oneflow.mock_torch.missing import raise_sharding as load, raise_sharding as save

__all__ = ["load", "save"]
