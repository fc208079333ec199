"""Names that ``torch.cuda.amp`` has beside `oneflow.cuda.amp`."""

from oneflow.mock_torch.pytorch.cuda.amp.common import (
    amp_definitely_not_available as amp_definitely_not_available,
)
