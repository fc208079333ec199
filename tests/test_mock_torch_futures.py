"""Futures: what they give and raise is what PyTorch's do, for the same programs."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")


def _done(library: Any, value: Any = 1) -> Any:
    future = library.futures.Future()
    future.set_result(value)
    return future


def _failed(library: Any) -> Any:
    future = library.futures.Future()
    future.set_exception(ValueError("mine"))
    return future


def _fail(_: Any) -> None:
    raise ValueError("no")


def _callback_fails_later(library: Any) -> Any:
    future = library.futures.Future()
    future.add_done_callback(_fail)
    future.set_result(3)
    return future.wait()


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a result": lambda x: _done(x, 4).wait(),
    "waiting by jit": lambda x: x.jit.wait(_done(x, 4)),
    "two results": lambda x: _done(x).set_result(2),
    "an exception after a result": lambda x: _done(x).set_exception(ValueError("x")),
    "a result after an exception": lambda x: _failed(x).set_result(2),
    "an exception": lambda x: _failed(x).wait(),
    "the value of an exception": lambda x: _failed(x).value(),
    "an exception is done": lambda x: _failed(x).done(),
    "a callback fails": lambda x: _done(x).then(_fail).wait(),
    "the value of a failed callback": lambda x: _done(x).then(_fail).value(),
    "two callbacks after one that fails": lambda x: _done(x).then(_fail).then(_fail).wait(),
    "a callback meets an exception": lambda x: _failed(x).then(lambda f: f.wait()).wait(),
    "a callback leaves an exception": lambda x: _failed(x).then(lambda f: 5).wait(),
    "a callback without argument": lambda x: _done(x).then(lambda: 5).wait(),
    "a callback at the end fails": lambda x: _done(x).add_done_callback(_fail),
    "a callback at the end fails later": _callback_fails_later,
    "all, one of which failed": lambda x: x.futures.wait_all([_failed(x), _done(x)]),
    "all, one callback of which failed": lambda x: x.futures.wait_all([_done(x).then(_fail)]),
    "all of none": lambda x: x.futures.wait_all([]),
    "None": lambda x: x.jit.wait(None),
    "all of None": lambda x: x.futures.wait_all((None,)),
    "None and another": lambda x: x.futures.collect_all((_done(x), None)),
    "pickling": lambda x: pickle.dumps(_done(x)),
    "saving": lambda x: x.save(_done(x), io.BytesIO()),
}


def _outcome(program: Callable[[Any], Any], library: Any) -> Any:
    try:
        return program(library)
    except Exception as error:
        first, *_ = str(error).splitlines()
        return type(error), first[:70]


@pytest.mark.parametrize("name", PROGRAMS)
def test_futures_are_as_in_pytorch(name: str) -> None:
    if name == "a callback without argument":
        # The text names the function, whose place is here.
        assert _outcome(PROGRAMS[name], OURS)[0] is _outcome(PROGRAMS[name], torch)[0]
    else:
        assert _outcome(PROGRAMS[name], OURS) == _outcome(PROGRAMS[name], torch)


def test_the_cause_of_a_failed_callback_is_its_exception() -> None:
    with pytest.raises(RuntimeError) as caught:
        _done(OURS).then(_fail).wait()
    assert isinstance(caught.value.__cause__, ValueError)
