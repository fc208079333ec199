"""Names of TorchScript's insides and of PyTorch's C++ at its top level, for ``isinstance``.

Nothing is an object of these types, and what would make one says what takes its place.
"""

from __future__ import annotations

import enum
from typing import Any

from oneflow.mock_torch.missing import Missing, missing_function
from oneflow.mock_torch.pytorch.jit.script_modules import Error

_REASON = "there is no TorchScript; `torch.export` and `nn.Graph` record programs"
#: Types of graphs, their parts, and of what runs and stores them.
_TYPES = (
    "AliasDb ArgumentSpec Block BufferDict CallStack Capsule ClassType Code CompleteArgumentSpec "
    "ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable DeserializationStorageContext "
    "EnumType ErrorReport ExcludeDispatchKeyGuard ExecutionPlan Gradient GraphExecutorState "
    "IODescriptor InferredType InterfaceType LiteScriptModule LockingLogger ModuleDict Node "
    "NoopLogger OperatorInfo ParameterDict PyObjectType ScriptClass ScriptClassFunction "
    "ScriptDictIterator ScriptDictKeyIterator ScriptListIterator ScriptMethod "
    "ScriptModuleSerializer ScriptObjectProperty SerializationStorageContext "
    "StaticModule TracingState Use"
)
#: Functions that read graphs.
_FUNCTIONS = (
    "import_ir_module import_ir_module_from_buffer merge_type_from_type_comment parse_ir "
    "parse_type_comment"
)


def _missing_type(name: str) -> type:
    text = f"A type without objects: {_REASON}."
    return type(name, (Missing,), {"_reason": _REASON, "__doc__": text})


globals().update({name: _missing_type(name) for name in _TYPES.split()})
globals().update({name: missing_function(name, _REASON) for name in _FUNCTIONS.split()})


class AggregationType(enum.Enum):
    """The number that several become: their sum or their mean."""

    SUM = 0
    AVG = 1


SUM, AVG = AggregationType.SUM, AggregationType.AVG


class FatalError(RuntimeError):
    """An error after which PyTorch cannot go on; nothing raises it here."""


JITException = Error


class ScriptList(list[Any]):
    """A list whose elements are of one type.

    Args:
        elements: the first elements.

    Raises:
        Error: they are of several types.

    Example:
        >>> from oneflow.mock_torch.pytorch.script_internals import ScriptList
        >>> ScriptList([1, 2]).append("a")
        Traceback (most recent call last):
        ...
        TypeError: the elements must be <class 'int'>, got 'a'
    """

    def __init__(self, elements: Any = ()) -> None:
        super().__init__(elements)
        if len(set(map(type, self))) > 1:
            raise Error(f"Unable to infer type of list: elements of several types in {self}")

    def append(self, value: Any, /) -> None:
        """Add an element.

        Raises:
            TypeError: it is of another type.
        """
        super().append(self._checked(value))

    def insert(self, index: Any, value: Any, /) -> None:
        """Add an element before another one.

        Raises:
            TypeError: it is of another type.
        """
        super().insert(index, self._checked(value))

    def _checked(self, value: Any) -> Any:
        if self and type(value) is not type(self[0]):
            raise TypeError(f"the elements must be {type(self[0])}, got {value!r}")
        return value


class ScriptDict(dict[Any, Any]):
    """A dictionary whose keys are of one type, and whose values are.

    Args:
        elements: the first keys and values.

    Raises:
        Error: they are of several types.
    """

    def __init__(self, elements: Any = ()) -> None:
        super().__init__(elements)
        if len(set(map(type, self))) > 1 or len(set(map(type, self.values()))) > 1:
            raise Error(f"Unable to infer type of dictionary: several types in {self}")

    def __setitem__(self, key: Any, value: Any, /) -> None:
        for first_key, first in self.items():
            if type(key) is not type(first_key) or type(value) is not type(first):
                raise TypeError(f"keys are {type(first_key)} and values {type(first)} here")
            break
        super().__setitem__(key, value)

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{key}: {value}" for key, value in self.items()) + "}"
