"""The functions and operators of sparse tensors in one table, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oneflow.base.composed_operand import SparseOperandError
from oneflow.base.layout import Layout
from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.registry import COMPOSED_CALLS, FUNCTIONS, put_out
from oneflow.sparse import concat, operators, products
from oneflow.sparse.layouts import written
from oneflow.sparse.tensor import SparseTensor
from oneflow.tensor.tensor import Tensor

# Functions that give 0 for 0, and so a result at the same positions.
_NAMES_OF_ZERO_ZERO = """
    abs asin asinh atan atanh ceil conj deg2rad erf erfinv expm1 floor frac isinf isnan log1p
    nan_to_num neg
    positive rad2deg relu round sgn sign sin sinh sqrt square tan tanh trunc
"""
_OF_ZERO_ZERO = frozenset(_NAMES_OF_ZERO_ZERO.split())
_NEVER_IN_PLACE = {"conj", "isinf", "isnan", "positive"}
_ALONG_DIMENSIONS = """
    add any sub mul div norm pow new_empty new_zeros zero zeros_like empty_like transpose t adjoint
    permute unsqueeze select index_select sum softmax log_softmax broadcast_to
"""
# Methods that are those of the values.
_CONVERSIONS = """
    to cpu cuda float double half bfloat16 long int short byte bool type_as clone pin_memory
"""
_PRODUCTS = "mm mv bmm matmul addmm linear"
SPARSE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(operators, name) for name in _ALONG_DIMENSIONS.split()},
    **{name: getattr(products, name) for name in _PRODUCTS.split()},
    "clone": operators.clone,
    "pca_lowrank": operators.centered_components,
    "cat": concat.cat,
    "stack": concat.stack,
    "narrow_copy": concat.narrow_copy,
}


@COMPOSED_CALLS[SparseOperandError].fill
def call(name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Compute a function of sparse tensors.

    Args:
        name: the function's name.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        SparseOperandError: it takes none, or the result is not what `out=` holds.
    """
    out = kwargs.pop("out", None)
    if kwargs.pop("inplace", False):
        out = args[0] if args else kwargs["input"]
    result = _computed(name, args, kwargs)
    if out is None:
        return result
    return (
        written(out, result, name) if isinstance(out, SparseTensor) else put_out(out, result, name)
    )


def _strided_example(value: Any) -> Any:
    """A dense tensor of the shape, dtype and device of a sparse one; other values themselves."""
    if not isinstance(value, SparseTensor):
        return value
    return empty(value.shape, dtype=value.dtype, device=value.device)


def _computed(name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    if kwargs.get("layout") is Layout.strided:
        # A function that makes a tensor like its argument, of which it reads no value.
        examples = {key: _strided_example(value) for key, value in kwargs.items()}
        return FUNCTIONS[name](*map(_strided_example, args), **examples)
    if name in _OF_ZERO_ZERO:
        return operators.on_values(FUNCTIONS[name], *args, **kwargs)
    function = SPARSE_FUNCTIONS.get(name)
    if function is None:
        layouts = {arg.layout.name for arg in args if isinstance(arg, SparseTensor)}
        raise SparseOperandError(
            f"`{name}` does not take sparse tensors, got {', '.join(sorted(layouts)) or 'one'};"
            " `to_dense()` makes a tensor with all elements"
        )
    return function(*args, **kwargs)


def _method(name: str) -> Callable[..., Any]:
    """A method that applies the same method to the values: copies and conversions."""

    def method(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        values = getattr(self._values(), name)(*args, **kwargs)
        return self if values is self._values() else self.with_values(values)

    method.__name__ = name
    return method


def _operator(name: str, is_reverse: bool) -> Callable[..., Any]:
    function = SPARSE_FUNCTIONS[name]

    def operator(self: SparseTensor, other: Any) -> Tensor:
        return function(other, self) if is_reverse else function(self, other)

    return operator


def _is_of_each_value(name: str, x: SparseTensor, args: tuple, kwargs: Mapping[str, Any]) -> bool:
    """True if a function in place writes to each value, on the memory where it is.

    Others that share it see the write, but for products of coordinates, as in PyTorch. Values that
    are to be added up stay apart if the function of their sum is the sum of its results.
    """
    is_scaled = name == "div" or (name == "mul" and not x.is_sparse)
    of_number = is_scaled and bool(args) and not (isinstance(args[0], Tensor) and args[0].ndim)
    if x._parts.coalesced:
        return of_number or name in _OF_ZERO_ZERO
    return name == "neg" or (of_number and not kwargs.get("rounding_mode"))


def _in_place(name: str) -> Callable[..., Any]:
    """A method that writes to the values, or gives the tensor the parts of a result."""

    def method(self: SparseTensor, *args: Any, **kwargs: Any) -> SparseTensor:
        if _is_of_each_value(name, self, args, kwargs):
            getattr(self._values(), f"{name}_")(*args, **kwargs)
            return self
        return written(self, _computed(name, (self, *args), kwargs), f"{name}_")

    return method


for _name in _CONVERSIONS.split():
    setattr(SparseTensor, _name, _method(_name))
for _name, _function in (
    ("add", "add"),
    ("sub", "sub"),
    ("mul", "mul"),
    ("truediv", "div"),
    ("pow", "pow"),
    ("matmul", "matmul"),
):
    setattr(SparseTensor, f"__{_name}__", _operator(_function, is_reverse=False))
    setattr(SparseTensor, f"__r{_name}__", _operator(_function, is_reverse=True))
for _name in ("add", "sub", "mul", "div", *(_OF_ZERO_ZERO - _NEVER_IN_PLACE)):
    setattr(SparseTensor, f"{_name}_", _in_place(_name))
for _name, _function in (("iadd", "add"), ("isub", "sub"), ("imul", "mul"), ("itruediv", "div")):
    setattr(SparseTensor, f"__{_name}__", _in_place(_function))
setattr(SparseTensor, "zero_", _in_place("zero"))  # noqa: B010
setattr(SparseTensor, "T", property(operators.reversed_dimensions))  # noqa: B010
setattr(SparseTensor, "__getitem__", operators.get_item)  # noqa: B010
