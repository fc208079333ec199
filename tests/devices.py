"""The devices beside the first CPU that tests use: an accelerator where there is one."""

import oneflow as flow

ACCELERATOR = flow.accelerator.current_accelerator()
# What holds for an accelerator holds for every device but the first.
OTHER_DEVICE = ACCELERATOR or flow.device("cpu", 1)

if ACCELERATOR is not None:
    # What is compared with other devices is computed in float32 there, too.
    flow.set_float32_matmul_precision("highest")
