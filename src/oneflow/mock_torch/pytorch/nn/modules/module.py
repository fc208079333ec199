"""Names of ``torch.nn.modules.module``."""

from oneflow.module.hooks import GLOBAL_HOOKS, REGISTRATION_HOOKS
from oneflow.nn import Module

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"
# The hooks on all modules, by the dictionaries that PyTorch keeps them in.
_global_parameter_registration_hooks = REGISTRATION_HOOKS["_parameters"]
_global_buffer_registration_hooks = REGISTRATION_HOOKS["_buffers"]
_global_module_registration_hooks = REGISTRATION_HOOKS["_modules"]
_global_forward_pre_hooks = GLOBAL_HOOKS["_forward_pre_hooks"]
_global_forward_hooks = GLOBAL_HOOKS["_forward_hooks"]
_global_backward_pre_hooks = GLOBAL_HOOKS["_backward_pre_hooks"]
_global_backward_hooks = GLOBAL_HOOKS["_backward_hooks"]

__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX",
    "Module",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
    "_global_buffer_registration_hooks",
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_module_registration_hooks",
    "_global_parameter_registration_hooks",
]
