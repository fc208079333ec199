"""Names of PyTorch's C++ module that libraries use."""

from oneflow.mock_torch.pytorch._C.names import (
    DisableTorchFunctionSubclass,
    DispatchKey,
    DispatchKeySet,
    _are_functorch_transforms_active,
    _AutoDispatchBelowAutograd,
    _debug_only_are_vmap_fallback_warnings_enabled,
    _debug_only_display_vmap_fallback_warnings,
    _disabled_torch_function_impl,
    _ExcludeDispatchKeyGuard,
    _get_tracing_state,
    _log_api_usage_once,
    _TensorMeta,
    is_grad_enabled,
)

__all__ = [
    "DisableTorchFunctionSubclass",
    "DispatchKey",
    "DispatchKeySet",
    "_AutoDispatchBelowAutograd",
    "_ExcludeDispatchKeyGuard",
    "_TensorMeta",
    "_are_functorch_transforms_active",
    "_debug_only_are_vmap_fallback_warnings_enabled",
    "_debug_only_display_vmap_fallback_warnings",
    "_disabled_torch_function_impl",
    "_get_tracing_state",
    "_log_api_usage_once",
    "is_grad_enabled",
]
