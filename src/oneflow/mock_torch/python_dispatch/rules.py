"""Rules of functions and methods where modes or classes compute operators."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional import return_types
from oneflow.functional.registry import FUNCTIONS
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.mock_torch.python_dispatch import (
    contractions as contractions,
    derivatives as derivatives,
    indexing as indexing,
    layer_decompositions as layer_decompositions,
)
from oneflow.mock_torch.python_dispatch.calls import call_by_name, compute_alone
from oneflow.mock_torch.python_dispatch.decompositions import DECOMPOSITIONS
from oneflow.mock_torch.python_dispatch.initial_values import INITIALIZERS
from oneflow.mock_torch.python_dispatch.layers import INNER_FUNCTIONS, METHODS
from oneflow.mock_torch.python_dispatch.operators import operator
from oneflow.mock_torch.pytorch.aten import aten_operator
from oneflow.mock_torch.pytorch.aten_schemas import schemas_of
from oneflow.tensor.override_state import is_seen
from oneflow.tensor.python_dispatch import (
    DISPATCH_CALL,
    PUBLIC_FUNCTIONS,
    is_asked,
    is_wrapper,
    original_of,
)
from oneflow.tensor.subclasses import (
    ENTERED as FUNCTION_MODES,
    OVERRIDABLE,
    OVERRIDES,
    call_of,
    types_of,
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
        "broadcast_tensors",
        "meshgrid",
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
    """The names of functions, by function: first paths such as ``"nn.functional.unfold"``."""
    table: dict[Any, list[str]] = {}
    for path, function in FUNCTIONS.items():
        table.setdefault(function, []).extend([path, _name_of_path(path)])
    for function in INITIALIZERS:
        table.setdefault(function, []).append(f"nn.init.{function.__name__}")
    for name, member in vars(Tensor).items():
        if isinstance(member, property):
            table.setdefault(member.fget, []).append(name)
        elif isinstance(member, FunctionType):
            table.setdefault(original_of(member), []).extend([f"Tensor.{name}", name])
    return table


def _name_of_path(path: str) -> str:
    module, _, name = path.rpartition(".")
    return f"{module}_{name}" if module in ("linalg", "fft", "special") else name


@functools.cache
def rule_of(function: FunctionType) -> Rule:
    """Return the rule of a function: a composition, an operator, or its body."""
    rule = _rule_by_names(function, tuple(_names().get(function, ())))
    return functools.partial(_without_gradient, rule) if function in INITIALIZERS else rule


def _rule_by_names(function: FunctionType, known_as: tuple[str, ...]) -> Rule:
    names = dict.fromkeys([*known_as, function.__name__])
    if "tensor" in names:
        return _from_data
    for name in names:
        if name in DECOMPOSITIONS:
            return functools.partial(_composed, DECOMPOSITIONS[name])
    if any(name in _NO_OPERATORS for name in names):
        return _body
    rows = [name for name in names if schemas_of(name)]
    for name in (*rows, *names):
        if name.startswith("__") or "." in name:
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


def _without_gradient(rule: Rule, function: FunctionType, args: Any, kwargs: Any) -> Any:
    with no_grad():
        return rule(function, args, kwargs)


def _from_data(function: FunctionType, args: Any, kwargs: Any) -> Any:
    return operator("lift_fresh", compute_alone(function, args, kwargs))


def _operator(packet: Any, function: FunctionType, args: Any, kwargs: Any) -> Any:
    kwargs = {name: value for name, value in kwargs.items() if not _is_left_out(name, value)}
    if kwargs.pop("inplace", False):
        packet = aten_operator(f"{packet.__name__}_")
    result = call_by_name(packet, args, kwargs)
    kind = getattr(return_types, packet.__name__, None)
    if kind is None or not isinstance(result, tuple | list) or type(result) is kind:
        return result
    return kind(*result)


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
        kwargs: the arguments by name.
    """
    if public in METHODS:
        return METHODS[public](*args, **kwargs)
    types = types_of((*args, *kwargs.values())) if OVERRIDES.is_on else ()
    is_overridden = (types or (FUNCTION_MODES and OVERRIDES.asked_modes)) and is_seen(3)
    if (
        public in INNER_FUNCTIONS
        and not any(type(x) is str and x == "channels_last" for x in args)
        and (is_overridden or is_asked(args, kwargs))
    ):
        return INNER_FUNCTIONS[public](*args, **kwargs)
    if is_overridden:
        known_as = public_names().get(public)
        if known_as is not None:
            args, kwargs = _in_order_of(known_as, public, args, kwargs)
            return call_of(known_as)(known_as, types, args, kwargs)
    if not is_asked(args, kwargs):
        return function(*args, **kwargs)
    return rule_of(public)(function, args, kwargs)


@functools.cache
def public_names() -> dict[Any, Any]:
    """The functions that modes see where layers call others, by these."""
    table: dict[Any, Any] = {}
    originals = {
        (inspect.unwrap(function), function.__name__): function for function in FUNCTIONS.values()
    }
    for path in ("torch", "torch.nn.functional"):
        for member in vars(MODULE_IN_PLACE.value(path)).values():
            if isinstance(member, FunctionType) and member in OVERRIDABLE:
                table[originals.get((inspect.unwrap(member), member.__name__))] = member
    return table


def _in_order_of(
    known_as: FunctionType, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments for another function, by name from where that has them in another order."""
    own, other = (list(inspect.signature(f).parameters) for f in (function, known_as))
    # The first one may have another name in PyTorch.
    names = [other[0], *own[1:]] if other and own and own[0] not in other else own
    places = range(len(args))
    count = next((n for n in places if names[n : n + 1] != other[n : n + 1]), len(args))
    return args[:count], {**dict(zip(own[count:], args[count:], strict=False)), **kwargs}


PUBLIC_FUNCTIONS.fill(lambda: (*FUNCTIONS.values(), *METHODS, *INNER_FUNCTIONS, *INITIALIZERS))
