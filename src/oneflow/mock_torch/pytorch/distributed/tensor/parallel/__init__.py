"""Names of ``torch.distributed.tensor.parallel``: layers whose parts lie on several ranks."""

from oneflow.mock_torch.pytorch.distributed.tensor.parallel.api import (
    parallelize_module as parallelize_module,
)
from oneflow.mock_torch.pytorch.distributed.tensor.parallel.loss import (
    loss_parallel as loss_parallel,
)
from oneflow.mock_torch.pytorch.distributed.tensor.parallel.style import (
    ColwiseParallel as ColwiseParallel,
    ParallelStyle as ParallelStyle,
    PrepareModuleInput as PrepareModuleInput,
    PrepareModuleInputOutput as PrepareModuleInputOutput,
    PrepareModuleOutput as PrepareModuleOutput,
    RowwiseParallel as RowwiseParallel,
    SequenceParallel as SequenceParallel,
)
