"""The work of a compiled program, read from its text: kernels, bytes, collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from oneflow.plan.hlo_flops import flops_of_kernel
from oneflow.plan.hlo_instruction import (
    COLLECTIVES,
    HloInstruction,
    arrays_of,
    computations_of,
    memory_bytes_of,
    result_shapes,
)

_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
# Instructions that read and write nothing.
_FREE = frozenset(
    (
        *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"),
        *("partition-id", "replica-id", "opt-barrier", "domain", "add-dependency"),
        *("copy-done", "slice-done", "async-done", "async-update"),
        *(f"{collective}-done" for collective in COLLECTIVES),
    )
)
# Copies that run beside kernels.
_COPIES = frozenset(["copy-start", "slice-start"])
# A custom call of TPUs for arrays that lie one behind the other, which does nothing.
_NOOP_TARGET = 'custom_call_target="ConcatBitcast"'
# Instructions that read as much of an operand as they return.
_SLICES = frozenset(["slice", "dynamic-slice", "gather"])


@dataclass(frozen=True)
class ProgramAccount:
    """The costs of one run of a program on a device.

    Attributes:
        kernels: launches; a loop's as often as it runs.
        bytes: bytes that kernels and copies read and write, not counting a TPU core's own memory.
        asynchronous: collectives that run beside other kernels.
        flops: operations of its products, see `hlo_flops`.
        overlapped: kernels between the start and the end of such a collective; a loop's once.
    """

    kernels: int
    bytes: int
    asynchronous: int
    flops: int
    overlapped: int = 0


def account_of(hlo: str) -> ProgramAccount:
    """Return the account of a compiled program."""
    computations, entry = computations_of(hlo)
    kernels = total = asynchronous = flops = 0
    for instruction, computation, runs in _kernels_of(computations, entry, 1):
        kernels += runs * (instruction.opcode not in _COPIES)
        asynchronous += runs * _is_asynchronous(instruction)
        total += runs * _accessed(instruction, computation, computations)
        flops += runs * flops_of_kernel(instruction, computation, computations)
    overlapped = sum(map(_overlapped, computations.values()))
    return ProgramAccount(kernels, total, asynchronous, flops, overlapped)


def _overlapped(instructions: dict[str, HloInstruction]) -> int:
    """The kernels of a computation that run while a collective does."""
    running, count = 0, 0
    for instruction in instructions.values():
        kind, _, end = instruction.opcode.rpartition("-")
        if _is_asynchronous(instruction):
            running += 1
        elif end == "done" and kind in COLLECTIVES:
            running = max(running - 1, 0)
        elif running and instruction.opcode not in _FREE:
            count += 1
    return count


def _is_asynchronous(instruction: HloInstruction) -> bool:
    kind, started, _ = instruction.opcode.partition("-start")
    return bool(started) and kind in COLLECTIVES and '"is_sync":true' not in instruction.text


def _kernels_of(
    computations: dict[str, dict[str, HloInstruction]], name: str, runs: int
) -> Iterator[tuple[HloInstruction, dict[str, HloInstruction], int]]:
    """The instructions that are kernels, with their computation and how often each runs.

    A condition counts as its branch with the fewest bytes: the others are for rare cases.
    """
    instructions = computations[name]
    for instruction in instructions.values():
        if instruction.opcode == "conditional":
            branches = [
                list(_kernels_of(computations, called, runs)) for called in instruction.called
            ]
            yield from min(branches, key=lambda branch: _total(branch, computations))
        elif instruction.opcode in ("while", "call"):
            trips = _TRIPS.search(instruction.text)
            for called in instruction.called:
                if called in computations:
                    yield from _kernels_of(
                        computations, called, runs * int(trips[1] if trips else 1)
                    )
        elif instruction.opcode not in _FREE and _NOOP_TARGET not in instruction.text:
            yield instruction, instructions, runs


def _total(
    launches: list[tuple[HloInstruction, dict[str, HloInstruction], int]],
    computations: dict[str, dict[str, HloInstruction]],
) -> int:
    """Bytes that kernels read and write."""
    return sum(runs * _accessed(kernel, body, computations) for kernel, body, runs in launches)


def _accessed(
    instruction: HloInstruction,
    computation: dict[str, HloInstruction],
    computations: dict[str, dict[str, HloInstruction]],
) -> int:
    """Bytes that a kernel reads and writes."""
    if instruction.opcode == "copy-start":
        return instruction.nbytes  # Of the copy and what is copied.
    if instruction.opcode == "slice-start":
        (_, is_near), (size, is_result_near), *_ = arrays_of(instruction.shapes)
        return size * ((not is_near) + (not is_result_near))
    operands = [computation[o] for o in instruction.operands if o in computation]
    if instruction.opcode in _SLICES:
        return 2 * instruction.nbytes
    if instruction.opcode == "dynamic-update-slice":
        return 2 * operands[1].nbytes
    body = computations.get(instruction.called[0]) if instruction.called else None
    if instruction.opcode != "fusion" or body is None:
        results = memory_bytes_of(result_shapes(instruction.opcode, instruction.shapes))
        return results + sum(operand.nbytes for operand in operands)
    parameters = _parameters(body)
    read = sum(
        min(operand.nbytes, _read(parameters.get(number), body, operand.nbytes))
        for number, operand in enumerate(operands)
    )
    return read + _written(instruction, body)


def _parameters(body: dict[str, HloInstruction]) -> dict[int, HloInstruction]:
    by_number = {}
    for instruction in body.values():
        if instruction.opcode == "parameter":
            by_number[int(instruction.text.partition("parameter(")[2].partition(")")[0])] = (
                instruction
            )
    return by_number


def _read(
    parameter: HloInstruction | None, body: dict[str, HloInstruction], operand_bytes: int
) -> int:
    """Bytes that a fusion reads of an operand; only the slices of a sliced one."""
    if parameter is None:
        return operand_bytes
    users = [user for user in body.values() if parameter.name in user.operands]
    total = 0
    for user in users:
        if user.opcode in _SLICES and user.operands[0] == parameter.name:
            total += user.nbytes
        elif user.opcode != "dynamic-update-slice" or user.operands[0] != parameter.name:
            return operand_bytes
    return total


def _written(instruction: HloInstruction, body: dict[str, HloInstruction]) -> int:
    """Bytes that a fusion writes; only the update of an array updated in place."""
    root = next((candidate for candidate in body.values() if candidate.is_root), None)
    if root is not None and root.opcode == "dynamic-update-slice":
        return min(instruction.nbytes, body[root.operands[1]].nbytes)
    return instruction.nbytes
