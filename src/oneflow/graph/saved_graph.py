"""Graphs from disk: see `oneflow.graph.saving`. Loading runs nothing but the compiled programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import dtype_named
from oneflow.base.placement import Placement
from oneflow.base.sbp import named_sbp
from oneflow.base.spec import TensorSpec, spec_of
from oneflow.checkpoint import serialization
from oneflow.checkpoint.load_errors import load_errors
from oneflow.compiler.export import ImportedProgram
from oneflow.graph.agreement import runner_on
from oneflow.graph.saving import (
    WEIGHTS,
    WEIGHTS_IN_PARTS,
    program_name,
    read_description,
)
from oneflow.graph.structure import count_tensors, put_together, take_call_apart
from oneflow.graph.structure_text import structure_from_data
from oneflow.primitives.registry import PRIMITIVES, Primitive
from oneflow.program.value import Value
from oneflow.random.generator import default_generator
from oneflow.runtime import checks
from oneflow.runtime.eager import Absent, flush_all
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor


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
            for index, each in enumerate(data["steps"]):
                content = (files / program_name(index)).read_bytes()
                step = _SavedStep(each, content, device, self._variables)
                self._steps[step.key] = step

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


def _load_weights(path: Path, device: Device | Placement) -> dict[str, Value]:
    """Variables and constants; each process reads its parts of them."""
    in_parts = isinstance(device, Placement)
    where = None if in_parts else device
    weights = serialization.load(
        path / (WEIGHTS_IN_PARTS if in_parts else WEIGHTS), map_location=where
    )
    if not isinstance(weights, dict) or not all(
        isinstance(each, Tensor) for each in weights.values()
    ):
        raise ValueError("its weights are no tensors by name")
    values = {key: tensor.value for key, tensor in weights.items()}
    for value in values.values():
        value.read()  # now, while the files are there
    return values


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


class _SavedStep:
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
        self._check(len(specs), variables)
        if sha256(content).hexdigest() != data["sha256"]:
            raise ValueError("a program is not the one that was saved")
        self._checked = [(self._checked_operation(each), each["line"]) for each in data["checks"]]
        inputs: list = [specs[place] for place in data["read"]]
        inputs += [variables[key].spec for key in (*data["variables"], *data["constants"])]
        outputs: list = [variables[key].spec for key in self._rewritten]
        outputs += [self._spec(each) for each in data["results"] if isinstance(each, list)]
        outputs += [None] * bool(data["checks"])
        placement = device if isinstance(device, Placement) else None
        self._run = runner_on(
            device,
            ImportedProgram(
                content,
                placement,
                inputs,
                (len(data["floats"]), len(data["integers"])),
                outputs,
                data["convolves"],
            ),
            [None if spec is None else Absent() for spec in outputs],
            f"run of a saved graph ({data['sha256'][:8]})",
        )

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
        """Make sure that what a call does with the data cannot fail, `count` tensors given.

        Raises:
            ValueError: says which entry is wrong.
        """
        data = self._data
        integers = range(len(data["integers"]))
        results = data["results"]
        places = [each for each in results if isinstance(each, int)]
        names = [each for each in results if isinstance(each, str)]
        seeds = [place for each in data["draws"] for place in each["seeds"]]
        streams = [pair for each in data["draws"] for pair in each["streams"]]
        moves = [draw for _, draw in streams] + [each["count"] for each in data["draws"]]
        right = {
            "called": count_tensors(self.key[0]) == count,
            "structure": count_tensors(self._structure) == len(results),
            "read": all(place in range(count) for place in data["read"]),
            "results": all(place in range(count) for place in places)
            and all(name in variables for name in names),
            "changed": data["changed"] in range(len(data["variables"]) + 1),
            "floats": all(type(each) in (int, float) for each in data["floats"]),
            "integers": all(type(each) is int for each in data["integers"]),
            "draws": all(place in integers for place in (*seeds, *[place for place, _ in streams]))
            and all(type(each) is int and 0 <= each < 2**63 for each in moves),
            "convolves": isinstance(data["convolves"], bool),
        }
        wrong = [name for name, is_right in right.items() if not is_right]
        if wrong:
            raise ValueError(f"`{wrong[0]}` of a step is not what saving writes")

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
            checks.add(outputs[-1], self._checked, outputs)
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
