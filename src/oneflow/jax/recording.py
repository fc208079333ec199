"""The recording of a function of tensors as a program that runs on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from oneflow.base.device import Device, device_from_xla
from oneflow.base.dtype import from_numpy_dtype
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.base.x64 import has_x64, x64
from oneflow.compiler.lower import typed_scalar
from oneflow.differentiation.grad_mode import enable_grad
from oneflow.graph.capture import captured_step
from oneflow.graph.captured_step import CapturedStep
from oneflow.graph.graph import Graph
from oneflow.graph.pytree import flatten_call
from oneflow.jax.narrow_indices import with_narrow_indices
from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.passes.split_at_inputs import split_at_inputs
from oneflow.primitives.operation import Operation
from oneflow.program.evaluate import walk
from oneflow.program.ir import Program
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

# Takes and returns lists of tensors.
ListFunction = Callable[[list[Tensor]], list[Tensor]]


@dataclass(frozen=True)
class Recording:
    """A program with the values that it needs besides its arguments.

    Attributes:
        program: its inputs are the arguments, then `constants`, then residuals.
        constants: arrays of tensors that the function found elsewhere.
        numbers: its run-time numbers.
        seeds: indices of those that are the seed of random numbers.
        streams: the number of the draw, by the index of those that tell draws apart.
    """

    program: Program
    constants: tuple[Any, ...]
    numbers: tuple[Any, ...]
    seeds: frozenset[int]
    streams: Mapping[int, int]

    def run(self, arguments: Sequence[Any], seed: Any, residuals: Sequence[Any] = ()) -> list[Any]:
        """Run it by JAX, which may be tracing.

        Raises:
            RuntimeError: it draws random numbers, and there is no seed.
        """
        return self._run(arguments, seed, residuals, lambda outputs, checked: outputs)

    def failures(self, arguments: Sequence[Any], seed: Any) -> list[tuple[str, Any, Any]]:
        """Run it for its checks: the operator, whether it refuses a value, and that value.

        Without types of 64 bits an integer beyond 32 bits is the nearest one within.

        Raises:
            RuntimeError: it draws random numbers, and there is no seed.
        """
        operators: list[str] = []
        wide = has_x64()

        def evaluate_checks(_: list[Any], checked: list[tuple[Operation, list[Any]]]) -> list[Any]:
            operators[:] = [operation.primitive.name for operation, _ in checked]
            pairs = [operation.evaluate_check(*operands) for operation, operands in checked]
            of_setting = (lambda value: value) if wide else _narrow
            return [array for invalid, value in pairs for array in (invalid, of_setting(value))]

        arrays = self._run(arguments, seed, (), evaluate_checks)
        return list(zip(operators, arrays[::2], arrays[1::2], strict=True))

    def _run(
        self,
        arguments: Sequence[Any],
        seed: Any,
        residuals: Sequence[Any],
        select: Callable[[list[Any], list[Any]], list[Any]],
    ) -> list[Any]:
        if self.streams and seed is None:
            raise RuntimeError(
                "the function draws random numbers, which a pure function can only take from its "
                "arguments; give `seed=`, an integer or a key of `jax.random`"
            )

        def outputs(seed: Any, *arrays: Any) -> list[Any]:
            numbers = [self._number(index, seed) for index in range(len(self.numbers))]
            return select(*walk(self.program, arrays, numbers))

        run = outputs if has_x64() else with_narrow_indices(outputs)
        with x64():
            return run(seed, *arguments, *self.constants, *residuals)

    def _number(self, index: int, seed: Any) -> Any:
        dtype = self.program.scalars[index].dtype.numpy
        if index in self.seeds:
            return jnp.asarray(seed).astype(dtype)
        return typed_scalar(self.streams.get(index, self.numbers[index]), dtype)

    def reads(self) -> list[tuple[set[int], bool]]:
        """The inputs that each output depends on, and whether it depends on the seed."""
        first = len(self.program.inputs)
        sources = {number: {number} for number in range(first + len(self.program.scalars))}
        for instruction in self.program.instructions:
            read = set[int]().union(*[sources[number] for number in instruction.operands])
            sources.update(dict.fromkeys(instruction.results, read))
        seeds = {first + index for index in self.seeds}
        return [
            (
                {number for number in sources[output] if number < first},
                bool(sources[output] & seeds),
            )
            for output in self.program.outputs
        ]

    def split(self, unknown: range, outputs: int) -> tuple[Recording, Recording]:
        """Split the program: steps that do not depend on the `unknown` arguments, and the others.

        The first part returns, after its `outputs`, the residuals that the second one takes.
        """
        parts = split_at_inputs(self.program, unknown, outputs)
        return replace(self, program=parts.independent), replace(self, program=parts.dependent)


def _narrow(value: Any) -> Any:
    """A number of at most 32 bits."""
    value = jnp.asarray(value)
    if value.dtype.itemsize < 8 or value.dtype.kind not in "iuf":
        return value
    dtype = np.dtype(f"{value.dtype.kind}4")
    if dtype.kind != "f":
        value = jnp.clip(value, np.iinfo(dtype).min, np.iinfo(dtype).max)
    return value.astype(dtype)


class _Recorded(Graph):
    """A graph that calls a function with a list of tensors."""

    _body = "the function"
    _constant_hint = "Give the tensor as an argument, or make its module the function"

    def __init__(self, function: ListFunction, name: str, device: Device) -> None:
        super().__init__()
        vars(self).update(_name=name, default_device=device, _function=function)

    def build(self, tensors: list[Tensor]) -> list[Tensor]:
        """Call it; its results are new tensors."""
        return [wrap(unwrap(tensor)) for tensor in vars(self)["_function"](tensors)]


def record(function: ListFunction, specs: Sequence[TensorSpec], name: str) -> Recording:
    """Record what a function does with tensors of these specs. Nothing runs.

    Raises:
        RuntimeError: it cannot be recorded; the message says why.
    """
    graph = _Recorded(function, name, specs[0].device if specs else default_device())
    tensors = [wrap(Value(spec, None)) for spec in specs]
    structure = flatten_call((tensors,), {}, [], name)
    with (
        # Run the instructions that eager code has recorded before: they are no part of JAX's trace.
        jax.ensure_compile_time_eval(),
        enable_grad(),
        captured_step(graph, graph.build, structure, tensors) as step,
    ):
        _check_inputs(step)
        program = step.program
        results = program.outputs[len(program.outputs) - len(step.outputs.results) :]
        program = Program(program.inputs, program.scalars, program.instructions, results)
        return Recording(
            eliminate_dead_code(program),
            tuple([source.source for source in step.inputs if source.kind == "constant"]),
            step.numbers,
            frozenset([index for use in step.draws for index, _ in use.seeds]),
            {index: draw for use in step.draws for index, draw in use.streams},
        )


def _check_inputs(step: CapturedStep) -> None:
    kinds = {step_input.kind for step_input in step.inputs}
    if step.host_inputs or kinds - {"argument", "constant"}:
        raise RuntimeError(
            f"`{step.name}` reads files or other state of the process, which a pure function "
            "cannot; give it what it needs as arguments"
        )


def default_device() -> Device:
    """The device on which JAX computes what nobody placed."""
    return device_from_xla(jax.devices()[0])


def specs_of(arrays: Sequence[Any]) -> tuple[TensorSpec, ...]:
    """The specs of tensors in place of arrays, or of tracers.

    Raises:
        TypeError: a size is a symbol, as `jax.export.symbolic_shape` makes them.
    """
    device = default_device()
    for array in arrays:
        if not all(isinstance(size, int) for size in array.shape):
            raise TypeError(
                f"programs have sizes that are numbers, got an array {array.shape}; export one for "
                "each size"
            )
        if isinstance(array, jax.Array) and not isinstance(array, Tracer):
            device = device_from_xla(min(array.devices(), key=lambda device: device.id))
            break
    return tuple(
        [spec_of(tuple(array.shape), from_numpy_dtype(array.dtype), device) for array in arrays]
    )
