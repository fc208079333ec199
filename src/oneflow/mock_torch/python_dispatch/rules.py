"""Rules of functions and methods where modes or classes compute operators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from oneflow.functional import return_types
from oneflow.functional.registry import FUNCTIONS
from oneflow.mock_torch.python_dispatch import (
    derivatives as derivatives,
    indexing as indexing,
    layer_compositions as layer_compositions,
)
from oneflow.mock_torch.python_dispatch.calls import call_by_name, compute_alone
from oneflow.mock_torch.python_dispatch.compositions import COMPOSITIONS
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.mock_torch.pytorch.aten import aten_operator
from oneflow.mock_torch.pytorch.aten_schemas import schemas_of
from oneflow.nn.functional import linear
from oneflow.nn.modules.linear import Linear
from oneflow.tensor.python_dispatch import (
    DISPATCH_CALL,
    PUBLIC_FUNCTIONS,
    is_asked,
    is_wrapper,
    original_of,
)
from oneflow.tensor.tensor import Tensor

Rule = Callable[[FunctionType, tuple[Any, ...], dict[str, Any]], Any]
#: Functions that are no operators: they read what is known of tensors, or make several operators.
_NO_OPERATORS = frozenset(
    [
        "size",
        "dim",
        "ndimension",
        "numel",
        "nelement",
        "stride",
        "storage_offset",
        "is_contiguous",
        "element_size",
        "get_device",
        "dim_order",
        "is_view",
        "is_shared",
        "is_pinned",
        "data_ptr",
        "const_data_ptr",
        "untyped_storage",
        "storage",
        "storage_type",
        "is_set_to",
        "type",
        "is_floating_point",
        "is_complex",
        "is_signed",
        "is_inference",
        "is_conj",
        "is_neg",
        "is_tensor",
        "is_nonzero",
        "is_same_size",
        "is_storage",
        "result_type",
        "promote_types",
        "can_cast",
        "broadcast_shapes",
        "requires_grad_",
        "register_hook",
        "register_post_accumulate_grad_hook",
        "retain_grad",
        "backward",
        "tolist",
        "numpy",
        "to_numpy",
        "to_dense",
        "to_sparse",
        "to_sparse_coo",
        "to_sparse_csr",
        "to_sparse_csc",
        "sparse_dim",
        "dense_dim",
        "indices",
        "values",
        "crow_indices",
        "col_indices",
        "ccol_indices",
        "row_indices",
        "coalesce",
        "is_coalesced",
        "to_global",
        "to_local",
        "to_consistent",
        "with_distribute",
        "global_id",
        "consistent_id",
        "check_meta_consistency",
        "offload",
        "load",
        "is_offloaded",
        "resolve_conj",
        "resolve_neg",
        "numpy_list",
        "map_",
        "apply_",
        "set_",
        "resize_",
        "einsum",
        "broadcast_tensors",
        "meshgrid",
        "tensordot",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "alpha_dropout",
        "feature_alpha_dropout",
        "gumbel_softmax",
        "multi_head_attention_forward",
        "as_tensor",
        "asarray",
        "from_numpy",
        "unflatten",
        "hsplit",
        "vsplit",
        "dsplit",
        "tensor_split",
        "block_diag",
        "cartesian_prod",
        "combinations",
    ]
)


@functools.cache
def _names() -> dict[Any, list[str]]:
    """The names of functions, by function."""
    table: dict[Any, list[str]] = {}
    for path, function in FUNCTIONS.items():
        table.setdefault(function, []).append(_name_of_path(path))
    for name, member in vars(Tensor).items():
        if isinstance(member, property):
            table.setdefault(member.fget, []).append(name)
        elif isinstance(member, FunctionType):
            table.setdefault(original_of(member), []).append(name)
    return table


def _name_of_path(path: str) -> str:
    module, _, name = path.rpartition(".")
    return f"{module}_{name}" if module in ("linalg", "fft", "special") else name


@functools.cache
def rule_of(function: FunctionType) -> Rule:
    """Return the rule of a function: a composition, an operator, or its body."""
    names = dict.fromkeys([*_names().get(function, ()), function.__name__])
    if "tensor" in names:
        return _made_of_data
    for name in names:
        if name in COMPOSITIONS:
            return functools.partial(_composed, COMPOSITIONS[name])
    if any(name in _NO_OPERATORS for name in names):
        return _body
    rows = [name for name in names if schemas_of(name)]
    for name in (*rows, *names):
        if name.startswith("__"):
            continue
        try:
            packet = aten_operator(name)
        except AttributeError:
            continue
        return functools.partial(_operator, packet)
    return _body


def _composed(composition: Any, function: FunctionType, args: Any, kwargs: Any) -> Any:
    out = kwargs.pop("out", None)
    if kwargs.get("inplace") is False:
        kwargs.pop("inplace")
    result = composition(*args, **kwargs)
    if result is NotImplemented:
        return function(*args, **kwargs)
    return result if out is None else out.copy_(result)


def _made_of_data(function: FunctionType, args: Any, kwargs: Any) -> Any:
    return operator("lift_fresh", compute_alone(function, args, kwargs))


def _operator(packet: Any, function: FunctionType, args: Any, kwargs: Any) -> Any:
    kwargs = {name: value for name, value in kwargs.items() if not _is_left_out(name, value)}
    if kwargs.pop("inplace", False):
        packet = aten_operator(f"{packet.__name__}_")
    result = call_by_name(packet, args, kwargs)
    kind = getattr(return_types, packet.__name__, None)
    is_bare = kind is not None and isinstance(result, tuple | list) and type(result) is not kind
    return kind(*result) if is_bare else result


def _is_left_out(name: str, value: Any) -> bool:
    return (name in ("out", "name") and value is None) or (name == "inplace" and value is False)


def _body(function: FunctionType, args: Any, kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except NotImplementedError as error:
        if any(map(is_wrapper, args)):
            raise NotImplementedError(f"`{function.__name__}`: {error}") from None
        raise


@DISPATCH_CALL.fill
def dispatch_call(
    public: FunctionType, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the result of a function whose operators modes or classes may compute.

    Args:
        public: the function.
        function: a copy of it that asks nobody.
        args: the arguments.
        kwargs: those by name.
    """
    if public in _LAYERS:
        return _LAYERS[public](*args, **kwargs)
    if not is_asked(args, kwargs):
        return function(*args, **kwargs)
    return rule_of(public)(function, args, kwargs)


def _linear(self: Linear, input: Tensor) -> Tensor:
    return linear(input, self.weight, self.bias)


#: What layers compute without calling a function.
_LAYERS: dict[Any, Callable[..., Any]] = {Linear.forward: _linear}
PUBLIC_FUNCTIONS.fill(lambda: (*FUNCTIONS.values(), *_LAYERS))
