"""`Text`: the text of a generated file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from oneflow_onnx.x2oneflow.codegen.lines import Layer
from oneflow_onnx.x2oneflow.codegen.literals import docstring, without_strings
from oneflow_onnx.x2oneflow.codegen.structure import Body, Member, Part
from oneflow_onnx.x2oneflow.prepared_graph import PreparedGraph

_WIDTH = 100
# The documentation of a class begins with one of these; the key is the kind of part.
_KINDS = {
    "block": "A block",
    "body": "The body of a loop",
    "branch": "A branch",
    "function": "A function of the model",
}


class Text:
    """The text of a file with one class per kind of body."""

    def __init__(self, body: Body, prepared: PreparedGraph) -> None:
        self._body, self._prepared = body, prepared
        self._instances: dict[Any, list[Part]] = {}
        for part in body.parts():
            self._instances.setdefault(part.body.key, []).append(part)
        self._names: dict[Any, str] = {}
        counts: dict[str, int] = {}
        for key, parts in self._instances.items():
            kind = parts[0].kind
            counts[kind] = counts.get(kind, 0) + 1
            self._names[key] = f"{kind.capitalize()}{counts[kind]}"
        self._parameters = {
            key: _parameters([part.body for part in parts])
            for key, parts in self._instances.items()
        }

    def written(self) -> str:
        """Return the whole file."""
        classes = [self._class(key, parts) for key, parts in self._instances.items()]
        classes.append(self._model())
        text = "\n\n\n".join("\n".join(map(_wrapped, lines)) for lines in classes)
        return f"{self._head(text)}\n\n\n{text}\n\n\n{_LOAD}"

    def _head(self, text: str) -> str:
        title = self._prepared.name or "model"
        lines = [docstring(f"The ONNX model {title[:60]}, written by oneflow_onnx."), ""]
        lines += ["from __future__ import annotations", "", "from pathlib import Path", ""]
        if "np." in text:
            lines += ["import numpy as np"]
        lines += ["from safetensors.numpy import load_file", "", "import oneflow as flow"]
        if "nn." in text:
            lines += ["from oneflow import Tensor, nn"]
        if "F." in text:
            lines += ["from oneflow.nn import functional as F"]
        called = [name for name in ("call", "loop", "scan") if re.search(rf"\b{name}\(", text)]
        if called:
            lines += [f"from oneflow_onnx.x2oneflow.calls import {', '.join(called)}"]
        return "\n".join([*lines, "", _WEIGHTS])

    def _class(self, key: Any, parts: Sequence[Part]) -> list[str]:
        names = self._parameters[key]
        body = parts[0].body
        columns: dict[str, int] = {}
        for index, name in names.items():
            columns.setdefault(name, index)
        arguments = {
            name: _annotation({type(part.body.slots[index].value) for part in parts})
            for name, index in columns.items()
        }
        summary = _cut(f"{self._count(parts)}: {_operators(body)}.")
        return self._definition(self._names[key], summary, body, arguments, names)

    def _count(self, parts: Sequence[Part]) -> str:
        once = _KINDS.get(parts[0].kind, "A part of the model")
        return once if len(parts) == 1 else f"{once} that occurs {len(parts)} times"

    def _model(self) -> list[str]:
        names = [n for n in self._prepared.inputs if n not in self._prepared.constants]
        summary = f"The whole model, of {', '.join(f'`{name}`' for name in names)}."
        return self._definition("Model", _cut(summary), self._body, {}, {})

    def _definition(
        self,
        name: str,
        summary: str,
        body: Body,
        arguments: Mapping[str, str],
        names: Mapping[int, str],
    ) -> list[str]:
        lines = [f"class {name}(nn.Module):", f"    {docstring(summary)}", ""]
        if body.members:
            parameters = "".join(f", {argument}: {kind}" for argument, kind in arguments.items())
            lines += [f"    def __init__(self{parameters}) -> None:", "        super().__init__()"]
            lines += [f"        {self._member(m, names)}" for m in body.members] + [""]
        taken = "".join(f", {argument}: Tensor" for argument in body.arguments)
        result = "Tensor" if len(body.outputs) == 1 else "tuple[Tensor, ...]"
        lines += [f"    def forward(self{taken}) -> {result}:"]
        lines += ['        """Compute the outputs."""']
        return lines + [f"        {statement}" for statement in body.statements]

    def _member(self, member: Member, names: Mapping[int, str]) -> str:
        content, offset = member.content, member.offset
        if isinstance(content, Part):
            inner = self._parameters[content.body.key]
            slots = content.body.slots
            arguments = {
                argument: names.get(offset + index, repr(slots[index].value))
                for index, argument in inner.items()
            }
            construction = f"{self._names[content.body.key]}({', '.join(arguments.values())})"
            return f"self.{member.name} = {construction}"
        values = [
            slot.written(names.get(offset + index, repr(slot.value)))
            for index, slot in enumerate(content.slots)
        ]
        construction = content.construction.format(*values)
        if content.kind == "buffer":
            return f'self.register_buffer("{member.name}", {construction})'
        return f"self.{member.name} = {construction}"


def _parameters(modules: Sequence[Body]) -> dict[int, str]:
    """Return a name for every slot in which bodies differ; slots that agree share one."""
    columns: dict[tuple[str, ...], str] = {}
    names: dict[int, str] = {}
    taken: dict[str, int] = {}
    for index, slot in enumerate(modules[0].slots):
        column = tuple(repr(body.slots[index].value) for body in modules)
        if len(set(column)) == 1:
            continue
        if column not in columns:
            taken[slot.name] = taken.get(slot.name, 0) + 1
            number = taken[slot.name]
            columns[column] = slot.name if number == 1 else f"{slot.name}_{number}"
        names[index] = columns[column]
    return names


def _operators(body: Body) -> str:
    kinds = [m.content.kind for m in body.members if isinstance(m.content, Layer)]
    names = [kind for kind in dict.fromkeys(kinds) if kind not in ("weight", "buffer")]
    count = len(body.statements)
    return ", ".join(names) or f"{count} statement{'s' if count > 1 else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH - 12 else text[: _WIDTH - 16].rstrip(" ,`") + " ..."


def _annotation(kinds: set[type]) -> str:
    names = {int: "int", tuple: "tuple[int, ...]"}
    return " | ".join(sorted(names[kind] for kind in kinds))


def _wrapped(line: str) -> str:
    """Break a long line at its outermost brackets, as formatters do."""
    code = without_strings(line)
    if len(line) <= _WIDTH or "(" not in code or not code.endswith((")", "),", ":")):
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    start, end = _split_position(code), code.rindex(")")
    inner, tail = line[start + 1 : end], indent[4:] + line[end:]
    if len(indent) + len(inner) <= _WIDTH:
        return f"{line[: start + 1]}\n{indent}{inner}\n{tail}"
    arguments = "".join(f"{_wrapped(indent + argument + ',')}\n" for argument in _arguments(inner))
    return f"{line[: start + 1]}\n{arguments}{tail}"


def _split_position(line: str) -> int:
    """Return where the bracket opens that the last one closes."""
    depth = 0
    for index in range(line.rindex(")"), -1, -1):
        depth += {")": 1, "(": -1}.get(line[index], 0)
        if depth == 0:
            return index
    return line.index("(")


def _arguments(inner: str) -> list[str]:
    """Return the arguments between two brackets."""
    depth, start, arguments = 0, 0, []
    for index, char in enumerate(without_strings(inner)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if char == "," and depth == 0:
            arguments.append(inner[start:index].strip())
            start = index + 1
    return [*arguments, inner[start:].strip()]


_WEIGHTS = '_WEIGHTS = Path(__file__).with_name("weights.safetensors")'
_LOAD = '''\
def load(weights: str | Path = _WEIGHTS) -> Model:
    """Return the model with its weights, in evaluation mode."""
    model = Model()
    state = {name: flow.tensor(array) for name, array in load_file(weights).items()}
    model.load_state_dict(state)
    return model.eval()
'''
