"""Objects of other classes than a file's plain data: pickles in it, which are loaded on trust.

Unpickling runs what a pickle says. So a pickle is read only if the caller trusts the file
(``weights_only=False``), or if all it names are classes and functions that were declared safe.
"""

from __future__ import annotations

import base64
import contextlib
import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from oneflow.checkpoint.load_errors import UnsafePickleError
from oneflow.functional.shape.complex_parts import ComplexPart
from oneflow.module.buffer import Buffer
from oneflow.module.parameter import Parameter
from oneflow.tensor.tensor import Tensor

_IS_TRUSTED: ContextVar[bool] = ContextVar("is_trusted", default=False)
_PLAIN = (Tensor, Parameter, Buffer, ComplexPart)
# The ways to reduce tensors to their values, which a file holds beside the pickle.
_OF_VALUES = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
# Classes and functions that any file may name, by module and qualified name.
SAFE_GLOBALS: dict[tuple[str, str], Any] = {}


@contextlib.contextmanager
def trusting(trust: bool) -> Iterator[None]:
    """Load files inside as ones that the caller trusts, or as others."""
    token = _IS_TRUSTED.set(trust)
    try:
        yield
    finally:
        _IS_TRUSTED.reset(token)


def is_unpickled() -> bool:
    """Return whether pickles are read here at all."""
    return _IS_TRUSTED.get() or bool(SAFE_GLOBALS)


def dump(value: Any, pickle_module: Any, encode: Callable[[Tensor], Any]) -> dict[str, Any]:
    """Return JSON data for an object: a pickle, with the tensors in it beside it.

    Args:
        value: the object.
        pickle_module: a module like `pickle`.
        encode: gives the JSON data for a tensor.
    """
    tensors: list[Any] = []
    content = io.BytesIO()

    class Pickler(pickle_module.Pickler):
        def persistent_id(self, obj: Any) -> int | None:
            if not isinstance(obj, Tensor) or is_of_users(obj):
                return None
            tensors.append(encode(obj))
            return len(tensors) - 1

        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Tensor) and type(obj).__reduce_ex__ in _OF_VALUES:
                return _by_plain_tensor(obj)
            override = getattr(super(), "reducer_override", None)
            return NotImplemented if override is None else override(obj)

    Pickler(content).dump(value)
    return {"pickled": base64.b64encode(content.getvalue()).decode(), "tensors": tensors}


def is_of_users(tensor: Tensor) -> bool:
    """Return whether a tensor is more than its values: of a class of its own, or with attributes.

    Sparse and nested tensors are of classes of this package.
    """
    if type(tensor) is Buffer:
        return False  # Its one attribute says whether modules save it.
    return type(tensor) not in _PLAIN or bool(vars(tensor))


def _by_plain_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Reduce a tensor that is more than its values to one in the same memory, and the rest."""
    if isinstance(tensor, Parameter):
        plain: Tensor = Parameter(tensor.detach(), tensor.requires_grad)
    else:
        plain = tensor.detach().as_subclass(Tensor).requires_grad_(tensor.requires_grad)
    kind = Parameter if isinstance(tensor, Parameter) else type(tensor)
    return of_class, (kind, plain), dict(vars(tensor))


def of_class(kind: type[Tensor], plain: Tensor) -> Tensor:
    """Return a tensor of a class in the memory of another, while unpickling."""
    return plain if issubclass(kind, Parameter) else plain.as_subclass(kind)


# Attributes of tensors are plain data, or else name something that is not in this table.
_OF_TENSORS = {(item.__module__, item.__qualname__): item for item in (Tensor, Parameter, of_class)}


def load(data: Mapping[str, Any], decode: Callable[[Any], Tensor]) -> Any:
    """Return the object that `dump` described.

    Args:
        data: the JSON data.
        decode: makes a tensor of its JSON data.

    Raises:
        UnsafePickleError: the file is not trusted, and names something that is not declared safe.
    """
    tensors = [decode(tensor) for tensor in data["tensors"]]
    content = io.BytesIO(base64.b64decode(data["pickled"]))
    return Unpickler(content, _OF_TENSORS, tensors.__getitem__).load()


class Unpickler(pickle.Unpickler):
    """Reads a pickle that names nothing but what is known, declared safe or trusted.

    Args:
        file: the pickle.
        table: what names stand for, as for `PickleReader`.
        persistent: gives the object behind a persistent id.
    """

    def __init__(
        self,
        file: Any,
        table: Mapping[tuple[str, str], Any],
        persistent: Callable[[Any], Any],
    ) -> None:
        super().__init__(file)
        self._table, self._persistent = table, persistent

    def persistent_load(self, pid: Any) -> Any:
        """Return what a persistent id stands for."""
        return self._persistent(pid)

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return what a name stands for.

        Raises:
            UnsafePickleError: it is neither known, nor declared safe, nor trusted.
        """
        key = module_name, global_name
        content = self._table.get(key, SAFE_GLOBALS.get(key))
        if content is not None:
            return content
        if not _IS_TRUSTED.get():
            raise UnsafePickleError(
                f"it holds a `{module_name}.{global_name}`, and making objects runs code of their "
                "classes; if you trust the file, give `weights_only=False`, or declare the class "
                "with `torch.serialization.add_safe_globals`"
            )
        return super().find_class(module_name, global_name)
