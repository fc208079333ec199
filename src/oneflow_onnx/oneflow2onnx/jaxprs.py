"""Primitives without a lowering of their own: by the steps that their implementations take.

JAX traces an implementation to a list of equations (a jaxpr). Each is written by the lowering of
JAX's primitive, see `oneflow_onnx.oneflow2onnx.equations`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.primitives.inference import jaxpr_of
from oneflow.primitives.jax_primitives import CALLS, IDENTITIES
from oneflow.primitives.operation import Operation
from oneflow.primitives.trace import scan_counts
from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations import Equation, find_equation
from oneflow_onnx.oneflow2onnx.loops import repeat_while, scan
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import DynamicSizeError, merge

# Iterations of a loop up to which they are written one after the other.
_MAX_ITERATIONS = 64


def lower_by_steps(b: OnnxBuilder, call: Call, operations: Sequence[Operation]) -> list[Ref | None]:
    """Write a call by the steps of its implementation.

    Raises:
        Unsupported: a step has no counterpart in ONNX; the message names it.
        NeedsOpset: one has in a later opset.
        DynamicSizeError: the steps differ from size to size.
    """
    jaxprs = [jaxpr_of(operation) for operation in operations]
    return list(_inlined(b, jaxprs, list(call.operands)))


def _inlined(b: OnnxBuilder, jaxprs: Sequence[Any], operands: Sequence[Ref]) -> list[Ref]:
    """The results of a jaxpr, given in every capture, on these operands."""
    inner = [getattr(jaxpr, "jaxpr", jaxpr) for jaxpr in jaxprs]
    if len({len(jaxpr.eqns) for jaxpr in inner}) > 1:
        raise DynamicSizeError("it takes other steps at other sizes")
    values: dict[Any, Ref] = dict(zip(inner[0].invars, operands, strict=True))
    constants = [getattr(jaxpr, "consts", ()) for jaxpr in jaxprs]
    for var, value, *others in zip(inner[0].constvars, *constants, strict=True):
        if any(not np.array_equal(value, other) for other in others):
            raise DynamicSizeError("it uses a table that depends on a symbolic size")
        values[var] = b.constant(np.asarray(value))
    for equations in zip(*(jaxpr.eqns for jaxpr in inner), strict=True):
        sources = _sources(b, values, [equation.invars for equation in equations])
        results = _written(b, equations, sources)
        values.update(zip(equations[0].outvars, results, strict=True))
    return _sources(b, values, [jaxpr.outvars for jaxpr in inner])


def _sources(
    b: OnnxBuilder, values: dict[Any, Ref], captures: Sequence[Sequence[Any]]
) -> list[Ref]:
    """The values that variables and numbers of a jaxpr, given in every capture, stand for."""
    return [
        _number(b, atoms) if hasattr(atoms[0], "val") else values[atoms[0]]
        for atoms in zip(*captures, strict=True)
    ]


def _number(b: OnnxBuilder, literals: Sequence[Any]) -> Ref:
    """A number of a jaxpr; one that depends on a symbolic size is computed from it."""
    dtype = literals[0].aval.dtype
    arrays = [np.asarray(literal.val, dtype) for literal in literals]
    if len({array.tobytes() for array in arrays}) == 1:
        return b.constant(arrays[0])
    number = merge([array.item() for array in arrays], "a number in its steps")
    return b.number(number, dtype)


def _written(b: OnnxBuilder, equations: Sequence[Any], sources: list[Ref]) -> list[Ref]:
    """The results of an equation, given in every capture."""
    first = equations[0]
    name = first.primitive.name
    if any(equation.primitive.name != name for equation in equations):
        raise DynamicSizeError("it takes other steps at other sizes")
    if name in IDENTITIES:
        return sources
    if name in CALLS and CALLS[name] in first.params:
        return _inlined(b, [equation.params[CALLS[name]] for equation in equations], sources)
    if name == "cond":
        return _branch(b, equations, sources)
    if name == "custom_linear_solve":
        return _linear_solve(b, equations, sources)
    if name == "while":
        return _while(b, equations, sources)
    if name == "scan":
        return _scan(b, equations, sources)
    lower = find_equation(name)
    if lower is None:
        raise Unsupported(f"its step `{name}` has no counterpart in ONNX")
    shapes = [
        merge([tuple(equation.outvars[place].aval.shape) for equation in equations], "a shape")
        for place in range(len(first.outvars))
    ]
    dtypes = [np.dtype(variable.aval.dtype) for variable in first.outvars]
    params = {
        key: merge([_plain(equation.params[key]) for equation in equations], f"`{key}` of `{name}`")
        for key in first.params
    }
    results = lower(b, Equation(name, params, sources, shapes, dtypes))
    refs = [results] if isinstance(results, Ref) else list(results)
    return [_typed(b, *result) for result in zip(refs, shapes, dtypes, strict=True)]


def _plain(value: Any) -> Any:
    """A parameter with Python's integers in place of NumPy's."""
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, tuple):
        # A named tuple stays one.
        return getattr(value, "_make", tuple)(map(_plain, value))
    return value


def _typed(b: OnnxBuilder, ref: Ref, shape: tuple, dtype: np.dtype) -> Ref:
    """The value with the shape and dtype that JAX infers; the value's own may say less."""
    if ref.dtype != dtype:
        raise Unsupported(f"its step gives {ref.dtype} where {dtype} was to come")
    if ref.shape == shape or len(ref.shape) != len(shape):
        return ref
    return b.known(Ref(ref.value, ref.dtype, shape, ref.constant))


def _scan(b: OnnxBuilder, equations: Sequence[Any], sources: list[Ref]) -> list[Ref]:
    """A loop over the first dimension: step by step if it is short."""
    params = equations[0].params
    length = merge([equation.params["length"] for equation in equations], "the length of a loop")
    fixed, num_carry = scan_counts(params)
    first = fixed + num_carry
    constants, carry, xs = sources[:fixed], sources[fixed:first], sources[first:]
    body_jaxprs = [equation.params["jaxpr"] for equation in equations]

    def step(inputs: list[Ref]) -> list[Ref]:
        return _inlined(b, body_jaxprs, [*constants, *inputs])

    if isinstance(length, int) and (length <= _MAX_ITERATIONS or not xs):
        order = range(length - 1, -1, -1) if params["reverse"] else range(length)
        return _unroll_scan(b, step, carry, xs, order)
    rows = [
        (
            merge([tuple(variable.aval.shape) for variable in same], "a shape"),
            np.dtype(same[0].aval.dtype),
        )
        for same in zip(*(body.jaxpr.outvars[num_carry:] for body in body_jaxprs), strict=True)
    ]
    return scan(b, carry, xs, rows, length, params["reverse"], step)


def _unroll_scan(
    b: OnnxBuilder,
    step: Callable[[list[Ref]], list[Ref]],
    carry: list[Ref],
    stacked: Sequence[Ref],
    order: range,
) -> list[Ref]:
    """The iterations of a loop, written one after the other."""
    count = len(carry)
    rows: list[list[Ref]] = []
    for place in order:
        number = b.constant(np.int64(place))
        results = step([*carry, *(o.gather(b, operand, number, 0) for operand in stacked)])
        carry = results[:count]
        rows.append(results[count:])
    rows = rows[::-1] if order.step < 0 else rows
    columns = zip(*rows, strict=True)
    joined = [
        o.concat(b, [o.unsqueeze(b, result, [0]) for result in column], 0) for column in columns
    ]
    return [*carry, *joined]


def _branch(b: OnnxBuilder, equations: Sequence[Any], sources: list[Ref]) -> list[Ref]:
    """The results of one of several branches, chosen by a number, or by a value: `If`."""
    which, *operands = sources
    branches = [
        [equation.params["branches"][place] for equation in equations]
        for place in range(len(equations[0].params["branches"]))
    ]
    if which.number is not None:
        return _inlined(b, branches[min(max(int(which.number), 0), len(branches) - 1)], operands)

    def results_from(place: int) -> list[Ref]:
        """The results of the branch at `place` or a later one; a number beyond means the last."""
        if place == len(branches) - 1:
            return _inlined(b, branches[place], operands)
        is_here = b.op("Less", which, b.constant(place + 1, which.dtype), dtype=np.dtype(bool))

        def here(_: list[Ref]) -> list[Ref]:
            return _inlined(b, branches[place], operands)

        def later(_: list[Ref]) -> list[Ref]:
            return results_from(place + 1)

        return b.multiple(
            "If",
            [is_here],
            kinds,
            then_branch=b.subgraph("then", [], here),
            else_branch=b.subgraph("else", [], later),
        )

    kinds = [
        (
            merge([tuple(equation.outvars[place].aval.shape) for equation in equations], "a shape"),
            dtype,
        )
        for place, dtype in enumerate(np.dtype(v.aval.dtype) for v in equations[0].outvars)
    ]
    return results_from(0)


def _linear_solve(b: OnnxBuilder, equations: Sequence[Any], sources: list[Ref]) -> list[Ref]:
    """The solution of linear equations; the other jaxprs serve derivatives."""
    counts = equations[0].params["const_lengths"]
    first = counts.matvec + counts.vecmat
    operands, right = sources[first : first + counts.solve], sources[sum(counts) :]
    return _inlined(
        b, [equation.params["jaxprs"].solve for equation in equations], [*operands, *right]
    )


def _while(b: OnnxBuilder, equations: Sequence[Any], sources: list[Ref]) -> list[Ref]:
    """A loop whose length depends on values; in a batch those that have ended keep their values."""
    params = equations[0].params
    ends = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
    tested, fixed, carry = sources[: ends[0]], sources[ends[0] : ends[1]], sources[ends[1] :]
    conditions = [equation.params["cond_jaxpr"] for equation in equations]
    body_jaxprs = [equation.params["body_jaxpr"] for equation in equations]

    def condition(values: Sequence[Ref]) -> Ref:
        return _inlined(b, conditions, [*tested, *values])[0]

    def step(values: list[Ref]) -> list[Ref]:
        return _inlined(b, body_jaxprs, [*fixed, *values])

    batch = range(conditions[0].jaxpr.outvars[0].aval.ndim)
    if not batch:
        return repeat_while(b, carry, condition, step)

    def step_of_batch(values: list[Ref]) -> list[Ref]:
        active = condition(values)
        return [
            o.where(b, o.unsqueeze(b, active, range(len(batch), before.rank)), after, before)
            for after, before in zip(step(values), values, strict=True)
        ]

    def any_active(values: Sequence[Ref]) -> Ref:
        return o.any_nonzero(b, condition(values), batch, keepdim=False)

    return repeat_while(b, carry, any_active, step_of_batch)
