"""Tests with parameters: each becomes as many tests as it has sets of values."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

_ATTRIBUTE = "parameter_sets"


@dataclass(frozen=True)
class ParameterSet:
    """Values of some parameters, and what tests with them are called."""

    suffix: str
    values: dict[str, Any] = field(default_factory=dict)
    decorators: tuple[Callable, ...] = ()


class subtest:
    """Values with a name of their own, and decorators for the tests that have them."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Any = ()) -> None:
        self.values = arg_values
        self.name = name
        self.decorators = tuple(decorators or ())


class _TestParametrizer:
    """The base of decorators that make their values from PyTorch's list of operators."""

    def __call__(self, test: Any) -> Any:
        """Leave the test out: `make opdb` compares those operators."""
        test.for_listed_operators = True
        return test


def parametrize(arg_str: str, arg_values: Any, name_fn: Callable | None = None) -> Callable:
    """Give a test, or all of a class, values of the parameters that a text names."""
    names = [word.strip() for word in arg_str.split(",") if word.strip()]
    sets = [_set(names, value, index, name_fn) for index, value in enumerate(arg_values)]

    def decorate(decorated: Any) -> Any:
        for test in _tests_of(decorated) if inspect.isclass(decorated) else [decorated]:
            setattr(test, _ATTRIBUTE, [*getattr(test, _ATTRIBUTE, []), sets])
        return decorated

    return decorate


def _set(names: list[str], value: Any, index: int, name_fn: Callable | None) -> ParameterSet:
    named = value if isinstance(value, subtest) else subtest(value)
    values = [named.values] if len(names) == 1 else list(named.values)
    if named.name is not None:
        suffix = named.name
    elif name_fn is not None:
        suffix = name_fn(*values)
    else:
        suffix = "_".join(_text(n, v, index) for n, v in zip(names, values, strict=True))
    return ParameterSet(suffix, dict(zip(names, values, strict=True)), named.decorators)


def _text(name: str, value: Any, index: int) -> str:
    plain = isinstance(value, (bool, int, float, str)) or value is None
    return f"{name}_{str(value).replace('.', '_')}" if plain else f"{name}{index}"


def _tests_of(cls: type) -> list[Callable]:
    return [f for name, f in vars(cls).items() if name.startswith("test") and inspect.isfunction(f)]


def variants(test: Callable, name: str) -> Iterator[tuple[str, Callable]]:
    """The tests that one with parameters stands for, by name."""
    for chosen in itertools.product(*getattr(test, _ATTRIBUTE, [])):
        values = {k: v for option in chosen for k, v in option.values.items()}
        variant = with_values(test, values) if chosen else test
        for decorator in (d for option in chosen for d in option.decorators):
            variant = decorator(variant)
        yield "_".join([name, *(path.suffix for path in chosen if path.suffix)]), variant


def with_values(test: Callable, values: dict[str, Any]) -> Callable:
    """A test whose parameters have these values."""

    @functools.wraps(test)
    def run(self: Any, **further: Any) -> Any:
        return test(self, **values, **further)

    return run


def instantiate_parametrized_tests(generic_cls: type) -> type:
    """Put the tests that those with parameters stand for into the class, in their place."""
    for test in _tests_of(generic_cls):
        if hasattr(test, _ATTRIBUTE):
            name = test.__name__
            delattr(generic_cls, name)
            for variant_name, variant in variants(test, name):
                setattr(generic_cls, variant_name, variant)
    return generic_cls
