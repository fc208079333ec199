"""`oneflow.array_api` against `array_api_strict`, which has what the standard demands, no more."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import array_api_compat
import array_api_strict as strict
import numpy as np
import pytest

import oneflow as flow
from tests.array_api.calls import ARRAYS, CALLS, REFUSED

xp = flow.array_api
KINDS = {
    "bool": ("bool",),
    "integer": ("int8", "int32", "int64", "uint8", "uint16"),
    "real": ("float32", "float64"),
    "complex": ("complex64", "complex128"),
}
NUMBERS = {
    "bool": [False, True],
    "integer": [0, 1, 2, 3, 5, 7],
    "real": [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, -2.5, 3.0, np.inf, -np.inf, np.nan],
    "complex": [0j, 1 + 2j, -0.5 + 1j, 2 - 0.5j, -1 - 1j, -2.5 + 0j, 0.25j],
}
_TRANSCENDENTAL = """
acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 reciprocal sin sinh sqrt
tan tanh
"""
# Functions of one array, with the kinds they take.
UNARY = {
    **dict.fromkeys(("abs", "positive", "negative", "sign", "square"), "integer real complex"),
    **dict.fromkeys(("isfinite", "isinf", "isnan", "round", "conj"), "integer real complex"),
    **dict.fromkeys(_TRANSCENDENTAL.split(), "real complex"),
    **dict.fromkeys(("ceil", "floor", "trunc"), "integer real"),
    "bitwise_invert": "bool integer",
    "logical_not": "bool",
    "signbit": "real",
    "real": "integer real complex",
    "imag": "complex",
}
BINARY = {
    **dict.fromkeys(("add", "multiply", "subtract"), "integer real complex"),
    **dict.fromkeys(("equal", "not_equal"), "bool integer real complex"),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal"), "integer real"),
    **dict.fromkeys(("maximum", "minimum", "remainder", "floor_divide"), "integer real"),
    **dict.fromkeys(("atan2", "copysign", "hypot", "logaddexp", "nextafter"), "real"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "bool integer"),
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), "integer"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), "bool"),
    "divide": "real complex",
    "pow": "integer real complex",
}
# Results of infinite numbers that the standard leaves open.
OPEN = {"floor_divide", "remainder"}


@pytest.fixture(autouse=True)
def _default_dtype() -> Iterator[None]:
    """The default dtype of `array_api_strict`."""
    flow.set_default_dtype(flow.float64)
    yield
    flow.set_default_dtype(flow.float32)


def _cases(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, kind) for name, kinds in table.items() for kind in kinds.split()]


def _assert_alike(mine: Any, theirs: Any) -> None:
    if isinstance(theirs, tuple | list):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            _assert_alike(a, b)
        return
    if not hasattr(theirs, "dtype"):
        assert mine == pytest.approx(theirs, rel=1e-6)
        assert type(mine) is type(theirs) or isinstance(theirs, tuple)
        return
    assert isinstance(mine, flow.Tensor)
    assert tuple(mine.shape) == theirs.shape
    expected = np.asarray(theirs._array)
    found = mine.numpy()
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-5)
    if expected.dtype.kind == "f":
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(found[zeros]), np.signbit(expected[zeros]))


def _both(function: Any, namespace: Any = xp) -> None:
    """Compare what `function` gives in `namespace` and in the strict one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = function(strict)
        mine = function(namespace)
    _assert_alike(mine, theirs)


@pytest.mark.parametrize(("name", "kind"), _cases(UNARY))
def test_function_of_one_array(name: str, kind: str) -> None:
    for dtype in KINDS[kind]:
        for numbers in (NUMBERS[kind], NUMBERS[kind][1], [[], []]):
            array = np.asarray(numbers).astype(dtype)
            _both(lambda ns, array=array: getattr(ns, name)(ns.asarray(array)))


@pytest.mark.parametrize(("name", "kind"), _cases(BINARY))
def test_function_of_two_arrays(name: str, kind: str) -> None:
    numbers = NUMBERS[kind]
    if name in OPEN and kind == "real":
        numbers = [number for number in numbers if np.isfinite(number)]
    first, second = (array.ravel() for array in np.meshgrid(numbers, numbers))
    if kind == "integer" and name in OPEN:
        second = second + 1
    if (name, kind) == ("pow", "complex"):
        # Powers of 0 are open.
        first, second = first[first != 0], second[first != 0]
    for left in KINDS[kind]:
        for right in KINDS[kind]:
            x, y = first.astype(left), second.astype(right)
            _both(lambda ns, x=x, y=y: getattr(ns, name)(ns.asarray(x), ns.asarray(y)))
    # Arrays without dimensions count as others, Python's numbers do not.
    x, y = first.astype(KINDS[kind][0]), second[1].astype(KINDS[kind][-1])
    _both(lambda ns: getattr(ns, name)(ns.asarray(x), ns.asarray(y)))
    _both(lambda ns: getattr(ns, name)(ns.asarray(x), second[1].item()))
    _both(lambda ns: getattr(ns, name)(second[1].item(), ns.asarray(second[1:2].astype(x.dtype))))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("call", CALLS)
def test_call(call: str) -> None:
    code = compile(call, "<call>", "eval")

    def run(namespace: Any) -> Any:
        arrays = {name: namespace.asarray(array) for name, array in ARRAYS.items()}
        return eval(code, {"xp": namespace, **arrays})

    _both(run)


@pytest.mark.parametrize("line", REFUSED)
def test_refused(line: str) -> None:
    error, _, call = line.partition(" ")
    arrays = {name: xp.asarray(array) for name, array in ARRAYS.items()}
    with pytest.raises(__builtins__[error]):
        eval(call, {"xp": xp, **arrays})


def test_every_name_of_the_standard_is_there() -> None:
    own = {name for name in strict.__all__ if "array_api_strict" in name or "Flags" in name}
    for mine, theirs in ((xp, strict), (xp.linalg, strict.linalg), (xp.fft, strict.fft)):
        missing = {name for name in theirs.__all__ if not hasattr(mine, name)}
        assert missing <= own | {"Device", "__version__"}


def test_libraries_find_the_namespace() -> None:
    x = flow.ones(2, 3)
    assert array_api_compat.array_namespace(x, x.sum()) is xp
    assert array_api_compat.device(x) == x.device
    assert array_api_compat.to_device(x, "cpu").device == x.device
    assert array_api_compat.size(x) == 6


def test_info() -> None:
    info = xp.__array_namespace_info__()
    assert info.default_device() == flow.ones(1).device
    assert info.default_device() in info.devices()
    assert info.default_dtypes() == {
        "real floating": flow.float64,
        "complex floating": flow.complex128,
        "integral": flow.int64,
        "indexing": flow.int64,
    }
    theirs = strict.__array_namespace_info__()
    for kind in (None, "bool", "integral", ("real floating", "complex floating"), "numeric"):
        assert info.dtypes(kind=kind).keys() == theirs.dtypes(kind=kind).keys()
    assert info.capabilities().keys() == theirs.capabilities().keys()
    assert flow.__array_namespace_info__ is xp.__array_namespace_info__
    assert flow.__array_api_version__ == xp.__array_api_version__ == "2024.12"


def test_elements_that_are_none_of_some() -> None:
    numbers = xp.asarray([3, -1, 3, 0])
    assert xp.isin(numbers, xp.asarray([3]), invert=True).tolist() == [False, True, False, True]
