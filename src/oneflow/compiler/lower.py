"""Programs and single operations as executables.

Run-time numbers travel as two vectors, one float64 and one int64, however many there are: a changed
learning rate is a changed element of a vector, never a new program. A compiled program takes each
as a vector, or on accelerators a row of a table (`number_tables.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement, mesh_axis
from oneflow.base.x64 import in_x64
from oneflow.compiler.check_rows import check_rows
from oneflow.compiler.donation import assign_donated
from oneflow.compiler.executable_cache import EXECUTABLES, OPERATION_BYTES
from oneflow.compiler.failed_flag import CheckResults, abstract_flag, zero_flag
from oneflow.compiler.guarded_writes import CheckedUpdates
from oneflow.compiler.jit_function import JitFunction
from oneflow.compiler.loaded_executable import LoadedExecutable, check_largest_array
from oneflow.compiler.number_tables import number_arguments
from oneflow.compiler.options import compiler_options, operation_options
from oneflow.compiler.sharding import (
    abstract_array,
    committed_to,
    one_after_the_other,
    shard_mapped,
    xla_devices,
)
from oneflow.primitives.cost.operation_cost import shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.primitives.traits import Kind
from oneflow.program.evaluate import walk
from oneflow.program.ir import Program
from oneflow.tuning.linux import FREE_LISTS

# Single numbers, and their share of a program's instructions, from which on they are most of what
# XLA compiles. A training step of a model has a few.
_MANY_NUMBERS, _SHARE_OF_NUMBERS = 100, 0.4
# Longer programs are compiled as others are: XLA's older emitters call themselves along a chain of
# numbers, and some 5,000 are more than the stack holds.
_MAX_INSTRUCTIONS = 1_000


class Executable:
    """A compiled program.

    Call it with the array inputs and the Python numbers; it returns the list of output arrays and
    the results of its checks, or None when the program has none.

    Attributes:
        function: a function of arrays, vectors of numbers and the flag of a guarded program, on all
            devices of a placement; see `sorted_results` for what it returns.
        guarded: it takes the flag of failed checks.
        has_convolution: some instruction is a convolution, which chooses XLA's options.
        is_global: it runs on a placement.

    Args:
        program: the program to compile, after its passes.
        donated: inputs that nobody needs any more.
        device: where it runs.
        constants: Python numbers, by their position, that are the same in every run.
        name: its name in profilers and dumps.
        guarded: it takes the flag of failed checks before it, and writes nothing if that is set.
    """

    def __init__(
        self,
        program: Program,
        donated: Sequence[int],
        device: Device | Placement,
        constants: Mapping[int, Any] | None = None,
        name: str = "program",
        guarded: bool = False,
    ) -> None:
        self.program = program
        self.guarded = guarded
        self._constants = dict(constants or {})
        dynamic = [slot for slot in range(len(program.scalars)) if slot not in self._constants]
        self._floats = [i for i in dynamic if _is_float_scalar(program.scalars[i])]
        self._integers = [i for i in dynamic if not _is_float_scalar(program.scalars[i])]
        self._has_checks = bool(program.checks)
        self.is_global = isinstance(device, Placement)
        self._all_reduces = isinstance(device, Placement) and _can_all_reduce(program, device)
        self.device = device
        self._tables = number_arguments(len(self._floats), len(self._integers), device)
        self._only_floats = not self._integers and not self._constants
        # One collective program at a time: those of several devices of one CPU share its threads,
        # and wait for each other forever if too many are under way.
        self._waits = isinstance(device, Placement) and device.type == "cpu" and device.size > 1
        used, self._order = assign_donated(program, donated)
        # The position of each output among the results.
        self._sort = _selection(sorted(range(len(self._order)), key=self._order.__getitem__))
        self._compiled: Any = None
        self._loaded: LoadedExecutable | None = None
        function = self.trace
        if isinstance(device, Placement):
            outputs = [program.outputs[slot] for slot in self._order]
            table = program.spec_table()
            vectors = [None for numbers in (self._floats, self._integers) if numbers]
            others = (1 + guarded) * self._has_checks
            function = shard_mapped(
                function,
                [*program.inputs, *vectors, *[one_after_the_other(device)] * guarded],
                [*[table[number] for number in outputs], *[None] * others],
                device,
            )
        self.function = function
        self.has_convolution = _has_convolution(program)
        self._jit_function: Any = JitFunction(
            _named(self._tables.with_row(function, len(program.inputs)), name),
            xla_devices(device),
            donate_argnums=used,
            compiler_options=self._compiler_options(),
            **committed_to(device),
        )

    def _compiler_options(self) -> dict[str, str]:
        numbers = _has_single_numbers(self.program)
        return compiler_options(self.device.type, self.has_convolution, self.is_global, numbers)

    def trace(self, *arguments: Any) -> Any:
        """The program as a function of arrays, vectors of numbers and the flag, to be traced."""
        count = len(self.program.inputs)
        arrays, vectors = arguments[:count], list(arguments[count:])
        scalars: list[Any] = [None] * len(self.program.scalars)
        for slot, number in self._constants.items():
            scalars[slot] = jnp.asarray(
                typed_scalar(number, self.program.scalars[slot].dtype.numpy)
            )
        for slots in (self._floats, self._integers):
            if slots:
                vector = vectors.pop(0)
                for index, slot in enumerate(slots):
                    scalars[slot] = vector[index].astype(self.program.scalars[slot].dtype.numpy)
        failed = vectors.pop(0)[0] if self.guarded else None
        updates = CheckedUpdates(self.program, self._all_reduce_or, failed)
        outputs, checked = walk(self.program, arrays, scalars, updates.evaluate)
        results = [outputs[slot] for slot in self._order]
        if checked:
            results.append(updates.rows(checked))
            if self.guarded:
                results.append(updates.has_failed(checked).reshape(1))
        return results

    def _all_reduce_or(self, failed: Any) -> Any:
        """A truth value that is the same on all devices: "or" of theirs."""
        if not self._all_reduces:
            return failed
        placement: Any = self.device
        axes = tuple(map(mesh_axis, range(placement.ndim)))
        return lax.pmax(failed.astype(jnp.int32), axes) > 0

    def _number_arguments(self, scalars: Sequence[Any]) -> Sequence[Any]:
        """The arguments of the compiled function for the tables of numbers and the row."""
        if self._only_floats:
            return self._tables([np.array(scalars, np.float64)], scalars)
        floats = [scalars[i] for i in self._floats]
        vectors: list[Any] = [np.array(floats, np.float64)] if floats else []
        if self._integers:
            integers = [wrap_integer(scalars[i]) for i in self._integers]
            vectors.append(np.array(integers, np.int64))
        return self._tables(vectors, floats) if vectors else ()

    def compile(self) -> Executable:
        """Compile now, ahead of the first call; safe on another thread.

        Raises:
            OutOfMemoryError: it has an array that the device cannot hold.
        """
        if self._compiled is not None:
            return self
        check_largest_array(self.device, _largest_array(self.program))
        compiled = run_without_interrupt(
            lambda: self._jit_function.compile(*self._abstract_arguments())
        )
        # JAX's trace is not needed again; this frees its memory.
        self._jit_function = None
        self._loaded = LoadedExecutable(compiled, self.device)
        self._compiled = compiled
        FREE_LISTS.trim()
        return self

    @in_x64
    def lowered(self) -> Any:
        """The program as JAX has lowered it, before XLA's passes; until it is compiled."""
        return self._jit_function.lower(*self._abstract_arguments())

    def warm_up(self) -> None:
        """Run it on zeros if it is small, for XLA prepares some kernels in the first run."""
        self.compile()
        assert self._loaded is not None
        self._loaded.warm_up(self._abstract_arguments())

    def abstract_inputs(self) -> list[Any]:
        """Shapes and dtypes of what `function` takes."""
        vectors = [(self._floats, np.float64), (self._integers, np.int64)]
        return self._abstract([jax.ShapeDtypeStruct((len(v),), kind) for v, kind in vectors if v])

    def _abstract_arguments(self) -> list[Any]:
        """Shapes and dtypes of what the compiled form takes."""
        return self._abstract(self._tables.abstract())

    def _abstract(self, numbers: list[Any]) -> list[Any]:
        arrays = list(map(abstract_array, self.program.inputs))
        return arrays + numbers + [abstract_flag(self.device)] * self.guarded

    @property
    def runtime_numbers(self) -> tuple[list[int], list[int]]:
        """Positions of numbers that are not constants: those passed as floats, and the others."""
        return self._floats, self._integers

    def memory(self) -> Any:
        """XLA's own account of the program's memory (argument, output, temporary bytes)."""
        self.compile()
        return self._compiled.memory_analysis()

    def cost(self) -> dict[str, float]:
        """XLA's own account of the program's work: ``"flops"``, ``"bytes accessed"`` and others."""
        self.compile()
        return self._compiled.cost_analysis()

    def hlo(self) -> str:
        """The program after XLA's passes, as text."""
        self.compile()
        return self._compiled.as_text()

    def __call__(
        self,
        arrays: Sequence[Any],
        scalars: Sequence[Any],
        returned: list | None = None,
        failed: Any = None,
    ) -> tuple[list[Any], CheckResults | None]:
        """Run it.

        Args:
            arrays: the inputs.
            scalars: the Python numbers.
            returned: an empty list that gets what XLA returns, see `sorted_results`, as soon as it
                has started; a program that has left something there already does not run again.
            failed: the flag that a guarded program takes; None: no check has failed.

        Returns:
            The results, and those of the run-time checks or None.

        Raises:
            OutOfMemoryError: there is not enough memory; donated inputs are as before.
        """
        returned = [] if returned is None else returned
        if not returned:
            loaded = self._loaded or self.compile()._loaded
            assert loaded is not None
            numbers = self._number_arguments(scalars) if scalars else ()
            arguments = (*arrays, *numbers)
            if self.guarded:
                arguments += (zero_flag(self.device) if failed is None else failed,)
            loaded(arguments, returned)
        if self._waits:
            jax.block_until_ready(returned[0])
        return self.sorted_results(returned[0])

    def sorted_results(self, results: Sequence[Any]) -> tuple[list[Any], CheckResults | None]:
        """The outputs of `function`, compiled or not, in order; then the outputs of its checks."""
        outputs = list(self._sort(results))
        if not self._has_checks:
            return outputs, None
        return outputs, CheckResults(*results[len(outputs) :])


def _named(function: Callable, name: str) -> Callable:
    """`function` under a name of its own, for XLA."""

    def run(*arguments: Any) -> Any:
        return function(*arguments)

    run.__name__ = name
    return run


def _selection(positions: list[int]) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """A function that returns the items of a sequence at `positions`, in this order."""
    if positions == list(range(len(positions))):
        return itemgetter(slice(len(positions)))
    return itemgetter(*positions)


def _largest_array(program: Program) -> int:
    """The bytes of the largest array that the program makes on one device."""
    specs = (
        spec for instruction in program.instructions for spec in instruction.operation.out_specs
    )
    return max((shard_bytes(spec) for spec in specs), default=0)


def _can_all_reduce(program: Program, placement: Placement) -> bool:
    """Return whether the devices of a placement can exchange failed checks.

    With several processes only programs that communicate anyway run on all ranks at once.
    """
    if placement.size == 1:
        return False
    return not cluster.is_multiprocess() or any(
        collectives_of(instruction.operation) for instruction in program.instructions
    )


def _has_convolution(program: Program) -> bool:
    """Return whether an instruction is a convolution, or its gradient: these are few and large."""
    return any(
        instruction.operation.primitive.traits.kind is Kind.CONVOLUTION
        for instruction in program.instructions
    )


def _has_single_numbers(program: Program) -> bool:
    """Return whether a program computes many numbers one by one, and little else."""
    if len(program.instructions) > _MAX_INSTRUCTIONS:
        return False
    count = sum(
        all(spec.numel == 1 for spec in instruction.operation.out_specs)
        for instruction in program.instructions
    )
    return count >= _MANY_NUMBERS and count >= _SHARE_OF_NUMBERS * len(program.instructions)


class Use(Enum):
    """The purpose of a compiled operation.

    Attributes:
        RESULTS: its results, where operations are compiled before they run.
        LONG_RUNS: its results, since NumPy has taken long for them.
        CHECK: its value check.
    """

    RESULTS = auto()
    LONG_RUNS = auto()
    CHECK = auto()


# The executables of single operations, kept while there is room (`EXECUTABLES`).
_compiled: dict[Operation, dict[Use, Callable]] = {}


def compiled_operation(operation: Operation, use: Use = Use.RESULTS) -> Callable | None:
    """The executable of a single operation; None if it is not compiled for that use."""
    executables = _compiled.get(operation)
    return None if executables is None else executables.get(use)


def is_compiled(operation: Operation) -> bool:
    """Return whether a single operation has an executable, for any use."""
    return operation in _compiled


def operation_executable(operation: Operation, use: Use = Use.RESULTS) -> Callable:
    """The executable of a single operation, made once and kept while there is room.

    Python-number operands are given as NumPy scalars.
    """
    executable = compiled_operation(operation, use)
    if executable is not None:
        EXECUTABLES.touch(operation)
        return executable
    is_check = use is Use.CHECK
    function = operation.evaluate_check if is_check else operation.evaluate
    return _keep(operation, use, _jit_operation(operation, function))


def compile_operation(operation: Operation, use: Use = Use.RESULTS) -> None:
    """Compile a single operation on one device, now."""
    types = [jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs]
    jit_function = _jit_operation(operation, operation.evaluate)
    _keep(operation, use, run_without_interrupt(lambda: jit_function.compile(*types)))


def _keep(operation: Operation, use: Use, executable: Callable) -> Callable:
    """Keep an executable until others need the room."""
    _compiled.setdefault(operation, {})[use] = executable
    EXECUTABLES.add(operation, OPERATION_BYTES, lambda: _compiled.pop(operation, None))
    return executable


def _jit_operation(operation: Operation, function: Callable) -> Any:
    if isinstance(operation.device, Placement):
        return _jit_on_parts(operation, function)
    device = operation.device
    options = operation_options(device.type)
    devices = xla_devices(device)
    return JitFunction(function, devices, compiler_options=options, **committed_to(device))


def _jit_on_parts(operation: Operation, function: Callable) -> Callable:
    """A single operation, or its value check, on the parts of global tensors."""
    is_check = function == operation.evaluate_check

    def rows(*operands: Any) -> Any:
        if is_check:
            return [check_rows([(operation, operands)])]
        results = function(*operands)
        return [results] if operation.single else list(results)

    outputs = [None] if is_check else list(operation.out_specs)
    run = JitFunction(
        shard_mapped(rows, list(operation.in_specs), outputs, operation.device),
        xla_devices(operation.device),
        compiler_options=operation_options(operation.device.type),
    )

    def waiting(*operands: Any) -> Any:
        results = jax.block_until_ready(run(*operands))
        return results[0] if is_check or operation.single else tuple(results)

    return waiting


_INT64 = np.dtype(np.int64)


def typed_scalar(number: Any, dtype: np.dtype) -> Any:
    """A Python number as a NumPy scalar of `dtype`.

    Integers wrap around as they do on the device.
    """
    if dtype.kind in "iub" and type(number) is not float:
        integer = np.int64(wrap_integer(number))
        return integer if dtype is _INT64 else integer.astype(dtype)
    return np.asarray(number, dtype)[()]


def wrap_integer(number: Any) -> int:
    """An integer modulo 2**64, in the range of int64."""
    integer = int(number)
    in_range = -(2**63) <= integer < 2**63
    return integer if in_range else (integer + 2**63) % 2**64 - 2**63


def _is_float_scalar(spec: Any) -> bool:
    return spec.dtype.is_floating_point or spec.dtype.is_complex
