"""Names of ``torch.distributed.optim``, which libraries compare optimizers with."""

from oneflow.mock_torch.missing import Missing


class ZeroRedundancyOptimizer(Missing):
    """An optimizer that splits its state over processes, apart from the parameters."""

    _reason = (
        "`torch.distributed.fsdp.fully_shard` splits parameters and their optimizer's state over"
        " processes"
    )


__all__ = ["ZeroRedundancyOptimizer"]
