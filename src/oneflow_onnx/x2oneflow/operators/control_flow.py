"""Subgraphs: If, Loop and Scan. Their conditions are read on the host."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.prepared_graph import PreparedGraph
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import Value, as_tensor, integer, number, zeros

# Loops of more iterations than this, in each other or alone, never end, or are an attack.
_MOST_ITERATIONS = 10**6

RunGraph = Callable[[PreparedGraph, Sequence[Value]], list[Value]]
# From a subgraph, its inputs and the number of its last results to values like these.
ExampleRows = Callable[[PreparedGraph, Sequence[Value], int], list[Value]]
# The body of a loop, from its inputs to its results.
Step = Callable[[Sequence[Value]], list[Value]]


class _Iterations(threading.local):
    """The iterations of the loops of a thread, of those inside of others, too."""

    running = 0
    taken = 0

    @contextlib.contextmanager
    def loop(self) -> Iterator[None]:
        """A loop runs."""
        self.taken = self.taken if self.running else 0
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1

    def take(self, count: int = 1) -> None:
        """Count iterations that are going to run, or refuse them."""
        self.taken += count
        if self.taken > _MOST_ITERATIONS:
            raise ValueError(
                f"a loop, with the loops in it, runs for at most {_MOST_ITERATIONS} iterations"
            )


_ITERATIONS = _Iterations()


@operator("If", evaluation=Evaluation.ANY)
def if_else(
    condition: Value, *, then_branch: PreparedGraph, else_branch: PreparedGraph, run_graph: RunGraph
) -> tuple[Value, ...]:
    """Run one of two subgraphs."""
    return tuple(run_graph(then_branch if number(condition) else else_branch, []))


@operator("Loop", evaluation=Evaluation.ANY)
def loop(
    trips: Value = None,
    condition: Value = None,
    *carried: Value,
    body: PreparedGraph,
    run_graph: RunGraph,
    example_rows: ExampleRows,
) -> tuple[Value, ...]:
    """Run a subgraph until its condition fails, at most `trips` times.

    Results are the carried values of the last iteration, and per further output of the subgraph
    its values of all iterations, stacked.
    """
    rows = len(body.outputs) - 1 - len(carried)
    return repeat(
        lambda values: run_graph(body, values),
        trips,
        condition,
        carried,
        rows,
        lambda values: example_rows(body, values, rows),
        only_copies=body.copies_from_around(inputs={1}),
    )


def repeat(
    step: Step,
    trips: Value,
    condition: Value,
    carried: Sequence[Value],
    rows: int,
    examples: Step | None = None,
    only_copies: bool = False,
) -> tuple[Value, ...]:
    """Take steps until their condition fails, at most `trips`.

    Args:
        step: from the number of the step, the condition and the carried values to the next
            condition, the next values, and rows.
        trips: the most steps; None: no limit.
        condition: whether to take the first step; None: it is taken.
        carried: the values before the first step.
        rows: how many rows a step gives.
        examples: from the inputs of a step to rows like those that it gives, for loops without
            steps; None: their rows are float32 and have no further dimensions.
        only_copies: a step computes no condition: what the first one gives, all give.

    Returns:
        The values after the last step, and the rows of all steps, stacked.

    Raises:
        ValueError: there is no end, or too many steps.
    """
    state = list(carried)
    limit = None if trips is None else integer(trips)
    go_on = condition is None or bool(number(condition))
    stacks: list[list[Value]] = [[] for _ in range(rows)]
    iteration = 0
    with _ITERATIONS.loop():
        while go_on and (limit is None or iteration < limit):
            _ITERATIONS.take()
            outputs = step([np.asarray(iteration, np.int64), np.asarray(go_on), *state])
            go_on = bool(number(outputs[0]))
            state = outputs[1 : 1 + len(state)]
            for stack, value in zip(stacks, outputs[1 + len(state) :], strict=True):
                stack.append(value)
            iteration += 1
            if go_on and only_copies and iteration == 1:
                _check_limit(limit)
    if rows and not iteration and examples is not None:
        start = [np.asarray(0, np.int64), np.asarray(go_on), *state]
        return (*state, *(_none_of(example, 0) for example in examples(start)))
    return (*state, *(_stack(values, 0) for values in stacks))


def _check_limit(limit: int | None) -> None:
    """Refuse a loop that only its limit ends, if that is too high or there is none."""
    if limit is None or limit > _MOST_ITERATIONS:
        raise ValueError(
            "the condition of a loop never changes, so its trip count must be at most"
            f" {_MOST_ITERATIONS}, not {limit}; check the model"
        )


def _none_of(example: Value, axis: int) -> Value:
    """No values like this one, stacked."""
    if isinstance(example, np.ndarray):
        return np.stack([example], axis).take([], axis)
    return flow.narrow(flow.unsqueeze(example, axis), axis, 0, 0)


def _stack(values: list[Value], axis: int) -> Value:
    if not values:
        return np.zeros(0, np.float32)
    if all(isinstance(value, np.ndarray) for value in values):
        return np.stack(values, axis)
    like = next(value for value in values if isinstance(value, Tensor))
    return flow.stack([as_tensor(value, like) for value in values], axis)


@operator("Scan", evaluation=Evaluation.ANY)
def scan_batches(
    *operands: Value,
    body: PreparedGraph,
    num_scan_inputs: int,
    directions: Sequence[int] | None = None,
    run_graph: RunGraph,
    example_rows: ExampleRows,
) -> tuple[Value, ...]:
    """Scan every entry of a batch, before operator set 9."""
    lengths, *rest = operands
    results = []
    for entry in range(rest[0].shape[0]):
        values = [value[entry] for value in rest]
        if lengths is not None:
            num_states = len(values) - num_scan_inputs
            span = integer(lengths[entry])
            values[num_states:] = [value[:span] for value in values[num_states:]]
        results.append(
            scan(
                *values,
                body=body,
                num_scan_inputs=num_scan_inputs,
                scan_input_directions=directions,
                run_graph=run_graph,
                example_rows=example_rows,
            )
        )
    return tuple(_stack(list(parts), 0) for parts in zip(*results, strict=True))


@operator("Scan", since=9, evaluation=Evaluation.ANY)
def scan(
    *operands: Value,
    body: PreparedGraph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    run_graph: RunGraph,
    example_rows: ExampleRows,
) -> tuple[Value, ...]:
    """Run a subgraph for every slice of the scanned operands, with a state that it carries on."""
    if not 0 < num_scan_inputs <= len(operands):
        raise ValueError(
            f"`num_scan_inputs` is {num_scan_inputs}; it must be from 1 to {len(operands)}, the"
            " number of inputs"
        )
    count = len(operands) - num_scan_inputs
    rows = len(body.outputs) - count
    return scan_slices(
        lambda values: run_graph(body, values),
        operands[:count],
        operands[count:],
        rows,
        scan_input_axes,
        scan_input_directions,
        scan_output_axes,
        scan_output_directions,
        lambda values: example_rows(body, values, rows),
    )


def scan_slices(
    step: Step,
    state: Sequence[Value],
    inputs: Sequence[Value],
    rows: int,
    scan_input_axes: Sequence[int] | None = None,
    scan_input_directions: Sequence[int] | None = None,
    scan_output_axes: Sequence[int] | None = None,
    scan_output_directions: Sequence[int] | None = None,
    examples: Step | None = None,
) -> tuple[Value, ...]:
    """Take a step for every slice of `inputs`; return the last state, and the rows, stacked.

    `examples` is as in `repeat`.
    """
    count = len(state)
    axes = list(scan_input_axes or [0] * len(inputs))
    backwards = list(scan_input_directions or [0] * len(inputs))
    steps = inputs[0].shape[axes[0]]
    stacks: list[list[Value]] = [[] for _ in range(rows)]
    with _ITERATIONS.loop():
        _ITERATIONS.take(steps)
        for index in range(steps):
            slices = [
                _entry(value, axis, steps - 1 - index if reverse else index)
                for value, axis, reverse in zip(inputs, axes, backwards, strict=True)
            ]
            outputs = step([*state, *slices])
            state = outputs[:count]
            for stack, value in zip(stacks, outputs[count:], strict=True):
                stack.append(value)
    mirrored = list(scan_output_directions or [0] * len(stacks))
    out_axes = list(scan_output_axes or [0] * len(stacks))
    if rows and not steps and examples is not None:
        slices = [_example_entry(value, axis) for value, axis in zip(inputs, axes, strict=True)]
        none = [
            _none_of(example, axis)
            for example, axis in zip(examples([*state, *slices]), out_axes, strict=True)
        ]
        return (*state, *none)
    stacked = zip(stacks, out_axes, mirrored, strict=True)
    return (*state, *(_stack(s[::-1] if reverse else s, axis) for s, axis, reverse in stacked))


def _example_entry(value: Value, axis: int) -> Value:
    """A value like the slices of one that has none."""
    shape = [size for dim, size in enumerate(value.shape) if dim != axis % value.ndim]
    return zeros(shape, value)


def _entry(value: Value, axis: int, index: int) -> Value:
    if isinstance(value, np.ndarray):
        return np.asarray(value.take(index, axis))
    return flow.select(value, axis, index)
