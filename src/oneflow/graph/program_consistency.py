"""Checks that all processes of a placement run the same program.

A program of several processes waits in its collective operations until all of them are there. If
their programs differ, they wait forever, or compute nonsense. So ranks compare what they have
captured before it runs for the first time.
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
from oneflow.runtime.meta_array import MetaArray
from oneflow.tensor.global_values import all_gather_ints

# Bytes of a line that are shown.
_LONGEST_LINE = 800
# Objects print their address, which differs between processes.
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def check_consistency(
    program: Program, constants: Mapping[int, Any], device: Device | Placement, name: str
) -> None:
    """Check that all processes of a placement have captured the same program.

    All of them must call this; it does nothing for a program of one process.

    Args:
        program: the program that this process has captured.
        constants: its run-time numbers, by their index, that are the same in every run.
        device: the device or placement that will run it.
        name: name of the graph, for the message.

    Raises:
        RuntimeError: they differ; the message shows the first line that does. All processes raise
            it.
    """
    if not _is_multiprocess(device):
        return
    ranks = Placement(device.type, sorted(device.flat))
    lines = _lines_of(program, constants)
    summary = np.array([len(lines), *np.frombuffer(_digest(lines), np.int64)], np.int64)
    gathered = all_gather_ints(summary, ranks)
    if (gathered == gathered[0]).all():
        return
    sums = np.zeros(gathered[:, 0].max(), np.int64)
    sums[: len(lines)] = [zlib.crc32(line.encode()) + 1 for line in lines]
    table = all_gather_ints(sums, ranks)
    first = int(np.argmax((table != table[0]).any(axis=0)))
    line = lines[first] if first < len(lines) else "(no more lines)"
    text = np.frombuffer(line.encode()[:_LONGEST_LINE].ljust(_LONGEST_LINE), np.int64)
    rank_lines = [
        bytes(content).decode(errors="replace").rstrip() for content in all_gather_ints(text, ranks)
    ]
    raise RuntimeError(_message(name, first, ranks.flat, rank_lines))


def any_rank(condition: bool, device: Device | Placement) -> bool:
    """Return true if a condition holds on any rank of a placement; all its processes call this."""
    if not _is_multiprocess(device):
        return condition
    ranks = Placement(device.type, sorted(device.flat))
    return bool(all_gather_ints([condition], ranks).any())


def _is_multiprocess(device: Device | Placement) -> TypeGuard[Placement]:
    """Return true if a program runs in this process and in others at once."""
    return (
        isinstance(device, Placement)
        and device.size > 1
        and cluster.is_multiprocess()
        and device.includes_this_process
    )


def _lines_of(program: Program, constants: Mapping[int, Any]) -> list[str]:
    """The lines of text that must be the same on all ranks."""
    first = len(program.inputs)
    scalars = range(first, first + len(program.scalars))
    lines = [f"input %{number}: {spec!r}" for number, spec in enumerate(program.inputs)]
    for index, number in enumerate(scalars):
        value = f" = {constants[index]!r}" if index in constants else ""
        lines.append(f"number ${number}: {program.scalars[index].dtype.name}{value}")
    lines += [format_instruction(instruction, scalars) for instruction in program.instructions]
    lines.append(f"return {program.outputs}")
    return [_ADDRESS.sub("", line) for line in lines]


def _digest(lines: list[str]) -> bytes:
    return hashlib.sha256("\n".join(lines).encode()).digest()


def _message(name: str, line: int, ranks: tuple[int, ...], rank_lines: list[str]) -> str:
    variants: dict[str, list[str]] = {}
    for rank, text in zip(ranks, rank_lines, strict=True):
        variants.setdefault(text, []).append(str(rank))
    variant_lines = [
        f"  rank{'s' * (len(group) > 1)} {', '.join(group)}: {text}"
        for text, group in variants.items()
    ]
    return "\n".join(
        [
            f"{name}: the ranks have captured different programs; all must build the same graph, "
            f"with equal shapes and options. They differ first in line {line + 1}:",
            *variant_lines,
        ]
    )


def runner_for(executable: Executable) -> Callable[..., Any]:
    """Return the function that runs an executable, see `collective_runner`."""
    device = executable.device
    meta = [MetaArray()] * len(executable.program.outputs), None
    digest = _digest(_lines_of(executable.program, {})) if _is_multiprocess(device) else b""
    return collective_runner(device, executable, meta, f"step of a graph ({digest.hex()[:8]})")


def collective_runner(
    device: Device | Placement, run: Callable[..., Any], meta: Any, description: str
) -> Callable[..., Any]:
    """Return the function that runs a program, as a collective if several processes run it.

    Args:
        device: the device or placement that runs it.
        run: runs it.
        meta: the result in a process that has no part in it.
        description: the operation for diagnoses, see `launch_collective`.
    """
    if isinstance(device, Placement) and not device.includes_this_process:
        return lambda *arrays: meta
    if not _is_multiprocess(device):
        return run
    ranks = tuple(sorted(device.flat))
    return lambda *arrays: launch_collective(
        ranks, device.type, description, lambda: (run(*arrays), None), description
    )
