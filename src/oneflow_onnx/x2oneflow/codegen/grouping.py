"""Grouping: blocks that repeat one after the other, and parts of readable length."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow_onnx.x2oneflow.codegen.lines import Line
from oneflow_onnx.x2oneflow.codegen.structure import Body, Item, Part

# Statements of one `forward`.
_MAX_BODY = 24
_MIN_PART = 6
_MIN_BLOCK = 3
# Values that a block may take and return, in all.
_MOST_VALUES = 8


def grouped(items: Sequence[Item], inputs: Sequence[str], outputs: Sequence[str]) -> Body:
    """Return a body in which repeated blocks, and parts of the rest, are modules."""
    statements = _with_blocks(list(items), set(outputs))
    while len(statements) > _MAX_BODY:
        statements = _with_parts(statements, set(outputs))
    return Body(statements, inputs, outputs)


def _part(kind: str, items: Sequence[Item], outputs: Sequence[str]) -> Part:
    computed = {name for item in items for name in item.outputs}
    inputs = [name for item in items for name in item.inputs if name not in computed]
    return Part(kind, grouped(items, list(dict.fromkeys(inputs)), outputs))


def _outputs(items: Sequence[Item], read_later: set[str]) -> list[str]:
    """Return the values made by `items` that others read, in order."""
    return [name for item in items for name in item.outputs if name in read_later]


def _reads(items: Sequence[Item]) -> set[str]:
    return {name for item in items for name in item.inputs}


# --- repeated blocks


def _with_blocks(items: list[Item], outputs: set[str]) -> list[Item]:
    """Replace the repetition that saves most lines by blocks, and go on left and right of it."""
    best = _best_repeat(items, outputs)
    if best is None:
        return items
    start, period, count = best
    end = start + period * count
    blocks: list[Item] = []
    for index in range(start, end, period):
        read_later = _reads(items[index + period :]) | outputs
        segment = items[index : index + period]
        blocks.append(_part("block", segment, _outputs(segment, read_later)))
    before = _with_blocks(items[:start], outputs | _reads(items[start:]))
    return [*before, *blocks, *_with_blocks(items[end:], outputs)]


def _best_repeat(items: list[Item], outputs: set[str]) -> tuple[int, int, int] | None:
    """Return start, period and count of the repetition that saves most lines."""
    # Parts repeat inside of what repeats, not by themselves.
    keys = [item.template if isinstance(item, Line) else item for item in items]
    candidates: list[tuple[int, int, int, int]] = []
    for period in range(_MIN_BLOCK, len(items) // 2 + 1):
        run = 0
        for index in range(len(items) - period + 1):
            if index + period < len(items) and keys[index] == keys[index + period]:
                run += 1
                continue
            if run >= period:
                candidates.append(((run // period) * period, -period, index - run, run))
            run = 0
    for _, negative, first, run in sorted(candidates, reverse=True)[:32]:
        candidate = _aligned(items, outputs, first, -negative, run)
        if candidate is not None:
            return candidate
    return None


def _aligned(
    items: list[Item], outputs: set[str], first: int, period: int, run: int
) -> tuple[int, int, int] | None:
    """Return the repetition in a run whose blocks are alike and exchange fewest values."""
    choices = []
    for start in range(first, first + min(run % period, period - 1) + 1):
        count = (first + run - start) // period + 1
        shapes = [_shape(items, outputs, start + period * k, period) for k in range(count)]
        equal = 1
        while equal < count and shapes[equal][0] == shapes[0][0]:
            equal += 1
        if equal >= 2 and shapes[0][1] <= _MOST_VALUES:
            # Blocks begin with a layer where they can, not with the activation before it.
            head = items[start]
            plain = isinstance(head, Line) and not head.layers
            choices.append((-equal, shapes[0][1], plain, start))
    if not choices:
        return None
    negative, _, _, start = min(choices)
    return start, period, -negative


def _shape(items: list[Item], outputs: set[str], start: int, period: int) -> tuple[object, int]:
    """Return what blocks must have in common, and how many values one exchanges."""
    segment = items[start : start + period]
    read_later = _reads(items[start + period :]) | outputs
    results = _outputs(segment, read_later)
    computed = {name for item in segment for name in item.outputs}
    inputs = list(dict.fromkeys(n for item in segment for n in item.inputs if n not in computed))
    return Body(segment, inputs, results).key, len(inputs) + len(results)


# --- parts


def _with_parts(items: list[Item], outputs: set[str]) -> list[Item]:
    """Cut a long list where fewest values pass, and make the pieces parts."""
    segments: list[Item] = []
    start = 0
    while start < len(items):
        end = _best_cut(items, outputs, start)
        segment = items[start:end]
        if len(segment) < _MIN_PART:
            segments += segment
        else:
            read_later = _reads(items[end:]) | outputs
            segments.append(_part("part", segment, _outputs(segment, read_later)))
        start = end
    return segments


def _best_cut(items: list[Item], outputs: set[str], start: int) -> int:
    """Return where to end the piece that begins at `start`."""
    if len(items) - start <= _MAX_BODY:
        return len(items)
    ends = range(start + _MIN_PART, start + _MAX_BODY + 1)

    def num_shared(end: int) -> tuple[int, int]:
        computed = {name for item in items[start:end] for name in item.outputs}
        return len(computed & (_reads(items[end:]) | outputs)), -end

    return min(ends, key=num_shared)
