"""Names of ``torch.nn.modules.module``."""

from oneflow.nn import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

__all__ = ["_EXTRA_STATE_KEY_SUFFIX", "Module"]
