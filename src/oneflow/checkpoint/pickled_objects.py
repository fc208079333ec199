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
from oneflow.tensor.tensor import Tensor

_IS_TRUSTED: ContextVar[bool] = ContextVar("is_trusted", default=False)
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
            if not isinstance(obj, Tensor):
                return None
            tensors.append(encode(obj))
            return len(tensors) - 1

    Pickler(content).dump(value)
    return {"pickled": base64.b64encode(content.getvalue()).decode(), "tensors": tensors}


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
    return Unpickler(content, {}, tensors.__getitem__).load()


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
