"""Names of TorchScript, and `compile`: Python is what runs, and hot programs are compiled anyway.

TorchScript's purposes have other names here: an `nn.Graph` is a step compiled as a whole, and its
`save` writes a model without its Python code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final as Final, TypeVar

from oneflow.tensor.tensor import Tensor

Scripted = TypeVar("Scripted")


def script(
    obj: Scripted,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Scripted:
    """Return a function, class or module as it is; the other arguments change nothing.

    Example:
        >>> import oneflow as flow
        >>> @flow.jit.script
        ... def double(x):
        ...     return x * 2
        >>> double(flow.ones(1))
        tensor([2.], dtype=oneflow.float32)
    """
    return obj


def compile(model: Any = None, **options: Any) -> Any:
    """Return a function or module as it is: what runs often is compiled anyway.

    To compile a whole training step, with its backward pass and the optimizer's, write an
    `nn.Graph`.

    Args:
        model: the function or module; without one, a decorator is returned.
        options: PyTorch's `fullgraph`, `dynamic`, `backend`, `mode` and the like change nothing.

    Example:
        >>> import oneflow as flow
        >>> @flow.compile(mode="max-autotune")
        ... def double(x):
        ...     return x * 2
        >>> double(flow.ones(1))
        tensor([2.], dtype=oneflow.float32)
    """
    return script if model is None else model


def trace(
    func: Callable[..., Any], example_inputs: Tensor | Sequence[Any], **options: Any
) -> Callable[..., Any]:
    """Call a function or module on example inputs, and return it as it is.

    Unlike PyTorch's the result still runs the Python code, with all its branches.

    Args:
        func: the function or module.
        example_inputs: its arguments: a tensor, or a sequence of them.
        options: change nothing.

    Raises:
        Exception: what `func` raises for them.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.ReLU()
        >>> flow.jit.trace(layer, flow.ones(1)) is layer
        True
    """
    func(*((example_inputs,) if isinstance(example_inputs, Tensor) else example_inputs))
    return func


def ignore(drop: Any = False, **options: Any) -> Any:
    """Decorator, with arguments or without, that returns a function as it is.

    Example:
        >>> import oneflow as flow
        >>> @flow.jit.ignore
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return drop if callable(drop) else script


def unused(fn: Scripted) -> Scripted:
    """Decorator that returns a function as it is.

    Example:
        >>> import oneflow as flow
        >>> @flow.jit.export
        ... def double(x):
        ...     return 2 * x
        >>> double(3)
        6
    """
    return fn


def is_scripting() -> bool:
    """Return False: Python is what runs.

    Example:
        >>> import oneflow as flow
        >>> flow.jit.is_scripting()
        False
    """
    return False


def annotate(the_type: Any, the_value: Scripted) -> Scripted:
    """Return a value as it is, whose type a compiler of Python would have to be told.

    Example:
        >>> import oneflow as flow
        >>> flow.jit.annotate(list, [1, 2])
        [1, 2]
    """
    return the_value


def freeze(mod: Scripted, preserved_attrs: Any = None, optimize_numerics: bool = True) -> Scripted:
    """Return a module as it is; the other arguments change nothing.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.ReLU()
        >>> flow.jit.freeze(layer) is layer
        True
    """
    return mod


def optimize_for_inference(mod: Scripted, other_methods: Any = None) -> Scripted:
    """Return a module as it is; `other_methods` changes nothing.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.ReLU()
        >>> flow.jit.optimize_for_inference(layer) is layer
        True
    """
    return mod
