"""Graphs from disk: see `oneflow.graph.save_graph`. Only the compiled programs are ever run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.base.dtype import dtype_named
from oneflow.base.placement import Placement
from oneflow.base.sbp import named_sbp
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.checkpoint import serialization
from oneflow.checkpoint.load_errors import load_errors
from oneflow.compiler.export import ImportedProgram
from oneflow.compiler.failed_flag import CheckResults
from oneflow.graph.program_consistency import collective_runner
from oneflow.graph.pytree import count_leaves, flatten_call, tree_unflatten
from oneflow.graph.pytree_json import plain_tree, tree_from_json
from oneflow.graph.save_graph import (
    WEIGHTS,
    WEIGHTS_IN_PARTS,
    engine_program_name,
    program_name,
    read_description,
)
from oneflow.graph.saved_engine_program import SavedEngineProgram, installed_engine
from oneflow.primitives.registry import PRIMITIVES, Primitive
from oneflow.program.value import Value
from oneflow.random.generator import default_generator
from oneflow.runtime import checks
from oneflow.runtime.eager import flush_all
from oneflow.runtime.meta_array import MetaArray
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


class SavedGraph:
    """A graph loaded from disk: call it as the graph was called.

    Args:
        path: the folder.

    Attributes:
        name: the name of the graph that was saved.
    """

    def __init__(self, path: Path) -> None:
        data = read_description(path)
        files = path / data["files"]
        with load_errors(path, "it is damaged, or was saved again just now"):
            self.name = str(data["name"])
            device = _device_of(data)
            self._variables = _load_weights(files, device)
            self._steps = {}
            for index, description in enumerate(data["steps"]):
                content = (files / program_name(index)).read_bytes()
                engine = description.get("engine")
                engine_file = engine and (files / engine_program_name(index)).read_bytes()
                step = SavedStep(description, content, engine_file, device, self._variables)
                self._steps[step.key] = step

    def __repr__(self) -> str:
        return f"SavedGraph({self.name!r}, {len(self._variables)} tensors)"

    @property
    def steps(self) -> tuple[SavedStep, ...]:
        """The saved programs, one for each kind of call."""
        return tuple(self._steps.values())

    def run_step(self, step: SavedStep, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the tensors in the result of a step.

        Args:
            step: one of this graph's.
            tensors: its arguments, with the specs of its `inputs`, in that order.
        """
        return step.run(tensors, self._variables)

    def run_arrays(self, step: SavedStep, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the arrays in the result of a step, without tensors in between.

        Args:
            step: one of this graph's, which runs on one CPU and updates nothing.
            arrays: its arguments, with the specs of its `inputs`, in that order. Nobody
                may write to them, nor to the results, which may be the same.

        Raises:
            Exception: the error of a run-time check.
        """
        return step.run_arrays(arrays, self._variables)

    def state_dict(self) -> dict[str, Tensor]:
        """The weights by name."""
        return {key: wrap(value) for key, value in self._variables.items()}

    def use_tensors(self, tensors: Mapping[str, Tensor]) -> None:
        """Let runs use the present values of tensors as weights; other names are left out."""
        weights = {key: unwrap(x) for key, x in tensors.items() if key in self._variables}
        self._variables.update(weights)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            TypeError: the graph was not saved for arguments like these.
        """
        tensors: list[Tensor] = []
        structure = flatten_call(args, kwargs, tensors, self.name)
        specs = tuple(tensor._value.spec for tensor in tensors)
        step = self._steps.get((structure, specs)) or self._steps.get(
            (plain_tree(structure), specs)
        )
        if step is None:
            signatures = "; ".join(
                ", ".join(map(repr, saved_specs)) for _, saved_specs in self._steps
            )
            raise TypeError(
                f"{self.name} was saved for the tensors ({signatures}), called with "
                f"({', '.join(map(repr, specs))})"
            )
        return tree_unflatten(step.structure, iter(step.run(tensors, self._variables)))


def saved_device_type(path: Path) -> str:
    """Return the type of the devices for which the graph in a folder was compiled."""
    data = read_description(path)
    return data["placement"][0] if "placement" in data else Device(data["device"]).type


def _device_of(data: dict[str, Any]) -> Device | Placement:
    """The device or placement of a saved graph.

    Raises:
        RuntimeError: this job does not have all devices of the placement.
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


def _load_weights(path: Path, device: Device | Placement) -> dict[str, Value]:
    """Load variables and constants; each process reads its shards of them."""
    is_sharded = isinstance(device, Placement)
    map_location = None if is_sharded else device
    weights = serialization.load(
        path / (WEIGHTS_IN_PARTS if is_sharded else WEIGHTS), map_location=map_location
    )
    if not isinstance(weights, dict) or not all(
        isinstance(weight, Tensor) for weight in weights.values()
    ):
        raise ValueError("its weights are not a dict of tensors")
    values = {key: unwrap(tensor) for key, tensor in weights.items()}
    for value in values.values():
        value.read()  # now, while the files are there
    return values


def _check_digest(content: bytes, data: Mapping[str, Any]) -> None:
    """Raise unless the digest in the description is the program's.

    Raises:
        ValueError: it is not.
    """
    if sha256(content).hexdigest() != data["sha256"]:
        raise ValueError("a program is not the one that was saved")


def _are_names(names: Any, count: int) -> bool:
    """Return true if `names` are `count` different names."""
    return len(names) == len({str(name) for name in names}) == count


@dataclass(frozen=True)
class CheckedOperation:
    """The part of an operation with a run-time check that makes the check's error.

    Attributes:
        primitive: the operation's primitive.
        attributes: its attributes, as far as JSON holds them.
        in_specs: the specs of its operands.
    """

    primitive: Primitive
    attributes: dict[str, Any]
    in_specs: tuple[TensorSpec, ...]


class SavedStep:
    """One step of a saved graph.

    Attributes:
        key: structure and specs of the arguments.
        structure: the structure of the result.
        inputs: the specs of the tensors in the arguments, by name.
        outputs: the specs of the tensors in the result, by name.

    Args:
        data: its description.
        content: its program.
        engine_content: its program for an engine, if one is to run it.
        device: the device or placement that runs it.
        variables: all variables and constants of the graph.
    """

    def __init__(
        self,
        data: dict[str, Any],
        content: bytes,
        engine_content: bytes | None,
        device: Device | Placement,
        variables: Mapping[str, Value],
    ) -> None:
        self._data = data
        self._device = device
        specs = tuple(self._spec(argument) for argument in data["arguments"])
        self.key = tree_from_json(data["called"]), specs
        self.structure = tree_from_json(data["structure"])
        self._check(len(specs), variables)
        _check_digest(content, data)
        self._checked: Any = [
            (self._checked_operation(check), check["line"]) for check in data["checks"]
        ]
        inputs: list = [specs[index] for index in data["read"]]
        inputs += [variables[key].spec for key in (*data["variables"], *data["constants"])]
        self.inputs = dict(zip(data["inputs"], specs, strict=True))
        results = [self._result_spec(result, specs, variables) for result in data["results"]]
        self.outputs = dict(zip(data["outputs"], results, strict=True))
        outputs: list = [variables[key].spec for key in self.updated]
        outputs += [self._spec(result) for result in data["results"] if isinstance(result, list)]
        outputs += [None] * bool(data["checks"])
        program = ImportedProgram(
            content,
            device,
            inputs,
            (len(data["floats"]), len(data["integers"])),
            outputs,
            data["has_convolution"],
        )
        self._program = (
            program if engine_content is None else self._in_engine(engine_content, program)
        )
        self._run = collective_runner(
            device,
            self._program,
            [None if spec is None else MetaArray() for spec in outputs],
            f"run of a saved graph ({data['sha256'][:8]})",
        )

    def _in_engine(
        self, content: bytes, program: ImportedProgram
    ) -> ImportedProgram | SavedEngineProgram:
        """The program as the engine that it was saved for runs it, or XLA if there is none."""
        data = self._data
        _check_digest(content, data["engine"])
        if self._checked or self.updated or not isinstance(self._device, Device):
            raise ValueError("a program for an engine has checks, updates or a placement")
        engine = installed_engine(data["engine"]["package"])
        if engine is None:
            return program
        weights = len(data["variables"]) + len(data["constants"])
        return SavedEngineProgram(engine, content, weights, self._device, program)

    def _checked_operation(self, data: dict[str, Any]) -> CheckedOperation:
        primitive = PRIMITIVES.get(data["primitive"])
        if primitive is None or primitive.check_error is None:
            raise ValueError(f"there is no primitive `{data['primitive']}` with a run-time check")
        specs = tuple(map(self._spec, data["operands"]))
        return CheckedOperation(primitive, dict(data["attributes"]), specs)

    def _spec(self, data: list) -> TensorSpec:
        sbp = tuple(map(named_sbp, data[2])) if len(data) > 2 else None
        return spec_of(tuple(data[0]), dtype_named(data[1]), self._device, sbp)

    def _check(self, count: int, variables: Mapping[str, Value]) -> None:
        """Check the description, so that calls with `count` tensors cannot fail because of it.

        Raises:
            ValueError: an entry is wrong; the message names it.
        """
        data = self._data
        integers = range(len(data["integers"]))
        results = data["results"]
        indices = [result for result in results if isinstance(result, int)]
        names = [result for result in results if isinstance(result, str)]
        seeds = [number for use in data["draws"] for number in use["seeds"]]
        streams = [pair for use in data["draws"] for pair in use["streams"]]
        counts = [draw for _, draw in streams] + [use["count"] for use in data["draws"]]
        is_valid = {
            "called": count_leaves(self.key[0]) == count,
            "structure": count_leaves(self.structure) == len(results),
            "inputs": _are_names(data["inputs"], count),
            "outputs": _are_names(data["outputs"], len(results)),
            "read": all(index in range(count) for index in data["read"]),
            "results": all(index in range(count) for index in indices)
            and all(name in variables for name in names),
            "changed": data["changed"] in range(len(data["variables"]) + 1),
            "floats": all(type(number) in (int, float) for number in data["floats"]),
            "integers": all(type(number) is int for number in data["integers"]),
            "draws": all(number in integers for number in (*seeds, *[n for n, _ in streams]))
            and all(type(number) is int and 0 <= number < 2**63 for number in counts),
            "has_convolution": isinstance(data["has_convolution"], bool),
        }
        invalid = [name for name, valid in is_valid.items() if not valid]
        if invalid:
            raise ValueError(f"`{invalid[0]}` of a step is not valid: saving never writes that")

    @property
    def updated(self) -> list[str]:
        """The variables that get new values."""
        return [*self._data["variables"][: self._data["changed"]], *self._data["unread"]]

    def _result_spec(
        self, data: list | int | str, specs: Sequence[TensorSpec], variables: Mapping[str, Value]
    ) -> TensorSpec:
        """The spec of a result: an output of the program, an argument, or a variable."""
        if isinstance(data, list):
            return self._spec(data)
        return specs[data] if isinstance(data, int) else variables[data].spec

    def donate(self, names: Collection[str]) -> None:
        """Let runs write results over some tensors of their arguments.

        Their values are lost with the run: a state that each run replaces needs no memory twice,
        and is not copied where the program changes a part of it.

        Args:
            names: those of `inputs`; called before the first run. Tensors that the step returns as
                they are, or does not read, are left alone.
        """
        if not isinstance(self._program, ImportedProgram):
            return
        data = self._data
        given_up = {i for i, name in enumerate(data["inputs"]) if name in names}
        given_up -= {result for result in data["results"] if isinstance(result, int)}
        self._program.donate([n for n, index in enumerate(data["read"]) if index in given_up])

    def run(self, tensors: Sequence[Tensor], variables: dict[str, Value]) -> list[Tensor]:
        """Run the step; variables that the program changes are replaced."""
        flush_all("graph")
        data = self._data
        arrays = [unwrap(tensors[index]).read() for index in data["read"]]
        arrays += self._weights(variables)
        outputs = self._run(arrays, data["floats"], self._integers())
        if self._checked and outputs[-1] is not None:
            checks.add(CheckResults(outputs[-1]), self._checked, self._device, outputs)
        remaining = iter(outputs)
        for key in self.updated:
            variables[key] = Value(variables[key].spec, next(remaining))
        results = []
        for result_source in data["results"]:
            if isinstance(result_source, int):
                results.append(tensors[result_source])
            elif isinstance(result_source, str):
                results.append(wrap(variables[result_source]))
            else:
                results.append(wrap(Value(self._spec(result_source), next(remaining))))
        return results

    def run_arrays(
        self, arrays: Sequence[np.ndarray], variables: Mapping[str, Value]
    ) -> list[np.ndarray]:
        """Run the step on NumPy arrays, see `SavedGraph.run_arrays`.

        XLA takes them as they are. Putting them on the device first costs a small network a third
        of its time: the program then waits for another thread.
        """
        data = self._data
        operands = [*(arrays[index] for index in data["read"]), *self._weights(variables)]
        run = self._program
        if isinstance(run, SavedEngineProgram):
            run = run.run_arrays
        outputs = run(operands, data["floats"], self._integers())
        if self._checked:
            error = checks.ProgramChecks(CheckResults(outputs[-1]), self._checked).error()
            if error is not None:
                raise error
        remaining = iter(outputs)
        return [
            arrays[result_source]
            if isinstance(result_source, int)
            else np.asarray(
                variables[result_source].read()
                if isinstance(result_source, str)
                else next(remaining)
            )
            for result_source in data["results"]
        ]

    def _weights(self, variables: Mapping[str, Value]) -> list[Any]:
        """The arrays that the program takes beside the arguments of a call."""
        data = self._data
        return [variables[key].read() for key in (*data["variables"], *data["constants"])]

    def _integers(self) -> list[int]:
        """The integers of the next run; advances the default generator."""
        numbers = list(self._data["integers"])
        for draws in self._data["draws"]:
            seed, stream = default_generator.position
            for index in draws["seeds"]:
                numbers[index] = seed
            for index, draw in draws["streams"]:
                numbers[index] = stream + draw
            default_generator.position = seed, stream + draws["count"]
        return numbers
