"""``torch.classes``: classes in C++, which cannot be loaded here."""

from __future__ import annotations

from typing import NoReturn

from oneflow.mock_torch.missing import raise_missing


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(f"no class is defined as {name}: there are no classes in C++")


def load_library(path: str) -> NoReturn:
    """Refuse to load a library.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch.classes", "classes in C++ for PyTorch cannot be loaded")


loaded_libraries: frozenset[str] = frozenset()

__all__ = ["load_library", "loaded_libraries"]
