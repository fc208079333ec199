"""Watching the modules of a graph while it is recorded.

Tells which module recorded what, what went in and out, prints it if asked to, and lets modules with
activation checkpointing run under `checkpoint`.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from oneflow.autograd.checkpointing import checkpoint
from oneflow.base.location import user_stack
from oneflow.dispatch.operand_casts import CASTS, set_operand_casts
from oneflow.graph.block import Blocks
from oneflow.graph.recorder import CapturingRecorder
from oneflow.graph.staging import on_stage, placement_of_stage
from oneflow.graph.structure import describe
from oneflow.graph.verbosity import QUIET, Verbosity
from oneflow.module.module import Module
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor


@dataclass
class Traffic:
    """What went into a module and came out of it when it was first called."""

    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


class Observation:
    """Context manager: the calls of a graph's modules are watched.

    Attributes:
        traffic: inputs and outputs by module path.
    """

    def __init__(
        self,
        modules: Sequence[tuple[str, Module]],
        blocks: Blocks,
        recorder: CapturingRecorder,
        verbosity: Verbosity,
    ) -> None:
        self._modules = modules
        self._blocks = blocks
        self._recorder = recorder
        self._replaced: list[tuple[dict, Any]] = []
        self._paths: list[str] = []
        self._verbosities = [verbosity.here()]
        self._changes: list[tuple[int, str]] = []
        self.traffic: dict[str, Traffic] = {}

    def __enter__(self) -> Observation:
        for root, top in self._modules:
            for path, module in top.named_modules(prefix=root):
                members = vars(module)
                self._replaced.append((members, members.get("forward")))
                members["forward"] = self._watched(path, module, module.forward)
        set_operand_casts((*CASTS.functions, self._see_operator))
        self.say(0, f"(GRAPH:{self._recorder.graph_name}) start building")
        return self

    def __exit__(self, kind: type | None, *exception: object) -> None:
        set_operand_casts(tuple(each for each in CASTS.functions if each != self._see_operator))
        for members, before in reversed(self._replaced):
            if before is None:
                members.pop("forward", None)
            else:
                members["forward"] = before
        end = "end building" if kind is None else f"building failed: {kind.__name__}"
        self.say(0, f"(GRAPH:{self._recorder.graph_name}) {end}")

    def scope_of(self, position: int) -> str:
        """Path of the module that recorded the output at `position`."""
        place = bisect_right(self._changes, position, key=lambda change: change[0])
        return self._changes[place - 1][1] if place else ""

    def say(self, level: int, text: str) -> None:
        """Print `text` if the level here is at least `level`."""
        if self._verbosities[-1].level >= level:
            sys.stdout.write(f"{text}\n")

    def _watched(self, path: str, module: Module, forward: Callable) -> Callable:
        """What stands for a module's `forward`."""
        config = self._blocks.configs.get(module)
        own = QUIET if config is None else config.verbosity.here()
        if config is not None and config.activation_checkpointing:
            forward = _checkpointed(module, forward)
        placement = None if config is None else placement_of_stage(module, config)
        if placement is not None:
            forward = on_stage(forward, placement)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self._verbosities.append(max(self._verbosities[-1], own, key=lambda each: each.level))
            self._enter(path)
            self.say(1, f"(MODULE:{path}:{type(module).__name__}) start building forward")
            try:
                result = forward(*args, **kwargs)
                seen = Traffic(describe((*args, *kwargs.values())), describe(result))
                self.traffic.setdefault(path, seen)
                self.say(
                    1, f"(MODULE:{path}) {', '.join(seen.inputs)} -> {', '.join(seen.outputs)}"
                )
            finally:
                self._leave()
                self._verbosities.pop()
            return result

        return watched

    def _enter(self, path: str) -> None:
        self._paths.append(path)
        self._changes.append((len(self._recorder.outputs), path))

    def _leave(self) -> None:
        self._paths.pop()
        around = self._paths[-1] if self._paths else ""
        self._changes.append((len(self._recorder.outputs), around))

    def _see_operator(self, primitive: Primitive, operands: tuple) -> tuple:
        """Dispatch calls this with every operator; the operands stay as they are."""
        verbosity = self._verbosities[-1]
        if verbosity.level >= 2:
            specs = [repr(x.spec) if type(x) is Value else repr(x) for x in operands]
            where = self._paths[-1] if self._paths else ""
            self.say(2, f"(OPERATOR:{where}:{primitive.name}) {', '.join(specs)}")
            stack = user_stack()
            for line in stack[max(0, len(stack) - verbosity.stack_depth) :]:
                self.say(3, line.rstrip("\n"))
        return operands


def _checkpointed(module: Module, forward: Callable) -> Callable:
    """`forward` under `checkpoint`; each run starts from the same buffers and attributes.

    Only the first one changes them.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        runs = 0
        before = _snapshot(module)

        def once(*inner: Any, **named: Any) -> Any:
            nonlocal runs
            runs += 1
            if runs == 1:
                return forward(*inner, **named)
            now = _snapshot(module)
            _put_back(before)
            try:
                return forward(*inner, **named)
            finally:
                _put_back(now)

        return checkpoint(once, *args, **kwargs)

    return run


def _snapshot(module: Module) -> list[tuple[dict, dict]]:
    """What `forward` may change, with copies: attributes, buffers, and the insides of tensors."""
    changeable: list[dict] = []
    for each in module.modules():
        for members in (vars(each), each._buffers):
            changeable.append(members)
            changeable += [vars(held) for held in members.values() if isinstance(held, Tensor)]
    return [(members, dict(members)) for members in changeable]


def _put_back(snapshot: list[tuple[dict, dict]]) -> None:
    for members, copied in snapshot:
        members.clear()
        members.update(copied)
