"""Calls of operators: modes and classes are asked for them, and what they return gets its history.

A function is one operator, or several (`decompositions`). Above all stands autograd, as in PyTorch:
the outermost call makes the node, and within ``__torch_dispatch__`` nothing is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.differentiation.grad_mode import MODE
from oneflow.mock_torch.python_dispatch.nodes import OperatorNode, SavedCall, needs_self
from oneflow.mock_torch.pytorch.aten_schemas import Schema, schemas_of
from oneflow.tensor.python_dispatch import (
    CALL_OVERLOAD,
    CALL_PACKET,
    DISPATCH,
    dispatch_types,
    is_asked,
    is_wrapper,
    leaves_of,
)
from oneflow.tensor.subclasses import OVERRIDES, classes_in_order
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import alias_storage, unwrap

Rule = Callable[..., Any]
#: Operators whose results have no gradient.
_WITHOUT_GRADIENT = frozenset(
    [
        "detach",
        "_local_scalar_dense",
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "rand_like",
        "randn_like",
        "randint_like",
        "new_zeros",
        "new_ones",
        "new_empty",
        "new_full",
        "new_tensor",
        "bernoulli",
    ]
)
#: Results, by number, without a gradient beside others that have one: permutations.
_CONSTANT_RESULTS = frozenset([("linalg_lu", 0), ("lu_unpack", 0)])
#: Operators whose results are views of their first argument.
VIEWS = frozenset(
    [
        "view",
        "t",
        "transpose",
        "permute",
        "expand",
        "unsqueeze",
        "squeeze",
        "select",
        "slice",
        "as_strided",
        "diagonal",
        "split",
        "split_with_sizes",
        "unbind",
        "unfold",
        "detach",
        "alias",
        "real",
        "imag",
        "_conj",
        "view_as_real",
        "view_as_complex",
    ]
)


@CALL_OVERLOAD.fill
def call_operator(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an operator as `torch.ops.aten` does: modes and classes are asked first."""
    if not is_asked(args, kwargs):
        return compute(overload, args, kwargs)
    if DISPATCH.depth:
        return _dispatch(overload, args, kwargs)
    return _with_history(overload, args, kwargs)


@CALL_PACKET.fill
def call_by_name(packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the overload of an operator that takes the arguments, which are made PyTorch's.

    An operator without a row in the table gets the arguments as they are.
    """
    overload, args, kwargs = resolve(packet, args, kwargs)
    return call_operator(overload, args, kwargs)


def resolve(
    packet: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the overload of an operator for some arguments, and these as PyTorch has them."""
    kwargs = {name: value for name, value in kwargs.items() if name != "out" or value is not None}
    if "out" in kwargs:
        return packet.overload("out"), args, kwargs
    schema: Schema
    for schema in schemas_of(packet.__name__):
        values = schema.bind(args, kwargs)
        if values is not None:
            overload = packet.overload(schema.overload_name or "default")
            return overload, *schema.normalized(values)
    return packet.overload("default"), args, kwargs


def compute(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Compute an operator of tensors with values; nobody is asked meanwhile.

    Raises:
        NotImplementedError: an argument has none.
    """
    try:
        return compute_alone(overload.kernel, args, kwargs)
    except NotImplementedError as error:
        if any(map(is_wrapper, leaves_of((args, kwargs)))):
            raise NotImplementedError(f"`{overload}` of a tensor without values: {error}") from None
        raise


def compute_alone(function: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function within which nobody is asked."""
    before = DISPATCH.is_on, OVERRIDES.is_on, OVERRIDES.modes_are_on
    DISPATCH.is_on = OVERRIDES.is_on = OVERRIDES.modes_are_on = False
    try:
        return function(*args, **kwargs)
    finally:
        DISPATCH.is_on, OVERRIDES.is_on, OVERRIDES.modes_are_on = before


def _dispatch(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of the innermost mode, or of the first class that has one.

    Raises:
        TypeError: each returned `NotImplemented`.
    """
    types = dispatch_types(args, kwargs)
    modes, asked = DISPATCH.modes, []
    DISPATCH.depth += 1
    try:
        if modes:
            DISPATCH.modes = modes[:-1]
            asked.append(modes[-1])
            result = modes[-1].__torch_dispatch__(overload, types, args, kwargs)
            if result is not NotImplemented:
                return result
        for kind in classes_in_order(types):
            asked.append(kind)
            result = kind.__torch_dispatch__(overload, types, args, kwargs)
            if result is not NotImplemented:
                return result
    finally:
        DISPATCH.modes = modes
        DISPATCH.depth -= 1
    if not asked:
        return compute(overload, args, kwargs)
    raise TypeError(
        f"Multiple dispatch failed for '{overload}'; all __torch_dispatch__ handlers returned "
        f"NotImplemented: {asked}"
    )


def _is_differentiated(overload: Any, args: Any, kwargs: Any) -> bool:
    return (
        MODE.enabled
        and overload.base_name not in _WITHOUT_GRADIENT
        and any(leaf.requires_grad for leaf in leaves_of((args, kwargs)) if _is_tensor(leaf))
    )


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)


def _with_history(overload: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of an operator above autograd."""
    target = args[0] if overload.writes and args and _is_tensor(args[0]) else None
    is_differentiated = _is_differentiated(overload, args, kwargs)
    if target is not None:
        _check_write(target, overload, is_differentiated)
    saved = None
    if is_differentiated:
        saved = SavedCall(overload, args, kwargs, _copy_for_backward(overload, args))
    result = _dispatch(overload, args, kwargs)
    if target is not None:
        _finish_write(target, saved)
        return target
    if overload.base_name in VIEWS:
        _note_views(args, result, is_differentiated)
    if saved is None:
        return _without_history(result) if overload.base_name == "detach" else result
    return _record(saved, result, args)


def _copy_for_backward(overload: Any, args: tuple[Any, ...]) -> Tensor | None:
    """A copy of the tensor that an operator is about to write to, if its backward pass needs it."""
    if not overload.writes or not needs_self(overload, args):
        return None
    return _dispatch(overload.overloadpacket.other("clone").overload("default"), args[:1], {})


def _check_write(target: Tensor, overload: Any, is_differentiated: bool) -> None:
    """Check that a wrapper may be written to; of other tensors the operator itself does.

    Raises:
        RuntimeError: it is a leaf that requires grad.
        NotImplementedError: gradients would have to follow a write through views.
    """
    if not is_wrapper(target) or not is_differentiated:
        return
    if target.is_leaf and target.requires_grad:
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    wrapper: Any = target
    if wrapper._value.layout.shares_history:
        raise NotImplementedError(
            f"`{overload}` writes to a view of a {type(target).__name__}, or to what has views,"
            " while gradients are recorded: they do not follow such writes. Write in a block of"
            " `no_grad`, or compute a new tensor"
        )


def _finish_write(target: Tensor, saved: SavedCall | None) -> None:
    """Give what was written to its new place in the autograd graph."""
    if is_wrapper(target):
        old: Any = target._value
        value = old.replaced()
        if saved is None:
            value.node, value.output_index = old.node, old.output_index
    elif saved is None or target._family is not None:
        return  # the operator has recorded it
    else:
        value = unwrap(target)
    if saved is not None:
        node = OperatorNode(saved, [value.spec])
        value.node, value.output_index = node, 0
        saved.keep_results(target, node)


def _note_views(args: tuple[Any, ...], result: Any, is_differentiated: bool) -> None:
    """Note which wrappers share memory and history with others: writes would have to tell them."""
    views = [leaf for leaf in leaves_of(result) if is_wrapper(leaf)]
    if is_differentiated and views and is_wrapper(args[0]):
        for tensor in (args[0], *views):
            tensor._value.layout.shares_history = True


def _without_history(result: Any) -> Any:
    if _is_tensor(result) and result.requires_grad:
        return Tensor.detach(result) if not is_wrapper(result) else result
    return result


def _record(saved: SavedCall, result: Any, args: tuple[Any, ...]) -> Any:
    """The result with the node of its operator."""
    inside = {id(leaf) for leaf in leaves_of(args)}
    outputs = [leaf for leaf in leaves_of(result) if _is_tensor(leaf)]
    if not outputs:
        return result
    own = {id(output): _own_handle(output, id(output) in inside) for output in outputs}
    values = [unwrap(own[id(output)]) for output in outputs]
    node = OperatorNode(saved, [value.spec for value in values])
    for index, value in enumerate(values):
        dtype = value.spec.dtype
        is_constant = (saved.overload.base_name, index) in _CONSTANT_RESULTS
        if (dtype.is_floating_point or dtype.is_complex) and not is_constant:
            value.node, value.output_index = node, index
    final = _replaced(result, own)
    saved.keep_results(final, node)
    return final


def _own_handle(output: Any, is_argument: bool) -> Tensor:
    """A tensor whose place in the graph is its own: an argument that is returned gets another."""
    if is_wrapper(output):
        return output._value.alias().handle() if is_argument else output
    value = unwrap(output)
    if not is_argument and output.grad_fn is not None:
        return output  # the operator has made it
    alias: Any = Tensor.__new__(Tensor)
    alias._value = value.alias()
    return alias_storage(alias, output, uncounted=False)


def _replaced(result: Any, own: dict[int, Tensor]) -> Any:
    if _is_tensor(result):
        return own[id(result)]
    if isinstance(result, list | tuple):
        parts = [_replaced(part, own) for part in result]
        kind: Any = type(result)
        return kind(*parts) if hasattr(result, "_fields") else kind(parts)
    return result
