"""Facts about JAX's own primitives, by name: what the steps of a traced implementation do.

The names are those of every release of JAX that the package runs with. The rooms that compute a
step by NumPy, or write it in ONNX, have tables of their own; they start from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Calls: the steps that only hold another jaxpr, by the parameter that it is in.
CALLS = {
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2"), "jaxpr"),
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_lin": "call_jaxpr",
}
# The primitive of a system of equations; it holds the jaxprs of its solver and for derivatives.
LINEAR_SOLVE = "custom_linear_solve"

# The results are the operands.
IDENTITIES = frozenset(
    ("hidden", "optimization_barrier", "copy", "copy_p", "stop_gradient", "name", "pvary")
)
# The result has the operand's elements, in order.
RESHAPES = frozenset(("reshape", "squeeze", "expand_dims"))
# The result has elements of the operand: NumPy copies none.
VIEWS = IDENTITIES | RESHAPES | {"transpose", "slice", "rev", "split", "dynamic_slice"}
# Scatters that combine what they write with what is there, and how; None: it replaces that.
SCATTER_REDUCTIONS: dict[str, str | None] = {
    "scatter": None,
    **{
        f"scatter{sep}{combine}": combine
        for sep in "-_"
        for combine in ("add", "sub", "mul", "min", "max")
    },
}
_REDUCING_SCATTERS = frozenset(name for name, combine in SCATTER_REDUCTIONS.items() if combine)
# Nothing is computed: elements are moved, repeated or converted.
MOVES = VIEWS | {
    "broadcast_in_dim",
    "pad",
    "dynamic_update_slice",
    "gather",
    "scatter",
    "concatenate",
    "convert_element_type",
    "bitcast_convert_type",
    "iota",
    "device_put",
    "axis_index",
    "reduce_precision",
}
# They read more elements than they produce.
REDUCTIONS = _REDUCING_SCATTERS | {
    "argmax",
    "argmin",
    "cumlogsumexp",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_window",
    "reduce_window_max",
    "reduce_window_min",
    "reduce_window_sum",
    "reduce_xor",
    "running_argmax",
    "running_argmin",
    "running_logaddexp",
    "running_max",
    "running_product",
    "running_sum",
    "sort",
    "sort_random",
}
# XLA does not fuse them into what reads their results.
STORED = frozenset(SCATTER_REDUCTIONS) | {
    "dot_general",
    "conv_general_dilated",
    "scan",
    "while",
    "cond",
    "sort",
    "sort_random",
    "top_k",
    "fft",
    "reduce_window",
    "cumsum",
    "running_argmax",
    "running_argmin",
    "running_logaddexp",
    "running_max",
    "running_product",
    "running_sum",
    "concatenate",
    "reduce_sum",
    "reduce_max",
    "reduce_min",
    "argmax",
    "argmin",
    "custom_call",
}
# Operations for each element of the result, where there are many.
FLOPS_PER_ELEMENT = {"philox4x32": 150}
# Beginnings of the names of those whose result depends on several elements, were there several.
_ACROSS = ("reduce_", "arg", "cum", "running_", "sort", "random", "rng", "threefry", LINEAR_SOLVE)


def called_jaxpr(name: str, params: Mapping[str, Any]) -> Any:
    """Return the jaxpr that an equation with these parameters calls; None if it is no call."""
    return params.get(CALLS[name]) if name in CALLS else None


def is_across_elements(name: str) -> bool:
    """Return whether an element of the result of a primitive may depend on several elements."""
    return name.startswith(_ACROSS) and name != "reduce_precision"
