"""Names of PyTorch's C++ module that libraries use."""

from oneflow.autograd import is_grad_enabled
from oneflow.mock_torch.pytorch import _VF as _VariableFunctions
from oneflow.mock_torch.pytorch._C.function_schema import (
    FunctionSchema as FunctionSchema,
    parse_schema as parse_schema,
)
from oneflow.mock_torch.pytorch._C.names import (
    DispatchKey,
    DispatchKeySet,
    Graph,
    Value,
    _are_functorch_transforms_active,
    _AutoDispatchBelowAutograd,
    _debug_only_are_vmap_fallback_warnings_enabled,
    _debug_only_display_vmap_fallback_warnings,
    _ExcludeDispatchKeyGuard,
    _get_default_device,
    _get_function_stack_at,
    _get_tracing_state,
    _is_alias_of,
    _is_torch_function_mode_enabled,
    _len_torch_function_stack,
    _log_api_usage_once,
    _TensorMeta,
)
from oneflow.tensor.function_modes import (
    DisableTorchFunction,
    EnableTorchFunction as _EnableTorchFunction,
    pop_mode as _pop_torch_function_stack,
    push_mode as _push_on_torch_function_stack,
)
from oneflow.tensor.python_dispatch import (
    DisableTorchDispatch as _DisableTorchDispatch,
    pop_mode as _pop_torch_dispatch_stack,
    push_mode as _push_on_torch_dispatch_stack,
)
from oneflow.tensor.subclasses import (
    DisableTorchFunctionSubclass,
    disabled_torch_function as _disabled_torch_function_impl,
)
