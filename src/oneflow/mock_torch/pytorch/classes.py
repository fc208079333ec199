"""``torch.classes``: classes in C++, which cannot be loaded here; operators of libraries can."""

from __future__ import annotations

from typing import NoReturn

from oneflow.mock_torch.pytorch.ops import load_library as load_library


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"no class is defined as {name}: there are no classes in C++")


loaded_libraries: frozenset[str] = frozenset()

__all__ = ["load_library", "loaded_libraries"]
