"""Functions that make tensors, for another `layout=` than `strided`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from oneflow.base.layout import Layout
from oneflow.base.parameters import parameters_of
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.registry import CREATE_IN_LAYOUT
from oneflow.sparse.creation import without_values
from oneflow.sparse.tensor import SparseTensor
from oneflow.tensor.composed import ComposedTensor
from oneflow.tensor.tensor import Tensor

#: Functions whose results are 0, or anything.
_OF_ZEROS = {"zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty"}


@CREATE_IN_LAYOUT.fill
def create_in_layout(
    public: Callable[..., Any], layout: Layout, args: tuple, kwargs: dict[str, Any]
) -> Tensor:
    """Make a tensor in a layout of sparse tensors.

    Args:
        public: the function.
        layout: the layout.
        args: its arguments.
        kwargs: its keyword arguments, but for `layout`.

    Raises:
        TypeError: `layout` is none.
        NotImplementedError: the function makes other elements than 0, or the layout is not
            written.
        RuntimeError: the tensor would be global, or `out=` has another layout or dtype.
    """
    name = public.__name__
    if not isinstance(layout, Layout):
        raise TypeError(f"{name}(): argument 'layout' must be a layout, not {layout!r}")
    out = kwargs.pop("out", None)
    if out is not None:
        result = create_in_layout(public, layout, args, {"dtype": out.dtype, **kwargs})
        has_same_form = out.layout is layout and out.dtype is result.dtype
        # It stores nothing afterwards, and so may have had another shape.
        return out._replace_parts(result._parts) if has_same_form else written(out, result, name)
    example = next((x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)), None)
    if isinstance(example, ComposedTensor) and example.layout is layout:
        return public(*args, **kwargs)
    if name not in _OF_ZEROS:
        raise NotImplementedError(
            f"`{name}` makes tensors of layout strided, got `layout={layout}`; `to_sparse(layout="
            "...)` converts its result"
        )
    parameters = parameters_of(inspect.unwrap(public))
    if parameters.variadic is None:
        args, kwargs = (), {**dict(zip(parameters.positional, args, strict=False)), **kwargs}
    if kwargs.pop("placement", None) is not None or kwargs.pop("sbp", None) is not None:
        raise RuntimeError(f"{name}(): sparse tensors are local, got `placement` or `sbp`")
    requires_grad = kwargs.pop("requires_grad", False)
    device = kwargs.pop("device", None) or (empty(0) if example is None else example).device
    # Only its shape and dtype are asked for.
    plain = public(*args, **kwargs, device="meta")
    result = without_values(layout, plain.shape, 0, plain.dtype, device)
    return result.requires_grad_() if requires_grad else result


def written(out: Tensor, result: Tensor, name: str) -> SparseTensor:
    """Return `out`, the tensor that is written to, with the parts of a result.

    Raises:
        NotImplementedError: their layouts, shapes or dtypes differ. No `SparseOperandError`,
            which would ask for a function of sparse tensors.
    """
    kinds = [(tensor.layout, tuple(tensor.shape), tensor.dtype) for tensor in (out, result)]
    if isinstance(out, SparseTensor) and isinstance(result, SparseTensor) and kinds[0] == kinds[1]:
        return out._replace_parts(result._parts)
    raise NotImplementedError(f"{name}(): `out` is {kinds[0]}, the result {kinds[1]}")
