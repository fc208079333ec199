"""A word on a terminal when the compilation of a graph takes long."""

from __future__ import annotations

import io

import pytest

import oneflow as flow
from oneflow.compiler import persistent_cache
from oneflow.graph import compile_message


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def compile_a_graph() -> str:
    class Double(flow.nn.Graph):
        def build(self, x: flow.Tensor) -> flow.Tensor:
            return x * 2

    graph = Double()
    assert graph(flow.ones(2)).tolist() == [2, 2]
    return graph.name


@pytest.mark.parametrize(
    ("stream", "delay", "shown"), [(Terminal, 0, 2), (Terminal, 60, 0), (io.StringIO, 0, 0)]
)
def test_long_compilations_are_announced_on_terminals(
    monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], delay: float, shown: int
) -> None:
    written = stream()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(compile_message, "DELAY", delay)
    name = compile_a_graph()
    assert written.getvalue().count(f"{name}: compil") == shown


@pytest.mark.parametrize("kept", [True, False])
def test_the_message_tells_of_the_disk_only_if_programs_are_kept_there(
    monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    written = Terminal()
    monkeypatch.setattr("sys.stderr", written)
    monkeypatch.setattr(compile_message, "DELAY", 0)
    monkeypatch.setattr(persistent_cache, "is_enabled", lambda: kept)
    compile_a_graph()
    assert ("kept on disk" in written.getvalue()) == kept
