"""Objects of other classes than a file's plain data: pickles in it, which are loaded on trust.

Unpickling runs what a pickle says. So a pickle is read only if the caller trusts the file
(``weights_only=False``), or if all it names are classes and functions that were declared safe.
"""

from __future__ import annotations

import base64
import contextlib
import enum
import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, BinaryIO

from oneflow.checkpoint.load_errors import UnsafePickleError
from oneflow.checkpoint.pickle_reader import PickleReader, text_options
from oneflow.checkpoint.torch_names import PYTORCH_NAMES, is_of_pytorch
from oneflow.functional.shape.complex_parts import ComplexPart
from oneflow.module.buffer import Buffer
from oneflow.module.parameter import Parameter
from oneflow.program.value import ValueOfClass
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

# The module that reads the pickles of a file that is trusted; None: it is not.
_TRUSTED: ContextVar[Any] = ContextVar("trusted", default=None)
_PLAIN = (Tensor, Parameter, ComplexPart)
# The ways to reduce tensors to their values, which a file holds beside the pickle.
OF_VALUES = (Tensor.__reduce_ex__, Parameter.__reduce_ex__)
# Classes and functions that any file may name, by module and qualified name.
SAFE_GLOBALS: dict[tuple[str, str], Any] = {}


@contextlib.contextmanager
def trusting(trust: bool, pickle_module: Any = None) -> Iterator[None]:
    """Load files inside as ones that the caller trusts, or as others.

    Args:
        trust: whether the caller does.
        pickle_module: reads the pickles of trusted files; default: `pickle`.
    """
    token = _TRUSTED.set((pickle_module or pickle) if trust else None)
    try:
        yield
    finally:
        _TRUSTED.reset(token)


def trusted_module() -> Any:
    """Return the module that reads the pickles of a file that is trusted; None: it is not."""
    return _TRUSTED.get()


def is_unpickled() -> bool:
    """Return whether pickles are read here at all."""
    return _TRUSTED.get() is not None or bool(SAFE_GLOBALS)


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
            if isinstance(obj, Tensor) and type(obj).__reduce_ex__ in OF_VALUES:
                return _by_plain_tensor(obj)
            override = getattr(super(), "reducer_override", None)
            return NotImplemented if override is None else override(obj)

    Pickler(content).dump(value)
    return {"pickled": base64.b64encode(content.getvalue()).decode(), "tensors": tensors}


def is_of_users(tensor: Tensor) -> bool:
    """Return whether a tensor is more than its values: of a class of its own, or with attributes.

    Sparse and nested tensors are of classes of this package.
    """
    attributes = vars(tensor).keys()
    if isinstance(tensor, Buffer):
        attributes -= {"persistent", "_is_buffer"}  # They say whether modules save it.
    return type(tensor) not in _PLAIN or bool(attributes)


def _by_plain_tensor(tensor: Tensor) -> tuple[Any, ...]:
    """Reduce a tensor that is more than its values to one in the same memory, and the rest."""
    kind = type(tensor)
    if issubclass(kind, Parameter):
        plain: Tensor = Parameter(tensor.detach(), tensor.requires_grad)
    else:
        plain = tensor.detach().as_subclass(Tensor).requires_grad_(tensor.requires_grad)
    return of_class, (kind, plain), dict(vars(tensor))


def of_class(kind: type[Tensor], plain: Tensor) -> Tensor:
    """Return a tensor of a class in the memory of another, while unpickling."""
    return plain if issubclass(kind, Parameter) else plain.as_subclass(kind)


@dataclass(frozen=True)
class TensorKind:
    """Mark for the name of a class of tensors in a file without trust; it is no class."""

    type: type[Tensor]


def _names_of_tensors(tensors: list[Tensor]) -> dict[tuple[str, str], Any]:
    """Return what the names that `dump` writes for tensors stand for in a file without trust."""
    ids = {id(tensor) for tensor in tensors}

    def make(kind: Any, plain: Any) -> Tensor:
        if id(plain) not in ids:
            raise UnsafePickleError("it makes a tensor of something that is no tensor in the file")
        return of_class(kind.type if isinstance(kind, TensorKind) else kind, plain)

    kinds = {(kind.__module__, kind.__qualname__): TensorKind(kind) for kind in (Tensor, Parameter)}
    return {**kinds, (of_class.__module__, of_class.__qualname__): make}


def load(data: Mapping[str, Any], decode: Callable[[Any], Tensor]) -> Any:
    """Return the object that `dump` described.

    Args:
        data: the JSON data.
        decode: makes a tensor of its JSON data.

    Raises:
        UnsafePickleError: the file is not trusted, and names something that is not declared safe.
    """
    tensors = [decode(tensor) for tensor in data["tensors"]]
    if not all(isinstance(tensor, Tensor) for tensor in tensors):
        raise ValueError("a pickle refers to something that is no tensor")
    content = io.BytesIO(base64.b64decode(data["pickled"]))
    # A trusted file's names lead to the classes themselves.
    table = {} if _TRUSTED.get() else _names_of_tensors(tensors)
    return read(content, table, tensors.__getitem__)


def read(
    file: BinaryIO, table: Mapping[tuple[str, str], Any], persistent: Callable[[Any], Any]
) -> Any:
    """Return the object in a pickle: anything if it is trusted, or else of declared classes.

    Args:
        file: the pickle.
        table: what names stand for, as for `PickleReader`.
        persistent: gives the object behind a persistent id.

    Raises:
        UnsafePickleError: the file is not trusted, and names something that is not declared safe.
    """
    if _TRUSTED.get():
        return _unpickle(_TRUSTED.get(), file, table, persistent)
    return _ModuleReader(file, table, persistent).read()


class _ModuleReader(PickleReader):
    """Reads a pickle that is not trusted, with objects of the classes that were declared safe.

    A pickle gives states to the objects that it makes, never to classes and functions, which
    belong to the process.
    """

    def __init__(
        self,
        file: BinaryIO,
        table: Mapping[tuple[str, str], Any],
        persistent: Callable[[Any], Any],
    ) -> None:
        super().__init__(file, {**SAFE_GLOBALS, **table}, persistent)
        self._declared = {id(entry) for entry in SAFE_GLOBALS.values() if isinstance(entry, type)}

    def _find(self, module: str, name: str) -> Any:
        entry = self._table.get((module, name))
        if entry is None:
            raise UnsafePickleError(
                f"it holds a `{module}.{name}`, and making objects runs code of their "
                "classes; if you trust the file, give `weights_only=False`, or declare the class "
                "with `torch.serialization.add_safe_globals`"
            )
        return entry

    def _do_newobj(self, _: Any) -> None:
        kind = self._stack[-2]
        if id(kind) not in self._declared:
            self._do_reduce(_)
            return
        arguments = self._stack.pop()
        self._stack[-1] = kind.__new__(kind, *arguments)

    def _do_build(self, _: Any) -> None:
        state, target = self._stack[-1], self._stack[-2]
        # The members of an enumeration belong to the process, as its class does.
        is_object = not isinstance(target, type | enum.Enum)
        if isinstance(target, Tensor) and not hasattr(type(target), "__setstate__"):
            set_plain_attributes(target, state)
        elif is_object and id(type(target)) in self._declared:
            _set_state(target, state)
        else:
            super()._do_build(_)
            return
        self._stack.pop()


def set_plain_attributes(tensor: Tensor, state: Any) -> None:
    """Give a tensor the attributes that a file without trust has for it.

    Raises:
        UnsafePickleError: one of them would take the place of the tensor's own state or methods.
    """
    state = {} if state is None else state
    trust = "if you trust the file, give `weights_only=False`"
    if not isinstance(state, dict):
        kind = type(state).__name__
        raise UnsafePickleError(f"it sets the attributes of a tensor by a {kind}; {trust}")
    # Such a class has been declared safe, and has its names apart from a tensor's own state.
    is_of_class = isinstance(unwrap(tensor), ValueOfClass)
    for name in state:
        is_free = isinstance(name, str) and not (name.startswith("__") and name.endswith("__"))
        is_taken = is_free and (name in Tensor.__annotations__ or hasattr(type(tensor), name))
        if not is_free or (is_taken and not is_of_class):
            raise UnsafePickleError(
                f"it sets {name!r} of a tensor, which is no attribute for data; {trust}"
            )
    vars(tensor).update(state)


def _set_state(target: Any, state: Any) -> None:
    """Give an object its state as `pickle` does."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    if attributes:
        vars(target).update(attributes)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


def _unpickle(
    pickle_module: Any,
    file: BinaryIO,
    table: Mapping[tuple[str, str], Any],
    persistent: Callable[[Any], Any],
) -> Any:
    """Read a pickle that is trusted: it may name, make and change anything.

    Args:
        pickle_module: a module like `pickle`.
        file: the pickle.
        table: what names stand for that are not those of this process.
        persistent: gives the object behind a persistent id.
    """
    unpickler_class = pickle_module.Unpickler
    base: Any = (
        pickle.Unpickler if issubclass(unpickler_class, pickle.Unpickler) else pickle._Unpickler
    )

    class Names(base):
        def find_class(self, module_name: str, global_name: str) -> Any:
            key = module_name, global_name
            content = table.get(key, SAFE_GLOBALS.get(key))
            if content is None and is_of_pytorch(module_name):
                return PYTORCH_NAMES.value.object_named(module_name, global_name)
            return super().find_class(module_name, global_name) if content is None else content

    # A program's class gets each name first, and the names that it leaves to its base come here.
    bases = (Names,) if unpickler_class is base else (unpickler_class, Names)
    members = {"persistent_load": lambda unpickler, reference: persistent(reference)}
    return type("Unpickler", bases, members)(file, **text_options()).load()
