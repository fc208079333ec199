"""Tensors with a mask: elements that are masked out take part in nothing.

A `MaskedTensor` is a wrapper of two tensors. Operators of elements and of places compute with its
data and keep, or move, its mask; reductions, `softmax` and `where` go through differentiable steps
from a masked tensor to its data and back, so that gradients are masked as their tensors are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from oneflow import Tensor, autograd
from oneflow.base.location import frames_to_user
from oneflow.mock_torch.pytorch import masked_functions
from oneflow.tensor.subclasses import DisableTorchFunctionSubclass

_UNARY = """
abs acos acosh angle asin asinh atan atanh bitwise_not ceil clamp conj_physical cos cosh deg2rad
digamma erf erfc erfinv exp exp2 expm1 floor frac lgamma log log10 log1p log2 logit i0 isnan
nan_to_num neg positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh
sqrt square tan tanh trunc logical_not tanh_backward sigmoid_backward
"""
_BINARY = """
add sub rsub mul div atan2 floor_divide fmod remainder logaddexp logaddexp2 nextafter maximum
minimum fmax fmin bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift eq ne
le ge gt lt logical_and logical_or
"""
#: Operators of places, which move data and mask alike.
_PLACES = """
select transpose t permute split split_with_sizes slice slice_backward select_backward index expand
view _unsafe_view cat unsqueeze squeeze unfold stack alias unbind diagonal flip repeat
"""
_COPIES = "clone detach _to_copy contiguous lift_fresh"
_LIKE = "ones_like zeros_like full_like empty_like rand_like randn_like"
_REDUCTIONS = frozenset(
    ["sum", "mean", "amax", "amin", "argmax", "argmin", "prod", "all", "var", "std"]
)
_KIND_OF = {
    name: kind
    for kind, names in (
        ("unary", _UNARY),
        ("binary", _BINARY),
        ("places", _PLACES),
        ("copies", _COPIES),
        ("like", _LIKE),
    )
    for name in names.split()
}


class MaskedTensor(Tensor):
    """A tensor of which only the elements count where a mask is True.

    Operators of two masked tensors want equal masks. An operand that an operator does not take is
    refused.

    Args:
        data: a tensor.
        mask: truth values of its shape.
        requires_grad: whether it is a leaf that asks for gradients.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
        >>> x.exp().to_tensor(0).round().tolist(), x.mean().item()
        ([3.0, 0.0], 1.0)
    """

    _masked_data: Tensor
    _masked_mask: Tensor

    @staticmethod
    def __new__(cls: type, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        """A masked tensor of data and mask, whose memory it shares.

        Raises:
            TypeError: data or mask is masked, or no tensor, or the mask has no truth values.
            ValueError: their shapes differ, or the places of their sparse elements.
        """
        for name, part in (("data", data), ("mask", mask)):
            if not isinstance(part, Tensor) or isinstance(part, MaskedTensor):
                raise TypeError(
                    f"`{name}` of a masked tensor must be a plain tensor, got {type(part).__name__}"
                )
        _require_layouts(data, mask)
        if mask.dtype is not flow.bool:
            raise TypeError(f"mask must have dtype bool, got {mask.dtype}")
        if data.ndim != mask.ndim:
            raise ValueError(
                f"data.dim() must equal mask.dim(), got {data.ndim} and {mask.ndim} dimensions"
            )
        if data.shape != mask.shape:
            raise ValueError(
                f"data.size() must equal mask.size(), got {tuple(data.shape)} and "
                f"{tuple(mask.shape)}"
            )
        if data.requires_grad:
            warnings.warn(
                "It is not recommended to create a MaskedTensor with a tensor that requires_grad: "
                "its gradient stays without those of the masked tensor; use data.detach().clone()",
                UserWarning,
                frames_to_user(),
            )
        base: Any = Tensor
        self: Any = base._make_wrapper_subclass(
            cls, data.shape, dtype=data.dtype, device=data.device, requires_grad=requires_grad
        )
        self._masked_data, self._masked_mask = data.detach(), mask
        return self

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        pass

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Compute reductions, `softmax` and `where`; the rest are operators."""
        kwargs = kwargs or {}
        name = func.__name__.removesuffix("_")
        if name in _REDUCTIONS and not func.__name__.endswith("_"):
            return _reduced(name, *args, **kwargs)
        if name in ("softmax", "log_softmax", "softmin"):
            return _along(name, *args, **kwargs)
        if name == "where" and len(args) == 3:
            return _chosen(*args)
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute an operator of elements or places, or a copy."""
        kind = _KIND_OF.get(func.base_name)
        compute = _OTHERS.get(func.base_name) or (None if kind is None else _KINDS[kind])
        return NotImplemented if compute is None else compute(func, args, kwargs or {})

    def get_data(self) -> Tensor:
        """Return all elements, those masked out, too; its gradient is masked."""
        return _Data.apply(self)

    def get_mask(self) -> Tensor:
        """Return the mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """Return a tensor with a number in the place of what is masked out."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """Return False: data are dense."""
        return False

    def is_sparse_csr(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return False: data are dense."""
        return False

    def numpy(self, *args: Any, **options: Any) -> Any:
        """Refuse to lose the mask.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            ".numpy() is not supported for tensor subclasses. `to_tensor(value).numpy()` has a "
            "number where the mask is False"
        )

    def tolist(self) -> Any:
        """Return nested lists with None where the mask is False."""
        return _to_list(self._masked_data, self._masked_mask)

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.ndim:
            return f"MaskedTensor(\n{_indented(_text(self.tolist()))}\n)"
        is_in = bool(self._masked_mask)
        element = _element(self._masked_data.item()) if is_in else "--"
        return f"MaskedTensor({element}, {is_in})"


def _to_list(data: Tensor, mask: Tensor) -> Any:
    """Nested lists of elements, with None in place of those that are masked out."""
    if not data.ndim:
        return data.item() if mask.item() else None
    return [_to_list(row, row_mask) for row, row_mask in zip(data, mask, strict=True)]


def _element(value: Any) -> str:
    if value is None:
        return "      --"
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _text(rows: Any) -> str:
    if not any(isinstance(row, list) for row in rows):
        return f"[{', '.join(map(_element, rows))}]"
    inner = ",\n".join(map(_text, rows))
    return f"[\n{_indented(inner)}\n]"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


class _Data(autograd.Function):
    """The step from a masked tensor to its data."""

    @staticmethod
    def forward(ctx: Any, input: MaskedTensor) -> Tensor:
        """Return the data, and remember the mask for the gradient."""
        ctx.mask = input._masked_mask
        return input._masked_data

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        """Return the gradient, masked as the tensor is."""
        return grad if isinstance(grad, MaskedTensor) else MaskedTensor(grad, ctx.mask)


class _Masked(autograd.Function):
    """The step from data to a masked tensor."""

    @staticmethod
    def forward(ctx: Any, data: Tensor, mask: Tensor) -> Tensor:
        """Return the masked tensor."""
        ctx.mask = mask
        return MaskedTensor(data, mask)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        """Return the gradient of the data, 0 where they are masked out."""
        data = grad._masked_data if isinstance(grad, MaskedTensor) else grad
        return data.masked_fill(~ctx.mask, 0), None


class _MaskedWhere(autograd.Function):
    """`where` of masked tensors."""

    @staticmethod
    def forward(ctx: Any, condition: Tensor, first: MaskedTensor, second: MaskedTensor) -> Tensor:
        """Return elements of one or the other, each with its mask."""
        ctx.condition = condition
        return MaskedTensor(
            flow.where(condition, first._masked_data, second._masked_data),
            flow.where(condition, first._masked_mask, second._masked_mask),
        )

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        """Return the gradients of what was taken, which is all that their masks have."""
        is_first = ctx.condition.expand(grad.shape)
        return None, *(
            MaskedTensor(grad._masked_data.masked_fill(~part, 0), grad._masked_mask & part)
            for part in (is_first, ~is_first)
        )


def _parts(value: Any, name: str) -> Any:
    """Arguments with the data, or the mask, in place of masked tensors."""
    if isinstance(value, MaskedTensor):
        return getattr(value, name)
    if isinstance(value, list | tuple):
        return [_parts(item, name) for item in value]
    return value


def _common_mask(args: Sequence[Any]) -> Tensor:
    """The mask of the masked tensors among arguments.

    Raises:
        ValueError: they have several.
    """
    first, *others = [arg._masked_mask for arg in args if isinstance(arg, MaskedTensor)]
    if not all(first.shape == other.shape and bool((first == other).all()) for other in others):
        raise ValueError(
            "Input masks must match: operators of several masked tensors compute where all have "
            "elements"
        )
    return first


def _of_elements(func: Any, args: Any, kwargs: Any) -> Any:
    mask = _common_mask(args)
    result = func(*_parts(args, "_masked_data"), **kwargs)
    if func.writes:
        return args[0]
    return MaskedTensor(result, mask.expand(result.shape))


def _of_places(func: Any, args: Any, kwargs: Any) -> Any:
    data, mask = (func(*_parts(args, f"_masked_{part}"), **kwargs) for part in ("data", "mask"))
    if isinstance(data, Tensor):
        return MaskedTensor(data, mask)
    return [MaskedTensor(*pair) for pair in zip(data, mask, strict=True)]


def _of_data(func: Any, args: Any, kwargs: Any) -> Any:
    result = func(*_parts(args, "_masked_data"), **kwargs)
    mask = args[0]._masked_mask
    return MaskedTensor(result, mask.clone() if func.base_name == "clone" else mask)


def _written(func: Any, args: Any, kwargs: Any) -> Any:
    """`copy_`: of data and mask, and `fill_` or `zero_` of data."""
    func(*_parts(args, "_masked_data"), **kwargs)
    if len(args) > 1 and isinstance(args[1], MaskedTensor):
        args[0]._masked_mask.copy_(args[1]._masked_mask)
    return args[0]


def _sum(func: Any, args: Any, kwargs: Any) -> Any:
    """A sum that a backward pass calls, over dimensions that were broadcast."""
    x, dim, keepdim = [*args, None, False][:3]
    result = masked_functions.sum(x._masked_data, dim, keepdim=keepdim, mask=x._masked_mask)
    return MaskedTensor(result, _mask_over(x._masked_mask, dim, keepdim))


def _number(func: Any, args: Any, kwargs: Any) -> Any:
    return args[0]._masked_data.item()


_KINDS: dict[str, Callable[..., Any]] = {
    "unary": _of_elements,
    "binary": _of_elements,
    "places": _of_places,
    "copies": _of_data,
    "like": _of_data,
}
_OTHERS: dict[str, Callable[..., Any]] = {
    "where": _of_elements,
    "copy": _written,
    "fill": _written,
    "zero": _written,
    "sum": _sum,
    "_local_scalar_dense": _number,
}


def _mask_over(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The mask of the result of a reduction: True where it had an element."""
    dims = masked_functions.dims_of(mask, dim)
    return mask.any(dims, keepdim=keepdim) if dims else mask


def _reduced(
    name: str,
    input: MaskedTensor,
    dim: Any = None,
    *args: Any,
    keepdim: bool = False,
    **options: Any,
) -> MaskedTensor:
    """A reduction of the elements that are not masked out."""
    mask, data = input._masked_mask, _Data.apply(input)
    if name in ("var", "std") and isinstance(dim, bool):
        dim, args = None, (dim,)
    if args and name not in ("var", "std"):
        keepdim, args = args[0], args[1:]
    if name == "all":
        dims = masked_functions.dims_of(data, dim)
        result = (data.bool() | ~mask).all(dims, keepdim=keepdim)
    else:
        reduction = getattr(masked_functions, name)
        result = reduction(data, dim, *args, keepdim=keepdim, mask=mask, **options)
    return _Masked.apply(result, _mask_over(mask, dim, keepdim))


def _along(name: str, input: MaskedTensor, dim: int, **options: Any) -> MaskedTensor:
    options.pop("_stacklevel", None)
    function = getattr(masked_functions, name)
    result = function(_Data.apply(input), dim, mask=input._masked_mask, **options)
    return _Masked.apply(result, input._masked_mask)


def _chosen(condition: Tensor, input: Any, other: Any) -> MaskedTensor:
    """`where` of masked tensors, of which each element keeps its own mask.

    Raises:
        TypeError: one of them is no masked tensor.
    """
    if not (isinstance(input, MaskedTensor) and isinstance(other, MaskedTensor)):
        raise TypeError("`where` takes two masked tensors; `as_masked_tensor` makes one")
    return _MaskedWhere.apply(condition, input, other)


def _require_layouts(data: Tensor, mask: Tensor) -> None:
    """Check that data and mask lie in memory in the same way."""
    if data.layout != mask.layout:
        raise TypeError(
            f"data and mask must have the same layout, got {data.layout} and {mask.layout}"
        )
    if data.layout not in (flow.strided, flow.sparse_coo, flow.sparse_csr):
        raise TypeError(f"data layout of {data.layout} is not supported in MaskedTensor")
    parts = {flow.sparse_coo: ("_indices",), flow.sparse_csr: ("crow_indices", "col_indices")}
    for name in parts.get(data.layout, ()):
        places = getattr(data, name)(), getattr(mask, name)()
        if places[0].shape != places[1].shape or bool((places[0] != places[1]).any()):
            raise ValueError(
                f"data and mask are both {data.layout} tensors but do not have the same indices"
            )


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """Return a masked tensor without a history.

    Args:
        data: a tensor.
        mask: truth values of its shape, True where an element counts.
        requires_grad: whether the result asks for gradients.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x = torch.tensor([1.0, 2.0, 4.0])
        >>> print(torch.masked.masked_tensor(x, x > 1).sum())
        MaskedTensor(  6.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """Return a masked tensor whose gradients go on to `data`.

    Args:
        data: a tensor.
        mask: truth values of its shape, True where an element counts.
    """
    return _Masked.apply(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Return whether something is a masked tensor."""
    return isinstance(obj, MaskedTensor)
