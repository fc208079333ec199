"""Variables: the tensors that a graph reads and writes besides its arguments and results.

Parameters, buffers and other tensors of the graph's modules, and what optimizers keep for them.
While a step is recorded each of them stands for an input of the program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from oneflow.graph.recorder import CapturingRecorder
from oneflow.module.hooks import Hooks
from oneflow.module.module import Module
from oneflow.program.value import Value
from oneflow.tensor.tensor import Tensor

_STATE = ("_value", "_family", "_chain", "_seen", "_grad", "_retains_grad")
_MEMBERS = {"_parameters": "parameter", "_buffers": "buffer"}


@dataclass
class Variable:
    """One tensor.

    Attributes:
        name: qualified name, for errors and listings.
        kind: ``"parameter"``, ``"buffer"``, ``"state"`` of an optimizer or another ``"tensor"``.
        tensor: the tensor.
        place: the dict that holds it, and its key there.
        value: what stands for it while a step is recorded.
        before: its state from before.
    """

    name: str
    kind: str
    tensor: Tensor
    place: tuple[dict, Any]
    value: Value
    before: dict[str, Any] = field(default_factory=dict)


class Variables:
    """All variables of one recording."""

    def __init__(self, recorder: CapturingRecorder) -> None:
        self._recorder = recorder
        self._storages: dict[int, str] = {}
        self.by_tensor: dict[int, Variable] = {}
        self.bindings: list[tuple[dict, Any, Any]] = []
        self.registries: list[dict] = []
        # Attributes that every forward makes anew, as bindings are.
        self._derived: list[tuple[dict, Any, Any]] = []

    def __iter__(self) -> Any:
        return iter(self.by_tensor.values())

    def add_modules(self, modules: Iterable[tuple[str, Module]]) -> None:
        """Add the tensors of these modules and of all below them."""
        for root, top in modules:
            for path, module in top.named_modules(prefix=root):
                members = vars(module)
                self.registries.append(members["_modules"])
                for name, child in members["_modules"].items():
                    self.bindings.append((members["_modules"], name, child))
                self.registries += [each for each in members.values() if isinstance(each, Hooks)]
                for registry, kind in _MEMBERS.items():
                    self.registries.append(members[registry])
                    self.add_members(members[registry], f"{path}.", kind)
                hooks = [hook.function for hook in module._forward_pre_hooks.values()]
                derived = {getattr(hook, "derives", None) for hook in hooks}
                self.add_members(members, f"{path}.", "tensor", derived)

    def add_members(
        self, members: dict, prefix: str, kind: str, derived: Collection[str | None] = ()
    ) -> None:
        """Add the tensors in a dict of attributes; those in `derived` may be replaced later."""
        for name, tensor in members.items():
            if isinstance(tensor, Tensor):
                held = self._derived if name in derived else self.bindings
                held.append((members, name, tensor))
                self.add(f"{prefix}{name}", kind, tensor, (members, name))

    def add(self, name: str, kind: str, tensor: Tensor, place: tuple[dict, Any]) -> None:
        """Add a tensor and let it stand for an input from now on; a known one is left alone.

        Raises:
            RuntimeError: it is on another device than the graph, or shares its memory with
                another variable.
        """
        if id(tensor) in self.by_tensor:
            return
        old = tensor.value
        if not self._recorder.takes(old.spec.device):
            raise RuntimeError(
                f"{self._recorder.graph_name}: {kind} `{name}` is on `{old.spec.device}`, but the "
                f"graph runs on `{self._recorder.device}`; move the module with `.to(...)`"
            )
        if tensor._family is not None:
            other = self._storages.setdefault(id(tensor._family.storage), name)
            if other != name:
                raise RuntimeError(
                    f"{self._recorder.graph_name}: `{other}` and `{name}` share memory; make one "
                    "of them a view inside `forward`, or assign the same tensor to both names"
                )
        value = self._recorder.new_input(old.spec)
        if tensor.is_leaf:
            value.node, value.output_index = old.node, old.output_index
        before = {key: getattr(tensor, key) for key in _STATE}
        self.by_tensor[id(tensor)] = Variable(name, kind, tensor, place, value, before)
        _set(tensor, {"_value": value, "_family": None, "_chain": (), "_seen": 0, "_grad": None})

    def updates(self) -> list[tuple[Variable, Value]]:
        """The variables that `build` changed, with their new values.

        A name that was assigned a new tensor of the same shape and dtype counts as changed too.

        Raises:
            RuntimeError: the new tensor has another shape or dtype.
        """
        changed = []
        for variable in self.by_tensor.values():
            holder, key = variable.place
            now = holder.get(key)
            if not isinstance(now, Tensor):
                now = variable.tensor
            value = now.value
            if value.trace is self._recorder and value.position == variable.value.position:
                continue
            if value.spec is not variable.value.spec:
                raise RuntimeError(
                    f"{self._recorder.graph_name}: `{variable.name}` was "
                    f"{variable.value.spec!r} and became {value.spec!r} in `build`; a graph "
                    "runs again with the same shapes, so its variables keep theirs"
                )
            changed.append((variable, value))
        return changed

    def gradients(self, without: set[int]) -> list[tuple[Tensor, Value]]:
        """Gradients that `build` left in variables, except those of tensors in `without`."""
        return [
            (each.tensor, each.tensor.grad.value)
            for each in self.by_tensor.values()
            if each.tensor.grad is not None and id(each.tensor) not in without
        ]

    def restore(self) -> None:
        """Give every tensor back what it was, and every name its tensor."""
        for variable in self.by_tensor.values():
            _set(variable.tensor, variable.before)
        for holder, key, value in self.bindings + self._derived:
            if holder.get(key) is not value:
                holder[key] = value


def _set(tensor: Tensor, state: dict[str, Any]) -> None:
    for key, value in state.items():
        setattr(tensor, key, value)
