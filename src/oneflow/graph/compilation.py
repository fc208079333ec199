"""The stages of compiling a graph: capture, passes, binding, compilation.

captured_step(graph, ...)  -> CapturedStep
optimize(captured, ...)    -> Program          the passes of `oneflow.passes.pipeline`
bind(captured, program)    -> StepBinding, and the program in the order of the binding
compile_step(captured)     -> Step
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oneflow.base.placement import Placement
from oneflow.compiler.lower import Executable
from oneflow.graph.auto_parallel import (
    auto_parallel_text,
    conversion_search,
    reshard_variables,
    sharding_search,
)
from oneflow.graph.binding import StepBinding, bind
from oneflow.graph.capture import Capturable, CaptureSettings, captured_step
from oneflow.graph.captured_step import CapturedStep
from oneflow.graph.compile_message import compile_message
from oneflow.graph.engine_executable import EngineExecutable
from oneflow.graph.engines import Engine
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.program_consistency import check_consistency
from oneflow.graph.render_schedule import schedule_text
from oneflow.graph.step import Step, check_arguments
from oneflow.passes.dump import dump_callback
from oneflow.passes.partition import BACKWARD, UPDATE, Phase
from oneflow.passes.pipeline import PassContext, PassGroup, PassObserver, run_passes
from oneflow.program.ir import Program
from oneflow.runtime.events import EventKind, span
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def compile_graph(
    graph: Capturable,
    build: Callable[..., Any],
    called: Any,
    arguments: Sequence[Tensor],
    engine: Engine | None = None,
) -> Step:
    """Capture and compile the step of a graph; on an error everything is as before.

    Args:
        graph: the graph.
        build: the function to capture.
        called: structure of its positional and keyword arguments.
        arguments: the tensors in them.
        engine: runs what it can of the step; None: XLA runs it.
    """
    with (
        span(EventKind.COMPILATION, f"compile {graph.name}"),
        captured_step(graph, build, called, arguments) as captured,
    ):
        return compile_step(captured, graph.settings, engine)


def optimize(
    captured: CapturedStep,
    settings: CaptureSettings,
    observer: PassObserver | None = None,
    has_engine: bool = False,
) -> Program:
    """Return the program of a captured step after all passes that apply to it.

    A program on several placements, or of which an engine runs a part, is split into tasks; most
    passes are left to these.
    """
    context = pass_context(captured, settings)
    if has_engine:
        context = replace(context, partitioned=True)
    groups = [PassGroup.STEP, PassGroup.PROGRAM]
    if not context.partitioned:
        groups.append(PassGroup.EXECUTABLE)
    return run_passes(captured.program, *groups, context=context, observer=observer)


def pass_context(captured: CapturedStep, settings: CaptureSettings) -> PassContext:
    """The facts about a captured step on which passes depend.

    Raises:
        RuntimeError: auto parallelism is asked for on several placements.
    """
    inputs = list(enumerate(captured.inputs))
    sparse: set[int] = set()
    if not isinstance(captured.device, Placement):
        sparse = sparse.union(
            *(step.tensors for step in captured.optimizer_steps if step.owner.is_sparse)
        )
    config = settings.config
    # Auto parallelism chooses conversions, too. Micro batches under ZeRO 2 and 3 exchange gradients
    # each, as recorded, lest whole ones live between them.
    is_fixed = config.auto_parallel is not None or (
        config.zero_stage >= 2 and config.gradient_accumulation_steps > 1
    )
    return PassContext(
        writes=captured.writes,
        zero_stage=config.zero_stage,
        parameters=frozenset([n for n, step_input in inputs if step_input.kind == "parameter"]),
        phases=captured.phases,
        auto_sharding=sharding_search(captured, config.auto_parallel, config.reduce_dtype),
        conversions=None if is_fixed else conversion_search(captured, config.reduce_dtype),
        sparse_tables=frozenset([n for n, step_input in inputs if id(step_input.source) in sparse]),
        pinned=captured.pinned,
        partitioned=len(captured.program.devices) > 1,
        guarded=captured.guarded,
        numbers={len(inputs) + i: n for i, n in constants_of(captured, captured.program).items()},
    )


def compile_step(
    captured: CapturedStep, settings: CaptureSettings, engine: Engine | None = None
) -> Step:
    """Run the passes of a captured step, bind it to tensors, and compile it.

    Args:
        captured: the step.
        settings: the settings of its graph.
        engine: runs what it can of the step; None: XLA runs it.
    """
    dump = dump_callback(captured.name)
    verbosity = settings.verbosity.here()

    def on_pass(name: str, before: Program, after: Program) -> None:
        if dump is not None:
            dump(name, before, after)
        if name == "auto_parallel" and verbosity.level >= 1:
            verbosity.print(1, auto_parallel_text(before, after, settings.config.auto_parallel))

    if engine is not None and (reason := engine.unsupported_reason(captured)) is not None:
        warnings.warn(f"{engine.option}: XLA runs {captured.name}: {reason}", stacklevel=5)
        engine = None
    optimized = optimize(captured, settings, on_pass, engine is not None)
    program, binding = bind(captured, optimized)
    check_arguments(captured.arguments, binding, bool(captured.optimizer_steps))
    _warn_of_history(captured)
    reshard_variables(captured, optimized)
    constants = constants_of(captured, program)
    device, name = captured.device, captured.name
    check_consistency(program, constants, _all_devices(program, device), name)
    first = len(binding.arguments)
    donated = range(first, first + binding.changed)
    summary = captured.summary
    executable: Executable | EngineExecutable | PipelineExecutable
    if len(program.devices) > 1:
        phases = phases_of(captured, optimized)
        executable = PipelineExecutable(
            program, phases, donated, constants, captured.checks, name, dump
        )
        summary = replace(summary, stages=schedule_text(executable))
        verbosity.print(1, "\n".join(summary.stages))
    elif engine is not None:
        executable = _with_engine(engine, program, binding, constants, captured)
    else:
        guarded = captured.guarded and bool(captured.writes or captured.checks)
        executable = Executable(program, donated, device, constants, name, guarded)
    with compile_message(name, len(program.instructions)):
        executable.compile()
    return Step(executable, binding, captured, summary)


def phases_of(captured: CapturedStep, optimized: Program) -> list[Phase]:
    """The phase of each instruction of a captured step's program after its passes."""
    # Passes may add instructions behind those that were captured.
    last = Phase(UPDATE)
    return [captured.phases.get(i.results.start, last) for i in optimized.instructions]


def constants_of(captured: CapturedStep, program: Program) -> dict[int, Any]:
    """The numbers of a captured step, by index, that its compiled program has as constants."""
    dynamic = captured.dynamic_numbers | _hidden_numbers(program)
    return {i: number for i, number in enumerate(captured.numbers) if i not in dynamic}


def _with_engine(
    engine: Engine,
    program: Program,
    binding: StepBinding,
    constants: Mapping[int, Any],
    captured: CapturedStep,
) -> EngineExecutable:
    """The step as run by an engine; a warning names the operators that are left to XLA."""
    weights = [*[unwrap(variable).read() for variable in binding.variables], *binding.constants]
    executable = EngineExecutable(
        engine, program, captured.device, constants, captured.checks, captured.name, weights
    )
    reasons: dict[str, str] = {}
    for index, reason in executable.left_to_xla.items():
        reasons.setdefault(program.instructions[index].operation.primitive.name, reason)
    if reasons:
        details = "; ".join(f"`{name}` ({reason})" for name, reason in sorted(reasons.items()))
        warnings.warn(f"{engine.option}: XLA runs in {captured.name}: {details}", stacklevel=6)
    return executable


def _hidden_numbers(program: Program) -> set[int]:
    """The indices of the run-time numbers that the compiler must not know."""
    first = len(program.inputs)
    return {
        number - first
        for instruction in program.instructions
        if instruction.operation.primitive.traits.kind.has_opaque_numbers
        for number in instruction.operands
        if first <= number < first + len(program.scalars)
    }


def _all_devices(program: Program, device: Any) -> Any:
    """The device of a program, or one placement with all ranks of its placements."""
    if not isinstance(device, Placement) or not program.devices:
        return device
    return Placement(
        device.type, sorted({rank for placement in program.devices for rank in placement.flat})
    )


def _warn_of_history(captured: CapturedStep) -> None:
    """Warn that gradients end at arguments that were computed of what requires them."""
    ends = [
        str(index)
        for index, tensor in enumerate(captured.arguments)
        if tensor.requires_grad and not tensor.is_leaf
    ]
    if ends and any(phase.kind == BACKWARD for phase in captured.phases.values()):
        warnings.warn(
            f"{captured.name}: tensor argument {', '.join(ends)} was computed of tensors that "
            "require gradients; the backward pass in `build` ends at the arguments and gives those "
            "none. Compute it in `build`, or give the graph its detach()",
            stacklevel=6,
        )
