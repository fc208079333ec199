"""Names of ``torch.distributed.optim.optimizer``, which needs remote procedure calls."""

from oneflow.mock_torch.missing import Missing


class DistributedOptimizer(Missing):
    """An optimizer of parameters that other processes hold as remote references."""

    _reason = (
        "there are no remote procedure calls; `ZeroRedundancyOptimizer` and "
        "`torch.distributed.fsdp.fully_shard` split an optimizer's state over processes"
    )


__all__ = ["DistributedOptimizer"]
