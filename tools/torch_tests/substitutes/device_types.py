"""Tests for devices: here all run on the CPU, once for each of their data types."""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Callable
from typing import Any

from tools.torch_tests.substitutes.parameters import variants, with_values

_DEVICE = "cpu"
_DTYPES = "dtypes_by_device"
_MADE_BY_PYTHON = ("__dict__", "__weakref__")


def instantiate_device_type_tests(
    generic_test_class: type, scope: dict, except_for: Any = None, only_for: Any = None, **_: Any
) -> None:
    """Replace a class of tests with one for the CPU, whose tests are called after their types."""
    name = generic_test_class.__name__
    del scope[name]
    if (only_for and _DEVICE not in only_for) or (except_for and _DEVICE in except_for):
        return
    # Tests find their class where `super(self.__class__, self)` is that of its bases.
    members = {k: v for k, v in vars(generic_test_class).items() if k not in _MADE_BY_PYTHON}
    members |= {"device_type": _DEVICE, "__module__": scope["__name__"]}
    for attribute in dir(generic_test_class):
        test = getattr(generic_test_class, attribute)
        if attribute.startswith("test") and inspect.isfunction(test):
            members[attribute] = None  # what unittest does not take for a test
            if not getattr(test, "for_listed_operators", False):
                members.update(_instances(test, attribute))
    scope[f"{name}CPU"] = type(f"{name}CPU", generic_test_class.__bases__, members)


def _instances(test: Callable, name: str) -> dict[str, Callable]:
    by_device = getattr(test, _DTYPES, {})
    found = {}
    for variant_name, variant in variants(test, name):
        for dtype in by_device.get(_DEVICE, by_device.get(None, (None,))):
            values = {} if dtype is None else {_parameter(test, "dtype"): dtype}
            several = "devices" in inspect.signature(inspect.unwrap(test)).parameters
            values |= {"devices": [_DEVICE]} if several else {"device": _DEVICE}
            suffix = "" if dtype is None else f"_{_dtype_text(dtype)}"
            instance = with_values(variant, values)
            found[f"{variant_name}_{_DEVICE}{suffix}"] = _with_precision(instance, test, dtype)
    return found


def _parameter(test: Callable, name: str) -> str:
    plural = f"{name}s"
    return plural if plural in inspect.signature(inspect.unwrap(test)).parameters else name


def _dtype_text(dtype: Any) -> str:
    several = dtype if isinstance(dtype, (list, tuple)) else [dtype]
    return "_".join(str(part).rpartition(".")[2] for part in several)


def _with_precision(run: Callable, test: Callable, dtype: Any) -> Callable:
    atol, rtol = getattr(test, "tolerances", {}).get(dtype, (0, 0))
    if not atol and not rtol:
        return run

    @functools.wraps(run)
    def precise(self: Any) -> Any:
        self.precision, self.rel_tol = atol, rtol
        return run(self)

    return precise


def _dtypes_for(device: str | None) -> Callable:
    def decorator(*dtypes: Any) -> Callable:
        def decorate(test: Callable) -> Callable:
            setattr(test, _DTYPES, {**getattr(test, _DTYPES, {}), device: dtypes})
            return test

        return decorate

    return decorator


dtypes = _dtypes_for(None)
dtypesIfCPU = _dtypes_for("cpu")
dtypesIfCUDA = _dtypes_for("cuda")
dtypesIfMPS = _dtypes_for("mps")


def precisionOverride(precisions: dict) -> Callable:
    """Let tests with a data type compare by an absolute tolerance."""
    return toleranceOverride({dtype: tol(precision, 0) for dtype, precision in precisions.items()})


def tol(atol: float, rtol: float) -> tuple[float, float]:
    """An absolute and a relative tolerance."""
    return atol, rtol


def toleranceOverride(tolerances: dict) -> Callable:
    """Let tests with a data type compare by an absolute and a relative tolerance."""

    def decorate(test: Any) -> Any:
        test.tolerances = tolerances
        return test

    return decorate


def ops(op_list: Any, *arguments: Any, **options: Any) -> Callable:
    """Tests of PyTorch's list of operators are left out: `make opdb` compares those."""

    def decorate(test: Any) -> Any:
        test.for_listed_operators = True
        return test

    return decorate


def deviceCountAtLeast(count: int) -> Callable:
    """Skip a test for which there are too few devices."""
    return unittest.skipIf(count > 1, f"needs {count} devices")


def get_all_device_types() -> list[str]:
    """The kinds of devices here."""
    return [_DEVICE]


class OpDTypes:
    """The data types of an operator that a test has; no operators are listed here."""

    supported = none = any_one = 0


def onlyCPU(test: Any) -> Any:
    """The CPU is the only device."""
    return test


onlyNativeDeviceTypes = onlyCPU
disableMkldnn = disablecuDNN = onlyCPU
onlyCUDA = unittest.skip("needs a GPU")


def largeTensorTest(size: str, device: str | None = None) -> Callable:
    """Skip a test that needs gigabytes."""
    return unittest.skip(f"needs {size}")
