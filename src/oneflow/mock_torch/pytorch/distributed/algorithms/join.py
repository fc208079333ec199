"""Training with unequal numbers of batches per process."""

from oneflow.mock_torch.missing import Missing


class Join(Missing):
    """The type of PyTorch's contexts for processes whose data end early."""

    _reason = (
        "all processes need the same number of batches; `DistributedSampler` and"
        " `DataLoader(drop_last=True)` give it"
    )


__all__ = ["Join"]
