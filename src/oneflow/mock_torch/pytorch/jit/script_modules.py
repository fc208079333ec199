"""Names that ``torch.jit`` has beside `oneflow.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, NoReturn, Union, get_args, get_origin

from oneflow import nn
from oneflow.mock_torch.missing import raise_missing
from oneflow.mock_torch.pytorch.futures import Future as Future, require_future

_ARCHIVE_REASON = (
    "there is no TorchScript; `nn.Graph.save` writes programs that run without their code"
)


class TracerWarning(Warning):
    """The category of warnings about values that a trace takes for constant; none is given."""

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Ignore nothing: there are no such warnings."""


class Error(RuntimeError):
    """The type of errors of TorchScript's interpreter; functions run as Python."""


class Attribute:
    """A value with the type that TorchScript would give it.

    Args:
        value: the value.
        type: the type.
    """

    def __init__(self, value: Any, type: Any) -> None:
        self.value, self.type = value, type


class ScriptModule(nn.Module):
    """The type of compiled modules; there are none, since scripting returns its argument."""


class RecursiveScriptModule(ScriptModule):
    """The type of modules compiled with their parts; there are none."""


class ScriptFunction:
    """The type of compiled functions; there are none."""


def trace_module(mod: nn.Module, inputs: dict[str, Any], **options: Any) -> nn.Module:
    """Call methods of a module on example inputs, and return it as it is.

    Args:
        mod: the module.
        inputs: the arguments of each method: a tensor, or a tuple of them.
        options: change nothing.
    """
    for name, arguments in inputs.items():
        getattr(mod, name)(*(arguments if isinstance(arguments, tuple) else (arguments,)))
    return mod


def load(f: Any, map_location: Any = None, **options: Any) -> NoReturn:
    """Refuse to load a TorchScript archive.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.jit.load", _ARCHIVE_REASON)


def save(m: Any, f: Any, **options: Any) -> NoReturn:
    """Refuse to write a TorchScript archive.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.jit.save", _ARCHIVE_REASON)


def _get_trace_graph(f: Any, args: Any = (), **options: Any) -> NoReturn:
    """Refuse to return the graph of a traced function.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.jit._get_trace_graph",
        "there is no TorchScript; `torch.utils.flop_counter` counts what models compute, and"
        " `torch.fx.symbolic_trace` gives their graphs",
    )


def fork(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
    """Return what a function returns as a result that comes later; it is called at once."""
    future: Future[Any] = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future: Future[Any]) -> Any:
    """Return the result of `fork`.

    Raises:
        RuntimeError: there is no future.
    """
    require_future(future)
    return future.wait()


def is_of_type(obj: Any, target_type: Any) -> bool:
    """Return whether something, with all that it contains, is of one of some types.

    Args:
        obj: a list, tuple, dict or anything else.
        target_type: such as ``list[Tensor]``, ``Optional[dict[str, int]]``, or a tuple of types.
    """
    if isinstance(target_type, tuple):
        return any(is_of_type(obj, member_type) for member_type in target_type)
    origin, arguments = get_origin(target_type), get_args(target_type)
    if origin in (Union, UnionType):
        return is_of_type(obj, arguments)
    if origin is None:
        return isinstance(obj, type(None) if target_type is None else target_type)
    if not isinstance(obj, origin):
        return False
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(is_of_type, obj, arguments))
    if issubclass(origin, Mapping):
        key, value = arguments
        return all(is_of_type(k, key) and is_of_type(v, value) for k, v in obj.items())
    return all(is_of_type(item, arguments[0]) for item in obj)
