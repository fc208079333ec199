"""Assertions that tensors, and containers of them, agree within tolerances."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number
from typing import Any, NoReturn

import numpy as np

from oneflow.base import dtype as dt
from oneflow.base.dtype import Category, DType
from oneflow.base.layout import Layout
from oneflow.functional.creation.from_data import as_tensor
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.elementwise.comparison import isclose
from oneflow.functional.index.coordinates import unravel_index
from oneflow.tensor.promotion import promote_types
from oneflow.tensor.tensor import Tensor

# Relative and absolute tolerance; those of complex numbers are the ones of their parts.
_TOLERANCES: dict[DType, tuple[float, float]] = {
    dt.float16: (1e-3, 1e-5),
    dt.bfloat16: (1.6e-2, 1e-5),
    dt.float32: (1.3e-6, 1e-5),
    dt.float64: (1e-7, 1e-7),
    dt.complex64: (1.3e-6, 1e-5),
    dt.complex128: (1e-7, 1e-7),
}
#: The methods that give the parts of sparse tensors.
_PARTS = {
    Layout.sparse_coo: ("_indices", "_values"),
    Layout.sparse_csr: ("crow_indices", "col_indices", "values"),
    Layout.sparse_csc: ("ccol_indices", "row_indices", "values"),
}
_NUMBER_DTYPES: dict[type, DType] = {int: dt.int64, float: dt.float64, complex: dt.complex128}


@dataclass(frozen=True)
class _Comparison:
    """The comparison of values; the fields are arguments of `assert_close`."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def tolerances(self, *dtypes: DType) -> tuple[float, float]:
        """The relative and the absolute tolerance: those given, or the largest of the dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        pairs = [_TOLERANCES.get(dtype, (0.0, 0.0)) for dtype in dtypes]
        return max(rtol for rtol, _ in pairs), max(atol for _, atol in pairs)

    def fail(self, path: tuple, text: str, kind: type[Exception] = AssertionError) -> NoReturn:
        """Raise the error; it names the item of the container."""
        if path:
            item = "".join(f"[{key!r}]" for key in path)
            text = f"{text}\n\nThe failure occurred for item {item}"
        if callable(self.msg):
            raise kind(self.msg(text))
        raise kind(text if self.msg is None else self.msg)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise an error unless ``abs(actual - expected) <= atol + rtol * abs(expected)`` everywhere.

    Args:
        actual: tensor, NumPy array, number, bool, None, or sequences and mappings of them.
        expected: the same kind.
        allow_subclasses: False also wants the same type of tensors and arrays.
        rtol: relative tolerance; given only together with `atol`. Both depend on the dtype by
            default: 1e-3 and 1e-5 for float16, 1.6e-2 and 1e-5 for bfloat16, 1.3e-6 and 1e-5 for
            float32 and complex64, 1e-7 and 1e-7 for float64, complex128 and Python's numbers with a
            point, 0 and 0 for all others. The larger ones count if two dtypes are compared.
        atol: absolute tolerance.
        equal_nan: NaN is close to NaN.
        check_device: devices, or placements, must be the same.
        check_dtype: dtypes, or types of numbers, must be the same.
        check_layout: layouts must be the same; tensors of two layouts are compared as dense ones.
            Sparse tensors of one layout must store values at the same places.
        check_stride: strides must be the same.
        msg: the text of the error, or a function that makes it of the text that it would have.

    Raises:
        AssertionError: the values are not close, or attributes, lengths or keys differ.
        TypeError: values that cannot be compared.
        ValueError: only one of `rtol` and `atol` is given.

    Example:
        >>> import oneflow as flow
        >>> flow.testing.assert_close(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.000001]))
        >>> flow.testing.assert_close({"a": [1, 2]}, {"a": [1, 3]})
        Traceback (most recent call last):
        AssertionError: Scalars are not equal!
        <BLANKLINE>
        Expected 3 but got 2.
        Absolute difference: 1
        Relative difference: 0.3333333333333333
        <BLANKLINE>
        The failure occurred for item ['a'][1]
    """
    comparison = _Comparison(
        allow_subclasses,
        rtol,
        atol,
        equal_nan,
        check_device,
        check_dtype,
        check_layout,
        check_stride,
        msg,
    )
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        comparison.fail(
            (),
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.",
            ValueError,
        )
    # All of the structure first: what differs in it says more than a number somewhere.
    for path, one, other in list(_leaves(actual, expected, (), comparison)):
        _compare(one, other, path, comparison)


def _leaves(
    actual: Any, expected: Any, path: tuple, comparison: _Comparison
) -> Iterator[tuple[tuple, Any, Any]]:
    """Yield the pairs of values in two containers of the same structure, with their paths."""
    both = (actual, expected)
    if all(isinstance(value, Sequence) and not isinstance(value, str | bytes) for value in both):
        if len(actual) != len(expected):
            comparison.fail(
                path,
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}",
            )
        for number, pair in enumerate(zip(actual, expected, strict=True)):
            yield from _leaves(*pair, (*path, number), comparison)
    elif all(isinstance(value, Mapping) for value in both):
        missing, added = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or added:
            comparison.fail(
                path,
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(missing)}\n"
                f"Additional keys in the actual mapping: {sorted(added)}",
            )
        for key in actual:
            yield from _leaves(actual[key], expected[key], (*path, key), comparison)
    else:
        yield path, actual, expected


def _compare(actual: Any, expected: Any, path: tuple, comparison: _Comparison) -> None:
    """Compare two values that are no containers."""
    both = (actual, expected)
    if any(value is None for value in both):
        if actual is not expected:
            comparison.fail(path, f"None mismatch: {actual} is not {expected}")
    elif all(isinstance(value, bool | np.bool_) for value in both):
        if bool(actual) is not bool(expected):
            comparison.fail(path, f"Booleans mismatch: {actual} is not {expected}")
    elif all(isinstance(value, Number) for value in both):
        _compare_numbers(_python_number(actual), _python_number(expected), path, comparison)
    elif _are_tensors(actual, expected, comparison):
        one, other = as_tensor(actual), as_tensor(expected)
        _compare_attributes(one, other, path, comparison)
        _compare_stored(one, other, path, comparison)
    else:
        comparison.fail(
            path,
            "No comparison pair was able to handle inputs of type "
            f"{type(actual)} and {type(expected)}.",
            TypeError,
        )


def _python_number(number: Any) -> Any:
    return number.item() if isinstance(number, np.generic) else number


def _are_tensors(actual: Any, expected: Any, comparison: _Comparison) -> bool:
    """Return whether both are tensors or both arrays, of one type if that is wanted."""
    if not comparison.allow_subclasses and type(actual) is not type(expected):
        return False
    return any(
        isinstance(actual, kind) and isinstance(expected, kind) for kind in (Tensor, np.ndarray)
    )


def _compare_numbers(actual: Any, expected: Any, path: tuple, comparison: _Comparison) -> None:
    if comparison.check_dtype and type(actual) is not type(expected):
        comparison.fail(path, f"The (d)types do not match: {type(actual)} != {type(expected)}.")
    if actual == expected or (comparison.equal_nan and actual != actual and expected != expected):
        return
    dtypes = [_NUMBER_DTYPES.get(type(number), dt.int64) for number in (actual, expected)]
    rtol, atol = comparison.tolerances(*dtypes)
    difference = abs(actual - expected)
    if not (math.isfinite(difference) and difference <= atol + rtol * abs(expected)):
        comparison.fail(path, _number_mismatch(actual, expected, rtol, atol))


def _compare_attributes(
    actual: Tensor, expected: Tensor, path: tuple, comparison: _Comparison
) -> None:
    checked = {
        "shape": True,
        "layout": comparison.check_layout,
        "stride()": comparison.check_stride and actual.layout is expected.layout is Layout.strided,
        "device": comparison.check_device,
        "dtype": comparison.check_dtype,
    }
    for name in [name for name, is_wanted in checked.items() if is_wanted]:
        values = [
            tensor.stride() if name == "stride()" else getattr(tensor, name)
            for tensor in (actual, expected)
        ]
        if values[0] != values[1]:
            comparison.fail(
                path,
                f"The values for attribute '{name}' do not match: {values[0]} != {values[1]}.",
            )


def _compare_stored(actual: Tensor, expected: Tensor, path: tuple, comparison: _Comparison) -> None:
    """Compare the values of two tensors, and the places of those of sparse ones."""
    if actual.layout is not expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    parts = _PARTS.get(actual.layout)
    if parts is None:
        _compare_tensors("Tensor-likes", actual, expected, path, comparison)
        return
    name = actual.layout.name.removeprefix("sparse_").upper()
    counts = [getattr(x, parts[-1])().shape[0] for x in (actual.detach(), expected.detach())]
    if counts[0] != counts[1]:
        comparison.fail(
            path,
            f"The number of specified values in sparse {name} tensors does not match:"
            f" {counts[0]} != {counts[1]}",
        )
    exact = replace(comparison, rtol=0.0, atol=0.0)
    for part in parts:
        values, others = (getattr(x.detach(), part)() for x in (actual, expected))
        kind = comparison if part.endswith("values") else exact
        _compare_tensors(f"Sparse {name} {part.strip('_')}", values, others, path, kind)


def _compare_tensors(
    title: str, actual: Tensor, expected: Tensor, path: tuple, comparison: _Comparison
) -> None:
    """Compare dense tensors, of which a message speaks by a title."""
    rtol, atol = comparison.tolerances(actual.dtype, expected.dtype)
    common = promote_types(actual.dtype, expected.dtype)
    one = actual.detach().to(dtype=common)
    other = expected.detach().to(device=actual.device, dtype=common)
    matches = isclose(one, other, atol, rtol, comparison.equal_nan)
    if matches.all():
        return
    if not one.ndim:
        comparison.fail(path, _number_mismatch(one.item(), other.item(), rtol, atol))
    if common.category < Category.FLOAT:
        one, other = one.to(dtype=dt.int64), other.to(dtype=dt.int64)
    difference = where(matches, 0, (one - other).abs())
    ratio = where(matches, 0, difference / other.abs())
    wrong, count = matches.numel() - int(matches.sum().item()), matches.numel()
    lines = [f"Mismatched elements: {wrong} / {count} ({wrong / count:.1%})"]
    for kind, numbers, tolerance in (("absolute", difference, atol), ("relative", ratio, rtol)):
        place = numbers.argmax()
        index = tuple(coordinate.item() for coordinate in unravel_index(place, numbers.shape))
        text = f"Greatest {kind} difference: {numbers.flatten()[place].item()} at index {index}"
        lines.append(text + _allowed(tolerance, rtol, atol))
    comparison.fail(path, _title(title, rtol, atol) + "\n".join(lines))


def _number_mismatch(actual: Any, expected: Any, rtol: float, atol: float) -> str:
    """The text of an error about two numbers."""
    difference = abs(actual - expected)
    ratio = float("inf") if expected == 0 else difference / abs(expected)
    return (
        f"{_title('Scalars', rtol, atol)}Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {ratio}{_allowed(rtol, rtol, atol)}"
    )


def _title(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'close' if rtol or atol else 'equal'}!\n\n"


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""
