"""XLA's estimates for a program, compiled for devices that stand for those of the plan."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from oneflow.base.device import platform_devices
from oneflow.compiler.lower import Executable
from oneflow.plan.step_program import StepProgram
from oneflow.plan.sums import CollectiveTotal
from oneflow.program.liveness import Memory
from oneflow.runtime.planning_mode import planning

# XLA's CPU client drives no more devices than this.
MAX_DEVICES = 2048
_KINDS = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute")
_COLLECTIVE = re.compile(rf" = (.*?) ({'|'.join(_KINDS)})(?:-start)?\((.*)$")
_SHAPE = re.compile(r"\b([a-z]+\d*)(?:e\dm\d\w*)?\[([\d,]*)\]")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}")
_GROUPS = re.compile(r"replica_groups=(?:\{\{([\d,]*)\}|\[(\d+),(\d+)\])")


@dataclass(frozen=True)
class Compiled:
    """XLA's estimates for a program, per device.

    Attributes:
        memory: bytes.
        flops: operations.
        collectives: collectives by kind and size of groups.
    """

    memory: Memory
    flops: float
    collectives: tuple[CollectiveTotal, ...]


def can_compile(step: StepProgram) -> bool:
    """Return true if this process has enough devices to stand for those of a plan."""
    size = step.placement.size
    return size <= MAX_DEVICES and size <= len(platform_devices("cpu"))


def compiled(step: StepProgram) -> Compiled:
    """Compile a program with XLA:CPU, and return its estimates."""
    with planning():
        executable = Executable(step.program, step.donated, step.placement, name=step.name)
        analysis = executable.memory()
    memory = Memory(
        analysis.argument_size_in_bytes,
        analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
        analysis.temp_size_in_bytes,
    )
    return Compiled(memory, executable.cost()["flops"], tuple(collectives_in(executable.hlo())))


def collectives_in(hlo: str) -> Iterator[CollectiveTotal]:
    """The collectives in a compiled program's text."""
    for line in hlo.splitlines():
        match = _COLLECTIVE.search(line)
        if match is None:
            continue
        result, kind, rest = match.groups()
        group = _group_size(rest)
        result_bytes = _bytes_of(result)
        if kind == "all-reduce":
            contributed, sent = result_bytes, 2 * result_bytes * (group - 1) / group
        elif kind == "all-gather":
            contributed, sent = result_bytes / group, result_bytes * (group - 1) / group
        elif kind == "reduce-scatter":
            contributed, sent = result_bytes * group, result_bytes * (group - 1)
        else:
            contributed, sent = result_bytes, result_bytes * (group - 1) / group
        if group > 1:
            yield CollectiveTotal(kind, group, 1, contributed, sent)


def _bytes_of(shapes: str) -> int:
    """The bytes of the arrays in the text of a type, which may be a tuple."""
    return sum(
        math.prod(map(int, filter(None, sizes.split(",")))) * _itemsize(kind)
        for kind, sizes in _SHAPE.findall(shapes)
    )


def _itemsize(kind: str) -> int:
    if kind == "pred":
        return 1
    return max(int(re.sub(r"\D", "", kind)) // 8, 1)


def _group_size(text: str) -> int:
    mesh = _MESH.search(text)
    if mesh is not None:
        # JAX 0.12 writes the dimensions of the mesh with sizes, then the names of the group's.
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        return math.prod(int(sizes[name]) for name in re.findall(r"'(\w+)'", mesh[2]))
    match = _GROUPS.search(text)
    if match is None:
        raise ValueError(f"no replica groups in {text!r}")
    literal, _, size = match.groups()
    return int(size) if size else len(literal.split(","))
