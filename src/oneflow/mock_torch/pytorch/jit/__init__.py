"""Names that ``torch.jit`` has beside `oneflow.jit`."""

from oneflow.mock_torch.pytorch.jit.compilation_unit import (
    CompilationUnit as CompilationUnit,
    enable_onednn_fusion as enable_onednn_fusion,
    export_opnames as export_opnames,
    onednn_fusion_enabled as onednn_fusion_enabled,
    set_fusion_strategy as set_fusion_strategy,
    strict_fusion as strict_fusion,
)
from oneflow.mock_torch.pytorch.jit.script_modules import (
    Attribute as Attribute,
    Error as Error,
    Future as Future,
    RecursiveScriptModule as RecursiveScriptModule,
    ScriptFunction as ScriptFunction,
    ScriptModule as ScriptModule,
    TracerWarning as TracerWarning,
    _get_trace_graph as _get_trace_graph,
    fork as fork,
    is_of_type as isinstance,
    load as load,
    save as save,
    trace_module as trace_module,
    wait as wait,
)
from oneflow.module.scripting import (
    ignore as _overload,
    ignore as _overload_method,
    script as _script_if_tracing,
)
