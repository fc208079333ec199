"""Names of ``torch.utils.data._utils``."""

from oneflow.mock_torch.pytorch.utils.data._utils import (
    collate as collate,
    pin_memory as pin_memory,
    worker as worker,
)

#: Seconds for which a loader's processes wait before they look whether the others are alive.
MP_STATUS_CHECK_INTERVAL = 5.0
