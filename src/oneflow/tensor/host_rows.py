"""Rows of arrays that are kept on the host, as the processes of a loader keep them."""

from __future__ import annotations

from oneflow.base.spec import spec_of
from oneflow.differentiation.hooks import TRANSFORMS
from oneflow.runtime.lazy_array import HostArray
from oneflow.tensor.call import wrap
from oneflow.tensor.reads import is_observed
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import ViewCall
from oneflow.tensor.views import join, unwrap


def row_on_host(base: Tensor, view_call: ViewCall) -> Tensor | None:
    """The view of a row, without a record of an operation.

    A process that reads one sample after another would run an operation for each.

    Args:
        base: the tensor.
        view_call: the selection along its first dimension.

    Returns:
        The view; None if there is more to it, and it is to be recorded.
    """
    family = base._family
    if family is not None and family.storage.host is not None:
        return None
    value = base._value if family is None else unwrap(base)
    array = value.recorder
    if type(array) is not HostArray or value.node is not None or base.requires_grad:
        return None
    if is_observed() or TRANSFORMS.running:
        return None
    spec = value.spec
    (index,) = view_call[1]
    row = HostArray(spec_of(spec.shape[1:], spec.dtype, spec.device), array.numbers[index])
    return join(wrap(row.value()), base, view_call)
