"""Tracebacks of bad calls show the user's lines, not ours."""

from __future__ import annotations

import traceback

import pytest

import oneflow as flow
from oneflow import nn
from oneflow.base.traceback import hide_internal_frames
from tests.in_place import dispatch_enabled

X, Y = flow.ones(2, 3), flow.ones(4)


class Layer(nn.Module):
    def forward(self, x: flow.Tensor) -> flow.Tensor:
        return nn.functional.relu(x) + Y


BAD_CALLS = {
    "operator": (lambda: X + Y, ["<lambda>"]),
    "in-place operator": (lambda: X.__iadd__(Y), ["<lambda>"]),
    "comparison": (lambda: X < Y, ["<lambda>"]),
    "function": (lambda: flow.cat([X, Y]), ["<lambda>"]),
    "function with keywords": (lambda: flow.sum(X, axis=5), ["<lambda>"]),
    "method": (lambda: X.sum(5), ["<lambda>"]),
    "layer": (lambda: nn.Linear(2, 3)(X), ["<lambda>"]),
    "layer of the user": (lambda: Layer()(X), ["<lambda>", "forward"]),
}


def frames(call) -> list[str]:
    """The names of the frames in the traceback of a bad call, without that of this function."""
    with pytest.raises((RuntimeError, IndexError, TypeError)) as caught:
        call()
    entries = traceback.extract_tb(caught.value.__traceback__)
    return [entry.name for entry in entries if entry.name != "frames"]


@pytest.mark.parametrize("name", BAD_CALLS)
def test_frames_of_the_package_are_hidden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    call, expected = BAD_CALLS[name]
    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "short")
    assert frames(call) == expected
    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "full")
    assert len(frames(call)) > len(expected)


@pytest.mark.parametrize("name", BAD_CALLS)
def test_frames_are_hidden_where_functions_ask_modes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "short")
    call, expected = BAD_CALLS[name]
    with dispatch_enabled():
        assert frames(call) == expected


def test_the_error_of_a_library_that_ours_explains_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def shown() -> str:
        with pytest.raises(RuntimeError) as caught:
            X + Y
        return "".join(traceback.format_exception(caught.value))

    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "short")
    assert shown().count("Traceback") == 1
    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "full")
    assert shown().count("Traceback") > 1


def test_the_users_error_beneath_ours_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise KeyError("mine")

    def call() -> None:
        try:
            fails()
        except KeyError as error:
            raise RuntimeError("ours") from error

    monkeypatch.setenv("ONEFLOW_TRACEBACKS", "short")
    with pytest.raises(RuntimeError) as caught:
        call()
    hide_internal_frames(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)
