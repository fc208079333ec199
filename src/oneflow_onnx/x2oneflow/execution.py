"""The execution of plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow_onnx.x2oneflow.plan import Plan, Step
from oneflow_onnx.x2oneflow.reference import reference_evaluator
from oneflow_onnx.x2oneflow.registry import Evaluation
from oneflow_onnx.x2oneflow.subgraph_types import example_outputs
from oneflow_onnx.x2oneflow.values import (
    MOST_ELEMENTS,
    Value,
    as_host,
    as_tensor,
    check_host_operands,
    check_size,
    fits_tensor,
    has_shape,
)

# Large results with so many times the elements of the operands come from no network.
_MOST_GROWTH = 1024


def run_plan(plan: Plan, values: Mapping[str, Value], training: bool) -> list[Value]:
    """Execute `plan` and return its outputs.

    Args:
        plan: what to execute.
        values: the plan's inputs, and what it reads from around it, by name.
        training: the mode of the module.
    """
    environment: dict[str, Value] = {**plan.constants, **values}
    for step, dead in zip(plan.steps, plan.dead_after, strict=True):
        try:
            results = run_step(step, environment, training)
        except StepError:
            raise
        except Exception as error:
            raise StepError.of(step, error) from error
        environment.update((n, v) for n, v in zip(step.node.output, results, strict=False) if n)
        for name in dead:
            environment.pop(name, None)
    # The body of a function need not make the outputs that a call does not ask for.
    return [environment.get(name) for name in plan.outputs]


class StepError(RuntimeError):
    """An error inside a node of the model; the message names the node."""

    @classmethod
    def of(cls, step: Step, error: Exception) -> StepError:
        """Return an error about `step`, of a class derived from that of `error` too."""
        kind = UnsupportedStepError if isinstance(error, NotImplementedError) else cls
        text = str(error) or type(error).__name__
        # NumPy says the last as a ValueError.
        too_large = isinstance(error, MemoryError | OverflowError) or "array is too big" in text
        if too_large and not isinstance(error, flow.OutOfMemoryError):
            text = f"a size is larger than this machine can hold: {text}"
        return kind(f"in node {step.label}: {text}")


class UnsupportedStepError(StepError, NotImplementedError):
    """A node of the model needs something that is not supported."""


def run_step(step: Step, environment: dict[str, Value], training: bool) -> Sequence[Value]:
    """Return the results of one step, whose operands are in `environment` by name."""
    operands = [environment[name] if name else None for name in step.node.input]
    while operands and operands[-1] is None:
        operands.pop()
    if step.operator is None:
        return _run_function(step, operands, training)
    if step.operator.evaluation is not Evaluation.ANY:
        if _belongs_to_host(step, operands):
            return _run_on_host(step, operands)
        operands = _placed(operands, step.operator.host)
    facts = _facts(step, environment, training)
    returned = step.operator.function(*operands, **step.attributes, **facts)
    results = returned if isinstance(returned, tuple) else (returned,)
    _check_growth(operands, results)
    return results


def _check_growth(operands: Sequence[Value], results: Sequence[Value]) -> None:
    """Refuse large results of small operands, as long as nothing has computed them.

    Sizes in attributes, paddings and products of a row with a column make them, too.
    """
    for result in results:
        if isinstance(result, flow.Tensor) and result.numel() > MOST_ELEMENTS:
            size = sum(
                v.size if isinstance(v, np.ndarray) else v.numel() for v in operands if has_shape(v)
            )
            if result.numel() > _MOST_GROWTH * size:
                check_size(result.shape)


def _run_function(step: Step, operands: list[Value], training: bool) -> Sequence[Value]:
    plan = step.body
    if plan is None:
        assert step.expansion is not None
        plan = step.expansion.plan_for(operands)
    operands += [None] * (len(plan.inputs) - len(operands))
    return run_plan(plan, dict(zip(plan.inputs, operands, strict=True)), training)


def _belongs_to_host(step: Step, operands: list[Value]) -> bool:
    assert step.operator is not None
    if step.operator.evaluation is Evaluation.HOST:
        return True
    arrays = [value for value in operands if isinstance(value, np.ndarray)]
    on_tensors = any(isinstance(value, flow.Tensor) for value in operands)
    if step.operator.evaluation is Evaluation.FOLDED and arrays and not on_tensors:
        return True
    positions = (i for i, value in enumerate(operands) if isinstance(value, np.ndarray))
    return any(not fits_tensor(operands[i]) for i in positions if i not in step.operator.host)


def _run_on_host(step: Step, operands: list[Value]) -> list[Value]:
    """Execute a step with ONNX's reference implementation.

    It serves arithmetic on shapes, strings, and element types that tensors lack. What was computed
    from tensors becomes a tensor again where it fits.
    """
    evaluator = step.__dict__.get("evaluator")
    if evaluator is None:
        evaluator = step.__dict__["evaluator"] = reference_evaluator(step.node, step.opsets)
    tensor = next((v for v in operands if isinstance(v, flow.Tensor)), None)
    named = zip(step.node.input, operands, strict=False)
    feeds = {name: as_host(value) for name, value in named if name}
    if tensor is None:
        check_host_operands([feeds[name] for name in step.node.input if name])
    computed = dict(zip(evaluator.output_names, evaluator.run(None, feeds), strict=True))
    results = [np.asarray(computed[name]) if name else None for name in step.node.output]
    if tensor is None:
        return results
    return [as_tensor(r, tensor) if r is not None and fits_tensor(r) else r for r in results]


def _placed(operands: list[Value], host: frozenset[int]) -> list[Value]:
    """Return `operands` on the host where `host` says so, as tensors otherwise."""
    like = next((value for value in operands if isinstance(value, flow.Tensor)), None)
    return [
        as_host(value)
        if position in host
        else as_tensor(value, like)
        if isinstance(value, np.ndarray)
        else value
        for position, value in enumerate(operands)
    ]


def _facts(step: Step, environment: dict[str, Value], training: bool) -> dict[str, Any]:
    """Return what the operator's function wants to know about the call."""
    if not step.context:
        return {}

    def read_by(plan: Plan, inputs: Sequence[Value]) -> dict[str, Value]:
        around = {name: environment[name] for name in plan.free_names() if name in environment}
        return {**around, **dict(zip(plan.inputs, inputs, strict=True))}

    def run_graph(plan: Plan, inputs: Sequence[Value]) -> list[Value]:
        return run_plan(plan, read_by(plan, inputs), training)

    def example_rows(plan: Plan, inputs: Sequence[Value], count: int) -> list[Value]:
        assert plan.graph is not None
        values = read_by(plan, inputs)
        like = next((value for value in values.values() if isinstance(value, flow.Tensor)), None)
        rows = example_outputs(plan.graph, plan.opsets, values)[-count:]
        return [row if like is None else as_tensor(row, like) for row in rows]

    facts: dict[str, Any | Callable[..., Any]] = {
        "training": training,
        "n_outputs": len(step.node.output),
        "run_graph": run_graph,
        "example_rows": example_rows,
        "opset": step.opset,
    }
    return {name: facts[name] for name in step.context}
