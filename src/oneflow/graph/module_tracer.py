"""`ModuleTracer`: traces the calls of a graph's modules while the graph is captured.

It finds the module of each instruction, and the inputs and outputs of modules, prints them if
asked to, and runs modules with activation checkpointing under `checkpoint`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from oneflow.autograd.checkpointing import checkpoint
from oneflow.base.location import user_stack
from oneflow.dispatch.operand_casts import CASTS, set_operand_casts
from oneflow.graph.block import Blocks
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.graph.pytree import describe
from oneflow.graph.stage_placement import on_stage, stage_placement
from oneflow.graph.verbosity import QUIET, Verbosity
from oneflow.module.module import Module
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value
from oneflow.tensor.attributes import stored_in
from oneflow.tensor.tensor import Tensor


@dataclass
class ModuleTensors:
    """The tensors that went into a module and came out of it in its first call, as text."""

    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


class ModuleTracer:
    """Context manager: the calls of a graph's modules are traced.

    Attributes:
        tensors: inputs and outputs by module path.
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
        self.tensors: dict[str, ModuleTensors] = {}

    def __enter__(self) -> ModuleTracer:
        for root, top in self._modules:
            for path, module in top.named_modules(prefix=root):
                members = vars(module)
                self._replaced.append((members, members.get("forward")))
                members["forward"] = self._traced(path, module, module.forward)
        set_operand_casts((*CASTS.functions, self._print_operator))
        self._print(0, f"(GRAPH:{self._recorder.graph_name}) start building")
        return self

    def __exit__(self, kind: type | None, *exception: object) -> None:
        set_operand_casts(
            tuple(function for function in CASTS.functions if function != self._print_operator)
        )
        for members, before in reversed(self._replaced):
            if before is None:
                members.pop("forward", None)
            else:
                members["forward"] = before
        end = "end building" if kind is None else f"building failed: {kind.__name__}"
        self._print(0, f"(GRAPH:{self._recorder.graph_name}) {end}")

    def scope_of(self, position: int) -> str:
        """The path of the module that recorded the output at `position`."""
        index = bisect_right(self._changes, position, key=lambda change: change[0])
        return self._changes[index - 1][1] if index else ""

    def _print(self, level: int, text: str) -> None:
        self._verbosities[-1].print(level, text)

    def _traced(self, path: str, module: Module, forward: Callable) -> Callable:
        """The function that takes the place of a module's `forward`."""
        config = self._blocks.configs.get(module)
        block_verbosity = QUIET if config is None else config.verbosity.here()
        if config is not None and config.activation_checkpointing:
            forward = _with_checkpointing(module, forward)
        placement = None if config is None else stage_placement(module, config)
        if placement is not None:
            forward = on_stage(forward, placement)

        def traced(*args: Any, **kwargs: Any) -> Any:
            self._verbosities.append(
                max(self._verbosities[-1], block_verbosity, key=lambda verbosity: verbosity.level)
            )
            self._enter(path)
            self._print(1, f"(MODULE:{path}:{type(module).__name__}) start building forward")
            try:
                result = forward(*args, **kwargs)
                tensors = ModuleTensors(describe((*args, *kwargs.values())), describe(result))
                self.tensors.setdefault(path, tensors)
                self._print(
                    1,
                    f"(MODULE:{path}) {', '.join(tensors.inputs)} -> {', '.join(tensors.outputs)}",
                )
            finally:
                self._leave()
                self._verbosities.pop()
            return result

        return traced

    def _enter(self, path: str) -> None:
        self._paths.append(path)
        self._changes.append((len(self._recorder.outputs), path))

    def _leave(self) -> None:
        self._paths.pop()
        outer = self._paths[-1] if self._paths else ""
        self._changes.append((len(self._recorder.outputs), outer))

    def _print_operator(self, primitive: Primitive, operands: tuple) -> tuple:
        """Print an operator; dispatch calls this for each, and operands are not changed."""
        verbosity = self._verbosities[-1]
        if verbosity.level >= 2:
            specs = [repr(x.spec) if type(x) is Value else repr(x) for x in operands]
            path = self._paths[-1] if self._paths else ""
            self._print(2, f"(OPERATOR:{path}:{primitive.name}) {', '.join(specs)}")
            stack = user_stack()
            for line in stack[max(0, len(stack) - verbosity.stack_depth) :]:
                self._print(3, line.rstrip("\n"))
        return operands


def _with_checkpointing(module: Module, forward: Callable) -> Callable:
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
            _restore(before)
            try:
                return forward(*inner, **named)
            finally:
                _restore(now)

        return checkpoint(once, *args, **kwargs)

    return run


def _snapshot(module: Module) -> list[tuple[dict, dict]]:
    """Copies of all that `forward` may change: attributes, buffers, and the insides of tensors."""
    mutable: list[dict] = []
    for part in module.modules():
        for members in (vars(part), part._buffers):
            mutable.append(members)
            tensors = [member for member in members.values() if isinstance(member, Tensor)]
            mutable += map(stored_in, tensors)
    return [(members, dict(members)) for members in mutable]


def _restore(snapshot: list[tuple[dict, dict]]) -> None:
    for members, copied in snapshot:
        members.clear()
        members.update(copied)
