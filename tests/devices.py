"""The devices beside the first CPU that tests use: an accelerator where there is one."""

import oneflow as flow

ACCELERATOR = flow.accelerator.current_accelerator()
# Tests of an accelerator hold for every device but the first.
OTHER_DEVICE = ACCELERATOR or flow.device("cpu", 1)

if ACCELERATOR is not None:
    # Results that are compared with other devices are computed in float32 there, too.
    flow.set_float32_matmul_precision("highest")
