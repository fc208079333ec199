"""XLA's estimates for a program, compiled for a chip or CPU devices that stand for the plan's."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oneflow.base.device import platform_devices
from oneflow.compiler.lower import Executable
from oneflow.compiler.topologies import compiling_for
from oneflow.plan.hlo_account import ProgramAccount, account_of
from oneflow.plan.hlo_instruction import COLLECTIVES, bytes_of, result_shapes
from oneflow.plan.step_program import StepProgram
from oneflow.plan.sums import CollectiveTotal
from oneflow.primitives.cost.chips import Chip
from oneflow.program.liveness import Memory
from oneflow.runtime.planning_mode import planning

# XLA's CPU client drives no more devices than this.
MAX_DEVICES = 2048
_COLLECTIVE = re.compile(rf" = (.*?) (({'|'.join(COLLECTIVES)})(?:-start)?)\((.*)$")
_MESH = re.compile(r"replica_groups=mesh\[([^\]]*)\]\s*\{([^}]*)\}")
_GROUPS = re.compile(r"replica_groups=(?:\{\{([\d,]*)\}|\[(\d+),(\d+)\])")


@dataclass(frozen=True)
class Compiled:
    """XLA's estimates for a program, per device.

    Attributes:
        memory: bytes.
        flops: operations; of a chip's program, those of its products.
        collectives: collectives by kind and size of groups.
        work: kernels and what they read and write; None: it was compiled for the CPU.
    """

    memory: Memory
    flops: float
    collectives: tuple[CollectiveTotal, ...]
    work: ProgramAccount | None


def can_compile(step: StepProgram) -> bool:
    """Return whether this process has as many devices as the plan."""
    size = step.placement.size
    return size <= MAX_DEVICES and size <= len(platform_devices("cpu"))


def compiled(make: Callable[[], Executable], size: int, chip: Chip | None = None) -> Compiled:
    """Compile a program with XLA, and return its estimates.

    Args:
        make: makes the executable, where the devices of its placement have others in their place.
        size: number of devices of the program.
        chip: the kind of the devices; None: devices of this machine's CPU stand for them.
    """
    devices = compiling_for(chip, size) if chip else contextlib.nullcontext()
    with planning(), devices:
        executable = make()
        analysis = executable.memory()
        text = executable.hlo()
    memory = Memory(
        analysis.argument_size_in_bytes,
        analysis.output_size_in_bytes - analysis.alias_size_in_bytes,
        analysis.temp_size_in_bytes,
    )
    work = account_of(text) if chip else None
    # A program without operations has no entry for them.
    flops = executable.cost().get("flops", 0.0) if work is None else work.flops
    return Compiled(memory, flops, tuple(collectives_in(text)), work)


def collectives_in(hlo: str) -> Iterator[CollectiveTotal]:
    """The collectives in a compiled program's text."""
    for line in hlo.splitlines():
        match = _COLLECTIVE.search(line)
        if match is None:
            continue
        shapes, opcode, kind, rest = match.groups()
        group = _group_size(rest)
        result_bytes = bytes_of(result_shapes(opcode, shapes.removeprefix("(").removesuffix(")")))
        if kind == "all-reduce":
            input_bytes, wire_bytes = result_bytes, 2 * result_bytes * (group - 1) / group
        elif kind == "all-gather":
            input_bytes, wire_bytes = result_bytes / group, result_bytes * (group - 1) / group
        elif kind == "reduce-scatter":
            input_bytes, wire_bytes = result_bytes * group, result_bytes * (group - 1)
        else:
            input_bytes, wire_bytes = result_bytes, result_bytes * (group - 1) / group
        if group > 1:
            yield CollectiveTotal(kind, group, 1, input_bytes, wire_bytes)


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
