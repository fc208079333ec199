"""Graphs on disk: compiled steps as StableHLO, weights as safetensors, the rest as JSON.

A folder holds `program.json`, one `step<n>.stablehlo` per compiled step, and
`weights.safetensors`. Loading runs nothing but the compiled programs.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import dtype_named
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.checkpoint import tensor_file
from oneflow.checkpoint.serialization import PROGRAM_FILE
from oneflow.compiler.export import ImportedProgram, to_bytes
from oneflow.functional.generator import default_generator
from oneflow.graph.step import Step
from oneflow.graph.structure import put_together, take_call_apart
from oneflow.graph.structure_text import structure_from_data, structure_to_data
from oneflow.primitives.operation import Operation
from oneflow.program.value import Value
from oneflow.runtime import checks
from oneflow.runtime.eager import flush_all, read_array
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy

_VERSION = 1
_WEIGHTS = "weights.safetensors"
# Stands for the bad value in the saved message of a run-time check.
_BAD_VALUE = 7_654_321_012_345_678


def save_steps(name: str, steps: Sequence[Step], path: Path) -> None:
    """Write a graph's folder under another name, then give it its own.

    Raises:
        RuntimeError: there is no step, or one that cannot be saved.
    """
    if not steps:
        raise RuntimeError(f"{name} has not been called: call it once with the shapes to save")
    arrays: dict[str, np.ndarray] = {}
    described = [_described(name, index, step, arrays) for index, step in enumerate(steps)]
    device = steps[0].executable.device
    data = {"version": _VERSION, "name": name, "device": str(device), "steps": described}
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    partial.mkdir(parents=True)
    try:
        for index, step in enumerate(steps):
            (partial / f"step{index}.stablehlo").write_bytes(to_bytes(step.executable))
        tensor_file.write(partial / _WEIGHTS, arrays, {"format": "oneflow"})
        text = json.dumps(data, indent=1)
        (partial / PROGRAM_FILE).write_text(text, encoding="utf-8")
        _put_in_place(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _put_in_place(partial: Path, path: Path) -> None:
    """Give a complete folder its name; an older folder of that name goes."""
    old = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    if path.exists():
        if not (path / PROGRAM_FILE).exists():
            raise FileExistsError(f"`{path}` exists and is no saved graph; choose another name")
        path.rename(old)
    partial.rename(path)
    shutil.rmtree(old, ignore_errors=True)


def _described(name: str, index: int, step: Step, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A step as plain data; its weights are added to `arrays`."""
    binding = step.binding
    generators = {id(draws.generator) for draws in step.draws}
    if step.optimizers or binding.gradients or binding.written:
        raise RuntimeError(
            f"{name} trains, or writes to its arguments; save a graph for inference instead"
        )
    if not generators <= {id(default_generator)} or any(d.count is None for d in step.draws):
        raise RuntimeError(f"{name} uses a generator of its own, which cannot be saved")
    for key, tensor in zip(binding.names, (*binding.variables, *binding.unread), strict=True):
        arrays[key] = np.asarray(read_array(tensor.value))
    constants = [f"constant.{index}.{place}" for place in range(len(binding.constants))]
    arrays.update({k: np.asarray(a) for k, a in zip(constants, binding.constants, strict=True)})
    names = {id(t): n for t, n in zip(binding.variables, binding.names, strict=False)}
    floats, integers = step.executable.changing_numbers
    program = step.executable.program
    return {
        "called": structure_to_data(binding.called),
        "arguments": [_spec_data(spec) for spec in step.argument_specs],
        "read": binding.arguments,
        "variables": binding.names[: len(binding.variables)],
        "changed": binding.changed,
        "unread": binding.names[len(binding.variables) :],
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


def _spec_data(spec: TensorSpec) -> list:
    return [list(spec.shape), spec.dtype.name]


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
            self._device = Device(data["device"])
            opened = tensor_file.open_path(path / _WEIGHTS)
            self._variables = {
                key: value_from_numpy(opened.read(key), self._device) for key in opened.names
            }
            self._steps = {}
            for index, each in enumerate(data["steps"]):
                program = ImportedProgram((path / f"step{index}.stablehlo").read_bytes())
                step = SavedStep(each, program, self._device)
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
    """

    def __init__(self, data: dict[str, Any], program: ImportedProgram, device: Device) -> None:
        self._data = data
        self._program = program
        self._device = device
        specs = tuple(self._spec(each) for each in data["arguments"])
        self.key = structure_from_data(data["called"]), specs
        self._structure = structure_from_data(data["structure"])
        self._checked: Any = [(_SavedCheck(*each), "") for each in data["checks"]]

    def _spec(self, data: list) -> TensorSpec:
        return spec_of(tuple(data[0]), dtype_named(data[1]), self._device)

    def run(self, tensors: Sequence[Tensor], variables: dict[str, Value]) -> Any:
        """Run it; variables that the program changes are replaced."""
        flush_all("graph")
        data = self._data
        arrays = [tensors[place].value.read() for place in data["read"]]
        arrays += [variables[key].read() for key in (*data["variables"], *data["constants"])]
        outputs = self._program(arrays, data["floats"], self._integers())
        if self._checked:
            checks.add(outputs.pop(), self._checked)
        found = iter(outputs)
        for key in (*data["variables"][: data["changed"]], *data["unread"]):
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
