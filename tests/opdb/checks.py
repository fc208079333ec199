"""The checks of an entry of PyTorch's operator database: each check takes one sample."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

import oneflow as flow
from oneflow.tensor import Tensor
from tests.opdb.translation import Untranslatable, function_of, is_seeded, translated
from tests.oracle import (
    FLOW,
    TORCH,
    Library,
    cotangents_of,
    difference,
    dtype_name,
    eager_mode,
    flat_tensors,
    gradient_difference,
    to_numpy,
)

DTYPES = (
    "float32",
    "float64",
    "int64",
    "bool",
    "complex64",
    "bfloat16",
    "float16",
    "int32",
    "uint8",
    "int8",
    "int16",
    "complex128",
)
# Samples of one entry and dtype; of more, which are alike, every so manieth is taken.
_MOST_SAMPLES = {"float32": 32}
_MOST_SAMPLES_OF_OTHERS = 4
# The oracle's tolerances are those of numbers around 1; the database's go up to 9.
_TOLERANCE = 5.0
# Differences that are all rounding: gradients of these would be 0 if numbers were exact.
_NOISE = {"cov": 1e-3, "nn.functional.layer_norm": 1e-3}
# Tolerances of sums of numbers of many sizes: this part of the largest.
_PARTS = {
    "linalg.lstsq": 1e-5,
    "linalg.matrix_exp": 1e-5,
    "matrix_exp": 1e-5,
    "nn.functional.ctc_loss": 1e-4,
}
# Vectors have any sign; the database's own functions compare what does not depend on it.
_ANY_SIGN = {"svd", "linalg.svd", "linalg.eig", "linalg.eigh", "linalg.qr", "qr"}
# Tolerances of sums that cancel in half precision: this part of the largest number.
_HALF = {"float16": 2**-8, "bfloat16": 2**-5}


class Outcome(NamedTuple):
    """The finding of a check of one sample: `problem` is None where both libraries agree."""

    check: str
    index: int
    problem: str | None


@dataclass(frozen=True)
class Entry:
    """An entry of the database whose function `oneflow` has."""

    info: OpInfo
    function: Callable

    @property
    def name(self) -> str:
        """The entry's name, with that of its variant."""
        variant = self.info.variant_test_name
        return f"{self.info.name}:{variant}" if variant else self.info.name

    @property
    def dtypes(self) -> list[str]:
        """The dtypes that the function takes in PyTorch and that `oneflow` has."""
        names = {dtype_name(dtype) for dtype in self.info.supported_dtypes("cpu")}
        return [dtype for dtype in DTYPES if dtype in names]

    def outcomes(self, dtype: str) -> Iterator[Outcome]:
        """The outcomes of all checks of all samples of `dtype`."""
        torch_dtype = getattr(torch, dtype)
        with_gradient = torch_dtype in self.info.supported_backward_dtypes("cpu")
        torch.manual_seed(0)
        with warnings.catch_warnings():
            # Functions out of use, by which the database makes its samples, warn.
            warnings.simplefilter("ignore")
            samples = list(self.info.sample_inputs("cpu", torch_dtype, requires_grad=with_gradient))
        limit = _MOST_SAMPLES.get(dtype, _MOST_SAMPLES_OF_OTHERS)
        for index in range(0, len(samples), -(-len(samples) // limit) or 1):
            yield from _sample_outcomes(self, index, samples[index])

    def error_outcomes(self) -> Iterator[Outcome]:
        """The outcomes of the calls that must raise."""
        if self.info.error_inputs_func is None:
            return
        torch.manual_seed(0)
        for index, error_input in enumerate(self.info.error_inputs("cpu")):
            try:
                problem = _error_problem(self, error_input.sample_input)
            except Untranslatable:
                continue
            yield Outcome("error", index, problem)


def entries() -> list[Entry]:
    """The entries of the database whose function `oneflow` has."""
    found = ((info, function_of(info)) for info in op_db)
    return [Entry(info, function) for info, function in found if function is not None]


# --- one sample


class _Call:
    """A call with copies of a sample's arguments in one of the libraries."""

    def __init__(self, library: Library, sample: SampleInput) -> None:
        convert = translated if library is FLOW else _copied
        self.library = library
        self.input = convert(sample.input)
        self.args = [convert(argument) for argument in sample.args]
        self.kwargs = {name: convert(value) for name, value in sample.kwargs.items()}

    def run(self, function: Callable, **more: Any) -> Any:
        """The result of `function`, read."""
        result = function(self.input, *self.args, **self.kwargs, **more)
        if self.library is FLOW:
            for tensor in flat_tensors(result):
                tensor.numpy()
        return result

    @property
    def leaves(self) -> list:
        """The arguments that require a gradient."""
        given = [self.input, *self.args, *self.kwargs.values()]
        return [tensor for tensor in flat_tensors(given) if tensor.requires_grad]


def _copied(value: Any) -> Any:
    """`value` with tensors of its own, which are leaves with the same strides."""
    if isinstance(value, torch.Tensor):
        return copy.deepcopy(value.detach()).requires_grad_(value.requires_grad)
    if type(value) in (list, tuple):
        return type(value)(_copied(part) for part in value)
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return value


def _sample_outcomes(entry: Entry, index: int, sample: SampleInput) -> Iterator[Outcome]:
    with warnings.catch_warnings(), eager_mode("cold"):
        warnings.simplefilter("ignore")
        theirs = _Call(TORCH, sample)
        try:
            _Call(FLOW, sample)
        except Untranslatable:
            return  # nothing that `oneflow` has
        try:
            expected = theirs.run(entry.info.op)
        except Exception:
            return  # nothing that this build of PyTorch can
        try:
            translated(expected)
        except Untranslatable:
            return
        compare_values = not _is_random(entry, sample, expected)
        for check, law in _LAWS.items():
            problem = law(entry, sample, expected, compare_values)
            if problem is not _NOTHING_TO_CHECK:
                yield Outcome(check, index, problem)


def _is_random(entry: Entry, sample: SampleInput, result: Any) -> bool:
    """True if a second call of PyTorch's function gives, or may give, other numbers."""
    if entry.info.has_nondeterministic_output or is_seeded(entry.info):
        return True
    torch.manual_seed(1)
    again = _Call(TORCH, sample).run(entry.info.op)
    pairs = zip(flat_tensors(result), flat_tensors(again), strict=True)
    return not all(torch.allclose(a, b, equal_nan=True) for a, b in pairs)


def _problem(entry: Entry, mine: Any, theirs: Any, values: bool) -> str | None:
    if isinstance(theirs, torch.Tensor) and _is_near(entry, mine, theirs):
        return None
    if entry.info.name in _ANY_SIGN:
        mine, theirs = _magnitudes(mine), _magnitudes(theirs)
    return difference(mine, theirs, _TOLERANCE, values)


def _magnitudes(results: Any) -> Any:
    return tuple(result.abs() for result in results) if isinstance(results, tuple) else results


def _is_near(entry: Entry, mine: Any, theirs: torch.Tensor) -> bool:
    """True for what is right but for the rounding of large summands."""
    name, noise = dtype_name(theirs), _NOISE.get(entry.info.name, 0.0)
    part = max(_HALF.get(name, 0.0), _PARTS.get(entry.info.name, 0.0))
    if not (part or noise) or not isinstance(mine, Tensor) or dtype_name(mine) != name:
        return False
    if tuple(mine.shape) != tuple(theirs.shape) or not theirs.numel():
        return False
    expected = to_numpy(theirs).astype(np.complex128)
    error = np.abs(to_numpy(mine).astype(np.complex128) - expected).max()
    return bool(error <= max(noise, part * np.abs(expected).max()))


# --- the laws: what is wrong, None, or `_NOTHING_TO_CHECK`

_NOTHING_TO_CHECK = "nothing to check"


def _value_problem(entry: Entry, sample: SampleInput, expected: Any, values: bool) -> str | None:
    try:
        result = _Call(FLOW, sample).run(entry.function)
    except Exception as error:
        return _raised(error)
    return _problem(entry, result, expected, values)


def _gradient_problem(entry: Entry, sample: SampleInput, expected: Any, values: bool) -> str | None:
    if not values or not any(tensor.requires_grad for tensor in flat_tensors(expected)):
        return _NOTHING_TO_CHECK
    process = sample.output_process_fn_grad
    theirs_call = _Call(TORCH, sample)
    try:
        theirs = _gradients(TORCH, theirs_call, process(theirs_call.run(entry.info.op)))
    except Exception:
        return _NOTHING_TO_CHECK
    try:
        mine_call = _Call(FLOW, sample)
        mine = _gradients(FLOW, mine_call, process(mine_call.run(entry.function)))
        known = [(a, b) for a, b in zip(mine, theirs, strict=True) if b is not None]
        if known and all(_is_near(entry, a, b) for a, b in known):
            return None
        return gradient_difference(mine, theirs, _TOLERANCE)
    except Exception as error:
        return _raised(error)


def _gradients(library: Library, call: _Call, result: Any) -> list:
    outputs = [tensor for tensor in flat_tensors(result) if tensor.requires_grad]
    return library.gradients(outputs, cotangents_of(library, outputs, "opdb"), call.leaves, False)


def _out_problem(entry: Entry, sample: SampleInput, expected: Any, values: bool) -> str | None:
    results = flat_tensors(expected)
    if not entry.info.supports_out or len(results) == 0:
        return _NOTHING_TO_CHECK
    with flow.no_grad(), torch.no_grad():
        out = [translated(torch.zeros_like(tensor)) for tensor in results]
        given = out[0] if isinstance(expected, torch.Tensor) else tuple(out)
        try:
            call = _Call(FLOW, sample)
            result = call.run(entry.function, out=given)
        except Exception as error:
            return _raised(error)
    if isinstance(given, Tensor) and result is not given:
        return "`out` is not what is returned"
    return _problem(entry, given, expected, values)


def _inplace_problem(entry: Entry, sample: SampleInput, expected: Any, values: bool) -> str | None:
    theirs = entry.info.inplace_variant
    name = _method_name(theirs)
    if name is None or sample.broadcasts_input or not isinstance(sample.input, torch.Tensor):
        return _NOTHING_TO_CHECK
    mine = getattr(Tensor, name, None)
    with flow.no_grad(), torch.no_grad():
        try:
            expected = _Call(TORCH, sample).run(theirs)
        except Exception:
            return _NOTHING_TO_CHECK
        if mine is None:
            return f"there is no `Tensor.{name}`"
        call = _Call(FLOW, sample)
        try:
            result = call.run(mine)
        except Exception as error:
            return _raised(error)
    if result is not call.input:
        return "the operand is not what is returned"
    return _problem(entry, result, expected, values)


def _method_problem(entry: Entry, sample: SampleInput, expected: Any, values: bool) -> str | None:
    theirs = entry.info.method_variant
    name = _method_name(theirs)
    if name is None or not isinstance(sample.input, torch.Tensor):
        return _NOTHING_TO_CHECK
    mine = getattr(Tensor, name, None)
    if mine is None:
        return f"there is no `Tensor.{name}`"
    if mine is entry.function or not callable(mine):
        return _NOTHING_TO_CHECK
    try:
        expected = _Call(TORCH, sample).run(theirs)
    except Exception:
        return _NOTHING_TO_CHECK
    try:
        result = _Call(FLOW, sample).run(mine)
    except Exception as error:
        return _raised(error)
    return _problem(entry, result, expected, values)


def _method_name(method: Any) -> str | None:
    """The name of a method of PyTorch's tensors; None of what the database has made itself."""
    name = getattr(method, "__name__", None)
    return None if name == "<lambda>" else name


_LAWS = {
    "value": _value_problem,
    "gradient": _gradient_problem,
    "out": _out_problem,
    "inplace": _inplace_problem,
    "method": _method_problem,
}


# --- calls that must raise


def _error_problem(entry: Entry, sample: SampleInput) -> str | None:
    call = _Call(FLOW, sample)
    with warnings.catch_warnings(), eager_mode("cold"):
        warnings.simplefilter("ignore")
        try:
            _Call(TORCH, sample).run(entry.info.op)
        except Exception as error:
            expected = _builtin(error)
        else:
            return None
        try:
            result = call.run(entry.function)
        except expected:
            return None
        except Exception as error:
            return f"{_raised(error)}, expected {expected.__name__}"
    return f"gives {result!r}, torch raises {expected.__name__}"


def _raised(error: Exception) -> str:
    return f"raised {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def _builtin(error: Exception) -> type[Exception]:
    """The exception's nearest class that is Python's own."""
    return next(base for base in type(error).__mro__ if base.__module__ == "builtins")
