"""Making sure that all processes of a placement run the same program.

A program of several processes waits in its collective operations until all of them are there. If
their programs differ, they wait for ever, or compute nonsense. So ranks compare what they have
recorded before it runs for the first time.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import numpy as np

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.compiler.lower import Executable
from oneflow.control_plane.collective_launch import launch_collective
from oneflow.program.ir import Program
from oneflow.program.printer import format_instruction
from oneflow.runtime.eager import Absent
from oneflow.tensor.global_values import all_gather_ints_on

# How many bytes of a line are shown.
_LONGEST_LINE = 800
# Objects print their address, which differs between processes.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def compare_programs(
    program: Program, constants: Mapping[int, Any], place: Device | Placement, name: str
) -> None:
    """Make sure that all processes of a placement have recorded the same program.

    All of them must call this; it does nothing for a program of one process.

    Args:
        program: what this process has recorded.
        constants: its numbers, by their place, that are the same in every run.
        place: where it will run.
        name: of the graph, for the message.

    Raises:
        RuntimeError: they differ; says where. All processes raise it.
    """
    if not _is_shared(place):
        return
    ranks = Placement(place.type, sorted(place.flat))
    lines = _lines_of(program, constants)
    told = np.array([len(lines), *np.frombuffer(_digest(lines), np.int64)], np.int64)
    answers = all_gather_ints_on(told, ranks)
    if (answers == answers[0]).all():
        return
    sums = np.zeros(answers[:, 0].max(), np.int64)
    sums[: len(lines)] = [zlib.crc32(line.encode()) + 1 for line in lines]
    table = all_gather_ints_on(sums, ranks)
    first = int(np.argmax((table != table[0]).any(axis=0)))
    line = lines[first] if first < len(lines) else "(no more lines)"
    text = np.frombuffer(line.encode()[:_LONGEST_LINE].ljust(_LONGEST_LINE), np.int64)
    texts = [
        bytes(each).decode(errors="replace").rstrip() for each in all_gather_ints_on(text, ranks)
    ]
    raise RuntimeError(_message(name, first, ranks.flat, texts))


def _is_shared(place: Device | Placement) -> TypeGuard[Placement]:
    """Whether a program runs in this process and others at once."""
    return (
        isinstance(place, Placement)
        and place.size > 1
        and cluster.is_multiprocess()
        and place.includes_this_process
    )


def _lines_of(program: Program, constants: Mapping[int, Any]) -> list[str]:
    """What must be the same on all ranks, as text."""
    first = len(program.inputs)
    scalars = range(first, first + len(program.scalars))
    lines = [f"input %{number}: {spec!r}" for number, spec in enumerate(program.inputs)]
    for place, number in enumerate(scalars):
        value = f" = {constants[place]!r}" if place in constants else ""
        lines.append(f"number ${number}: {program.scalars[place].dtype.name}{value}")
    lines += [format_instruction(each, scalars) for each in program.instructions]
    lines.append(f"return {program.outputs}")
    return [_ADDRESS.sub("", line) for line in lines]


def _digest(lines: list[str]) -> bytes:
    return hashlib.sha256("\n".join(lines).encode()).digest()


def _message(name: str, line: int, ranks: tuple[int, ...], texts: list[str]) -> str:
    variants: dict[str, list[str]] = {}
    for rank, text in zip(ranks, texts, strict=True):
        variants.setdefault(text, []).append(str(rank))
    shown = [
        f"  rank{'s' * (len(who) > 1)} {', '.join(who)}: {text}" for text, who in variants.items()
    ]
    return "\n".join(
        [
            f"{name}: the ranks have recorded different programs; all must build the same graph, "
            f"with equal shapes and options. They differ first in line {line + 1}:",
            *shown,
        ]
    )


def runner_of(executable: Executable) -> Callable[..., Any]:
    """What runs an executable, see `runner_on`."""
    place = executable.device
    absent = [Absent()] * len(executable.program.outputs), None
    digest = _digest(_lines_of(executable.program, {})) if _is_shared(place) else b""
    return runner_on(place, executable, absent, f"step of a graph ({digest.hex()[:8]})")


def runner_on(
    place: Device | Placement, run: Callable[..., Any], absent: Any, description: str
) -> Callable[..., Any]:
    """What runs a program: together with other processes if it takes part of several.

    Args:
        place: where it runs.
        run: runs it.
        absent: what there is in a process without a part of it, where nothing runs.
        description: the operation for diagnoses, see `launch_collective`.
    """
    if isinstance(place, Placement) and not place.includes_this_process:
        return lambda *given: absent
    if not _is_shared(place):
        return run
    ranks = tuple(sorted(place.flat))
    return lambda *given: launch_collective(ranks, description, lambda: run(*given), description)
