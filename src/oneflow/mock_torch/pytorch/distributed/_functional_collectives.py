"""``torch.distributed._functional_collectives``: collectives by which PyTorch shards tensors."""

from oneflow.mock_torch.missing import Sharded


class AsyncCollectiveTensor(Sharded):
    """The type of results that a collective has not written yet."""
