"""Checked updates: a tensor keeps its value where a check before the write to it has failed.

As in PyTorch, everything recorded before the failing operation has happened, and nothing after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.operators.update_unless_failed import update_unless_failed
from oneflow.program.ir import Program, checks_before, replacements


def check_updates(
    program: Program, updates: Iterable[tuple[int, int]], guarded: bool = False
) -> Program:
    """Return the program with `update_unless_failed` behind the updates that need it.

    Args:
        program: as it was recorded.
        updates: the numbers of new values of tensors, each with that of the value it replaces, in
            the order of the writes.
        guarded: a check before the program may have failed, so that all need it.
    """
    if not program.checks and not guarded:
        return program
    return _CheckedUpdateBuilder(program, guarded).run(list(updates))


class _CheckedUpdateBuilder:
    """One program being rewritten."""

    def __init__(self, program: Program, guarded: bool) -> None:
        self._program = program
        self._guarded = guarded
        self._checks = checks_before(program)
        self._replaced_by_rule = {(new, old) for _, old, new in replacements(program)}
        # The checked values, by the numbers of the new values that they replace.
        self._checked: dict[int, int] = {}

    def run(self, updates: list[tuple[int, int]]) -> Program:
        """Return the program rewritten."""
        builder = ProgramBuilder(self._program)
        for instruction in self._program.instructions:
            builder.copy(instruction)
        # The value that an update rule replaces, by its result. If a gradient scaler then chooses
        # between the two, nothing else may read the result.
        by_rule: dict[int, int] = {}
        for new, old in self._visible(updates):
            checks = self._checks.get(new, 0)
            if not checks and not self._guarded:
                continue
            if (new, old) in self._replaced_by_rule and old not in self._checked:
                by_rule[new] = old
                continue
            if self._checks.get(old, 0) == checks:
                old = by_rule.get(old, old)
            (self._checked[new],) = builder.apply(
                update_unless_failed, [self._checked.get(old, old), new], {"checks": checks}
            )
        builder.new.update(self._checked)
        return builder.program()

    def _visible(self, updates: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The updates that lead to something the program returns.

        A value that was written to several tensors cannot take the value of each of them.
        """
        writes = Counter(new for new, _ in set(updates))
        outputs = set(self._program.outputs)
        pairs = []
        for new, old in reversed(updates):
            if new in outputs and writes[new] == 1:
                outputs.add(old)
                pairs.append((new, old))
        return pairs[::-1]


def invalid_outputs(program: Program) -> tuple[int, ...]:
    """Places of the outputs that are wrong if a check has failed."""
    if not program.checks:
        return ()
    checks = checks_before(program)
    valid = {new for _, _, new in replacements(program)}
    return tuple(
        slot
        for slot, number in enumerate(program.outputs)
        if checks.get(number) and number not in valid
    )
