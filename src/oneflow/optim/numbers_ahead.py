"""The numbers of an optimizer's updates, in this step and in those to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.program.update_number import UpdateNumber, uses_number_tables

# The last step of a schedule, and what it sets in the next ones.
_COMPUTED: WeakKeyDictionary[Any, tuple[Any, Any]] = WeakKeyDictionary()


def numbers_of_update(
    optimizer: Any, group: dict[str, Any], state: dict[str, Any], device: Device | Placement
) -> tuple[Any, ...]:
    """The numbers of an update; the first knows future steps' numbers if they can be sent ahead.

    Args:
        optimizer: the optimizer.
        group: the options of the parameter.
        state: the counts of the parameter, advanced.
        device: where they are used.
    """
    numbers = optimizer.numbers(group, state)
    if not (uses_number_tables(device) and optimizer._is_formula):
        return numbers
    if {*map(type, numbers)} != {float}:
        return numbers
    return UpdateNumber(numbers[0], partial(_ahead, optimizer, group, state)), *numbers[1:]


def _ahead(
    optimizer: Any, group: dict[str, Any], state: dict[str, Any], steps: int
) -> list[Sequence[float]]:
    """The numbers of the next steps: the optimizer's own arithmetic, on copies of its counts."""
    counts, rows = dict(state), []
    for options in options_ahead(optimizer, group, counts.get("step"), steps):
        optimizer.advance(counts, options)
        rows.append(optimizer.numbers(options, counts))
    return rows


def options_ahead(
    optimizer: Any, group: Mapping[str, Any], taken: float | None, steps: int
) -> list[dict[str, Any]]:
    """The options of a group in the next steps, if only its schedule changes them.

    Args:
        optimizer: the optimizer.
        group: the group.
        taken: the steps that it has taken; None if nobody on the host knows.
        steps: how many steps.
    """
    options = _options_of_schedule(optimizer.schedule_in_step(taken), steps)
    index = next((i for i, other in enumerate(optimizer.param_groups) if other is group), None)
    if options is None or index is None or index >= len(options[0]):
        return [dict(group) for _ in range(steps)]
    return [{**group, **of_groups[index]} for of_groups in options]


def _options_of_schedule(schedule: Any, steps: int) -> list[list[dict[str, Any]]] | None:
    """The options that a schedule sets in the next steps, computed once for all groups."""
    if schedule is None:
        return None
    last_step, options = _COMPUTED.get(schedule, (None, None))
    if last_step != schedule.last_step or (options is not None and len(options) < steps):
        options = schedule.options_ahead(steps)
        _COMPUTED[schedule] = schedule.last_step, options
    return options if options is None else options[:steps]
