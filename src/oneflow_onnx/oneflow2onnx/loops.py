"""Loops as nodes: their bodies are subgraphs, which read values from around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim, Shape

BOOL = np.dtype(bool)
_Step = Callable[[list[Ref]], Sequence[Ref]]


def repeat(
    b: OnnxBuilder,
    count: Dim,
    carried: Sequence[Ref],
    step: Callable[[Ref, list[Ref]], Sequence[Ref]],
) -> list[Ref]:
    """Values after a number of steps: `Loop`.

    Args:
        b: the builder.
        count: the number of steps.
        carried: the values before the first step.
        step: from the number of the step, int64 without dimensions, and the values to those after
            it.
    """
    kinds = [(ref.shape, ref.dtype) for ref in carried]

    def body(inputs: list[Ref]) -> list[Ref]:
        number, is_active, *values = inputs
        return [is_active, *step(number, values)]

    graph = b.subgraph("body", [((), INT64), ((), BOOL), *kinds], body)
    return b.multiple("Loop", [b.number(count), None, *carried], kinds, body=graph)


def repeat_while(
    b: OnnxBuilder,
    carried: Sequence[Ref],
    condition: Callable[[Sequence[Ref]], Ref],
    step: _Step,
    at_most: Dim | None = None,
) -> list[Ref]:
    """Values after steps that are taken as long as a condition holds: `Loop`.

    Args:
        b: the builder.
        carried: the values before the first step.
        condition: from the values to a truth value without dimensions.
        step: from the values to those after one step.
        at_most: the most steps; None: no limit.
    """
    limit = None if at_most is None else b.number(at_most)
    kinds = [(ref.shape, ref.dtype) for ref in carried]

    def body(inputs: list[Ref]) -> list[Ref]:
        results = list(step(inputs[2:]))
        return [condition(results), *results]

    graph = b.subgraph("body", [((), INT64), ((), BOOL), *kinds], body)
    return b.multiple("Loop", [limit, condition(carried), *carried], kinds, body=graph)


def scan(
    b: OnnxBuilder,
    carried: Sequence[Ref],
    xs: Sequence[Ref],
    rows: Sequence[tuple[Shape, np.dtype]],
    length: Dim,
    reverse: bool,
    step: _Step,
) -> list[Ref]:
    """Values after a step for each row of others, and what each step gives besides: `Scan`.

    Args:
        b: the builder.
        carried: the values before the first step.
        xs: values of which each step takes one row.
        rows: the type of what each step gives besides.
        length: the number of rows.
        reverse: begin with the last row.
        step: from values and rows to values and rows.
    """
    kinds = [(ref.shape, ref.dtype) for ref in carried]
    taken = [(ref.shape[1:], ref.dtype) for ref in xs]
    graph = b.subgraph("body", [*kinds, *taken], step)
    return b.multiple(
        "Scan",
        [*carried, *xs],
        [*kinds, *(((length, *shape), dtype) for shape, dtype in rows)],
        body=graph,
        num_scan_inputs=len(xs),
        scan_input_directions=[int(reverse)] * len(xs),
        scan_output_directions=[int(reverse)] * len(rows) if rows else None,
    )
