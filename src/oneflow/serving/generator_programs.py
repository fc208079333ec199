"""The programs of a graph that generates, by their purpose.

A program computes one further token for each of a number of sequences, its places; or it reads a
chunk of tokens of each, which is how prompts are read. Its state may hold a number of tokens less
than the longest sequence, the capacity: the sizes in which its state differs from that of others.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from oneflow.base.dtype import int64
from oneflow.base.spec import TensorSpec
from oneflow.graph.saved_graph import SavedStep

TOKEN, POSITION, COUNT, LOGITS = "token", "position", "count", "logits"


class ProgramSize(NamedTuple):
    """The sizes that tell programs of a graph apart.

    Attributes:
        places: the number of sequences.
        chunk: the tokens that it reads of each; 0 for a program that takes `token` as a vector.
        capacity: the tokens that its state holds of each.
    """

    places: int
    chunk: int
    capacity: int


def programs_by_size(steps: Sequence[SavedStep], max_length: int) -> dict[ProgramSize, SavedStep]:
    """Return the programs of a graph by their sizes, ascending.

    Args:
        steps: the programs.
        max_length: the tokens that a sequence may have, which is the capacity of programs that do
            not differ in one.

    Raises:
        ValueError: they do not generate, differ in something else, or some are missing.
    """
    for step in steps:
        _check(step)
    per_step = [max_length] * len(steps)
    if len(steps) > 1:
        per_step = _capacity_per_step(steps, max_length)
    programs: dict[ProgramSize, SavedStep] = {}
    for step, capacity in zip(steps, per_step, strict=True):
        shape = step.inputs[TOKEN].shape
        size = ProgramSize(shape[0], shape[1] if len(shape) > 1 else 0, capacity)
        if size in programs:
            raise _mismatch(steps)
        programs[size] = step
    _check_sizes(programs, max_length)
    return dict(sorted(programs.items()))


def state_of(step: SavedStep) -> dict[str, TensorSpec]:
    """Return the specs of a program's state by name."""
    return _without(step.inputs, TOKEN, POSITION, COUNT)


def _check(step: SavedStep) -> None:
    """Make sure that a program continues sequences.

    Raises:
        ValueError: it does not.
    """
    if step.updated:
        raise ValueError(f"each call changes `{step.updated[0]}`; pass the state as arguments")
    logits = step.outputs.get(LOGITS)
    if logits is None or logits.ndim != 2 or not logits.dtype.is_floating_point:
        raise ValueError("a graph that generates returns `logits`, a number per sequence and token")
    places = logits.shape[:1]
    token = step.inputs.get(TOKEN)
    has_chunks = token is not None and token.ndim == 2
    for name in (TOKEN, POSITION, COUNT)[: 3 if has_chunks else 2]:
        spec = step.inputs.get(name)
        shape = spec and (spec.shape[:1] if name == TOKEN and has_chunks else spec.shape)
        if spec is None or shape != places or spec.dtype is not int64:
            raise ValueError(
                f"a graph that generates takes `{name}`, int64 [{places[0]}]"
                + (", with chunks of tokens" if has_chunks else "")
            )
    state, returned = state_of(step), _without(step.outputs, LOGITS)
    if state != returned:
        raise ValueError(
            f"a graph that generates returns its state as it takes it: it takes {state}, and "
            f"returns {returned}"
        )


def _capacity_per_step(steps: Sequence[SavedStep], max_length: int) -> list[int]:
    """The capacity of each of several programs.

    Raises:
        ValueError: they differ in something else than their sizes.
    """
    states = [state_of(step) for step in steps]
    kinds = [{name: (spec.dtype, spec.ndim) for name, spec in specs.items()} for specs in states]
    token_counts = {step.outputs[LOGITS].shape[1] for step in steps}
    has_places = all(
        spec.shape[:1] == step.outputs[LOGITS].shape[:1]
        for step, state in zip(steps, states, strict=True)
        for spec in state.values()
    )
    if (
        any(kinds_of_step != kinds[0] for kinds_of_step in kinds)
        or len(token_counts) > 1
        or not has_places
    ):
        raise _mismatch(steps)
    sizes = [[size for spec in specs.values() for size in spec.shape[1:]] for specs in states]
    mismatched = [
        sizes_of_steps
        for sizes_of_steps in zip(*sizes, strict=True)
        if len(set(sizes_of_steps)) > 1
    ]
    if any(sizes_of_steps != mismatched[0] for sizes_of_steps in mismatched):
        raise _mismatch(steps)
    return list(mismatched[0]) if mismatched else [max_length] * len(steps)


def _check_sizes(programs: Mapping[ProgramSize, SavedStep], max_length: int) -> None:
    """Make sure that there is a program for all that sequences go through.

    Raises:
        ValueError: there is not; names it.
    """
    capacity_sizes = {size.capacity for size in programs}
    for is_chunk in (False, True):
        sizes = [size for size in programs if bool(size.chunk) is is_chunk]
        places, chunks = ({size[index] for size in sizes} for index in range(2))
        required = set(
            itertools.starmap(ProgramSize, itertools.product(places, chunks, capacity_sizes))
        )
        missing = required - set(sizes)
        if missing or not (sizes or is_chunk):
            example = min(missing, default=ProgramSize(1, 0, max_length))
            tokens = f"{example.chunk} tokens" if is_chunk else "a further token"
            raise ValueError(
                f"a program for {tokens} of {example.places} sequences, and state for "
                f"{example.capacity}, is missing; call the graph with each number of sequences "
                "and each length of the state before it is saved"
            )
    largest = max(capacity_sizes)
    if max_length > largest:
        raise ValueError(f"max_length is {max_length}, and the state holds {largest} tokens")
    for size in programs:
        if size.chunk and len(capacity_sizes) > 1 and size.capacity % size.chunk:
            raise ValueError(
                f"chunks of {size.chunk} tokens must fill the state, which holds {size.capacity}"
            )


def _mismatch(steps: Sequence[SavedStep]) -> ValueError:
    return ValueError(
        "a graph that generates must be saved after calls that differ in nothing but "
        "the number of sequences, the first dimension of its state, in the length of the state, "
        "and in the tokens of each; it was saved after calls with "
        f"{[step.inputs for step in steps]}"
    )


def _without(specs: Mapping[str, TensorSpec], *names: str) -> dict[str, TensorSpec]:
    return {name: spec for name, spec in specs.items() if name not in names}
