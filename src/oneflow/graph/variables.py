"""Variables: the tensors that a graph reads and writes besides its arguments and results.

Parameters, buffers and other tensors of the graph's modules, and the states that optimizers keep
for them. While a step is captured each of them stands for an input of the program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.module.hooks import Hooks
from oneflow.module.module import Module
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.strides import byte_range, share_elements
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import NO_VIEWS
from oneflow.tensor.views import unwrap

# Attribute of an object: the dict with its attributes, the name, and the object it has there.
Attribute = tuple[dict, Any, Any]

_STATE = ("_value", "_family", "_chain", "_seen", "_writes", "_grad", "_retains_grad")
_MEMBERS = {"_parameters": "parameter", "_buffers": "buffer"}


@dataclass
class GraphVariable:
    """One variable.

    Attributes:
        name: qualified name, for errors and listings.
        kind: ``"parameter"``, ``"buffer"``, ``"state"`` of an optimizer or another ``"tensor"``.
        tensor: the tensor.
        places: the dicts that have the tensor, and its keys there.
        value: the value that stands for it during capture.
        saved: its state from before capture.
        is_written: `build` has written to it in place.
    """

    name: str
    kind: str
    tensor: Tensor
    places: list[tuple[dict[Any, Any], Any]]
    value: Value
    saved: dict[str, Any] = field(default_factory=dict)
    is_written: bool = False

    @property
    def input(self) -> int:
        """The number of the program's input."""
        return ~self.value.position

    @property
    def is_assigned(self) -> bool:
        """Return whether its names have come to mean another tensor."""
        return any(owner.get(key) is not self.tensor for owner, key in self.places)


class GraphVariables:
    """All variables of one capture.

    Attributes:
        by_tensor: the variables, by the identity of their tensor.
        attributes: attributes that have to be the same whenever the captured step runs.
        guarded_dicts: dicts of modules that may get no further modules, parameters, buffers and
            hooks.
    """

    def __init__(self, recorder: CapturingRecorder) -> None:
        self._recorder = recorder
        # The ranges of bytes of a storage, each with a tensor there and its name, by its identity.
        self._storages: dict[int, list[tuple[int, int, Tensor, str]]] = {}
        self.by_tensor: dict[int, GraphVariable] = {}
        self.attributes: list[Attribute] = []
        self.guarded_dicts: list[dict] = []
        # Attributes that every forward computes anew.
        self._derived: list[Attribute] = []

    def __iter__(self) -> Iterator[GraphVariable]:
        return iter(self.by_tensor.values())

    def add_modules(self, modules: Iterable[tuple[str, Module]]) -> None:
        """Add the tensors of these modules and of all their submodules."""
        for root, top in modules:
            for path, module in top.named_modules(prefix=root):
                members = vars(module)
                self.guarded_dicts.append(members["_modules"])
                for name, child in members["_modules"].items():
                    self.attributes.append((members["_modules"], name, child))
                self.guarded_dicts += [
                    value for value in members.values() if isinstance(value, Hooks)
                ]
                for registry, kind in _MEMBERS.items():
                    self.guarded_dicts.append(members[registry])
                    self.add_attributes(members[registry], f"{path}.", kind)
                hooks = module._forward_pre_hooks.values()
                derived = {getattr(hook, "target_name", None) for hook in hooks}
                self.add_attributes(members, f"{path}.", "tensor", derived)

    def add_attributes(
        self, members: dict[Any, Any], prefix: str, kind: str, derived: Collection[str | None] = ()
    ) -> None:
        """Add the tensors in a dict of attributes; those in `derived` may be replaced later."""
        for name, tensor in members.items():
            if isinstance(tensor, Tensor):
                entries = self._derived if name in derived else self.attributes
                entries.append((members, name, tensor))
                self.add(f"{prefix}{name}", kind, tensor, members, name)

    def add(self, name: str, kind: str, tensor: Tensor, owner: dict[Any, Any], key: Any) -> None:
        """Make a tensor an input of the program, unless it is one.

        Args:
            name: qualified name.
            kind: the kind of the variable.
            tensor: the tensor.
            owner: the dict that has it, if one does.
            key: its key there.

        Raises:
            RuntimeError: it is on another device than the graph, or shares its memory with
                another variable.
        """
        places = [(owner, key)] if owner.get(key) is tensor else []
        if id(tensor) in self.by_tensor:
            self.by_tensor[id(tensor)].places += places
            return
        old = unwrap(tensor)
        if not self._recorder.takes(old.spec.device):
            raise RuntimeError(
                f"{self._recorder.graph_name}: {kind} `{name}` is on `{old.spec.device}`, but the "
                f"graph runs on `{self._recorder.device}`; move the module with `.to(...)`"
            )
        if tensor._family is not None:
            self._check_overlap(name, tensor)
        value = self._recorder.new_input(old.spec)
        if tensor.is_leaf:
            value.node, value.output_index = old.node, old.output_index
        saved = {slot: getattr(tensor, slot) for slot in _STATE}
        self.by_tensor[id(tensor)] = GraphVariable(name, kind, tensor, places, value, saved)
        state = {"_value": value, "_family": None, "_chain": NO_VIEWS, "_seen": 0, "_grad": None}
        _set(tensor, state)

    def _check_overlap(self, name: str, tensor: Tensor) -> None:
        """Refuse a tensor that has elements in common with a variable."""
        alias = wrap(unwrap(tensor))
        alias._family, alias._chain, alias._seen = tensor._family, tensor._chain, tensor._seen
        start, end = byte_range(tensor)
        ranges = self._storages.setdefault(id(tensor._family.storage), [])
        for first, last, other, other_name in ranges:
            if first < end and start < last and share_elements(alias, other):
                raise RuntimeError(
                    f"{self._recorder.graph_name}: `{other_name}` and `{name}` share memory; make "
                    "one of them a view inside `forward`, or assign the same tensor to both names"
                )
        ranges.append((start, end, alias, name))

    def updates(self) -> list[tuple[GraphVariable, Value]]:
        """The variables that `build` changed, with their new values.

        A name that was assigned a new tensor of the same shape and dtype counts as changed too.

        Raises:
            RuntimeError: the new tensor has another shape or dtype, is none, or only one of the
                names of a tensor has it.
        """
        changed = []
        for variable in self:
            value = unwrap(self._current(variable))
            if not self._has_changed(variable, value):
                continue
            if value.spec is not variable.value.spec:
                raise RuntimeError(
                    f"{self._recorder.graph_name}: `{variable.name}` was "
                    f"{variable.value.spec!r} and became {value.spec!r} in `build`; a graph "
                    "runs again with the same shapes, so its variables keep theirs"
                )
            changed.append((variable, value))
        return changed

    def note_writes(self) -> None:
        """Note which variables `build` has written to in place."""
        for variable in self:
            changed = self._has_changed(variable, unwrap(variable.tensor))
            variable.is_written = changed and not variable.is_assigned

    def _has_changed(self, variable: GraphVariable, value: Value) -> bool:
        return value.recorder is not self._recorder or value.position != variable.value.position

    def _current(self, variable: GraphVariable) -> Tensor:
        """The tensor that the names of a variable mean now."""
        if not variable.is_assigned:
            return variable.tensor
        tensors = {id(tensor): tensor for tensor in (o.get(k) for o, k in variable.places)}
        tensor = next(iter(tensors.values()))
        if len(tensors) > 1:
            raise RuntimeError(
                f"{self._recorder.graph_name}: `{variable.name}` has another name, and one of the "
                "two was assigned another tensor in `build`; give each name a tensor of its own, "
                "or write to the tensor in place"
            )
        if not isinstance(tensor, Tensor):
            raise RuntimeError(
                f"{self._recorder.graph_name}: `{variable.name}` was a tensor and became "
                f"{tensor!r} in `build`; a graph runs again as it was recorded, so its variables "
                "stay tensors"
            )
        return tensor

    def gradients(self, without: Collection[int]) -> list[tuple[Tensor, Value]]:
        """Gradients that `build` left in variables, except those of tensors in `without`."""
        return [
            (variable.tensor, unwrap(variable.tensor.grad))
            for variable in self
            if variable.tensor.grad is not None and id(variable.tensor) not in without
        ]

    def restore(self) -> None:
        """Give every tensor back its state, and every attribute its tensor."""
        for variable in self:
            _set(variable.tensor, variable.saved)
        for owner, key, value in self.attributes + self._derived:
            if owner.get(key) is not value:
                owner[key] = value


def _set(tensor: Tensor, state: dict[str, Any]) -> None:
    for key, value in state.items():
        setattr(tensor, key, value)
