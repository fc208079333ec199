"""Types of TorchScript, such as ``List[int]`` and ``Tensor``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Self


class Type:
    """A type; two of one text are equal."""

    _text: ClassVar[str] = ""
    _wider: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def get(cls) -> Self:
        """Return the type."""
        return cls()

    def contained(self) -> tuple[Type, ...]:
        """Return the types within this one."""
        return ()

    def kind(self) -> str:
        """Return the name of the class of the type."""
        return type(self).__name__

    @property
    def annotation_str(self) -> str:
        """The type as an annotation of Python."""
        return str(self)

    def isSubtypeOf(self, other: Type) -> bool:
        """Return whether all of this type are of another one.

        Example:
            >>> from oneflow.mock_torch.pytorch.script_types import IntType, OptionalType
            >>> IntType.get().isSubtypeOf(OptionalType(IntType.get()))
            True
        """
        if self == other or isinstance(other, AnyType):
            return True
        if isinstance(self, UnionType | OptionalType):
            return all(part.isSubtypeOf(other) for part in self.alternatives())
        if isinstance(other, UnionType | OptionalType):
            return any(self.isSubtypeOf(part) for part in other.alternatives())
        return other.kind() in self._wider

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and str(self) == str(other) and self.kind() == other.kind()

    def __hash__(self) -> int:
        return hash(str(self))


class AnyType(Type):
    """Everything."""

    _text = "Any"


class NoneType(Type):
    """None."""

    _text = "NoneType"


class TensorType(Type):
    """Tensors."""

    _text = "Tensor"


class NumberType(Type):
    """Numbers."""

    _text = "number"


class IntType(Type):
    """Integers."""

    _text = "int"
    _wider = ("NumberType",)


class FloatType(Type):
    """Floating-point numbers."""

    _text = "float"
    _wider = ("NumberType",)


class ComplexType(Type):
    """Complex numbers."""

    _text = "complex"
    _wider = ("NumberType",)


class BoolType(Type):
    """Truth values."""

    _text = "bool"


class StringType(Type):
    """Texts."""

    _text = "str"


class SymIntType(Type):
    """Sizes."""

    _text = "int"


class SymBoolType(Type):
    """Truth values of sizes."""

    _text = "bool"


class StreamObjType(Type):
    """Streams of devices."""

    _text = "Stream"


class DeviceType(Type):
    """Devices."""

    _text = "Device"

    def kind(self) -> str:
        """Return the name of the class of the type."""
        return "DeviceObjType"


class _Of(Type):
    """A type of something of another type."""

    _word: ClassVar[str]

    def __init__(self, a: Type) -> None:
        self._element = a

    def contained(self) -> tuple[Type, ...]:
        """Return the types within this one."""
        return (self._element,)

    def getElementType(self) -> Type:
        """Return the other type."""
        return self._element

    def __str__(self) -> str:
        return f"{self._word}[{self._element}]"

    __repr__ = __str__


class ListType(_Of):
    """Lists of elements of one type."""

    _word = "List"

    @staticmethod
    def ofInts() -> ListType:
        """Return the type of lists of integers."""
        return ListType(IntType())

    @staticmethod
    def ofFloats() -> ListType:
        """Return the type of lists of floating-point numbers."""
        return ListType(FloatType())

    @staticmethod
    def ofBools() -> ListType:
        """Return the type of lists of truth values."""
        return ListType(BoolType())

    @staticmethod
    def ofStrings() -> ListType:
        """Return the type of lists of texts."""
        return ListType(StringType())

    @staticmethod
    def ofTensors() -> ListType:
        """Return the type of lists of tensors."""
        return ListType(TensorType())


class OptionalType(_Of):
    """A type, or None."""

    _word = "Optional"

    @staticmethod
    def ofTensor() -> OptionalType:
        """Return the type of tensors and None."""
        return OptionalType(TensorType())

    def alternatives(self) -> tuple[Type, ...]:
        """Return the types of which this is one."""
        return self._element, NoneType()


class FutureType(_Of):
    """Results of other threads."""

    _word = "Future"


class AwaitType(_Of):
    """Results that are computed when they are asked for."""

    _word = "Await"


class RRefType(_Of):
    """References to values of other processes."""

    _word = "RRef"


class DictType(Type):
    """Dictionaries with keys of one type and values of another."""

    def __init__(self, key: Type, value: Type) -> None:
        self._key, self._value = key, value

    def contained(self) -> tuple[Type, ...]:
        """Return the types within this one."""
        return self._key, self._value

    def getKeyType(self) -> Type:
        """Return the type of the keys."""
        return self._key

    def getValueType(self) -> Type:
        """Return the type of the values."""
        return self._value

    def __str__(self) -> str:
        return f"Dict[{self._key}, {self._value}]"

    __repr__ = __str__


class TupleType(Type):
    """Tuples with a type for each element."""

    def __init__(self, a: Iterable[Type]) -> None:
        self._elements = tuple(a)

    def contained(self) -> tuple[Type, ...]:
        """Return the types within this one."""
        return self._elements

    def elements(self) -> list[Type]:
        """Return the types of the elements."""
        return list(self._elements)

    def isSubtypeOf(self, other: Type) -> bool:
        """Return whether all of this type are of another one: element by element for tuples."""
        if isinstance(other, TupleType) and len(other._elements) == len(self._elements):
            pairs = zip(self._elements, other._elements, strict=True)
            return all(left.isSubtypeOf(right) for left, right in pairs)
        return super().isSubtypeOf(other)

    def __str__(self) -> str:
        return f"Tuple[{', '.join(map(str, self._elements)) or '()'}]"

    __repr__ = __str__


class UnionType(Type):
    """One of several types."""

    def __init__(self, a: Iterable[Type]) -> None:
        self._types = tuple(a)

    def contained(self) -> tuple[Type, ...]:
        """Return the types within this one."""
        return self._types

    def alternatives(self) -> tuple[Type, ...]:
        """Return the types of which this is one."""
        return self._types

    def __str__(self) -> str:
        return f"Union[{', '.join(map(str, self._types))}]"

    __repr__ = __str__


def unify_type_list(types: list[Type]) -> Type:
    """Return the type of which all of several types are, one of them.

    Raises:
        RuntimeError: there is none.
    """
    for candidate in types:
        if all(other.isSubtypeOf(candidate) for other in types):
            return candidate
    raise RuntimeError(f"Could not unify type list: {types}")
