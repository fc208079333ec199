"""Counts what the host sends to the device, what it reads from it, and what it waits for."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest

from oneflow.compiler.loaded_executable import LoadedExecutable

_ARRAY = type(jax.numpy.zeros(()))
_READS = ("__array__", "__bool__", "__float__", "__index__", "__int__", "item", "tolist")


def _is_host(argument: Any) -> bool:
    return isinstance(argument, np.ndarray | np.generic | float | int)


@contextlib.contextmanager
def host_traffic() -> Iterator[Counter[str]]:
    """Count transfers to the device, from it, and waits, as on a device that never gets ready.

    JAX's arrays are read by their methods or by NumPy's functions; NumPy arrays get to a device by
    `jax.device_put` and `jax.make_array_from_callback`, or as arguments of a compiled program.
    """
    counts: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:

        def counted(owner: Any, name: str, kind: str, concerns: Callable[..., bool]) -> None:
            function = getattr(owner, name)

            def call(*args: Any, **options: Any) -> Any:
                if concerns(*args):
                    counts[kind] += 1
                return function(*args, **options)

            patch.setattr(owner, name, call)

        for name in _READS:
            counted(_ARRAY, name, "read", lambda *args: True)
        for name in ("asarray", "array"):
            counted(np, name, "read", lambda first, *others: isinstance(first, _ARRAY))
        counted(_ARRAY, "block_until_ready", "wait", lambda *args: True)
        counted(jax, "block_until_ready", "wait", lambda *args: True)
        counted(_ARRAY, "copy_to_host_async", "copy", lambda *args: True)
        counted(
            jax,
            "device_put",
            "send",
            lambda first, *others: any(map(_is_host, jax.tree.leaves(first))),
        )
        counted(jax, "make_array_from_callback", "send", lambda *args: True)
        counted(
            LoadedExecutable,
            "__call__",
            "send",
            lambda self, arguments, returned: any(map(_is_host, arguments)),
        )
        patch.setattr(_ARRAY, "is_ready", lambda self: False)
        yield counts
