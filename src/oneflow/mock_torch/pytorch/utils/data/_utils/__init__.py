"""Names of ``torch.utils.data._utils``."""

from oneflow.data.pool import MP_STATUS_CHECK_INTERVAL as MP_STATUS_CHECK_INTERVAL
from oneflow.mock_torch.pytorch.utils.data._utils import (
    collate as collate,
    pin_memory as pin_memory,
    worker as worker,
)
