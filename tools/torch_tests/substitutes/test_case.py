"""The test case, and what tests of gradients and values ask beside it."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import random
import textwrap
import unittest
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from tools.torch_tests.substitutes.decorators import DeterministicGuard, set_warn_always_context
from tools.torch_tests.substitutes.equality import Rules, difference

_SEED = 1234
make_tensor = torch.testing.make_tensor
#: Handles of hooks on all modules, which tests take away by private names or leave.
_HANDLES: list[Any] = []


def record_global_hooks() -> None:
    """Remember the hooks on all modules that tests register."""
    module = importlib.import_module("torch.nn.modules.module")
    for name in [hook for hook in dir(module) if hook.startswith("register_module_")]:
        setattr(module, name, _recorded(getattr(module, name)))


def _recorded(register: Callable) -> Callable:
    @functools.wraps(register)
    def record(*arguments: Any, **options: Any) -> Any:
        _HANDLES.append(register(*arguments, **options))
        return _HANDLES[-1]

    return record


def finish() -> None:
    """Wait for what has been called: this package raises some errors when it computes."""
    if torch.__package__ == "oneflow":
        importlib.import_module("oneflow").eager.synchronize()


class _Raises:
    """A context that expects an exception, until all in it is computed."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __enter__(self) -> Any:
        return self._context.__enter__()

    def __exit__(self, *exception: Any) -> Any:
        if exception[0] is None:
            try:
                finish()
            except Exception as error:
                exception = (type(error), error, error.__traceback__)
        return self._context.__exit__(*exception)


class TestCase(unittest.TestCase):
    """A test case that compares tensors.

    Types of exceptions and warnings count; their texts are this package's own.
    """

    precision: float = 0
    rel_tol: float = 0
    exact_dtype = True

    def setUp(self) -> None:
        """Start from the same random numbers."""
        random.seed(_SEED)
        np.random.seed(_SEED)
        torch.manual_seed(_SEED)

    def run(self, result: Any = None) -> Any:
        """Run the test; what it leaves is no matter of the next one."""
        try:
            return super().run(result)
        finally:
            while _HANDLES:
                _HANDLES.pop().remove()
            with contextlib.suppress(Exception):
                finish()

    def assertRaises(self, expected: Any, *arguments: Any, **options: Any) -> Any:
        """Expect an exception, also one that comes when something is computed."""
        context = _Raises(super().assertRaises(expected))
        if not arguments:
            return context
        with context:
            arguments[0](*arguments[1:], **options)
        return None

    def _rules(self, atol: Any, rtol: Any, options: dict) -> Rules:
        options.pop("exact_device", None)
        options.pop("exact_layout", None)
        options.pop("exact_is_coalesced", None)
        options.setdefault("exact_dtype", self.exact_dtype)
        return Rules(atol, rtol, (self.precision, self.rel_tol), **options)

    def assertEqual(
        self,
        first: Any,
        second: Any,
        msg: Any = None,
        *,
        atol: Any = None,
        rtol: Any = None,
        **options: Any,
    ) -> None:
        """Compare values of any kind, numbers and tensors up to a tolerance."""
        found = difference(first, second, self._rules(atol, rtol, options))
        if found is not None:
            raise self.failureException(found)

    def assertNotEqual(
        self,
        first: Any,
        second: Any,
        msg: Any = None,
        *,
        atol: Any = None,
        rtol: Any = None,
        **options: Any,
    ) -> None:
        """Expect a difference beyond the tolerance."""
        if difference(first, second, self._rules(atol, rtol, options)) is None:
            raise self.failureException(f"{first!r} is {second!r}")

    def compare_with_numpy(
        self,
        torch_fn: Callable,
        np_fn: Callable,
        tensor_like: Any,
        device: Any = None,
        dtype: Any = None,
        **options: Any,
    ) -> None:
        """Compare a function with NumPy's, of a tensor or of data that make one."""
        if isinstance(tensor_like, torch.Tensor):
            tensor = tensor_like
        else:
            tensor = torch.tensor(tensor_like, device=device, dtype=dtype)
        array = tensor.detach().float() if tensor.dtype == torch.bfloat16 else tensor.detach()
        expected, result = np_fn(array.cpu().numpy()), torch_fn(tensor)
        if isinstance(expected, np.ndarray):
            expected = torch.from_numpy(expected.copy())
            if expected.dtype != result.dtype and tensor.dtype == torch.bfloat16:
                expected = expected.to(result.dtype)
        self.assertEqual(expected, result, **options)

    def assertEqualTypeString(self, x: Any, y: Any) -> None:
        """Compare the texts of tensors' types."""
        self.assertEqual(x.type(), y.type())

    def assertEqualIgnoreType(self, *arguments: Any, **options: Any) -> None:
        """Compare values, whatever their data types."""
        self.assertEqual(*arguments, exact_dtype=False, **options)

    def assertRaisesRegex(self, expected: Any, regex: Any, *arguments: Any, **options: Any) -> Any:
        """Expect an exception of a type."""
        return self.assertRaises(expected, *arguments, **options)

    def assertWarnsRegex(self, expected: Any, regex: Any, *arguments: Any, **options: Any) -> Any:
        """Expect a warning of a type."""
        return self.assertWarns(expected, *arguments, **options)

    @contextlib.contextmanager
    def assertWarnsOnceRegex(self, category: type, regex: str = "") -> Iterator[None]:
        """Expect warnings of a type, all with the same text."""
        with warnings.catch_warnings(record=True) as found, set_warn_always_context(True):
            warnings.simplefilter("always")
            yield
        texts = {
            str(warning.message) for warning in found if issubclass(warning.category, category)
        }
        if len(texts) != 1:
            raise self.failureException(f"{len(texts)} warnings in place of one")

    def assertNotWarn(self, function: Callable, msg: str = "") -> None:
        """Expect no warning."""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            function()
        if found:
            raise self.failureException(f"warned: {found[0].message}")

    def assertExpectedInline(self, actual: Any, expect: str, skip: int = 0) -> None:
        """Compare a text with the one in the test."""
        self.assertEqual(textwrap.dedent(str(actual)).strip(), textwrap.dedent(expect).strip())

    def assertExpectedRaisesInline(
        self, expected: Any, function: Callable, expect: str, *arguments: Any, **options: Any
    ) -> None:
        """Expect an exception of a type."""
        self.assertRaises(expected, function, *arguments, **options)

    def assertExpected(self, *arguments: Any) -> None:
        """Skip what is compared with a file."""
        self.skipTest("needs a file")

    def check_nondeterministic_alert(
        self, function: Callable, caller_name: str, should_alert: bool = True
    ) -> None:
        """Expect that what has no deterministic algorithm is refused where one is asked for."""
        with DeterministicGuard(True):
            if should_alert:
                self.assertRaises(RuntimeError, function)
            else:
                function()


def run_tests() -> None:
    """The tests of a file are run by who loads it."""


def load_tests(loader: unittest.TestLoader, tests: Any, pattern: Any) -> Any:
    """All of them."""
    return tests


def gradcheck(function: Callable, inputs: Any, **options: Any) -> bool:
    """Compare first derivatives with differences."""
    return torch.autograd.gradcheck(function, inputs, **options)


def gradgradcheck(
    function: Callable, inputs: Any, grad_outputs: Any = None, **options: Any
) -> bool:
    """Compare second derivatives with differences."""
    return torch.autograd.gradgradcheck(function, inputs, grad_outputs, **options)


def _assertGradAndGradgradChecks(
    test_case: TestCase, apply_fn: Callable, inputs: Any, **options: Any
) -> None:
    """Compare first and second derivatives with differences."""
    second = {**options, "grad_outputs": options.pop("grad_outputs", None)}
    test_case.assertTrue(gradcheck(apply_fn, inputs, **options))
    test_case.assertTrue(gradgradcheck(apply_fn, inputs, **second))


#: Tolerances of tests that compare layers.
dtype2prec_DONTUSE = {
    torch.float: 1e-5,
    torch.double: 1e-5,
    torch.half: 1e-2,
    torch.bfloat16: 1e-1,
}


def bytes_to_scalar(byte_list: Sequence[int], dtype: Any, device: Any) -> Any:
    """The number of a data type that these bytes are."""
    array = np.frombuffer(bytes(byte_list), _numpy_type(dtype))
    if dtype == torch.bfloat16:
        return float((array.astype(np.uint32) << 16).view(np.float32)[0])
    return array[0].item()


def _numpy_type(dtype: Any) -> Any:
    return np.uint16 if dtype == torch.bfloat16 else torch.empty(0, dtype=dtype).numpy().dtype


def noncontiguous_like(tensor: Any) -> Any:
    """A copy whose elements are not side by side."""
    copy = torch.stack([tensor.detach(), tensor.detach()], dim=-1)[..., 0]
    return copy.requires_grad_(tensor.requires_grad)


def mask_not_all_zeros(shape: Sequence[int]) -> Any:
    """Random signs, of which some are positive."""
    while True:
        mask = torch.randn(shape).gt(0)
        if mask.sum() > 0:
            return mask


def iter_indices(tensor: Any) -> Iterator[Any]:
    """The position of each element: a number of a vector, else a tuple."""
    if tensor.dim() == 1:
        return iter(range(len(tensor)))
    return itertools.product(*map(range, tensor.shape))


def first_sample(test: Any, samples: Iterator[Any]) -> Any:
    """The first of an operator's sample inputs."""
    return next(iter(samples))
