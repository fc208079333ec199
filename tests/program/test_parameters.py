"""Parameter names read from code objects agree with `inspect.signature`."""

import functools
import inspect

import pytest

from oneflow.base.parameters import REQUIRED, parameters_of


def plain(x, y=1): ...


def everything(x, /, y, *rest, a, b=2, **more): ...


def only_star(*values): ...


def only_keywords(*, a, b=None): ...


@functools.wraps(everything)
def wrapper(*args, **kwargs): ...


class Doubler:
    def __call__(self, x, *, a=3): ...


@pytest.mark.parametrize(
    "function",
    [
        plain,
        everything,
        only_star,
        only_keywords,
        wrapper,
        Doubler(),
        Doubler().__call__,
        functools.partial(plain, 1),
        lambda: None,
    ],
)
def test_agrees_with_the_signature(function):
    expected = inspect.signature(function).parameters.values()
    found = parameters_of(function)
    assert found.names == [p.name for p in expected if p.kind is not p.VAR_KEYWORD]
    assert found.keyword_only == {p.name: p.default for p in expected if p.kind is p.KEYWORD_ONLY}
    assert found.variadic == next((p.name for p in expected if p.kind is p.VAR_POSITIONAL), None)


def test_marks_what_has_no_default():
    assert parameters_of(everything).keyword_only == {"a": REQUIRED, "b": 2}
