"""Single elements, `x[i, j]`: most are read, compared or written, and nothing else.

The view of an element of an array that is there starts like a view whose memory was written to:
nothing is recorded until an operator takes it. Reading it and comparing it find its number in the
array, and a number is written into a copy of a small array on the host.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from oneflow.base.device import CPU
from oneflow.base.dtype import bool_
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.dispatch.call import OPERATION_TABLES, cached_operation
from oneflow.dispatch.operand_casts import CASTING
from oneflow.program.value import new_value
from oneflow.runtime.eager import current, has_unknown_checks
from oneflow.runtime.small_programs import MAX_INPUT_BYTES, has_array, read_part
from oneflow.tensor.call import apply_view, wrap
from oneflow.tensor.host_numbers import number_of, value_on_host
from oneflow.tensor.index_entries import select_leading
from oneflow.tensor.operands import same_dtype
from oneflow.tensor.reads import is_observed
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import ViewCall, ViewChain
from oneflow.tensor.views import share, unwrap, write_over

_new = Tensor.__new__
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")
}
_MAX_WRITTEN_BYTES = 1 << 16  # of a tensor that is copied for each element that is written
_TRUTH_VALUE = spec_of((), bool_, CPU)
# The operation that selects an element, by the spec of the tensor.
_OPERATIONS: dict[TensorSpec, Any] = {}
OPERATION_TABLES.append(_OPERATIONS)


def element_view(base: Tensor, view_call: ViewCall) -> Tensor:
    """The view that a selection by numbers along all dimensions makes of `base`."""
    family = base._family
    if family is not None and family.storage.host is not None:
        return apply_view(base, view_call)
    value = base._value if family is None else unwrap(base)
    if value.node is not None or base._chain or CASTING or current.capture is not None:
        return apply_view(base, view_call)
    operation = _OPERATIONS.get(value.spec) or _find_operation(value, view_call)
    if operation is None or not has_array(value):
        return apply_view(base, view_call)
    view = _new(Tensor)
    view._value = new_value(operation.out_specs[0], None, None, -1)
    view._value.stale = value.stale
    view._family = share(base) if family is None else family
    view._chain = chain = ViewChain((view_call,))
    chain.operation = operation
    view._seen = ~view._family.storage.version
    return view


def _find_operation(value: Any, view_call: ViewCall) -> Any:
    """The operation of a selection; None if the host is not to read it, or has not seen it yet."""
    spec = value.spec
    if spec.device is not CPU or spec.nbytes > MAX_INPUT_BYTES:
        return None
    primitive, numbers, attributes = view_call
    operation = cached_operation(primitive, (value, *numbers), attributes)
    if operation is not None:
        _OPERATIONS[spec] = operation
    return operation


def compare_elements(name: str, x: Tensor, y: Any) -> Tensor | None:
    """Compare an element's view that was never computed and a number of its dtype on the host.

    Args:
        name: the name of the comparison.
        x: a tensor.
        y: a tensor or Python number. One of the two is such a view.

    Returns:
        The truth value; None if there is more to it, and it is to be recorded.
    """
    if CASTING or is_observed() or not same_dtype(x, y):
        return None
    dtype = x._value.spec.dtype
    first, second = number_of(x, dtype), number_of(y, dtype)
    if first is None or second is None:
        return None
    return wrap(value_on_host(_TRUTH_VALUE, _COMPARISONS[name](first, second)))


def write_element(tensor: Tensor, index: Any, source: Any) -> bool:
    """Write a number to an element of a small tensor whose array is there, on the host.

    Args:
        tensor: the tensor; it is no view.
        index: positions along all its dimensions.
        source: a Python number, or a tensor of the same dtype without dimensions.

    Returns:
        Whether it was written; otherwise there is more to it, and it is to be recorded.
    """
    spec, family = tensor._value.spec, tensor._family
    if spec.device is not CPU or spec.nbytes > _MAX_WRITTEN_BYTES or is_observed():
        return False
    if family is not None and family.root_chain and family.storage.host is not None:
        return False  # others may write to the memory of which this is a part
    entries = index if type(index) is tuple else (index,)
    view_call = select_leading(spec.shape, entries)
    if view_call is None or len(entries) != spec.ndim or not same_dtype(tensor, source):
        return False
    number = number_of(source, spec.dtype)
    if number is None:
        return False
    with MEMORY_LOCK:
        old = tensor._value if family is None else unwrap(tensor)
        numbers = read_part(old, ()) if old.node is None and has_array(old) else None
        if numbers is None or has_unknown_checks():  # behind one that has failed nothing is written
            return False
        written = numbers.copy()
        written[view_call[1]] = number
        write_over(tensor, old, value_on_host(spec, written))
    return True
