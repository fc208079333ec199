"""Graphs on disk: compiled steps as StableHLO, weights as safetensors, the rest as JSON.

    path/program.json                       the description; written last, replaced atomically
    path/files-<number>/step<n>.stablehlo   one per compiled step
    path/files-<number>/step<n>.onnx        the same step, if an engine is to run all of it
    path/files-<number>/weights.safetensors

The weights of a graph on a placement are the folder `weights`, a checkpoint to which every rank
wrote its parts. A save fills a new folder of files, see `oneflow.checkpoint.save_versions`.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.checkpoint import serialization
from oneflow.checkpoint.atomic_file import atomic_write, flush_folder
from oneflow.checkpoint.collective_io import broadcast_bytes, propagate_errors
from oneflow.checkpoint.load_errors import load_errors
from oneflow.checkpoint.manifest import PROGRAM_FILE
from oneflow.checkpoint.save_versions import make_folder, remove_old_versions
from oneflow.compiler.export import to_bytes
from oneflow.compiler.lower import Executable
from oneflow.graph.engine_executable import EngineExecutable
from oneflow.graph.pipeline_parallel import PipelineExecutable
from oneflow.graph.pytree_json import tree_to_json
from oneflow.graph.step import Step
from oneflow.graph.tensor_names import argument_names, parameter_names, result_names
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value
from oneflow.random.generator import default_generator
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

_VERSION = 4
# Folders of saves.
_FILES = "files-"
FILES = _FILES + 16 * "[0-9a-f]"
# One file, or the folder of a checkpoint in parts.
WEIGHTS = "weights.safetensors"
WEIGHTS_IN_PARTS = "weights"


def save_steps(name: str, steps: Sequence[Step], build: Callable[..., Any], path: Path) -> None:
    """Write a graph's folder, or put a new content into it.

    All processes call this together if the graph is on a placement.

    Args:
        name: the graph's name.
        steps: its compiled steps.
        build: the function whose parameters name the inputs.
        path: the folder.

    Raises:
        RuntimeError: there is no step, or one that cannot be saved.
    """
    if not steps:
        raise RuntimeError(f"{name} has not been called: call it once with the shapes to save")
    executables = [_executable_of(step, name) for step in steps]
    device = executables[0].device
    if any(executable.device is not device for executable in executables):
        raise RuntimeError(f"{name} was called on several devices; save a graph called on one")
    weights: dict[str, Tensor] = {}
    parameters = parameter_names(build)
    step_data = [
        {
            **_describe_step(name, index, step, weights),
            "inputs": argument_names(step.binding.called, parameters),
            "outputs": result_names(step.binding.structure),
        }
        for index, step in enumerate(steps)
    ]
    data = {"version": _VERSION, "name": name, **_device_data(device), "steps": step_data}
    is_shared = isinstance(device, Placement)
    number = secrets.token_bytes(8)
    writer = _GraphWriter(path, broadcast_bytes(0, number) if is_shared else number, is_shared)
    writer.write(weights, data, executables, list(map(_engine_program, steps)))


class _GraphWriter:
    """One save of a graph.

    Args:
        path: the folder.
        number: identifies the save; the same in all processes that take part.
        is_shared: all processes save together.
    """

    def __init__(self, path: Path, number: bytes, is_shared: bool) -> None:
        self._path = path
        self._files = path / f"{_FILES}{number.hex()}"
        self._is_shared = is_shared
        self._leads = not is_shared or cluster.rank() == 0

    def write(
        self,
        weights: Mapping[str, Tensor],
        data: dict[str, Any],
        programs: Sequence[Executable],
        engine_programs: Sequence[tuple[str, bytes] | None],
    ) -> None:
        """Write everything; the folder changes when all of it is on disk."""
        is_new = self._leads and not self._path.exists()
        try:
            with contextlib.ExitStack() as stack:
                with self._collective():
                    if self._leads:
                        _make_folder(self._path)
                        stack.enter_context(make_folder(self._files))
                weights_name = WEIGHTS_IN_PARTS if self._is_shared else WEIGHTS
                serialization.save(dict(weights), self._files / weights_name)
                with self._collective():
                    if self._leads:
                        self._complete(data, programs, engine_programs)
        finally:
            if self._leads:
                remove_old_versions(self._path, FILES, lambda: named_files(self._path))
                if is_new:
                    # It is removed only if saving failed and nothing is in it.
                    with contextlib.suppress(OSError):
                        self._path.rmdir()

    def _collective(self) -> contextlib.AbstractContextManager[None]:
        action = f"save the graph to `{self._path}`"
        return propagate_errors(action) if self._is_shared else contextlib.nullcontext()

    def _complete(
        self,
        data: dict[str, Any],
        programs: Sequence[Executable],
        engine_programs: Sequence[tuple[str, bytes] | None],
    ) -> None:
        for index, step in enumerate(data["steps"]):
            content = to_bytes(programs[index])
            step["sha256"] = self._write_file(program_name(index), content)
            engine_program = engine_programs[index]
            if engine_program is not None:
                number = self._write_file(engine_program_name(index), engine_program[1])
                step["engine"] = {"package": engine_program[0], "sha256": number}
        with atomic_write(self._path / PROGRAM_FILE) as file:
            file.write(json.dumps({**data, "files": self._files.name}, indent=1).encode())

    def _write_file(self, name: str, content: bytes) -> str:
        """Write a file of this save; returns its digest."""
        with atomic_write(self._files / name) as file:
            file.write(content)
        return sha256(content).hexdigest()


def _make_folder(path: Path) -> None:
    """Make a folder for a graph, unless there is one with a graph."""
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"`{path}` exists and is a file; choose another name")
    if path.is_dir() and not (path / PROGRAM_FILE).exists():
        # Files that a killed first save left do not matter.
        names = [entry.name for entry in path.iterdir()]
        others = [name for name in names if not name.startswith((".", _FILES))]
        if others:
            raise FileExistsError(
                f"`{path}` exists and is no saved graph, but holds `{min(others)}`; choose another "
                "name"
            )
    path.mkdir(parents=True, exist_ok=True)
    flush_folder(path.parent)


def named_files(path: Path) -> str | None:
    """The name of the folder with the present files; None before the first save is complete.

    Raises:
        RuntimeError: the description is damaged.
    """
    return read_description(path)["files"] if (path / PROGRAM_FILE).exists() else None


def read_description(path: Path) -> dict[str, Any]:
    """Return the content of `program.json`.

    Raises:
        FileNotFoundError: there is none.
        RuntimeError: it is damaged or of another version.
    """
    if not (path / PROGRAM_FILE).exists():
        raise FileNotFoundError(f"`{path}` is no saved graph: there is no {PROGRAM_FILE} in it")
    with load_errors(path, f"its `{PROGRAM_FILE}` is damaged"):
        data = json.loads((path / PROGRAM_FILE).read_text(encoding="utf-8"))
        if data["version"] != _VERSION:
            raise ValueError(f"it has format {data['version']}, and this version reads {_VERSION}")
        if not re.fullmatch(FILES, data["files"]):
            raise ValueError(f"{data['files']!r} is not a name of a folder that saving makes")
        return data


def program_name(index: int) -> str:
    """The name of a step's program."""
    return f"step{index}.stablehlo"


def engine_program_name(index: int) -> str:
    """The name of the file with a step's program for an engine."""
    return f"step{index}.onnx"


def _engine_program(step: Step) -> tuple[str, bytes] | None:
    """The program of a step for the engine that runs all of it, with the engine's package."""
    executable = step.executable
    return executable.engine_program() if isinstance(executable, EngineExecutable) else None


def _executable_of(step: Step, name: str) -> Executable:
    """The program of a step on one device or placement."""
    if step.host_inputs:
        raise RuntimeError(
            f"{name} reads data files, or rows of embeddings, in `build`; give it the data as "
            "arguments to save it"
        )
    if isinstance(step.executable, PipelineExecutable):
        raise RuntimeError(
            f"{name} runs on several placements, and only programs on one device or placement are "
            "saved; make a graph for inference with its modules on one placement"
        )
    if isinstance(step.executable, EngineExecutable):
        return step.executable.in_xla()
    return step.executable


def _describe_step(name: str, index: int, step: Step, weights: dict[str, Tensor]) -> dict[str, Any]:
    """Return a step as plain data; its variables and constants are added to `weights`."""
    binding = step.binding
    generators = {id(draws.generator) for draws in step.draws}
    if step.optimizer_steps or binding.gradients or binding.written:
        raise RuntimeError(
            f"{name} trains, or writes to its arguments; save a graph for inference instead"
        )
    if not generators <= {id(default_generator)} or any(d.count is None for d in step.draws):
        raise RuntimeError(
            f"{name} draws from a generator other than the default one, which cannot be saved"
        )
    constants = _add_weights(step, index, weights)
    names = binding.names
    executable = _executable_of(step, name)
    floats, integers = executable.runtime_numbers
    program = executable.program
    return {
        "called": tree_to_json(binding.called),
        "arguments": [_spec_data(spec) for spec in step.argument_specs],
        "read": binding.arguments,
        "variables": [names[id(variable)] for variable in binding.variables],
        "changed": binding.changed,
        "unread": [names[id(tensor)] for tensor in binding.write_only],
        "constants": constants,
        "results": [
            _spec_data(result)
            if isinstance(result, TensorSpec)
            else result
            if isinstance(result, int)
            else names[id(result)]
            for result in binding.results
        ],
        "structure": tree_to_json(binding.structure),
        "has_convolution": executable.has_convolution,
        "floats": [step.numbers[index] for index in floats],
        "integers": [int(step.numbers[index]) for index in integers],
        "draws": [
            {
                "count": draws.count,
                "seeds": [integers.index(number) for number, _ in draws.seeds],
                "streams": [(integers.index(number), draw) for number, draw in draws.streams],
            }
            for draws in step.draws
        ],
        "checks": [
            _check_data(instruction.operation, line)
            for instruction, (_, line) in zip(program.checks, step.checks, strict=True)
        ],
    }


def _add_weights(step: Step, index: int, weights: dict[str, Tensor]) -> list[str]:
    """Add the variables and constants of a step to `weights`; returns the names of the latter."""
    binding = step.binding
    returned = [result for result in binding.results if isinstance(result, Tensor)]
    for tensor in (*binding.variables, *binding.write_only, *returned):
        weights[binding.names[id(tensor)]] = wrap(unwrap(tensor).alias())
    constants = [f"constant.{index}.{number}" for number in range(len(binding.constants))]
    specs = step.executable.program.inputs[-len(constants) :]
    for key, array, spec in zip(constants, binding.constants, specs, strict=False):
        weights[key] = wrap(Value(spec, array))
    return constants


def _spec_data(spec: TensorSpec) -> list:
    sbp = [] if spec.sbp is None else [[component.code for component in spec.sbp]]
    return [list(spec.shape), spec.dtype.name, *sbp]


def _device_data(device: Device | Placement) -> dict[str, Any]:
    if isinstance(device, Placement):
        return {"placement": [device.type, device.ranks.tolist()]}
    return {"device": str(device)}


def _check_data(operation: Operation, line: str) -> dict[str, Any]:
    """A run-time check: the parts of its operation that its error depends on, and the line."""
    attributes = operation.attributes.items()
    return {
        "primitive": operation.primitive.name,
        "attributes": {name: value for name, value in attributes if _is_json(value)},
        "operands": [_spec_data(spec) for spec in operation.in_specs],
        "line": line,
    }


def _is_json(value: Any) -> bool:
    """Return true if an attribute is a number, a text or a tuple of these."""
    if isinstance(value, tuple):
        return all(map(_is_json, value))
    return type(value) in (bool, int, float, str, type(None))
