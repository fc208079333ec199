"""Graphs on disk: compiled steps as StableHLO, weights as safetensors, the rest as JSON.

A folder holds `program.json`, one `step<n>.stablehlo` per compiled step, and `weights.safetensors`,
or for a graph on a placement `weights`, a checkpoint to which every rank wrote its parts. Loading
runs nothing but the compiled programs.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oneflow.base import cluster
from oneflow.base.device import Device
from oneflow.base.dtype import dtype_named
from oneflow.base.placement import Placement
from oneflow.base.sbp import named_sbp
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.checkpoint import serialization
from oneflow.checkpoint.serialization import PROGRAM_FILE
from oneflow.checkpoint.together import all_succeed, bytes_from
from oneflow.compiler.export import ImportedProgram, to_bytes
from oneflow.compiler.lower import Executable
from oneflow.functional.generator import default_generator
from oneflow.graph.agreement import runner_on
from oneflow.graph.pipeline import Pipeline
from oneflow.graph.step import Step
from oneflow.graph.structure import put_together, take_call_apart
from oneflow.graph.structure_text import structure_from_data, structure_to_data
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.eager import Absent, flush_all
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor

_VERSION = 1
# One file, or the folder of a checkpoint in parts.
_WEIGHTS = "weights.safetensors"
_WEIGHTS_IN_PARTS = "weights"
# Stands for the bad value in the saved message of a run-time check.
_BAD_VALUE = 7_654_321_012_345_678


def save_steps(name: str, steps: Sequence[Step], path: Path) -> None:
    """Write a graph's folder under another name, then give it its own.

    All processes call this together if the graph is on a placement.

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
    described = [_described(name, index, step, weights) for index, step in enumerate(steps)]
    data = {"version": _VERSION, "name": name, **_device_data(device), "steps": described}
    is_shared = isinstance(device, Placement)
    token = secrets.token_bytes(4)
    folder = _Folder(path, bytes_from(0, token) if is_shared else token, is_shared)
    folder.write(weights, json.dumps(data, indent=1), executables)


class _Folder:
    """The folder of a graph while it is written.

    Args:
        path: its name when it is complete.
        token: tells it from others until then; the same in all processes that write it.
        is_shared: all processes write it together.
    """

    def __init__(self, path: Path, token: bytes, is_shared: bool) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.{token.hex()}")
        self._is_shared = is_shared
        self._leads = not is_shared or cluster.rank() == 0

    def write(
        self, weights: Mapping[str, Tensor], data: str, programs: Sequence[Executable]
    ) -> None:
        """Write everything; the folder appears when it is complete."""
        try:
            with self._together():
                if self._leads:
                    self._partial.mkdir(parents=True)
            kept = _WEIGHTS_IN_PARTS if self._is_shared else _WEIGHTS
            serialization.save(dict(weights), self._partial / kept)
            with self._together():
                if self._leads:
                    self._complete(data, programs)
        except BaseException:
            if self._leads:
                shutil.rmtree(self._partial, ignore_errors=True)
            raise

    def _together(self) -> contextlib.AbstractContextManager[None]:
        deed = f"save the graph to `{self._path}`"
        return all_succeed(deed) if self._is_shared else contextlib.nullcontext()

    def _complete(self, data: str, programs: Sequence[Executable]) -> None:
        for index, program in enumerate(programs):
            (self._partial / f"step{index}.stablehlo").write_bytes(to_bytes(program))
        (self._partial / PROGRAM_FILE).write_text(data, encoding="utf-8")
        _put_in_place(self._partial, self._path)


def _executable_of(step: Step, name: str) -> Executable:
    """The program of a step on one device or placement."""
    if isinstance(step.executable, Pipeline):
        raise RuntimeError(
            f"{name} runs on several placements, and only programs on one device or placement are "
            "saved; make a graph for inference whose modules are on one placement"
        )
    return step.executable


def _put_in_place(partial: Path, path: Path) -> None:
    """Give a complete folder its name; an older folder of that name goes."""
    old = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    if path.exists():
        if not (path / PROGRAM_FILE).exists():
            raise FileExistsError(f"`{path}` exists and is no saved graph; choose another name")
        path.rename(old)
    partial.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _described(name: str, index: int, step: Step, weights: dict[str, Tensor]) -> dict[str, Any]:
    """A step as plain data; its variables and constants are added to `weights`."""
    binding = step.binding
    generators = {id(draws.generator) for draws in step.draws}
    if step.optimizers or binding.gradients or binding.written:
        raise RuntimeError(
            f"{name} trains, or writes to its arguments; save a graph for inference instead"
        )
    if not generators <= {id(default_generator)} or any(d.count is None for d in step.draws):
        raise RuntimeError(f"{name} uses a generator of its own, which cannot be saved")
    constants = _add_weights(step, index, weights)
    names = binding.names
    executable = _executable_of(step, name)
    floats, integers = executable.changing_numbers
    program = executable.program
    return {
        "called": structure_to_data(binding.called),
        "arguments": [_spec_data(spec) for spec in step.argument_specs],
        "read": binding.arguments,
        "variables": [names[id(each)] for each in binding.variables],
        "changed": binding.changed,
        "unread": [names[id(each)] for each in binding.unread],
        "constants": constants,
        "results": [
            _spec_data(each)
            if isinstance(each, TensorSpec)
            else each
            if isinstance(each, int)
            else names[id(each)]
            for each in binding.results
        ],
        "structure": structure_to_data(binding.structure),
        "convolves": executable.convolves,
        "floats": [step.numbers[place] for place in floats],
        "integers": [int(step.numbers[place]) for place in integers],
        "draws": [
            {
                "count": draws.count,
                "seeds": [integers.index(place) for place in draws.seeds],
                "streams": [(integers.index(place), draw) for place, draw in draws.streams],
            }
            for draws in step.draws
        ],
        "checks": [
            _check_data(instruction.operation, line)
            for instruction, (_, line) in zip(program.checks, step.checked, strict=True)
        ],
    }


def _add_weights(step: Step, index: int, weights: dict[str, Tensor]) -> list[str]:
    """Add the variables and constants of a step to `weights`; returns the names of the latter."""
    binding = step.binding
    returned = [each for each in binding.results if isinstance(each, Tensor)]
    for tensor in (*binding.variables, *binding.unread, *returned):
        weights[binding.names[id(tensor)]] = wrap(tensor.value.alias())
    constants = [f"constant.{index}.{place}" for place in range(len(binding.constants))]
    specs = step.executable.program.inputs[-len(constants) :]
    for key, array, spec in zip(constants, binding.constants, specs, strict=False):
        weights[key] = wrap(Value(spec, array))
    return constants


def _spec_data(spec: TensorSpec) -> list:
    sbp = [] if spec.sbp is None else [list(map(str, spec.sbp))]
    return [list(spec.shape), spec.dtype.name, *sbp]


def _device_data(device: Device | Placement) -> dict[str, Any]:
    if isinstance(device, Placement):
        return {"placement": [device.type, device.ranks]}
    return {"device": str(device)}


def _device_of(data: dict[str, Any]) -> Device | Placement:
    """Where a graph was saved.

    Raises:
        RuntimeError: it was on a placement, of which there are not all devices here.
    """
    if "placement" not in data:
        return Device(data["device"])
    kind, ranks = data["placement"]
    placement = Placement(kind, ranks)
    try:
        placement.require_devices()
    except RuntimeError as error:
        raise RuntimeError(f"{data['name']} was saved on {placement}: {error}") from None
    return placement


def _check_data(operation: Operation, line: str) -> list[str]:
    """A run-time check as the class of its error and its message."""
    error = operation.primitive.check_error(_BAD_VALUE, operation.attributes, operation.in_specs)
    return [type(error).__name__, f"{error} (in `{operation.primitive.name}`{line})"]


class SavedGraph:
    """A graph loaded from disk: call it as the graph was called.

    Args:
        path: the folder.

    Attributes:
        name: the name of the graph that was saved.
    """

    def __init__(self, path: Path) -> None:
        file = path / PROGRAM_FILE
        if not file.exists():
            raise FileNotFoundError(f"`{path}` is no saved graph: there is no {PROGRAM_FILE} in it")
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["version"] != _VERSION:
                raise ValueError(f"format {data['version']}, this version reads {_VERSION}")
            self.name = str(data["name"])
            device = _device_of(data)
            self._variables = _load_weights(path, device)
            self._steps = {}
            for index, each in enumerate(data["steps"]):
                content = (path / f"step{index}.stablehlo").read_bytes()
                step = SavedStep(each, content, device, self._variables)
                self._steps[step.key] = step
        except (ValueError, KeyError, TypeError) as error:
            raise RuntimeError(f"cannot load `{path}`: it is damaged ({error!r})") from error

    def __repr__(self) -> str:
        return f"SavedGraph({self.name!r}, {len(self._variables)} tensors)"

    def state_dict(self) -> dict[str, Tensor]:
        """The weights by name."""
        return {key: wrap(value) for key, value in self._variables.items()}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            TypeError: the graph was not saved for arguments like these.
        """
        tensors: list[Tensor] = []
        structure = take_call_apart(args, kwargs, tensors, self.name)
        specs = tuple(tensor._value.spec for tensor in tensors)
        step = self._steps.get((structure, specs))
        if step is None:
            known = "; ".join(", ".join(map(repr, each)) for _, each in self._steps)
            raise TypeError(
                f"{self.name} was saved for the tensors ({known}), called with "
                f"({', '.join(map(repr, specs))})"
            )
        return step.run(tensors, self._variables)


def _load_weights(path: Path, device: Device | Placement) -> dict[str, Value]:
    """Variables and constants; each process reads its parts of them."""
    in_parts = isinstance(device, Placement)
    where = None if in_parts else device
    weights = serialization.load(
        path / (_WEIGHTS_IN_PARTS if in_parts else _WEIGHTS), map_location=where
    )
    values = {key: tensor.value for key, tensor in weights.items()}
    for value in values.values():
        value.read()  # now, while the files are there
    return values


class _SavedCheck:
    """What a failed run-time check of a saved program raises, in the place of an operation."""

    def __init__(self, kind: str, message: str) -> None:
        self._kind = {"IndexError": IndexError, "ValueError": ValueError}.get(kind, RuntimeError)
        self._message = message
        self.primitive = self
        self.name = "saved program"
        self.attributes: dict[str, Any] = {}
        self.in_specs = ()

    def check_error(self, value: int, attributes: Any, in_specs: Any) -> Exception:
        """The exception."""
        return self._kind(self._message.replace(str(_BAD_VALUE), str(value)))


class SavedStep:
    """One step of a saved graph.

    Attributes:
        key: structure and specs of the arguments.

    Args:
        data: what describes it.
        content: its program.
        device: where it runs.
        variables: all variables and constants of the graph.
    """

    def __init__(
        self,
        data: dict[str, Any],
        content: bytes,
        device: Device | Placement,
        variables: Mapping[str, Value],
    ) -> None:
        self._data = data
        self._device = device
        specs = tuple(self._spec(each) for each in data["arguments"])
        self.key = structure_from_data(data["called"]), specs
        self._structure = structure_from_data(data["structure"])
        self._checked: Any = [(_SavedCheck(*each), "") for each in data["checks"]]
        inputs: list = [specs[place] for place in data["read"]]
        inputs += [variables[key].spec for key in (*data["variables"], *data["constants"])]
        inputs += [None for numbers in (data["floats"], data["integers"]) if numbers]
        outputs: list = [variables[key].spec for key in self._rewritten]
        outputs += [self._spec(each) for each in data["results"] if isinstance(each, list)]
        outputs += [None] * bool(data["checks"])
        placement = device if isinstance(device, Placement) else None
        self._run = runner_on(
            device,
            ImportedProgram(content, placement, inputs, outputs, data.get("convolves", False)),
            [None if spec is None else Absent() for spec in outputs],
            f"run of a saved graph ({zlib.crc32(content):08x})",
        )

    def _spec(self, data: list) -> TensorSpec:
        sbp = tuple(map(named_sbp, data[2])) if len(data) > 2 else None
        return spec_of(tuple(data[0]), dtype_named(data[1]), self._device, sbp)

    @property
    def _rewritten(self) -> list[str]:
        """The variables that get new values."""
        return [*self._data["variables"][: self._data["changed"]], *self._data["unread"]]

    def run(self, tensors: Sequence[Tensor], variables: dict[str, Value]) -> Any:
        """Run it; variables that the program changes are replaced."""
        flush_all("graph")
        data = self._data
        arrays = [tensors[place].value.read() for place in data["read"]]
        arrays += [variables[key].read() for key in (*data["variables"], *data["constants"])]
        outputs = self._run(arrays, data["floats"], self._integers())
        if self._checked and outputs[-1] is not None:
            checks.add(outputs[-1], self._checked)
        found = iter(outputs)
        for key in self._rewritten:
            variables[key] = Value(variables[key].spec, next(found))
        results = []
        for each in data["results"]:
            if isinstance(each, int):
                results.append(tensors[each])
            elif isinstance(each, str):
                results.append(wrap(variables[each]))
            else:
                results.append(wrap(Value(self._spec(each), next(found))))
        return put_together(self._structure, iter(results))

    def _integers(self) -> list[int]:
        """The whole numbers of the next run; the default generator moves on."""
        numbers = list(self._data["integers"])
        for draws in self._data["draws"]:
            seed, stream = default_generator.position
            for place in draws["seeds"]:
                numbers[place] = seed
            for place, draw in draws["streams"]:
                numbers[place] = stream + draw
            default_generator.position = seed, stream + draws["count"]
        return numbers
