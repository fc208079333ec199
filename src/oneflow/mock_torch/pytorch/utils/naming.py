"""Names of ``torch.utils`` for modules of classes, and for what only C++ has."""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing


def set_module(obj: Any, mod: str) -> None:
    """Say of a function or class that it belongs to a module.

    Args:
        obj: the function or class.
        mod: the module's name.

    Raises:
        TypeError: the name is no text.
    """
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def get_cpp_backtrace(frames_to_skip: int = 0, maximum_number_of_frames: int = 64) -> NoReturn:
    """Refuse to name calls of C++.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.utils.get_cpp_backtrace",
        "operators are Python down to XLA; `traceback.print_stack` shows their calls",
    )


def rename_privateuse1_backend(backend_name: str) -> NoReturn:
    """Refuse to name a kind of device that an extension in C++ brings.

    Raises:
        NotImplementedError: always.
    """
    raise_missing(
        "torch.utils.rename_privateuse1_backend",
        "devices are those that JAX knows; a plugin of JAX brings further ones",
    )


generate_methods_for_privateuse1_backend = rename_privateuse1_backend
